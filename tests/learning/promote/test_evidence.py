"""A fact is told with both counts where it leans by more than chance, and not at all elsewhere."""

import pytest

from skillvault.learning.promote.facts import is_contested, text_with_rate
from skillvault.model.records import Fact

GROUND = "open_long ended at -8.0 %: the agent's reason was “funding was high”."
LESSON = "deploy failed: its own lesson: “drain the queue first”."


def fact(text: str = GROUND, kind: str = "judge") -> Fact:
    """A fact of a domain."""
    return Fact(id="a-fact", domain="perps", text=text, kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "runs", "against", "contested"),
    [
        (GROUND, "judge", 1, 0, False),
        (GROUND, "judge", 3, 27, True),
        (GROUND, "judge", 8, 4, True),  # of 12 runs on one ground, by chance
        (GROUND, "judge", 27, 3, False),
        (GROUND, "judge", 7, 1, False),
        (GROUND, "judge", 3, 1, True),
        (GROUND, "judge", 6000, 5000, False),
        (GROUND, "judge", 5050, 5000, True),
        (LESSON, "judge", 3, 1, False),
        (LESSON, "judge", 2, 2, True),
        (GROUND, "human", 0, 0, False),
        (GROUND, "human", 0, 1, True),
        (GROUND, "human", 1, 1, False),
    ],
)
def test_what_leans_by_chance_is_not_told(
    text: str, kind: str, runs: int, against: int, contested: bool
) -> None:
    assert is_contested(fact(text, kind), runs, against) == contested


def test_what_ended_both_ways_is_told_with_both_counts() -> None:
    assert text_with_rate(fact(), 27, 3) == f"In 27 of 30 runs: {GROUND}"


def test_what_ended_one_way_is_counted_beside_other_facts_alone() -> None:
    assert text_with_rate(fact(), 4, 0) == GROUND
    assert text_with_rate(fact(), 4, 0, is_counted=True) == f"In 4 runs: {GROUND}"
    assert text_with_rate(fact(), 1, 0, is_counted=True) == GROUND
