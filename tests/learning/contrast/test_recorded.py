"""recorded: what nobody recorded is named."""

from typing import Any

from msgspec.structs import replace

from skillvault.learning.contrast.recorded import unrecorded
from skillvault.records import Decision, Outcome, Result, Source
from tests.given import START


def outcome(number: int, **decision: Any) -> Outcome:
    """An outcome that recorded no more than its action."""
    return Outcome(
        id=f"o{number:06}",
        domain="perps",
        occurred_at=START,
        decision=Decision(action="open_long", made_at=None, **decision),
        result=Result(status="success"),
        context={},
        source=Source(),
        received="",
    )


def test_unrecorded_names_what_no_outcome_has() -> None:
    assert unrecorded([outcome(1), outcome(2, reasoning="why", target="BTC")]) == (
        "context",
        "confidence",
        "decision time",
        "skills applied",
    )


def test_only_graded_outcomes_miss_a_size() -> None:
    graded = [replace(outcome(1), result=Result(status="failure", score=-0.2))]
    assert "size" in unrecorded(graded)
