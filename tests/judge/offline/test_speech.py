"""speech: what is said of counts is what the counts say."""

from datetime import timedelta

import pytest

from skillvault.brief import Contrast
from skillvault.judge.offline import speech
from tests.given import START, outcome, raw


def _contrast(met: int) -> Contrast:
    return Contrast("funding is high", (met, 6), (1, 20), 2.0, 0.01)


def test_only_where_most_meet_a_condition_is_another_an_exception() -> None:
    assert speech.exception(_contrast(5), "failures").startswith("it is an exception: ")
    assert speech.exception(_contrast(3), "failures") == (
        "“funding is high” holds for 3 of 6 failures, against 1 of 20 others, and not for this one"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, None), (45, "45 seconds"), (300, "5 minutes"), (7200, "2 hours"), (172_800, "2 days")],
)
def test_a_span_is_told_in_the_unit_a_person_would_choose(seconds: int, said: str | None) -> None:
    given = raw(0, decision__made_at=(START - timedelta(seconds=seconds)).isoformat())
    assert speech.held_for(outcome(given)) == said


def test_a_number_has_six_digits_and_never_three_hundred() -> None:
    assert speech.figure(0.00003651) == "0.00003651"
    assert speech.figure(1e299) == "1e+299"
