"""distill: which failures of a session differ, what is told of it, whether that is enough."""

from typing import Any

import pytest

from skillvault.learning.distill.skill import (
    ExistingSessionSkill,
    excerpt,
    excerpt_of,
    session_state,
    shorten_success,
    unique_failures,
)
from skillvault.learning.rejection import Rejection
from skillvault.model.policy import DistillPolicy
from skillvault.model.records import Session, SessionFailure
from tests.given import session
from tests.vectors import vectors

RULES = DistillPolicy()


def made_of(failures: int = 0, successes: int = 0, **changes: Any) -> Session:
    """A session with so many failures that differ, and so many successes."""
    return session(
        failures=[{"lemma": "x", "reason": f"reason {n}"} for n in range(failures)] or None,
        successes=[{"lemma": "x", "text": f"text {n}"} for n in range(successes)] or None,
        **changes,
    )


@pytest.mark.parametrize("row", vectors("dedupe_failures"))
def test_unique_failures(row: dict[str, Any]) -> None:
    failures = [SessionFailure(lemma=lemma, reason=reason) for lemma, reason in row["args"][0]]
    unique = unique_failures(failures)
    assert [[failure.lemma, failure.reason] for failure in unique] == row["expect"]


def test_a_reason_differs_within_its_first_80_characters() -> None:
    same, other = "a" * 80, "a" * 79 + "b"
    pairs = [("x", same + "1"), ("x", same + "2"), ("x", other), ("y", same)]
    failures = [SessionFailure(lemma=lemma, reason=reason) for lemma, reason in pairs]
    assert unique_failures(failures) == [failures[0], failures[2], failures[3]]


@pytest.mark.parametrize("length", [0, 1, 300])
def test_a_success_of_300_characters_stays_whole(length: int) -> None:
    assert shorten_success("x" * length) == "x" * length


def test_a_longer_one_is_its_first_200_and_its_last_80() -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(301))
    assert shorten_success(text) == f"{text[:200]} … {text[-80:]}"
    assert len(shorten_success("é" * 10_000)) == 283


def test_at_most_five_of_each_are_told() -> None:
    cut = excerpt(made_of(9, 9), RULES)
    assert [failure.reason for failure in cut.failures] == [f"reason {n}" for n in range(5)]
    assert [success.text for success in cut.successes] == [f"text {n}" for n in range(5)]
    assert excerpt(cut, RULES) == cut


@pytest.mark.parametrize(
    ("failures", "successes", "state"),
    [(2, 0, "due"), (1, 4, "too little"), (0, 5, "due"), (1, 5, "due"), (0, 4, "too little")],
)
def test_two_failures_or_five_successes_are_enough(
    failures: int, successes: int, state: str
) -> None:
    assert session_state(made_of(failures, successes), ExistingSessionSkill(), RULES).state == state


def test_the_same_failure_twice_is_one() -> None:
    twice = session(failures=[{"lemma": "x", "reason": "y"}] * 2, successes=None)
    state = session_state(twice, ExistingSessionSkill(), RULES)
    assert state.state == "too little"
    assert "it has 1 of 2 failures that differ and 0 successes" in state.reason


def test_a_session_without_a_success_warns() -> None:
    assert [excerpt_of([made_of(2, n)]).kind for n in range(2)] == ["warning", "pattern"]


@pytest.mark.parametrize(
    ("present", "state", "words"),
    [
        (ExistingSessionSkill(skill="a", merged="b"), "done", "distilled a, which b stands for"),
        (ExistingSessionSkill(repeats="a"), "repeats", "a says the same already"),
        (ExistingSessionSkill(is_over=True), "over", "too old"),
        (
            ExistingSessionSkill(rejection=Rejection("skill:a", "c" * 40)),
            "rejected",
            "made a in cccc",
        ),
    ],
)
def test_what_is_there_already_decides(
    present: ExistingSessionSkill, state: str, words: str
) -> None:
    standing = session_state(made_of(2), present, RULES)
    assert standing.state == state
    assert words in standing.reason
