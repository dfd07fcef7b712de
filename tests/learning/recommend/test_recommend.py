"""recommend: the few skills that earned a place, and why the others did not."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect.estimate import Lift
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.recommend import recommend as rules
from skillvault.learning.recommend.recommend import (
    Answer,
    Candidate,
    Query,
    badge_of,
    plain,
    qualified,
    recommend,
)
from skillvault.learning.recommend.relevance import value_of
from skillvault.policy import Boost, EffectPolicy, Policy, RecommendPolicy, policy_from
from tests.vectors import vectors

GOOD = Evidence(times_applied=4, success_count=3, failure_count=1, success_rate=0.75)
POOR = Evidence(4, 1, 3, 0.25, consecutive_failures=3)
SEED = Policy(profile="seed")
ALL = Policy(effect=EffectPolicy(holdout=0))  # nothing is held out


def lifted(lift: float, times: int = 10) -> Evidence:
    return Evidence(times, times, 0, 1.0, lift=Lift(lift, 0.1, 0.5))


def one(name: str, kind: str = "guide", **fields: Any) -> Candidate:
    return Candidate(
        name, kind, **{"tokens": 100, "domain": "perps", "blob": f"b-{name}", **fields}
    )


def ask(*candidates: Candidate, scores: dict[str, float] | None = None, **query: Any) -> Answer:
    policy = query.pop("policy", Policy())
    asked = Query(domain="perps", **query)
    return recommend(candidates, asked, policy, lambda name: f"text of {name}", scores=scores)


def shown(answer: Answer) -> list[str]:
    return [one.name for one in answer.recommended]


def withheld(answer: Answer) -> list[tuple[str, str]]:
    return [(one.name, one.reason) for one in answer.withheld]


# ── the vectors ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", vectors("qualification"))
def test_a_skill_is_qualified_as_the_vectors_say(row: dict[str, Any]) -> None:
    assert qualified(*row["args"]) == row["expect"]


@pytest.mark.parametrize("row", vectors("relevance"))
def test_the_relevance_is_that_of_the_vectors(row: dict[str, Any]) -> None:
    assert rules.relevance(*row["args"]) == pytest.approx(row["expect"], abs=1e-9)


@pytest.mark.parametrize("row", vectors("relevance"))
def test_an_answer_weighs_as_the_vectors_say(row: dict[str, Any]) -> None:
    kind, body, context = row["args"]
    query = Query(domain="perps", context=context)
    (found,) = recommend([one("a", kind)], query, Policy(), lambda _: body).recommended
    assert found.relevance == pytest.approx(row["expect"], abs=1e-9)
    assert min(1.0, sum(found.reasons.values())) == pytest.approx(row["expect"], abs=1e-6)


@pytest.mark.parametrize("row", vectors("badge"))
def test_a_badge_is_that_of_the_vectors(row: dict[str, Any]) -> None:
    assert badge_of(*row["args"]) == row["expect"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("3", 3), ("-0.5", -0.5), ("high", "high"), ("nan", "nan")],
)
def test_a_context_value_is_what_it_looks_like(text: str, value: object) -> None:
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


# ── who is considered ────────────────────────────────────────────────────────────────


def test_skills_of_the_domain_and_of_none_are_considered() -> None:
    answer = ask(one("a"), one("b", domain=None), one("c", domain="coding"))
    assert (shown(answer), answer.total_considered) == (["a", "b"], 2)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["own"]),
        ({"role": "theory"}, ["bandits"]),
        ({"stage": "review"}, ["bandits"]),
        ({"pins": ("bandits",)}, ["bandits", "own"]),
        ({"scores": {"own": 0.5, "bandits": 0.3}, "strategy": "hybrid"}, ["own", "bandits"]),
        ({"scores": {"own": 0.5, "bandits": 0.2}, "strategy": "hybrid"}, ["own"]),
    ],
)
def test_a_skill_of_the_package_is_shown_where_something_asked_speaks_for_it(
    asked: dict[str, Any], found: list[str]
) -> None:
    seed = one("bandits", seed=True, domain=None, roles=("theory",), stages=("review",))
    answer = ask(one("own"), seed, **asked)
    assert shown(answer) == found
    if "bandits" not in found:
        assert withheld(answer) == [("bandits", "low-relevance")]


@pytest.mark.parametrize("status", ["proposed", "retired"])
def test_what_is_not_live_is_never_shown_even_pinned(status: str) -> None:
    answer = ask(one("a", status=status), pins=("a",))
    assert (shown(answer), withheld(answer)) == ([], [("a", "unknown-pin")])


def test_a_role_or_a_stage_lets_those_through_that_name_it() -> None:
    skills = [one("a", roles=("theory",)), one("b", stages=("proof",)), one("c")]
    assert shown(ask(*skills, role="theory")) == ["a"]
    assert shown(ask(*skills, role="theory", stage="proof")) == ["a", "b"]


def test_the_semantic_strategy_asks_all_whatever_their_roles() -> None:
    skills = [one("a", roles=("theory",)), one("b")]
    answer = ask(*skills, role="theory", strategy="semantic", scores={"b": 0.9, "a": 0.1})
    assert shown(answer) == ["b", "a"]


# ── who is left out ──────────────────────────────────────────────────────────────────


def test_a_skill_that_failed_too_often_is_left_out_with_its_numbers() -> None:
    answer = ask(one("a", evidence=POOR), one("b"), policy=SEED)
    assert (shown(answer), answer.excluded_low_effectiveness) == (["b"], 1)
    assert answer.withheld[0].detail == "1 of 4 uses succeeded, the last 3 failed"


def test_a_skill_that_hurts_is_left_out_once_it_had_its_chance() -> None:
    answer = ask(one("a", evidence=lifted(-0.1, times=3)), one("b", evidence=lifted(-0.1, times=2)))
    assert (shown(answer), answer.excluded_low_effectiveness) == (["b"], 1)
    assert answer.withheld[0].detail.endswith("P(lift > 0) = 0.159")


def test_a_low_rate_alone_leaves_no_skill_out() -> None:
    hard = msgspec.structs.replace(lifted(0.1), success_rate=0.1)
    assert shown(ask(one("a", evidence=hard))) == ["a"]


def test_a_pinned_skill_stays_whatever_its_evidence() -> None:
    assert shown(ask(one("a", evidence=POOR, status="pinned"), policy=SEED)) == ["a"]
    assert shown(ask(one("a", evidence=POOR), pins=("a",), policy=SEED)) == ["a"]


def test_a_skill_below_the_least_relevance_is_left_out_with_its_numbers() -> None:
    answer = ask(one("a"), one("b"), strategy="hybrid", scores={"a": 0.4})
    assert (shown(answer), answer.excluded_low_relevance) == (["a"], 1)
    assert answer.withheld[0].detail == "relevance 0.25 is below 0.30"


def test_what_exceeds_the_budget_gives_way_to_what_fits() -> None:
    skills = [one("a", tokens=90), one("b", tokens=20), one("c", tokens=10)]
    answer = ask(*skills, budget=100)
    assert (shown(answer), withheld(answer), answer.over_budget) == (
        ["a", "c"],
        [("b", "budget")],
        1,
    )


def test_a_pin_is_shown_beyond_the_budget() -> None:
    assert shown(ask(one("a", tokens=90), one("b"), pins=("a",), budget=50)) == ["a"]


def test_at_most_the_limit_is_shown_and_the_rest_is_named() -> None:
    answer = ask(one("a"), one("b"), one("c"), limit=1)
    assert (shown(answer), withheld(answer)) == (["a"], [("b", "rank"), ("c", "rank")])


def test_an_answer_names_the_next_twenty_and_all_where_asked() -> None:
    skills = [one(f"s{i:02}") for i in range(40)]
    assert len(ask(*skills).withheld) == 20
    assert len(ask(*skills, explain=True).withheld) == 35


def test_an_unknown_pin_is_named() -> None:
    assert withheld(ask(one("a"), pins=("ghost", "a")))[0] == ("ghost", "unknown-pin")


# ── the order ────────────────────────────────────────────────────────────────────────


def test_pins_come_first_in_the_order_given() -> None:
    skills = [one("a", "strategy"), one("b"), one("c-d", domain="coding")]
    assert shown(ask(*skills, pins=("c_d", "b"))) == ["c-d", "b", "a"]


def test_a_proven_skill_stands_above_an_equal_one() -> None:
    answer = ask(one("a"), one("b", evidence=GOOD), policy=SEED)
    assert shown(answer) == ["b", "a"]
    assert answer.recommended[0].reasons == {"base": 0.5, "proven": 0.1}
    assert (answer.recommended[0].relevance, answer.recommended[0].score) == (0.5, 0.6)


def test_the_profile_says_what_is_proven() -> None:
    seed = ask(one("a", evidence=GOOD), policy=SEED)
    assert seed.recommended[0].badge.startswith("✅ Proven")
    earned = ask(one("a", evidence=GOOD, status="proven"))
    assert earned.recommended[0].badge.startswith("✅ Proven")
    strict = ask(one("a", evidence=GOOD), policy=Policy(profile="wilson"))
    assert strict.recommended[0].badge == "📊 Testing (4 uses)"


def test_of_equal_skills_the_one_that_helps_more_stands_first() -> None:
    answer = ask(one("a", evidence=lifted(-0.02)), one("b", evidence=lifted(0.1)))
    assert shown(answer) == ["b", "a"]
    assert answer.recommended[0].reasons == {"base": 0.5, "lift": 0.1}


def test_without_a_decision_nothing_is_left_to_chance() -> None:
    skills = [one(name, evidence=lifted(0.1)) for name in "abcdefg"]
    assert shown(ask(*skills)) == list("abcde")
    drawn = {tuple(shown(ask(*skills, policy=ALL, decision=f"d-{n}"))) for n in range(20)}
    assert len(drawn) > 1


def test_the_same_decision_draws_the_same_order() -> None:
    skills = [one(name, evidence=lifted(0.1)) for name in "abcdefg"]
    assert ask(*skills, decision="d-1") == ask(*reversed(skills), decision="d-1")


def test_the_last_place_goes_to_a_new_skill_in_the_share_that_the_policy_names() -> None:
    skills = [one("new"), *(one(name, evidence=lifted(0.2)) for name in "abcdef")]
    times = sum("new" in shown(ask(*skills, policy=ALL, decision=f"d-{n}")) for n in range(400))
    assert 0.85 < times / 400 < 0.95
    never = msgspec.structs.replace(ALL, effect=EffectPolicy(holdout=0, explore=0))
    assert not any("new" in shown(ask(*skills, policy=never, decision=f"d-{n}")) for n in range(99))


TRYING = Policy(effect=EffectPolicy(holdout=0, explore=1, sampling=0))
KNOWN = [one(name, evidence=lifted(0.3)) for name in "vwxyz"]


def test_of_two_new_skills_that_promise_the_same_the_less_applied_is_tried() -> None:
    skills = [one("a", evidence=lifted(0.0, times=1)), one("b"), *KNOWN]
    assert shown(ask(*skills, policy=TRYING, decision="d"))[-1] == "b"


def test_a_promise_outweighs_what_the_uses_cost() -> None:
    much = one("a", evidence=lifted(0.21, times=1))
    assert shown(ask(much, one("b"), *KNOWN, policy=TRYING, decision="d"))[-1] == "a"
    less = one("a", evidence=lifted(0.19, times=1))
    assert shown(ask(less, one("b"), *KNOWN, policy=TRYING, decision="d"))[-1] == "b"


def test_which_new_skill_is_tried_is_not_drawn() -> None:
    """The order is, and so is whether one is tried; of two the better has the place each time."""
    drawn = Policy(effect=EffectPolicy(holdout=0, explore=1, sampling=0.3))
    skills = [one("a", evidence=lifted(0.0, 1)), one("b", evidence=lifted(0.02, 1)), *KNOWN]
    answers = [shown(ask(*skills, policy=drawn, decision=f"d-{n}")) for n in range(30)]
    assert {answer[-1] for answer in answers} == {"b"}
    assert len({tuple(answer) for answer in answers}) > 1


def doubted(times: int, lift: float = -0.08) -> Candidate:
    """A skill that seems to hurt, P(lift > 0) is 0.21."""
    return one("doubted", evidence=lifted(lift, times=times))


def test_a_new_skill_that_seems_to_hurt_is_tried_all_the_same() -> None:
    answer = ask(doubted(6), *KNOWN, policy=TRYING, decision="d")
    assert shown(answer)[-1] == "doubted"
    assert (answer.excluded_low_effectiveness, withheld(answer)) == (0, [("z", "rank")])


@pytest.mark.parametrize(
    ("skill", "decision"),
    [(doubted(7), "d"), (doubted(6, -0.09), "d"), (doubted(6), None)],
    ids=["new no more", "it clearly hurts", "no decision"],
)
def test_else_what_seems_to_hurt_is_not_shown(skill: Candidate, decision: str | None) -> None:
    answer = ask(skill, *KNOWN[:2], policy=TRYING, decision=decision)
    assert shown(answer) == ["v", "w"]
    assert withheld(answer) == [("doubted", "low-effectiveness")]


def test_a_streak_alone_keeps_no_new_skill_from_being_tried() -> None:
    failed = msgspec.structs.replace(
        lifted(-0.05, times=5), consecutive_failures=5, lift=Lift(-0.05, 0.1, 0.7)
    )
    answer = ask(one("a", evidence=failed), *KNOWN, policy=TRYING, decision="d")
    assert shown(answer) == list("vwxya")


def test_of_a_task_the_better_answer_stands_first() -> None:
    scores = {"a": 0.2, "b": 0.6}
    assert shown(ask(one("a"), one("b"), strategy="hybrid", scores=scores)) == ["b", "a"]
    assert shown(ask(one("a"), one("b"), strategy="tag", scores=scores)) == ["a", "b"]


def test_a_task_that_no_text_answers_lifts_none() -> None:
    answer = ask(one("a", "strategy"), strategy="hybrid", scores={"a": 0.01})
    assert answer.recommended[0].reasons["task"] < 0


def test_a_domain_may_have_boosts_of_its_own() -> None:
    flaky = Boost(add=0.4, kind="pattern", when={"ci": "red"}, says=("flaky",))
    policy = Policy(recommend=RecommendPolicy(boosts=(flaky,)))
    query = Query(domain="coding", context={"ci": "red"})
    found = recommend([one("a", "pattern", domain=None)], query, policy, lambda _: "A Flaky test")
    assert found.recommended[0].reasons == {"base": 0.5, "pattern when ci red says flaky": 0.4}


def test_boosts_are_read_from_vault_yaml() -> None:
    raw = {"recommend": {"boosts": [{"add": 0.1, "kind": "warning", "above": {"losses": 2}}]}}
    (boost,) = policy_from(raw).recommend.boosts
    assert str(boost) == "warning above losses 2 +0.1"


# ── hold-out ─────────────────────────────────────────────────────────────────────────


def test_without_a_decision_nothing_is_held_out() -> None:
    always = policy_from({"effect": {"holdout": 0.5}})
    assert len(shown(ask(*[one(f"s{i}") for i in range(5)], policy=always))) == 5


def test_of_a_decision_a_share_is_held_out_and_not_replaced() -> None:
    skills = [one(f"s{i}") for i in range(6)]
    answers = [ask(*skills, decision=f"d-{i}") for i in range(200)]
    held = sum(len([w for w in a.withheld if w.reason == "held-out"]) for a in answers)
    assert 60 <= held <= 140  # a tenth of 1,000
    assert all(
        len(a.recommended) + sum(w.reason == "held-out" for w in a.withheld) == 5 for a in answers
    )


def test_no_pin_is_held_out() -> None:
    policy = policy_from({"effect": {"holdout": 0.5}})
    skills = [one(f"s{i}", status="pinned") for i in range(3)]
    for i in range(20):
        assert len(shown(ask(*skills, decision=f"d-{i}", policy=policy))) == 3
        assert shown(ask(one("a"), decision=f"d-{i}", pins=("a",), policy=policy)) == ["a"]


# ── the answer ───────────────────────────────────────────────────────────────────────


def test_the_json_has_its_keys() -> None:
    found = plain(ask(one("a"), one("b", evidence=POOR), decision="d-0", policy=SEED))
    assert list(found) == [
        "domain", "decision", "recommended", "withheld", "total_considered",
        "excluded_low_effectiveness", "excluded_low_relevance",
    ]  # fmt: skip
    assert list(found["recommended"][0]) == [
        "name", "kind", "relevance", "score", "badge", "status", "blob", "tokens", "reasons",
        "body",
    ]  # fmt: skip
    assert list(found["withheld"][0]) == ["name", "reason", "detail"]


@given(st.permutations([one(f"s{i}", kind) for i, kind in enumerate(["guide", "strategy"] * 4)]))
def test_the_order_of_the_candidates_changes_nothing(candidates: list[Candidate]) -> None:
    assert ask(*candidates, decision="d") == ask(*sorted(candidates, key=str), decision="d")


@given(st.integers(0, 8), st.integers(0, 500), st.lists(st.integers(1, 200), max_size=8))
def test_nothing_is_lost_and_limits_hold(limit: int, budget: int, sizes: list[int]) -> None:
    skills = [one(f"s{i}", tokens=size) for i, size in enumerate(sizes)]
    answer = ask(*skills, limit=limit, budget=budget, explain=True)
    assert len(answer.recommended) <= limit
    assert sum(served.tokens for served in answer.recommended) <= budget
    names = [*shown(answer), *(name for name, _ in withheld(answer))]
    assert sorted(names) == sorted(skill.name for skill in skills)


@pytest.mark.parametrize(
    ("known", "status", "low", "high"),
    [(0.0, "testing", 0.07, 0.13), (0.05, "testing", 0.025, 0.06), (0.3, "proven", 0.005, 0.035)],
)
def test_the_less_is_open_about_a_skill_the_more_rarely_it_is_held_out(
    known: float, status: str, low: float, high: float
) -> None:
    candidate = one("a", status=status, evidence=lifted(known, times=30))
    answers = (ask(candidate, decision=str(n), policy=Policy()) for n in range(1000))
    held_out = sum(answer.withheld != [] for answer in answers)
    assert low < held_out / 1000 < high
