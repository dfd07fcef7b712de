"""A judge's balanced accuracy, its interval, and when it is chance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.accuracy import MIN_RESULTS, Accuracy, accuracy, calibration
from tests.given import evaluation, outcome, trade


def of(*counts: int) -> Accuracy | None:
    """Successes judged right and wrong, then failures."""
    sides = ((True, True), (True, False), (False, True), (False, False))
    return accuracy(dict(zip(sides, counts, strict=True)))


def test_it_is_the_mean_of_both_rates_whatever_their_share() -> None:
    record = of(90, 10, 1, 1)
    assert record is not None
    assert (record.balanced, record.successes, record.failures) == (0.7, 100, 2)


def test_the_interval_adds_up_wilsons_distances() -> None:
    # Wilson: 56 of 70 is 0.6918 to 0.8769, 48 of 80 is 0.4904 to 0.7004.
    record = of(56, 14, 48, 32)
    assert record is not None
    below = ((0.8 - 0.6918) ** 2 + (0.6 - 0.4904) ** 2) ** 0.5 / 2
    above = ((0.8769 - 0.8) ** 2 + (0.7004 - 0.6) ** 2) ** 0.5 / 2
    assert (record.low, record.high) == pytest.approx((0.7 - below, 0.7 + above), abs=2e-4)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (5, 5, 0, 0), (0, 0, 3, 9)])
def test_of_one_side_alone_nothing_is_known(counts: tuple[int, ...]) -> None:
    assert of(*counts) is None


@pytest.mark.parametrize(
    ("counts", "is_chance"),
    [
        ((MIN_RESULTS, 0, 0, MIN_RESULTS), True),
        ((0, MIN_RESULTS, 0, MIN_RESULTS), True),
        ((MIN_RESULTS, 0, 0, MIN_RESULTS - 1), False),
        ((MIN_RESULTS, 0, MIN_RESULTS, 0), False),
        ((70, 30, 60, 40), False),
    ],
)
def test_enough_of_both_must_be_compared_to_call_it_chance(
    counts: tuple[int, ...], is_chance: bool
) -> None:
    record = of(*counts)
    assert record is not None
    assert record.is_chance == is_chance


@given(st.tuples(*[st.integers(1, 300)] * 4))
def test_the_interval_holds_the_figure_within_0_and_1(counts: tuple[int, ...]) -> None:
    record = of(*counts)
    assert record is not None
    assert 0 <= record.low <= record.balanced <= record.high <= 1


def test_a_calibration_counts_the_verdicts_and_quotes_the_two_most_wrong() -> None:
    scores = {0.2: True, 0.6: False, 0.9: False, 0.7: False, 0.8: True}
    outcomes = [outcome(trade(day)) for day in range(len(scores))]
    evaluations = [
        evaluation(one, quality_score=score, judge_was_right=is_right)
        for one, (score, is_right) in zip(outcomes, scores.items(), strict=True)
    ]
    record = calibration(evaluations, {one.id: one for one in outcomes})
    assert (record["your_latest_verdicts_here"], record["right"]) == (5, 2)
    assert [quote["your_quality_score"] for quote in record["most_wrong"]] == [0.9, 0.7]
    assert calibration([], {}) == {}
