"""Rules as the test of an action gives them, for those that tell them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from skillvault.model.conditions import Condition, Separation

EVENING = Separation(
    conditions=(Condition("window", "made_at", "between", (18.0, 24.0)),),
    result="losses",
    met=(5, 55),
    other=(1, 124),
    episodes=(5, 50),
    p=0.01,
    z=4.0,
    holds_for=frozenset(),
    read=179,
    until=datetime(2026, 11, 20, tzinfo=UTC),
)


def context(key: str, value: str | bool | float, **fields: Any) -> Separation:
    """A rule about what was observed."""
    return replace(EVENING, conditions=(Condition("context", key, "is", value),), **fields)


def of(ids: Iterable[str], **fields: Any) -> Separation:
    """A rule of these outcomes."""
    return replace(EVENING, holds_for=frozenset(ids), **fields)
