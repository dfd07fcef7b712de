"""A row says how much, and whether what is asked is met."""

import pytest
from row import Figure, Row, Spent, at_least, at_most, faster, median, quantile, within


def _ms(value: float) -> Figure:
    return Figure("work", value, "ms")


@pytest.mark.parametrize(
    ("row", "ratio", "met", "asked"),
    [
        (faster("w", _ms(2), _ms(40), 20), 20.0, True, ">= 20x faster"),
        (faster("w", _ms(2), _ms(39), 20), 19.5, False, ">= 20x faster"),
        (within("w", _ms(20), _ms(40), 0.5), 0.5, True, "<= 0.5x"),
        (within("w", _ms(21), _ms(40), 0.5), 0.525, False, "<= 0.5x"),
        (at_most("w", _ms(50), 50), None, True, "<= 50 ms"),
        (at_most("w", _ms(50.1), 50), None, False, "<= 50 ms"),
        (at_least("w", Figure("pace", 300, "/s"), 300), None, True, ">= 300 /s"),
        (at_least("w", Figure("pace", 299, "/s"), 300), None, False, ">= 300 /s"),
    ],
)
def test_the_bound_itself_is_met(row: Row, ratio: float | None, met: bool, asked: str) -> None:
    assert (row.ratio, row.met, row.asked) == (ratio, met, asked)


def test_a_median_is_taken_of_each_column() -> None:
    assert median([Spent(1, 30), Spent(2, 10), Spent(9, 20)]) == Spent(2, 20)


def test_of_twenty_the_95th_percentile_is_the_worst() -> None:
    assert quantile([float(n) for n in range(20)], 0.95) == 19
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2
