"""effect: what the decisions that applied a skill came to."""

from datetime import timedelta
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect.lift import Effect, Lift
from skillvault.learning.effect.verdict import (
    ClosedDecision,
    Evidence,
    count_uses,
    ema,
    evidence_by_version,
    next_status,
    verdict_of,
    wilson_lower,
)
from skillvault.loop.profiles import rules_of
from skillvault.model.policy import Policy
from skillvault.model.records import Status
from tests.given import START
from tests.vectors import vectors


def uses(statuses: str) -> list[ClosedDecision]:
    """`+` success, `-` failure, `0` neutral, an hour apart."""
    said: dict[str, Status] = {"+": "success", "-": "failure", "0": "neutral"}
    return [
        ClosedDecision(f"o{i}", START + timedelta(hours=i), said[one], i, applied=True)
        for i, one in enumerate(statuses)
    ]


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
    assert count_uses([]) == Evidence()


def test_the_counts_are_those_of_the_uses() -> None:
    found = count_uses(uses("+-+"))
    assert (found.times_applied, found.success_count, found.failure_count) == (3, 2, 1)
    assert found.success_rate == 2 / 3
    assert found.last_applied == START + timedelta(hours=2)


def test_a_neutral_outcome_is_an_application_and_nothing_else() -> None:
    without, found = count_uses(uses("+--")), count_uses(uses("+--0"))
    assert (found.times_applied, found.success_count, found.failure_count) == (4, 1, 2)
    assert (found.consecutive_failures, found.ema) == (2, without.ema)


@pytest.mark.parametrize(("statuses", "streak"), [("---", 3), ("--+", 0), ("+--", 2), ("-0-", 2)])
def test_a_streak_is_of_the_latest_failures(statuses: str, streak: int) -> None:
    assert count_uses(uses(statuses)).consecutive_failures == streak


@given(st.permutations(uses("+-0+--")), st.integers(0, 3))
def test_the_order_of_arrival_and_repetition_change_nothing(
    order: list[ClosedDecision], twice: int
) -> None:
    assert count_uses([*order, *order[:twice]]) == count_uses(uses("+-0+--"))


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
    evidence = count_uses(uses(statuses))
    assert rules_of(Policy(profile="seed")).proves(evidence, Policy()) == seed
    assert rules_of(Policy(profile="wilson")).proves(evidence, Policy()) == wilson


# ── what follows of a lift ───────────────────────────────────────────────────────────

POLICY = Policy()
RULES = rules_of(POLICY)


def effect(helps: float, error: float) -> Effect:
    """An effect of which P(lift > 0) is this."""
    return Effect(NormalDist().inv_cdf(helps) * error, error)


def likely(helps: float, times: int = 10, lately: float | None = None, **counts: Any) -> Evidence:
    """Evidence of which P(lift > 0) is this, and that of the latest applications."""
    error = counts.pop("error", 0.1)
    latest = None if lately is None else effect(lately, error)
    lift = Lift(*effect(helps, error), 0.5, latest)
    return Evidence(times, times, 0, 1.0, lift=lift, **{"shown": times, **counts})


@pytest.mark.parametrize(
    ("status", "helps", "times", "expected"),
    [
        ("testing", 0.951, 3, "proven"),
        ("testing", 0.949, 3, "testing"),
        ("testing", 0.999, 2, "testing"),
        ("proven", 0.801, 3, "proven"),
        ("proven", 0.799, 3, "testing"),
        ("proven", 0.049, 10, "retired"),
        ("testing", 0.049, 10, "retired"),
        ("testing", 0.049, 9, "testing"),
        ("testing", 0.051, 10, "testing"),
        ("retired", 0.199, 10, "retired"),
        ("retired", 0.201, 10, "testing"),
    ],
)
def test_a_status_is_gained_and_lost_at_different_bounds(
    status: str, helps: float, times: int, expected: str
) -> None:
    assert next_status(status, likely(helps, times), RULES).status == expected


def test_without_a_receipt_selection_is_unknown_and_nothing_is_proven() -> None:
    unknown = likely(0.9999, 100, shown=0)
    assert not unknown.is_selection_known
    assert next_status("testing", unknown, RULES).status == "testing"
    assert (
        next_status("testing", likely(0.9999, 100, shown=0, held_out=1), RULES).status == "proven"
    )
    assert next_status("testing", likely(0.0001, 100, shown=0), RULES).status == "retired"


