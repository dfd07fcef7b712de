"""Rules that separate the outcomes of an action, and the choice of those that are told."""

import random
from datetime import timedelta

import pytest
from msgspec.structs import replace

from skillvault.learning.contrast.separations import find_separations
from skillvault.model.conditions import Condition
from skillvault.model.records import Outcome, Source
from tests.learning.contrast.decisions import (
    FAILURE,
    START,
    Context,
    decision,
    decisions,
    failures,
    keys,
    rules,
)

STORM = Condition("context", "regime", "is", "storm")
CALM = Condition("context", "regime", "is", "calm")
THIN = Condition("context", "liquidity", "is", "thin")


def in_storm(_: int, context: Context) -> float:
    return 0.8 if context["regime"] == "storm" else 0.1


def in_thin_storm(_: int, context: Context) -> float:
    both = (context["regime"], context["liquidity"]) == ("storm", "thin")
    return 0.85 if both else 0.1


def told(outcomes: list[Outcome]) -> set[frozenset[Condition]]:
    return {frozenset(rule.conditions) for rule in rules(outcomes)}


def test_a_cause_is_told_with_its_counts() -> None:
    outcomes = decisions(1, in_storm)
    (rule,) = rules(outcomes)
    storms = [o for o in outcomes if o.context["regime"] == "storm"]
    failed = [o for o in storms if o.result.status == FAILURE]
    others = sum(o.result.status == FAILURE for o in outcomes) - len(failed)
    assert rule.conditions == (STORM,)
    assert rule.met == (len(failed), len(storms))
    assert rule.other == (others, len(outcomes) - len(storms))
    assert rule.holds_for == {o.id for o in storms}
    assert rule.episodes == rule.met
    assert rule.p <= 0.05


def test_of_several_results_each_has_its_own_side() -> None:
    outcomes = decisions(1, in_storm)
    inside = failures(outcomes)
    results = {**inside, "success": frozenset(o.id for o in outcomes) - inside[FAILURE]}
    sides = {rule.result: rule.conditions for rule in find_separations(outcomes, results)}
    assert sides == {FAILURE: (STORM,), "success": (CALM,)}


def test_a_middle_band_is_told_with_its_bounds() -> None:
    outcomes = decisions(
        2, lambda _, context: 0.85 if 0.38 < float(context["fill"] or 0) < 0.62 else 0.1
    )
    (rule,) = rules(outcomes)
    (band,) = rule.conditions
    assert (band.key, band.op) == ("fill", "between")
    assert band.value == pytest.approx((0.38, 0.62), abs=0.1)


def test_a_pair_is_told_as_one_rule() -> None:
    assert told(decisions(3, in_thin_storm)) == {frozenset({STORM, THIN})}


def test_either_of_two_but_not_both_is_told_by_its_pairs() -> None:
    def chance(_: int, context: Context) -> float:
        return 0.8 if (context["regime"] == "storm") != (context["liquidity"] == "thin") else 0.05

    pairs = told(decisions(4, chance, 200))
    assert {c.key for pair in pairs for c in pair} == {"regime", "liquidity"}
    assert all(len(pair) == 2 for pair in pairs)


def test_what_follows_a_cause_is_not_told() -> None:
    outcomes = decisions(5, in_storm, 200)
    rng = random.Random(5)
    followed = [
        replace(
            o,
            context=o.context
            | {"abroad": (o.context["regime"] == "storm") != (rng.random() < 0.15)},
        )
        for o in outcomes
    ]
    assert keys(followed) == {"regime"}


def test_a_cause_that_is_one_no_more_is_dropped() -> None:
    def chance(number: int, context: Context) -> float:
        return in_storm(number, context) if number < 100 else 0.3

    assert "regime" in keys(decisions(6, chance, 200)[:100])
    assert "regime" not in keys(decisions(6, chance, 200))


def test_a_pair_of_which_a_part_adds_no_more_is_dropped() -> None:
    def chance(number: int, context: Context) -> float:
        return in_thin_storm(number, context) if number < 100 else in_storm(number, context)

    assert frozenset({STORM, THIN}) not in told(decisions(7, chance, 200))


def test_a_cause_that_began_lately_is_told() -> None:
    def chance(number: int, context: Context) -> float:
        return in_storm(number, context) if number >= 100 else 0.2

    assert keys(decisions(8, chance, 200)) == {"regime"}


def test_a_rule_that_few_meet_lately_stays_and_says_so() -> None:
    rng = random.Random(9)
    outcomes = []
    for number in range(160):
        storm = rng.random() < 0.5 if number < 80 else number in (100, 120)
        context: Context = {"regime": "storm" if storm else "calm"}
        failed = rng.random() < in_storm(number, context)
        outcomes.append(decision(number, failed=failed, context=context))
    (rule,) = (rule for rule in rules(outcomes) if "regime" in rule.conditions[0].key)
    assert rule.conditions in ((STORM,), (CALM,))
    assert rule.lately is not None
    assert rule.lately[1] == 2


def test_what_only_tells_agents_apart_is_no_cause() -> None:
    rng = random.Random(10)
    outcomes = []
    for number in range(200):
        agent = number % 4
        failed = rng.random() < (0.1, 0.2, 0.7, 0.8)[agent]
        context: Context = {"region": "eu" if agent < 2 else "us"}
        outcomes.append(decision(number, failed=failed, context=context, agent=f"agent-{agent}"))
    assert not rules(outcomes)


def test_a_cause_within_agents_is_told() -> None:
    outcomes = [
        replace(o, source=Source(agent=f"agent-{i % 4}"))
        for i, o in enumerate(decisions(11, in_storm, 200))
    ]
    assert keys(outcomes) == {"regime"}


def test_one_evening_is_no_cause() -> None:
    """Twelve failures within the same ten minutes are one episode."""
    outcomes = []
    for number in range(60):
        evening = number >= 48
        ended = START + timedelta(hours=7 * min(number, 48), seconds=20 * max(0, number - 48))
        context: Context = {"regime": "storm" if evening or number % 12 == 0 else "calm"}
        failed = evening or number % 7 == 0
        outcomes.append(decision(number, failed=failed, context=context, occurred_at=ended))
    assert not rules(outcomes)


@pytest.mark.parametrize(
    "outcomes",
    [
        decisions(12, in_storm)[:11],
        [
            decision(i, failed=i < 2, context={"regime": "storm" if i < 2 else "calm"})
            for i in range(80)
        ],
        [
            decision(
                i,
                failed=i % 2 == 0,
                context={"even": i % 2 == 0},
                occurred_at=START + timedelta(seconds=i),
            )
            for i in range(40)
        ],
    ],
    ids=["eleven outcomes", "two failures", "one episode"],
)
def test_too_little_is_not_tested(outcomes: list[Outcome]) -> None:
    assert not rules(outcomes)


def test_nothing_separates_what_chance_alone_decides() -> None:
    assert sum(bool(rules(decisions(seed, lambda *_: 0.3, 60))) for seed in range(40)) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_arrival_is_nothing(seed: int) -> None:
    outcomes = decisions(seed, in_thin_storm, 100)
    shuffled = random.Random(seed).sample(outcomes, len(outcomes))
    assert rules(shuffled) == rules(outcomes)
    assert rules([*shuffled, *shuffled[:30]]) == rules(outcomes)
