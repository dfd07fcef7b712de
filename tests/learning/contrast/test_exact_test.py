"""How often chance gives a group so many that meet a condition, stratum by stratum."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.contrast.exact_test import Table, fisher, tail, tails


@st.composite
def tables(draw: st.DrawFn) -> Table:
    total = draw(st.integers(1, 12))
    return Table(draw(st.integers(0, total)), draw(st.integers(0, total)), total)


def _ways(met: int, table: Table) -> Fraction:
    of, holds, total = table
    return Fraction(comb(holds, met) * comb(total - holds, of - met), comb(total, of))


@given(st.lists(tables(), min_size=1, max_size=3), st.integers(0, 20))
def test_the_tail_over_strata_equals_the_enumeration(strata: list[Table], met: int) -> None:
    numbers = [range(t.least, t.most + 1) for t in strata]
    expected = sum(
        (
            math.prod((_ways(x, t) for x, t in zip(found, strata, strict=True)), start=Fraction(1))
            for found in product(*numbers)
            if sum(found) >= met
        ),
        start=Fraction(0),
    )
    assert tail(met, strata) == pytest.approx(float(expected))


@given(tables())
def test_one_stratum_is_fishers_test(table: Table) -> None:
    for met in range(table.most + 2):
        assert tail(met, [table]) == fisher(met, *table)


@given(st.lists(tables(), min_size=1, max_size=3))
def test_the_tails_are_those_of_each_number_down_to_the_first(strata: list[Table]) -> None:
    least, most = sum(t.least for t in strata), sum(t.most for t in strata)
    expected = [tail(met, strata) for met in reversed(range(least, most + 1))]
    assert list(tails(strata, least)) == pytest.approx(expected)
