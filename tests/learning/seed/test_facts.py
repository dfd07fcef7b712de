"""promote by verdict: strong confirmed verdicts become facts, repeats support them."""

import pytest

from skillvault.learning.seed.facts import plan_facts
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Commit, Evaluation, Fact, Outcome, Ref, link_of
from tests.given import NOW, outcome, raw
from tests.learning.promote.test_facts import SAID, fact, judged, records

SEED = Policy(profile="seed")


def promoted(pair: tuple[Outcome, Evaluation], policy: Policy = SEED) -> bool:
    """Return True if one evaluation alone becomes a fact."""
    return bool(plan_facts(records([pair], policy=SEED), policy).promotions)


@pytest.mark.parametrize(
    ("good", "quality", "expected"),
    [
        (True, 0.7, True), (True, 0.69, False), (True, 0.3, False),
        (False, 0.3, True), (False, 0.31, False), (False, 0.7, False),
    ],
)  # fmt: skip
def test_a_confirmed_verdict_must_be_strong(good: bool, quality: float, expected: bool) -> None:
    pair = judged(0, was_good_decision=good, quality_score=quality)
    assert promoted(pair) is expected


def test_a_verdict_that_the_result_does_not_test_is_no_fact() -> None:
    assert not promoted(judged(0, judge_was_right=None))


def test_a_wrong_verdict_is_no_fact() -> None:
    assert not promoted(judged(0, judge_was_right=False))


def test_a_fact_is_the_insight_alone_at_the_time_of_its_outcome() -> None:
    pair = judged(0, better_approach="Reproduce it under load first.")
    (promotion,) = plan_facts(records([pair], policy=SEED), SEED).promotions
    (made,) = (w for w in promotion.writes if isinstance(w, Fact))
    assert (made.text, made.created_at) == (SAID, outcome(raw(0)).occurred_at)


def test_what_a_fact_says_to_do_does_not_tell_it_from_what_repeats_it() -> None:
    known = fact(f"{SAID}\nReproduce it under load first, with the trace at hand.", kind="judge")
    plan = plan_facts(records([judged(0)], facts=[known], policy=SEED), SEED)
    assert list(plan.repetitions) == ["known-fact"]


def test_an_evaluation_without_insight_is_no_fact() -> None:
    assert not promoted(judged(0, key_insight=None))


def test_the_literal_gate_takes_good_decisions_alone() -> None:
    literal = Policy(profile="seed", promote=PromotePolicy(gate="quality"))
    assert promoted(judged(0, was_good_decision=True, quality_score=0.7), literal)
    assert not promoted(judged(0, quality_score=0.02), literal)


@pytest.mark.parametrize(
    ("good", "quality", "importance"),
    [(True, 0.85, "high"), (True, 0.84, "medium"), (False, 0.15, "high"), (False, 0.16, "medium")],
)
def test_importance_is_high_from_a_strength_of_85(
    good: bool, quality: float, importance: str
) -> None:
    pair = judged(0, was_good_decision=good, quality_score=quality)
    (promotion,) = plan_facts(records([pair], policy=SEED), SEED).promotions
    assert [w.importance for w in promotion.writes if isinstance(w, Fact)] == [importance]


def test_the_strongest_becomes_the_fact_and_the_others_repeat_it() -> None:
    pairs = [judged(0, quality_score=0.2), judged(1, quality_score=0.1), judged(2)]
    plan = plan_facts(records(pairs, policy=SEED), SEED)
    (promotion,), ((fact_id, sources),) = plan.promotions, plan.repetitions.items()
    assert [source.id for source in promotion.sources] == [pairs[1][1].id]
    assert [target.id for target in promotion.targets] == [fact_id]
    assert {source.id for source in sources} == {pairs[0][1].id, pairs[2][1].id}


def test_of_equally_strong_ones_the_first_id_becomes_the_fact() -> None:
    pairs = [judged(1), judged(0)]
    plan = plan_facts(records(pairs, policy=SEED), SEED)
    assert [p.sources[0].id for p in plan.promotions] == [min(o.id for o, _ in pairs)]


FIVE = "aaaa bbbb cccc dddd eeee"


@pytest.mark.parametrize(
    ("known", "repeats"),
    [("aaaa bbbb cccc", False), ("aaaa bbbb cccc dddd", True)],  # 0.6 exactly, 0.8
)
def test_only_more_than_60_percent_alike_repeats_a_fact(known: str, repeats: bool) -> None:
    found = plan_facts(
        records([judged(0, key_insight=FIVE)], facts=[fact(known)], policy=SEED), SEED
    )
    assert list(found.repetitions) == (["known-fact"] if repeats else [])
    assert bool(found.promotions) is not repeats


def test_a_fact_of_another_domain_is_not_repeated() -> None:
    other = Fact(id="known-fact", domain="perps", text=SAID)
    assert plan_facts(records([judged(0)], facts=[other], policy=SEED), SEED).promotions


def test_a_superseded_fact_is_not_repeated() -> None:
    facts = [fact(SAID), fact("Something else entirely now", "newer-fact", supersedes="known-fact")]
    assert plan_facts(records([judged(0)], facts=facts, policy=SEED), SEED).promotions


def test_an_evaluation_with_a_link_is_done() -> None:
    pair = judged(0)
    link = link_of("promoted", Ref("evaluation", pair[1].id), Ref("fact", "known-fact"), NOW)
    found = plan_facts(records([pair], facts=[fact("else")], links=[link], policy=SEED), SEED)
    assert (found.promotions, found.repetitions) == ((), {})


def test_an_untrusted_insight_enters_no_memory_and_supports_none() -> None:
    pair = judged(0, trust="untrusted")
    for facts in ([], [fact(SAID)]):
        found = plan_facts(records([pair], facts=facts, policy=SEED), SEED)
        assert (found.promotions, found.repetitions) == ((), {})


def test_a_trusted_insight_does_not_repeat_an_untrusted_fact() -> None:
    found = plan_facts(
        records([judged(0)], facts=[fact(SAID, trust="untrusted")], policy=SEED), SEED
    )
    assert found.promotions


def _removed(pair: tuple[Outcome, Evaluation]) -> Commit:
    source = f"evaluation:{pair[1].id}"
    return Commit("c0ffee", "promote", "promote: x", "", (source,), ("fact:gone-fact",))


def test_a_fact_that_a_person_took_away_is_not_made_again() -> None:
    pair = judged(0)
    found = plan_facts(records([pair], commits=[_removed(pair)], policy=SEED), SEED)
    assert found.promotions == ()
    assert [r.target for r in found.rejected] == ["fact:gone-fact"]


def test_nor_under_the_name_of_an_insight_that_repeats_it() -> None:
    pair = judged(0)
    found = plan_facts(records([pair, judged(1)], commits=[_removed(pair)], policy=SEED), SEED)
    assert found.promotions == ()


def test_a_support_that_a_person_took_away_is_not_made_again() -> None:
    _, said = pair = judged(0)
    link = link_of("reinforced", Ref("evaluation", said.id), Ref("fact", "known-fact"), NOW)
    made = Commit("c0ffee", "promote", "x", "", (f"evaluation:{said.id}",), (f"link:{link.id}",))
    found = plan_facts(records([pair], facts=[fact(SAID)], commits=[made], policy=SEED), SEED)
    assert (found.promotions, found.repetitions) == ((), {})
    assert [r.target for r in found.rejected] == [f"link:{link.id}"]
