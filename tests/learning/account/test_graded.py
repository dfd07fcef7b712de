"""A warning or a pattern of a subject: its greatest loss or gain, and the deeds behind it."""

import pytest

from skillvault.learning.account.statements import account_of, findings_of
from skillvault.model.brief import Statement
from skillvault.model.policy import Policy
from skillvault.model.records import SkillKind
from tests.given import outcome, raw

CHASED = "I chase the move at market."
WAITED = "I wait for the retest."


def told(kind: SkillKind, *trades: tuple[str, float]) -> list[Statement]:
    """The statements about trades of one target, a day each, by reasoning and score."""
    outcomes = tuple(
        outcome(raw(day, decision__reasoning=words, result={"score": score}))
        for day, (words, score) in enumerate(trades, 1)
    )
    account = account_of(outcomes=outcomes, evaluations={}, tasks={})
    return list(findings_of(account, kind, Policy()).statements)


def deeds(statements: list[Statement]) -> list[tuple[int, int]]:
    """Return how many runs stand for each deed, and how many against it."""
    return [
        (len(s.supporting), len(s.against)) for s in statements if s.kind in ("failed", "worked")
    ]


def test_the_greatest_loss_is_told_with_what_was_done() -> None:
    greatest = told("warning", (CHASED, -0.12))[0]
    assert greatest.kind == "extreme"
    assert CHASED.rstrip(".") in greatest.text


def test_a_deed_that_lost_twice_is_told_once_with_its_count() -> None:
    statements = told("warning", (CHASED, -0.12), (CHASED, -0.2))
    (text,) = (s.text for s in statements if CHASED.rstrip(".") in s.text)
    assert "2 of 2 runs failed" in text


@pytest.mark.parametrize(
    ("kind", "scores", "expected"),
    [
        ("warning", (-0.12, -0.11, 0.04, 0.05), []),
        ("warning", (-0.12, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06), []),
        ("warning", (-0.12, -0.01, -0.01, -0.02, -0.03, -0.04, -0.05, -0.06, 0.1), [(8, 1)]),
        ("pattern", (0.25, 0.3, -0.1, -0.2), []),
    ],
)
def test_a_deed_is_told_where_more_runs_ended_so_than_by_chance(
    kind: SkillKind, scores: tuple[float, ...], expected: list[tuple[int, int]]
) -> None:
    assert deeds(told(kind, *((CHASED, score) for score in scores))) == expected


def test_a_deed_without_a_loss_beyond_the_bound_is_no_matter_of_a_warning() -> None:
    assert deeds(told("warning", (CHASED, -0.12), (WAITED, -0.02))) == []