@pytest.mark.parametrize(
    ("helps", "looks", "error", "expected"),
    [
        (0.96, 1, 0.02, "proven"),
        (0.96, 2, 0.02, "testing"),
        (0.985, 2, 0.02, "proven"),
        (0.985, 50, 0.02, "testing"),
        (0.985, 50, 0.1, "proven"),
        (0.04, 1, 0.02, "retired"),
        (0.04, 2, 0.02, "testing"),
        (0.015, 50, 0.02, "testing"),
        (0.015, 50, 0.1, "retired"),
    ],
)
def test_the_more_often_one_looks_the_more_is_asked(
    helps: float, looks: int, error: float, expected: str
) -> None:
    """The finding of one of a few looks is surer than that of one of many."""
    evidence = likely(helps, 100, error=error, looks=looks)
    assert next_status("testing", evidence, RULES).status == expected


@given(st.floats(0, 0.5), st.floats(0.01, 0.14), st.integers(1, 400))
def test_the_bound_on_chance_falls_as_the_lift_grows_and_rises_with_the_looks(
    lift: float, error: float, looks: int
) -> None:
    found = Lift(lift, error, 0.5).chance_of_none(0.15, looks)
    assert 0 <= found <= 1
    assert Lift(lift + 0.1, error, 0.5).chance_of_none(0.15, looks) <= found
    assert Lift(lift, error, 0.5).chance_of_none(0.15, looks + 1) >= found
    assert Lift(-lift, error, 0.5).chance_of_none(0.15, looks) == found


def test_the_commits_that_brought_decisions_are_the_looks_at_them() -> None:
    """A bulk's full commits, that more follow, are none."""
    made = [
        ClosedDecision(f"o{i}", START, "success", 0, applied=True, look=look)
        for i, look in enumerate([0, 0, 3, 3, 5])
    ]
    assert evidence_by_version(made, []).looks == 2
    assert evidence_by_version(made[:2], []).looks == 1


@pytest.mark.parametrize(
    ("helps", "lately", "status", "expected"),
    [
        (0.04, 0.51, "testing", "testing"),
        (0.04, 0.49, "testing", "retired"),
        (0.99, 0.011, "testing", "testing"),
        (0.99, 0.009, "proven", "retired"),
        (0.99, 0.26, "proven", "testing"),
        (0.99, 0.19, "retired", "retired"),
        (0.99, 0.21, "retired", "testing"),
        (0.04, 0.6, "retired", "testing"),
    ],
)
def test_what_a_skill_does_of_late_retires_it_and_keeps_it(
    helps: float, lately: float, status: str, expected: str
) -> None:
    assert next_status(status, likely(helps, 100, lately), RULES).status == expected


@pytest.mark.parametrize("streak", [5, 50])
def test_no_streak_retires_what_helped_on_the_whole(streak: int) -> None:
    evidence = likely(0.9999996, 128, consecutive_failures=streak)
    assert next_status("proven", evidence, RULES).status == "proven"


def test_by_the_seed_rule_five_failures_in_a_row_retire() -> None:
    seed = rules_of(Policy(profile="seed"))
    assert next_status("testing", count_uses(uses("+----")), seed).status == "testing"
    assert next_status("proven", count_uses(uses("+-----")), seed).status == "retired"


@given(st.text("+-", min_size=3, max_size=60), st.sampled_from(["seed", "wilson"]))
def test_what_a_status_says_holds_for_itself(statuses: str, profile: Any) -> None:
    """A status that was just given is not taken back on the same evidence."""
    rules = rules_of(Policy(profile=profile))
    evidence = count_uses(uses(statuses))
    given_now = next_status("testing", evidence, rules).status
    assert next_status(given_now, evidence, rules).status == given_now


def test_what_a_person_called_proven_stays_so_without_evidence() -> None:
    assert next_status("proven", Evidence(), RULES).status == "proven"


@pytest.mark.parametrize(
    ("helps", "times", "expected"),
    [
        (0.76, 3, "helps"),
        (0.74, 3, "open"),
        (0.76, 2, "open"),
        (0.26, 3, "hurts"),
        (0.26, 2, "open"),
        (0.28, 3, "open"),
    ],
)
def test_the_verdict_waits_for_a_few_uses(helps: float, times: int, expected: str) -> None:
    assert verdict_of(likely(helps, times), POLICY) == expected


def test_counting_starts_again_when_a_person_rewrote_the_text() -> None:
    made = [START + timedelta(hours=i) for i in range(5)]
    decisions = [
        ClosedDecision(f"o{i}", at, "success", i, applied=True) for i, at in enumerate(made)
    ]
    found = evidence_by_version(decisions, [3])
    assert (found.times_applied, [one.times_applied for one in found.earlier]) == (2, [3])
    assert found.latest == made[4]


def test_what_was_shown_and_held_out_is_counted_apart() -> None:
    offers = ("shown", "shown", "held", "")
    decisions = [
        ClosedDecision(f"o{i}", START, "success", 0, applied=offer == "", offer=offer)
        for i, offer in enumerate(offers)
    ]
    found = evidence_by_version(decisions, [])
    assert (found.times_applied, found.shown, found.held_out) == (1, 2, 1)
