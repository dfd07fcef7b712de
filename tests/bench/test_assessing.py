"""The bench of the lifts counts what it puts in."""

from assessing import assessed


def test_few_uses_give_the_rows_of_a_million() -> None:
    rows = list(assessed(20_000))
    assert [row.ours.what for row in rows] == ["all", "one domain of 20 again"]
