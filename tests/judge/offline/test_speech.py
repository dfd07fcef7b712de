"""speech: what is said of counts is what the counts say."""

from datetime import timedelta

import pytest

from skillvault.brief import Contrast
from skillvault.judge.offline import speech
from tests.given import START, outcome, raw


def test_what_counts_mean_is_told_in_both_directions() -> None:
    found = Contrast("funding is high", (5, 6), (1, 20), 2.0, 0.01)
    assert speech.counts(found, "failures") == "5 of 6 failures, against 1 of 20 others"
    assert speech.risk(found, "failures") == "then 5 of 6 were failures, otherwise 1 of 20"


@pytest.mark.parametrize(
    ("value", "said"),
    [("-19", "-19"), ("-.5 %", "-.5 %"), ("---", ""), ("- a\n# b", "a # b"), ("“x”", '"x"')],
)
def test_a_value_in_a_sentence_keeps_the_sign_of_a_number_and_no_mark(
    value: str, said: str
) -> None:
    assert speech.figured(value).strip() == said


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
