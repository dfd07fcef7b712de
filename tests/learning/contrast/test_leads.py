"""Leads: what separates few outcomes, and what is no lead."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.learning.contrast.leads import find_leads, separations_and_leads
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.model.conditions import Condition, Separation, describe_lead, names_result
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome, Scalar
from tests.learning.contrast.decisions import START, Context, decision, decisions, failures

Try = tuple[Scalar, bool]  # what was recorded, and whether it failed
ODD = [(False, True)] * 6 + [(True, False)] * 4


def tries(pairs: Sequence[Try], key: str = "dry_run", **changes: Any) -> list[Outcome]:
    """Tries with one key beside a number and a name that say nothing, in an order by chance."""
    rng = random.Random(1)
    return [
        decision(
            number,
            failed=failed,
            context={key: value, "noise": rng.random(), "side": rng.choice("lr")},
            **changes,
        )
        for number, (value, failed) in enumerate(rng.sample(pairs, len(pairs)))
    ]


def lines(outcomes: list[Outcome]) -> list[str]:
    return [describe_lead(lead) for lead in find_leads(outcomes)]


def keys(outcomes: list[Outcome]) -> list[str]:
    return [condition.key for lead in find_leads(outcomes) for condition in lead.conditions]


def test_a_lead_is_told_of_ten_tries_with_its_counts() -> None:
    outcomes = tries(ODD)
    (lead,) = find_leads(outcomes)
    assert lead.lead
    assert lead.is_loss
    assert (lead.met, lead.other, lead.episodes) == ((6, 6), (0, 4), (6, 6))
    assert lead.holds_for == {o.id for o in outcomes if o.context["dry_run"] is False}
    assert lines(outcomes) == ["Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4."]


def test_what_successes_share_is_told_by_the_failures_of_the_others() -> None:
    outcomes = tries([(True, False)] * 6 + [(False, True)] * 4)
    assert lines(outcomes) == ["Lead: with dry_run false 4 of 4 failed, otherwise 0 of 6."]


def test_one_of_several_values_is_told_by_its_name_and_all_others_by_not_being_it() -> None:
    lost = tries([("breakout", True)] * 7 + [("retest", False), ("trend", False)] * 4, "setup")
    won = tries([("breakout", False)] * 7 + [("retest", True), ("trend", True)] * 4, "setup")
    assert lines(lost) == ["Lead: with setup breakout 7 of 7 failed, otherwise 0 of 8."]
    assert lines(won) == ["Lead: with setup not breakout 8 of 8 failed, otherwise 0 of 7."]


def test_a_number_is_told_by_its_cut() -> None:
    outcomes = tries([(3 + i / 10, i >= 6) for i in range(12)], "funding")
    assert lines(outcomes) == ["Lead: with funding of 3.6 or more 6 of 6 failed, otherwise 0 of 6."]


def test_target_and_agent_are_conditions() -> None:
    by_target = [decision(i, failed=i % 2 == 0, target="ab"[i % 2]) for i in range(12)]
    by_agent = [decision(i, failed=i % 2 == 0, agent="ab"[i % 2]) for i in range(12)]
    assert lines(by_target) == ["Lead: with target a 6 of 6 failed, otherwise 0 of 6."]
    assert lines(by_agent) == ["Lead: with agent a 6 of 6 failed, otherwise 0 of 6."]


@pytest.mark.parametrize("outcomes", [tries(ODD), tries([(i, i > 30) for i in range(40)])])
def test_the_order_of_the_outcomes_is_nothing(outcomes: list[Outcome]) -> None:
    told = find_leads(outcomes)
    for seed in range(5):
        assert find_leads(random.Random(seed).sample(outcomes, len(outcomes))) == told
    assert told


def test_what_is_told_is_what_its_condition_finds() -> None:
    outcomes = tries([(3 + i / 10, i >= 6) for i in range(12)], "funding")
    (lead,) = find_leads(outcomes)
    met = {o.id for o in outcomes if is_met(lead.conditions[0], o)}
    assert met == lead.holds_for


def test_fewer_than_eight_episodes_or_three_on_a_side_are_no_lead() -> None:
    assert not find_leads(tries([(False, True)] * 4 + [(True, False)] * 3))
    assert not find_leads(tries([(False, True)] * 2 + [(True, False)] * 20))


def test_an_episode_has_one_vote() -> None:
    evening = [
        decision(
            100 + i, failed=True, context={"dry_run": False}, occurred_at=START - timedelta(days=1)
        )
        for i in range(9)
    ]
    (lead,) = find_leads([*tries(ODD), *evening])
    assert (lead.met, lead.episodes) == ((15, 15), (7, 7))
    assert describe_lead(lead) == (
        "Lead: with dry_run false 15 of 15 failed (on 7 occasions), otherwise 0 of 4."
    )
    assert not find_leads([*(o for o in tries(ODD) if o.context["dry_run"]), *evening])


def test_neutral_outcomes_are_neither() -> None:
    neutral = [decision(90 + i, context={"dry_run": True}) for i in range(9)]
    ended = [replace(o, result=replace(o.result, status="neutral")) for o in neutral]
    (lead,) = find_leads([*tries(ODD), *ended])
    assert (lead.met, lead.other) == ((6, 6), (0, 4))


def test_a_key_that_few_tries_recorded_is_no_lead() -> None:
    some = [decision(50 + i, failed=i % 2 == 0) for i in range(5)]
    assert keys(tries(ODD * 2)) == ["dry_run"]
    assert keys([*tries(ODD * 2), *some[:3]]) == ["dry_run"]
    assert not keys([*tries(ODD), *some])


@pytest.mark.parametrize(
    "key",
    [
        "pnl", "net_pnl_pct", "profit", "success", "failed", "error", "exit_reason", "exitReason",
        "duration", "trade_duration_s", "holding_hours", "error_message", "status", "score", "won",
        "pnl_pct", "profit_abs", "is_success", "duration_s", "error_type", "netPnl", "failed_tests",
    ],
)  # fmt: skip
def test_a_key_that_names_the_result_is_no_condition(key: str) -> None:
    assert names_result(key)
    assert not find_leads(tries(ODD, key))


@pytest.mark.parametrize(
    "key",
    [
        "stop_loss", "take_profit", "max_duration", "previous_result", "retry_on_error", "rsi",
        "режим", "波动率", "24", "%",
    ],
)  # fmt: skip
def test_a_key_of_a_plan_or_of_what_was_before_is_a_condition(key: str) -> None:
    assert not names_result(key)
    assert keys(tries(ODD, key)) == [key]


@pytest.mark.parametrize(
    "values", [("failed", "fine"), ("lost", "good"), ("Success", "no"), ("win", "loss")]
)
def test_a_value_of_success_or_failure_is_no_condition(values: tuple[str, str]) -> None:
    assert not find_leads(tries([(values[not failed], failed) for _, failed in ODD], "state"))


@pytest.mark.parametrize("key", ["client", "model", "branch"])
def test_client_model_and_branch_are_strata(key: str) -> None:
    assert not find_leads(tries(ODD * 2, key))
    followers = tries(ODD * 2)
    confounded = [
        decision(
            i,
            failed=o.result.status == "failure",
            context=o.context | {key: str(o.context["dry_run"])},
        )
        for i, o in enumerate(followers)
    ]
    assert not find_leads(confounded)


def test_keys_that_cut_alike_count_once() -> None:
    copies = [
        decision(i, failed=failed, context={f"copy_{j}": value for j in range(40)})
        for i, (value, failed) in enumerate(ODD)
    ]
    assert keys(copies) == ["copy_0"]


def test_what_sessions_have_as_a_whole_is_no_lead() -> None:
    sessions = [
        decision(10 * s + i, failed=s % 3 == 0, context={"host": s % 3 == 0}, session=f"s{s}")
        for s in range(4)
        for i in range(5)
    ]
    alone = [
        decision(o_i, failed=o.result.status == "failure", context=o.context)
        for o_i, o in enumerate(sessions)
    ]
    assert keys(alone) == ["host"]
    assert not find_leads(sessions)


def test_a_number_that_drifts_with_the_results_is_no_lead() -> None:
    drifting = [decision(i, failed=i >= 12, context={"price": 100 + i}) for i in range(24)]
    mixed = [
        decision(n, failed=i >= 12, context={"price": 100 + i})
        for n, i in enumerate(random.Random(3).sample(range(24), 24))
    ]
    assert keys(mixed) == ["price"]
    assert not find_leads(drifting)


def test_a_lead_that_lately_is_the_opposite_is_dropped() -> None:
    late = [(False, False)] * 3 + [(True, True)] * 3 + [(True, False)] * 8
    outcomes = tries([(False, True)] * 10 + [(True, False)] * 10)
    turned = [
        decision(100 + i, failed=failed, context={"dry_run": value})
        for i, (value, failed) in enumerate(late)
    ]
    assert keys(outcomes) == ["dry_run"]
    assert not find_leads([*outcomes, *turned])


def test_a_cause_that_gave_way_hides_no_other() -> None:
    rng = random.Random(6)
    outcomes = []
    for i in range(80):
        context: Context = {"old": rng.random() < 0.5, "new": rng.random() < 0.4}
        failed = bool(context["old"] if i < 40 else context["new"]) or rng.random() < 0.05
        outcomes.append(decision(i, failed=failed, context=context))
    assert keys(outcomes) == ["new"]


def test_two_thousand_shuffles_tell_a_strong_lead_among_many_keys() -> None:
    rng = random.Random(5)
    outcomes = []
    for i in range(150):
        context: Context = {f"key_{j}": rng.choice("ab") for j in range(30)}
        failed = rng.random() < (0.9 if context["key_7"] == "a" else 0.2)
        outcomes.append(decision(i, failed=failed, context=context))
    assert keys(outcomes) == ["key_7"]


def test_only_the_latest_tries_count() -> None:
    few = EvaluatePolicy(peers=20)
    outcomes = [*tries(ODD * 2), *(decision(50 + i, failed=i % 2 == 0) for i in range(20))]
    assert not find_leads(outcomes, few)


def test_a_second_lead_separates_what_the_first_leaves_alike() -> None:
    rng = random.Random(4)
    outcomes = []
    for i in range(60):
        context: Context = {"dry_run": rng.random() < 0.6, "locked": rng.random() < 0.5}
        failed = not context["dry_run"] or (not context["locked"] and rng.random() < 0.9)
        outcomes.append(decision(i, failed=failed, context=context))
    assert sorted(keys(outcomes)) == ["dry_run", "locked"]
    assert find_leads(outcomes)[1].held == (find_leads(outcomes)[0].conditions,)


# ── beside rules ─────────────────────────────────────────────────────────────────────


def told(outcomes: list[Outcome], previous_point: int | None = None) -> list[Separation]:
    return list(separations_and_leads(outcomes, failures(outcomes), previous_point=previous_point))


def in_storm(_: int, context: Context) -> float:
    return 0.85 if context["regime"] == "storm" else 0.1


def test_a_lead_that_a_rule_says_is_not_told() -> None:
    outcomes = decisions(1, in_storm)
    assert keys(outcomes) == ["regime"]
    assert [(rule.lead, rule.conditions[0].key) for rule in told(outcomes)] == [(False, "regime")]


def test_few_outcomes_get_leads_alone() -> None:
    assert [rule.lead for rule in told(tries(ODD))] == [True]


def test_a_rule_of_one_reading_point_must_be_a_lead() -> None:
    def chance(_: int, context: Context) -> float:
        return 0.8 if (context["regime"] == "storm") != (context["liquidity"] == "thin") else 0.05

    outcomes = decisions(4, chance, 200)
    pairs = told(outcomes)
    assert pairs
    assert all(len(pair.conditions) == 2 for pair in pairs)
    assert told(outcomes, previous_point=186) == pairs
    assert not told(outcomes, previous_point=10)


def test_a_rule_that_is_a_lead_needs_no_second_reading_point() -> None:
    outcomes = decisions(1, in_storm)
    assert told(outcomes, previous_point=0) == told(outcomes)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("context", "dry_run", "is", False), "dry_run false"),
        (Condition("context", "set_up", "is not", "x"), "set_up not x"),
        (Condition("context", "rsi_14", "at least", 70.0), "rsi_14 of 70 or more"),
        (Condition("context", "rsi_14", "below", 70.0), "rsi_14 below 70,"),
        (Condition("target", "target", "is", "numpy"), "target numpy"),
    ],
)
def test_a_condition_keeps_the_name_of_its_key(condition: Condition, words: str) -> None:
    (lead,) = find_leads(tries(ODD))
    line = describe_lead(replace(lead, conditions=(condition,)))
    assert line == f"Lead: with {words} 6 of 6 failed, otherwise 0 of 4."
