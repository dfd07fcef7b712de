"""Decisions of one action that tests of causes begin with."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from skillvault.learning.contrast.separations import find_separations
from skillvault.model.conditions import Separation
from skillvault.model.records import Decision, Outcome, Result, Scalar, Source

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
FAILURE: Literal["failure"] = "failure"
Context = dict[str, Scalar]
Chance = Callable[[int, Context], float]


def decision(number: int, *, failed: bool = False, **changes: Any) -> Outcome:
    """An outcome seven hours after the one before it, of a decision a quarter of an hour ago."""
    context = changes.pop("context", {})
    source = {key: changes.pop(key) for key in ("agent", "session", "batch") if key in changes}
    ended = changes.pop("occurred_at", START + timedelta(hours=7 * number))
    size = changes.pop("entry_value", None)
    fields = {"action": "open", "made_at": ended - timedelta(minutes=15)} | changes
    return Outcome(
        id=f"o{number:06}",
        domain="fx",
        occurred_at=ended,
        decision=Decision(**fields),
        result=Result(status=FAILURE if failed else "success", entry_value=size),
        context=context,
        source=Source(**source),
        received="",
    )


def decisions(seed: int, chance: Chance, count: int = 150, **changes: Any) -> list[Outcome]:
    """Decisions with three named and one numeric thing in their context, failing by chance."""
    rng = random.Random(seed)
    drawn = []
    for number in range(count):
        context: Context = {
            "regime": rng.choice(["calm", "storm"]),
            "liquidity": rng.choice(["deep", "thin"]),
            "desk": rng.choice(["x", "y", "z"]),
            "fill": round(rng.random(), 3),
        }
        failed = rng.random() < chance(number, context)
        drawn.append(decision(number, failed=failed, context=context, **changes))
    return drawn


def failures(outcomes: list[Outcome]) -> dict[str, frozenset[str]]:
    """The ids of those that failed, by the name of their result."""
    return {FAILURE: frozenset(o.id for o in outcomes if o.result.status == FAILURE)}


def rules(outcomes: list[Outcome]) -> list[Separation]:
    """Return the rules that separate the failures."""
    return list(find_separations(outcomes, failures(outcomes)))


def keys(outcomes: list[Outcome]) -> set[str]:
    """Return the keys of the conditions that separate the failures."""
    return {condition.key for rule in rules(outcomes) for condition in rule.conditions}
