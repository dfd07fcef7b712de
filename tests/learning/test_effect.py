"""effect: what the decisions that applied a skill came to."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect import Evidence, Use, counted, ema, proven, wilson_lower
from skillvault.records import Status
from tests.given import START
from tests.vectors import vectors


def uses(statuses: str) -> list[Use]:
    """`+` success, `-` failure, `0` neutral, an hour apart."""
    said: dict[str, Status] = {"+": "success", "-": "failure", "0": "neutral"}
    return [Use(START + timedelta(hours=i), f"o{i}", said[one]) for i, one in enumerate(statuses)]


@pytest.mark.parametrize("row", vectors("ema"))
def test_the_moving_average_is_exactly_that_of_the_vectors(row: dict[str, Any]) -> None:
    assert ema(*row["args"]) == row["expect"]


@pytest.mark.parametrize("row", vectors("wilson"))
def test_the_lower_bound_is_that_of_the_vectors(row: dict[str, Any]) -> None:
    assert wilson_lower(*row["args"]) == pytest.approx(row["expect"], abs=1e-9)


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_lower_bound_lies_between_zero_and_the_rate(successes: int, total: int) -> None:
    successes = min(successes, total)
    assert 0 <= wilson_lower(successes, total) <= successes / total + 1e-12


def test_nothing_applied_is_no_rate() -> None:
    assert counted([]) == Evidence()


def test_the_counts_are_those_of_the_uses() -> None:
    found = counted(uses("+-+"))
    assert (found.times_applied, found.success_count, found.failure_count) == (3, 2, 1)
    assert found.success_rate == 2 / 3
    assert found.last_applied == START + timedelta(hours=2)


def test_a_neutral_outcome_is_an_application_and_nothing_else() -> None:
    without, found = counted(uses("+--")), counted(uses("+--0"))
    assert (found.times_applied, found.success_count, found.failure_count) == (4, 1, 2)
    assert (found.consecutive_failures, found.ema) == (2, without.ema)


@pytest.mark.parametrize(("statuses", "streak"), [("---", 3), ("--+", 0), ("+--", 2), ("-0-", 2)])
def test_a_streak_is_of_the_latest_failures(statuses: str, streak: int) -> None:
    assert counted(uses(statuses)).consecutive_failures == streak


@given(st.permutations(uses("+-0+--")), st.integers(0, 3))
def test_the_order_of_arrival_and_repetition_change_nothing(order: list[Use], twice: int) -> None:
    assert counted([*order, *order[:twice]]) == counted(uses("+-0+--"))


@pytest.mark.parametrize(
    ("statuses", "seed", "wilson"),
    [
        ("++", False, False),
        ("+-", False, False),
        ("++-", True, False),
        ("+-+-", True, False),
        ("+--", False, False),
        ("+++++", True, True),
        ("+++-+", True, False),
        ("+++++++-", True, True),
        ("-----", False, False),
    ],
)
def test_proven_is_what_the_profile_says(statuses: str, seed: bool, wilson: bool) -> None:
    evidence = counted(uses(statuses))
    assert (proven(evidence, "seed"), proven(evidence, "wilson")) == (seed, wilson)
