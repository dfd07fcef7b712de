"""rules: what separates the outcomes of an action, and who tells it."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.learning.account.rules import action_rules, has_result, outliers
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.records import Decision, Outcome, Result, Scalar, Source, Status
from tests.given import NOW, outcome, trade
from tests.thorough import one_of

LOSSES, HEAVY = "losses", "losses beyond 10 %"

WORDS = [f"{a}{b}{c}" for a in ("ka", "mo", "ti", "lu") for b in ("ren", "sol", "vim", "dap", "gor")
         for c in ("an", "esk", "ul", "ov", "ip")]  # fmt: skip
Met = Callable[[Outcome], bool]
PLANTED: dict[str, Met] = {
    "regime is storm": lambda o: o.context["regime"] == "storm",
    "funding": lambda o: float(o.context["funding"] or 0) >= 0.05,
    "made_at between (18.0, 24.0)": lambda o: (o.decision.made_at or NOW).hour >= 18,
    "target is DOGE": lambda o: o.decision.target == "DOGE",
    "reasoning mentions breakout": lambda o: "breakout" in o.decision.reasoning,
}
KINDS = [(True, 0.0), (False, 0.0), (True, 0.1)]  # graded or not, and how many neutral


def _drawn(rng: random.Random, number: int, made: datetime) -> Outcome:
    context: dict[str, Scalar] = {
        f"signal_{i}": rng.choice(["low", "mid", "high"]) for i in range(5)
    }
    context |= {f"level_{i}": round(rng.gauss(0, 1), 3) for i in range(4)}
    context |= {
        "regime": rng.choice(["storm", "calm", "breeze"]),
        "funding": round(rng.choice([rng.uniform(-0.02, 0.049), rng.uniform(0.05, 0.1)]), 4),
        "news": rng.random() < 0.3,
    }
    words = rng.sample(WORDS, 20) + ["breakout"] * (rng.random() < 0.35)
    chosen = [s for s in ("hunch", "checklist", "alpha", "beta") if rng.random() < 0.4]
    return Outcome(
        id=f"o{number:06}",
        domain="perps",
        occurred_at=made + timedelta(hours=3),
        decision=Decision(
            action="open_long",
            target=rng.choice(["SOL", "BTC", "DOGE"]),
            reasoning=" ".join(words),
            made_at=made,
            confidence=round(rng.uniform(0.3, 0.95), 2),
        ),
        result=Result(status="neutral", entry_value=rng.choice([500.0, 1000.0, 2000.0])),
        context=context,
        applied=tuple(chosen),
        source=Source(agent=rng.choice(["rookie", "veteran", "trader"])),
        received="",
    )


def _stream(
    seed: int,
    planted: Met | None = None,
    *,
    graded: bool = False,
    neutral: float = 0.0,
) -> list[Outcome]:
    """200 outcomes of one action; three of four are lost if the condition holds."""
    rng = random.Random(seed)
    made, found = datetime(2026, 1, 5, tzinfo=UTC), []
    for number in range(200):
        made += timedelta(minutes=rng.randrange(3, 900))
        one = _drawn(rng, number, made)
        chance = 0.2 if planted else 0.4
        if planted and planted(one):
            chance = 0.75
        lost, flat = rng.random() < chance, rng.random() < neutral
        status: Status = "neutral" if flat else "failure" if lost else "success"
        scores = {"failure": -rng.uniform(0.01, 0.3), "success": rng.uniform(0.01, 0.4)}
        score = scores.get(status, 0.0) if graded else None
        found.append(replace(one, result=replace(one.result, status=status, score=score)))
    return found


def _named(rules: Sequence[Separation]) -> list[str]:
    return [f"{c.key} {c.op} {c.value}" for rule in rules for c in rule.conditions]


@pytest.mark.parametrize("condition", one_of(2, list(PLANTED)))
def test_a_planted_condition_is_named_in_19_of_20_streams(condition: str) -> None:
    kinds = [KINDS[seed % 3] for seed in range(20)]
    streams = [
        _stream(seed, PLANTED[condition], graded=graded, neutral=neutral)
        for seed, (graded, neutral) in enumerate(kinds)
    ]
    named = [" ".join(_named(action_rules(stream, Policy()))) for stream in streams]
    assert sum(condition in names for names in named) >= 19


@pytest.mark.parametrize(("graded", "neutral"), one_of(2, KINDS))
def test_streams_without_a_condition_name_one_in_at_most_2_of_20(
    graded: bool, neutral: float
) -> None:
    streams = [_stream(seed, graded=graded, neutral=neutral) for seed in range(100, 120)]
    assert sum(bool(action_rules(stream, Policy())) for stream in streams) <= 2


def test_the_order_of_arrival_changes_nothing() -> None:
    outcomes = _stream(3, PLANTED["regime is storm"])
    shuffled = random.Random(1).sample(outcomes, len(outcomes))
    assert action_rules(shuffled, Policy()) == action_rules(outcomes, Policy()) != ()


def _graded(number: int, score: float, **context: Any) -> Outcome:
    at = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=5 * number)
    made = (at - timedelta(minutes=20)).isoformat()
    return outcome(
        trade(0, score, occurred_at=at.isoformat(), decision__made_at=made, context=context,
              event_id=f"e{number}", source__session=f"s{number}")
    )  # fmt: skip


def test_heavy_losses_are_asked_about_if_losses_differ() -> None:
    chance = random.Random(3)
    moods = [chance.choice(["bad", "good", "fair"]) for _ in range(90)]
    scores = [
        chance.choice([-0.2, -0.2, -0.02]) if mood == "bad" else chance.choice([-0.02, 0.05, -0.03])
        for mood in moods
    ]
    given = [
        _graded(i, score, mood=mood)
        for i, (score, mood) in enumerate(zip(scores, moods, strict=True))
    ]
    results = {rule.result: _named([rule]) for rule in action_rules(given, Policy())}
    assert results["losses beyond 10 %"] == ["mood is bad"]


def test_outcomes_of_one_ending_are_compared_with_nothing() -> None:
    given = [_graded(i, -0.2, mood="bad" if i % 2 else "good") for i in range(30)]
    assert action_rules(given, Policy()) == ()


@pytest.mark.parametrize(
    ("score", "results"),
    [
        (-0.2, [LOSSES, HEAVY]),
        (-0.1, [LOSSES]),
        (0.0, []),
        (0.2, ["wins"]),
        (0.25, ["wins", "gains beyond 20 %"]),
    ],
)
def test_a_result_in_words_names_those_that_ended_so(score: float, results: list[str]) -> None:
    one = outcome(trade(0, score))
    every = [LOSSES, HEAVY, "wins", "gains beyond 20 %"]
    assert [result for result in every if has_result(one, result, Policy())] == results


def test_a_number_far_from_the_middle_half_of_eight_others_stands_out() -> None:
    one = _graded(9, -0.3, tvl=90.0)
    others = [_graded(day, 0.01, tvl=1000.0 + 25 * day) for day in range(8)]
    (outlier,) = outliers(one, others)
    assert (outlier.key, outlier.value, outlier.of) == ("tvl", 90.0, 8)
    assert 1000.0 < outlier.low < outlier.high < 1200.0
    assert list(outliers(one, others[1:])) == []
