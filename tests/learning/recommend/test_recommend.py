"""recommend: the few skills that earned a place, and why the others did not."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect.lift import Lift
from skillvault.learning.effect.verdict import Evidence, qualifies_by_count
from skillvault.learning.recommend.disclosure import FactHit, Summary
from skillvault.learning.recommend.recommend import (
    Background,
    Candidate,
    Query,
    Selection,
    badge_of,
    recommend,
)
from skillvault.learning.recommend.relevance import Match, value_of
from skillvault.learning.recommend.render import prompt, selection_values
from skillvault.loop.profiles import rules_of
from skillvault.model.policy import Boost, EffectPolicy, Policy, RecommendPolicy, parse_policy
from skillvault.model.text.text import count_tokens
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


def ask(*candidates: Candidate, scores: dict[str, float] | None = None, **query: Any) -> Selection:
    policy = query.pop("policy", Policy())
    asked = Query(domain="perps", **query)
    return recommend(
        candidates, asked, rules_of(policy), lambda name: f"text of {name}", scores=matches(scores)
    )


def matches(scores: dict[str, float] | None) -> dict[str, Match] | None:
    """Return a match for each score; the evidence is the same number."""
    return None if scores is None else {name: Match(score, score) for name, score in scores.items()}


def shown(answer: Selection) -> list[str]:
    return [one.name for one in answer.recommended]


def withheld(answer: Selection) -> list[tuple[str, str]]:
    return [(one.name, one.reason) for one in answer.withheld]


# ── the vectors ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", vectors("qualification"))
def test_a_skill_is_qualified_as_the_vectors_say(row: dict[str, Any]) -> None:
    times, rate, streak = row["args"]
    evidence = Evidence(times, success_rate=rate, consecutive_failures=streak)
    assert qualifies_by_count("testing", evidence, Policy()) == row["expect"]


@pytest.mark.parametrize("row", vectors("relevance"))
def test_an_answer_weighs_as_the_vectors_say(row: dict[str, Any]) -> None:
    kind, body, context = row["args"]
    query = Query(domain="perps", context=context)
    (found,) = recommend([one("a", kind)], query, rules_of(Policy()), lambda _: body).recommended
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
        ({"scores": {"own": 0.5, "bandits": 0.9}, "strategy": "hybrid"}, ["own"]),
        (
            {"scores": {"own": 0.5}, "strategy": "hybrid", "pins": ("bandits",)},
            ["bandits", "own"],
        ),
    ],
)
def test_a_skill_of_the_package_is_shown_if_it_is_asked_for(
    asked: dict[str, Any], found: list[str]
) -> None:
    seed = one("bandits", seed=True, domain=None, roles=("theory",), stages=("review",))
    answer = ask(one("own"), seed, **asked)
    assert shown(answer) == found
    if "bandits" not in found:
        assert withheld(answer) == [("bandits", "low-relevance")]


def test_a_seed_that_is_pinned_for_good_counts_as_asked() -> None:
    seed, own = one("bandits", seed=True, domain=None, status="pinned"), one("a", status="pinned")
    assert shown(ask(seed, own, scores={"own": 0.0}, strategy="hybrid")) == ["bandits"]


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
    assert answer.withheld[0].detail == "1 of 4 uses succeeded; the last 3 failed"


def test_a_skill_that_hurts_is_left_out_once_it_had_its_chance() -> None:
    answer = ask(one("a", evidence=lifted(-0.1, times=3)), one("b", evidence=lifted(-0.1, times=2)))
    assert (shown(answer), answer.excluded_low_effectiveness) == (["b"], 1)
    assert answer.withheld[0].detail.endswith("the chance that it helps is 0.159")


def test_a_low_rate_alone_leaves_no_skill_out() -> None:
    hard = msgspec.structs.replace(lifted(0.1), success_rate=0.1)
    assert shown(ask(one("a", evidence=hard))) == ["a"]


def test_a_pinned_skill_stays_whatever_its_evidence() -> None:
    assert shown(ask(one("a", evidence=POOR, status="pinned"), policy=SEED)) == ["a"]
    assert shown(ask(one("a", evidence=POOR), pins=("a",), policy=SEED)) == ["a"]


def test_a_skill_below_the_least_relevance_is_left_out_with_its_numbers() -> None:
    policy = Policy(recommend=RecommendPolicy(min_relevance=0.6))
    answer = ask(one("a", "strategy"), one("b"), policy=policy)
    assert (shown(answer), answer.excluded_low_relevance) == (["a"], 1)
    assert answer.withheld[0].detail == "relevance 0.50 is below 0.60"


# ── the floor of a task ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("share", "names"), [(0.14, ["a"]), (0.1399, []), (0.0, [])])
def test_of_a_task_a_skill_has_evidence_or_is_left_out(share: float, names: list[str]) -> None:
    answer = ask(one("a"), strategy="hybrid", scores={"a": share})
    assert shown(answer) == names
    if not names:
        detail = f"evidence {share:.2f} that it answers the task is below 0.14"
        assert answer.withheld[0].detail == detail


def test_the_share_is_not_that_of_the_best_of_a_pool() -> None:
    alone = ask(one("a", "strategy"), strategy="hybrid", scores={"a": 0.1})
    among = ask(one("a"), one("b"), strategy="hybrid", scores={"a": 0.2, "b": 0.9})
    assert (shown(alone), shown(among)) == ([], ["b", "a"])


def test_the_share_decides_who_is_shown_and_the_score_who_is_first() -> None:
    found = {"a": Match(0.9, 0.2), "b": Match(0.5, 0.9), "c": Match(0.7, 0.1)}
    query = Query(domain="perps", strategy="hybrid")
    answer = recommend(map(one, "abc"), query, rules_of(Policy()), lambda name: name, scores=found)
    assert shown(answer) == ["a", "b"]


def test_a_strategy_needs_the_words_of_a_task_too() -> None:
    skills = [one("a", "strategy"), one("b")]
    assert shown(ask(*skills, strategy="hybrid", scores={"b": 0.3})) == ["b"]
    assert shown(ask(*skills)) == ["a", "b"]


def test_what_the_role_asks_for_needs_no_words() -> None:
    skill = one("a", roles=("reviewer",))
    assert shown(ask(skill, role="reviewer", strategy="hybrid", scores={})) == ["a"]


def test_skills_about_the_action_come_first_and_need_no_words() -> None:
    skills = [one("a"), one("b"), one("c"), one("d")]
    background = Background(leads={"b": 1, "c": 0})
    query = Query(domain="perps", strategy="hybrid", action="open_long")
    answer = recommend(
        skills, query, rules_of(Policy()), str, scores=matches({"a": 0.9}), background=background
    )
    assert shown(answer) == ["c", "b", "a"]
    unsaid = msgspec.structs.replace(query, action=None)
    answer = recommend(
        skills,
        unsaid,
        rules_of(Policy()),
        str,
        scores=matches({"a": 0.9, "b": 0.2}),
        background=background,
    )
    assert shown(answer) == ["b", "a"]


LEARNED = {
    "a": frozenset({("perps", "open_long")}),
    "b": frozenset({("perps", "open_long"), ("perps", "close")}),
    "c": frozenset({("perps", "hedge")}),
}


@pytest.mark.parametrize(("share", "names"), [(0.4, "abcd"), (0.39, "abd")])
def test_what_was_learned_about_another_action_says_nearly_as_much_as_the_best(
    share: float, names: str
) -> None:
    found = matches({"a": 0.5, "b": 0.2, "c": share, "d": 0.15})
    query = Query(domain="perps", strategy="hybrid")
    background = Background(actions=LEARNED)
    answer = recommend(
        map(one, "abcd"), query, rules_of(Policy()), str, scores=found, background=background
    )
    assert sorted(shown(answer)) == list(names)


# ── how much is shown ────────────────────────────────────────────────────────────────

LONG = "# A title\n\nThe first words.\n\n## One\n\n" + "word " * 600 + "\n\n## Two\n\nThe end.\n"


def disclosed(*bodies: str, scores: float | None = None, **fields: Any) -> list[tuple[str, str]]:
    """(how, text) of skills with these texts, in their order."""
    skills = [one(f"s{number:02}") for number in range(len(bodies))]
    query = Query(domain="perps", strategy="hybrid", **fields)
    texts = dict(zip((skill.name for skill in skills), bodies, strict=True))
    found = None if scores is None else matches(dict.fromkeys(texts, scores))
    about = Background(
        about=lambda name: Summary(f"What {name} is for.", f"skills/{name}/SKILL.md")
    )
    answer = recommend(
        skills, query, rules_of(ALL), texts.__getitem__, scores=found, background=about
    )
    return [(served.how, served.body) for served in answer.recommended]


def test_the_best_texts_are_given_and_the_others_named() -> None:
    found = disclosed("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", scores=0.5)
    assert [how for how, _ in found] == ["whole"] * 3 + ["named"] * 4
    assert found[3] == ("named", "")


def test_with_a_task_ten_are_named_and_without_one_the_limit() -> None:
    assert len(disclosed(*map(str, range(12)), scores=0.5)) == 10
    assert len(disclosed(*map(str, range(12)))) == 5
    assert len(disclosed(*map(str, range(12)), scores=0.5, limit=2)) == 2


def test_the_first_is_never_left_out_for_its_length() -> None:
    (how, text), (other, _) = disclosed(LONG, "Short.")
    assert (how, other) == ("part", "named")
    assert text == "# A title\n\nThe first words."
    ((how, text),) = disclosed("word " * 2000)
    assert how == "part"
    assert text.endswith("word…")


def test_texts_are_given_in_order_as_long_as_the_budget_lasts() -> None:
    found = disclosed("word " * 200, LONG, "Short.")
    assert [how for how, _ in found] == ["whole", "named", "named"]


def test_without_a_budget_every_length_is_given() -> None:
    policy = Policy(recommend=RecommendPolicy(budget=None, bodies=None))
    skills = [one("a"), one("b"), one("c"), one("d")]
    answer = recommend(
        skills, Query(domain="perps"), rules_of(policy), lambda name: name + "word" * 9000
    )
    assert [served.how for served in answer.recommended] == ["whole"] * 4


def test_a_pin_is_shown_whole_beyond_the_budget() -> None:
    query = Query(domain="perps", pins=("a",), budget=50)
    answer = recommend([one("a"), one("b")], query, rules_of(Policy()), lambda name: name + LONG)
    assert [(s.name, s.how) for s in answer.recommended] == [("a", "whole"), ("b", "named")]


@given(st.lists(st.integers(1, 900), max_size=12), st.integers(400, 3000))
def test_the_whole_answer_has_no_more_tokens_than_its_budget(sizes: list[int], budget: int) -> None:
    skills = [one(f"s{number:02}") for number in range(len(sizes))]
    query = Query(domain="perps", strategy="hybrid", budget=budget)
    texts = {skill.name: "word " * size for skill, size in zip(skills, sizes, strict=True)}
    facts = [
        FactHit(f"f{number}", "perps", "fact " * size, 0.5) for number, size in enumerate(sizes)
    ]
    answer = recommend(
        skills,
        query,
        rules_of(ALL),
        texts.__getitem__,
        scores=matches(dict.fromkeys(texts, 0.5)),
        background=Background(
            about=lambda name: Summary("It is for this. " * 30, f"/a/folder/of/{name}/SKILL.md"),
            facts=facts,
        ),
    )
    assert count_tokens(prompt(answer)) <= budget
    assert bool(answer.recommended) is bool(sizes)


# ── one place for one statement ──────────────────────────────────────────────────────

SAYS = "# {}\n\n- Run the migrations on a copy of the database before the release.\n"
ALSO = "# {}\n\n- Before the release, run the migrations on a copy of the database.\n"


def repeated(*candidates: Candidate, **query: Any) -> Selection:
    texts = {
        "a": SAYS.format("A"),
        "b": ALSO.format("B"),
        "c": SAYS.format("C").replace("a copy", "2 copies"),
    }
    return recommend(candidates, Query(domain="perps", **query), rules_of(ALL), texts.__getitem__)


def test_two_skills_that_say_the_same_have_one_place() -> None:
    answer = repeated(one("a"), one("b"))
    assert (shown(answer), withheld(answer)) == (["a"], [("b", "same")])
    assert answer.withheld[0].detail == "same as a"


def test_the_one_with_more_evidence_stands_for_both() -> None:
    used = Evidence(times_applied=4, success_count=2, failure_count=2, success_rate=0.5)
    answer = repeated(one("a"), one("b", evidence=used))
    assert (shown(answer), answer.withheld[0].detail) == (["b"], "same as b")
    assert shown(repeated(one("a"), one("b", evidence=used), pins=("a",))) == ["a"]


def test_another_number_says_something_else() -> None:
    assert shown(repeated(one("a"), one("c"))) == ["a", "c"]


# ── who else is left out ─────────────────────────────────────────────────────────────


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
    assert answer.recommended[0].reasons == {"base": 0.5, "effect": 0.1}


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
TRIED = 2  # the last place that may have a text
KNOWN = [one(name, evidence=lifted(0.3)) for name in "vwxyz"]


def test_of_two_new_skills_that_promise_the_same_the_less_applied_is_tried() -> None:
    skills = [one("a", evidence=lifted(0.0, times=1)), one("b"), *KNOWN]
    assert shown(ask(*skills, policy=TRYING, decision="d"))[TRIED] == "b"


def test_a_promise_outweighs_what_the_uses_cost() -> None:
    much = one("a", evidence=lifted(0.21, times=1))
    assert shown(ask(much, one("b"), *KNOWN, policy=TRYING, decision="d"))[TRIED] == "a"
    less = one("a", evidence=lifted(0.19, times=1))
    assert shown(ask(less, one("b"), *KNOWN, policy=TRYING, decision="d"))[TRIED] == "b"


def test_which_new_skill_is_tried_is_not_drawn() -> None:
    """The order is, and so is whether one is tried; of two the better has the place each time."""
    drawn = Policy(effect=EffectPolicy(holdout=0, explore=1, sampling=0.3))
    skills = [one("a", evidence=lifted(0.0, 1)), one("b", evidence=lifted(0.02, 1)), *KNOWN]
    answers = [shown(ask(*skills, policy=drawn, decision=f"d-{n}")) for n in range(30)]
    assert {answer[TRIED] for answer in answers} == {"b"}
    assert len({tuple(answer) for answer in answers}) > 1


def doubted(times: int, lift: float = -0.08) -> Candidate:
    """A skill that seems to hurt, P(lift > 0) is 0.21."""
    return one("doubted", evidence=lifted(lift, times=times))


def test_a_new_skill_that_seems_to_hurt_is_tried_all_the_same() -> None:
    answer = ask(doubted(6), *KNOWN, policy=TRYING, decision="d")
    assert shown(answer)[TRIED] == "doubted"
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
    assert shown(answer) == list("vwaxy")


def test_of_a_task_the_better_answer_stands_first() -> None:
    scores = {"a": 0.2, "b": 0.6}
    assert shown(ask(one("a"), one("b"), strategy="hybrid", scores=scores)) == ["b", "a"]
    assert shown(ask(one("a"), one("b"), strategy="tag", scores=scores)) == ["a", "b"]


def test_a_task_that_is_hardly_answered_lifts_none() -> None:
    answer = ask(one("a", "strategy"), strategy="hybrid", scores={"a": 0.14})
    assert answer.recommended[0].reasons["task"] < 0


@pytest.mark.parametrize("key", ["unlock_schedule", "unlockSchedule", "Unlock-Schedule"])
def test_a_context_s_keys_and_texts_are_compared_without_their_spelling(key: str) -> None:
    boost = Boost(add=0.2, when={"unlockSchedule": "next_week"}, above={"openInterest": 2})
    policy = Policy(recommend=RecommendPolicy(boosts=(boost,)))
    context = {key: "nextWeek", "open_interest": 3}
    assert ask(one("a"), policy=policy, context=context).recommended[0].relevance == 0.7


def test_a_domain_may_have_boosts_of_its_own() -> None:
    flaky = Boost(add=0.4, kind="pattern", when={"ci": "red"}, says=("flaky",))
    policy = Policy(recommend=RecommendPolicy(boosts=(flaky,)))
    query = Query(domain="coding", context={"ci": "red"})
    found = recommend(
        [one("a", "pattern", domain=None)], query, rules_of(policy), lambda _: "A Flaky test"
    )
    assert found.recommended[0].reasons == {"base": 0.5, "pattern when ci red says flaky": 0.4}


def test_boosts_are_read_from_vault_yaml() -> None:
    raw = {"recommend": {"boosts": [{"add": 0.1, "kind": "warning", "above": {"losses": 2}}]}}
    (boost,) = parse_policy(raw).recommend.boosts
    assert str(boost) == "warning above losses 2 +0.1"


# ── hold-out ─────────────────────────────────────────────────────────────────────────


def test_nothing_that_is_shown_tells_of_what_is_held_out() -> None:
    """No line names it, and no fact is about its actions."""
    action = frozenset({("perps", "open")})
    facts = [
        FactHit("own", "perps", "Opening failed.", 0.5, actions=action),
        FactHit("naming", "perps", "The skill hidden-one says so.", 0.5),
        FactHit("other", "perps", "Fees doubled.", 0.5),
    ]
    about = {"a": Summary("Like hidden-one.", ""), "hidden-one": Summary("Itself.", "")}
    background = Background(about=about.__getitem__, actions={"hidden-one": action}, facts=facts)
    query = Query(domain="perps", strategy="hybrid")
    texts = {"a": "# A\n\n- See hidden-one.\n- Wait.\n", "hidden-one": "# H\n\n- Go.\n"}
    scores = matches(dict.fromkeys(texts, 0.5))
    drawn: set[bool] = set()
    for number in range(60):
        asked = msgspec.structs.replace(query, decision=f"d-{number}")
        answer = recommend(
            [one("a"), one("hidden-one")], asked, rules_of(Policy()), texts.__getitem__,
            scores=scores, background=background,
        )  # fmt: skip
        is_hidden = ("hidden-one", "held-out") in withheld(answer)
        drawn.add(is_hidden)
        if is_hidden:
            assert "hidden-one" not in prompt(answer)
            assert [fact.id for fact in answer.facts] == ["other"]
            assert "- Wait." in prompt(answer) or "a" not in shown(answer)
        elif shown(answer) == ["a", "hidden-one"]:
            # What a guide's action taught is told by the guide itself.
            assert [fact.id for fact in answer.facts] == ["naming", "other"]
    assert drawn == {False, True}


def test_one_that_says_nothing_of_the_task_is_not_missing_for_its_effect() -> None:
    hurts = one("hurts", evidence=lifted(-0.2, times=20))
    answer = ask(hurts, scores={"hurts": 0.01}, strategy="hybrid")
    assert (answer.excluded_low_effectiveness, withheld(answer)) == (
        0,
        [("hurts", "low-relevance")],
    )
    answer = ask(hurts, scores={"hurts": 0.5}, strategy="hybrid")
    assert withheld(answer) == [("hurts", "low-effectiveness")]


def test_beside_one_that_answers_nearly_as_much_suffices() -> None:
    skills = one("a"), one("b"), one("c")
    scores = {"a": 0.2, "b": 0.12, "c": 0.11}
    assert shown(ask(*skills, scores=scores, strategy="hybrid")) == ["a", "b"]
    assert shown(ask(*skills, scores={**scores, "a": 0.13}, strategy="hybrid")) == []


def test_without_a_decision_nothing_is_held_out() -> None:
    always = parse_policy({"effect": {"holdout": 0.5}})
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
    policy = parse_policy({"effect": {"holdout": 0.5}})
    skills = [one(f"s{i}", status="pinned") for i in range(3)]
    for i in range(20):
        assert len(shown(ask(*skills, decision=f"d-{i}", policy=policy))) == 3
        assert shown(ask(one("a"), decision=f"d-{i}", pins=("a",), policy=policy)) == ["a"]


# ── the answer ───────────────────────────────────────────────────────────────────────


def test_the_json_has_its_keys() -> None:
    found = selection_values(ask(one("a"), one("b", evidence=POOR), decision="d-0", policy=SEED))
    assert list(found) == [
        "domain", "decision", "recommended", "withheld", "total_considered",
        "excluded_low_effectiveness", "excluded_low_relevance", "facts",
    ]  # fmt: skip
    assert list(found["recommended"][0]) == [
        "name", "kind", "relevance", "score", "badge", "status", "blob", "tokens", "reasons",
        "body", "handle", "how", "description", "path",
    ]  # fmt: skip
    assert list(found["withheld"][0]) == ["name", "reason", "detail"]


@given(st.permutations([one(f"s{i}", kind) for i, kind in enumerate(["guide", "strategy"] * 4)]))
def test_the_order_of_the_candidates_changes_nothing(candidates: list[Candidate]) -> None:
    assert ask(*candidates, decision="d") == ask(*sorted(candidates, key=str), decision="d")


@given(st.integers(0, 8), st.integers(0, 500), st.integers(0, 8))
def test_nothing_is_lost_and_limits_hold(limit: int, budget: int, count: int) -> None:
    skills = [one(f"s{number}") for number in range(count)]
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
