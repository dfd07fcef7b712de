"""promote: strong confirmed verdicts become facts, repeats support them; clusters are exact."""

import gzip
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.promote import facts as promote
from skillvault.learning.promote.facts import clusters
from skillvault.learning.rejection import Rejections
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Commit, Evaluation, Fact, Link, Outcome, Ref, Status, link_of
from skillvault.model.text.text import similarity, theme
from tests.given import NOW, evaluation, outcome, raw

SAID = "Raising the timeout hides the race and the test stays flaky afterwards"
POLICY = Policy()


def judged(day: int, *, trust: Any = "local", **changes: Any) -> tuple[Outcome, Evaluation]:
    """A failure and its evaluation."""
    of = outcome(raw(day), trust)
    return of, evaluation(of, **{"key_insight": SAID, **changes})


class Counts(promote.FactCounts):
    """What is counted of facts, from their links."""

    def __init__(self, pairs: Sequence[tuple[Outcome, Evaluation]], links: Sequence[Link]) -> None:
        self._outcomes = {o.id: o for o, _ in pairs}
        self._links = links

    def _supporters(self, facts: Collection[str]) -> list[tuple[str, str]]:
        links = [link for link in self._links if link.type in ("promoted", "reinforced")]
        return [(link.target.id, link.source.id) for link in links if link.target.id in facts]

    def runs(self, facts: Collection[str]) -> Mapping[str, int]:
        return Counter(fact for fact, _ in self._supporters(facts))

    def against(self, facts: Collection[str]) -> Mapping[str, int]:
        links = [link for link in self._links if link.type == "contradicted"]
        return Counter(link.target.id for link in links if link.target.id in facts)

    def endings(self, facts: Collection[str]) -> Mapping[str, Status]:
        made = [link for link in self._links if link.type == "promoted"]
        ends = {link.target.id: self._outcomes.get(link.source.id) for link in made}
        return {fact: of.result.status for fact, of in ends.items() if of and fact in facts}

    def supporters(self, facts: Collection[str]) -> Sequence[str]:
        return sorted({name for _, name in self._supporters(facts)})

    def opponents(self, facts: Collection[str]) -> list[str]:
        links = [link for link in self._links if link.type == "contradicted"]
        return sorted({link.source.id for link in links if link.target.id in facts})

    def is_of_one_subject(self, facts: Collection[str]) -> bool:
        known = (self._outcomes.get(name) for _, name in self._supporters(facts))
        return len({outcome.subject for outcome in known if outcome}) == 1


def material(
    pairs: Sequence[tuple[Outcome, Evaluation]],
    *,
    facts: Sequence[Fact] = (),
    links: Sequence[Link] = (),
    commits: Sequence[Commit] = (),
) -> promote.PromotionMaterial:
    """What the rule reads."""
    present = {f"fact:{fact.id}" for fact in facts} | {f"link:{link.id}" for link in links}
    evaluations = {e.id: e for _, e in pairs}
    sessions = {o.id: o.session for o, _ in pairs}
    rejections = Rejections(commits, present)

    def behind(names: Sequence[str]) -> list[str]:
        told = [link for link in links if link.type in ("promoted", "reinforced")]
        return sorted({link.source.id for link in told if link.target.id in names})

    return promote.PromotionMaterial(
        counts=Counts(pairs, links),
        clock=lambda _: None,
        outcomes={o.id: o for o, _ in pairs},
        evaluations=evaluations,
        facts={fact.id: fact for fact in facts},
        links={link.id: link for link in links},
        made_skills={},
        rejections=rejections,
        taken_away=evaluations.values(),
        support=lambda name: [evaluations[e] for e in behind([name]) if e in evaluations],
        sessions_of=lambda names: {sessions[e] for e in behind(names) if e in sessions},
    )


def fact(text: str, name: str = "known-fact", **changes: Any) -> Fact:
    """A fact in memory."""
    return Fact(id=name, domain="coding", text=text, **changes)


def promoted(pair: tuple[Outcome, Evaluation], policy: Policy = POLICY) -> bool:
    """Whether one evaluation alone becomes a fact."""
    return bool(promote.plan_facts(material([pair]), policy).promotions)


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


def test_under_seed_a_wrong_verdict_is_no_fact() -> None:
    assert not promoted(judged(0, judge_was_right=False), Policy(profile="seed"))


def written(policy: Policy, **changes: Any) -> Fact:
    """The fact that one evaluation becomes."""
    (promotion,) = promote.plan_facts(material([judged(0, **changes)]), policy).promotions
    (made,) = (w for w in promote.promotion_change(promotion, policy).writes if isinstance(w, Fact))
    return made


def test_a_fact_keeps_what_to_do_and_the_time_of_its_outcome() -> None:
    made = written(POLICY, better_approach="Reproduce it under load first.")
    assert made.text == f"{SAID}\nReproduce it under load first."
    assert promote.statement_of(made) == SAID
    assert made.created_at == outcome(raw(0)).occurred_at


def test_under_seed_a_fact_is_the_insight_alone() -> None:
    assert written(Policy(profile="seed"), better_approach="Reproduce it.").text == SAID


def test_what_a_fact_says_to_do_does_not_tell_it_from_what_repeats_it() -> None:
    known = fact(f"{SAID}\nReproduce it under load first, with the trace at hand.", kind="judge")
    plan = promote.plan_facts(material([judged(0)], facts=[known]), POLICY)
    assert [repetition.fact for repetition in plan.repetitions] == ["known-fact"]


def test_an_evaluation_without_insight_is_no_fact() -> None:
    assert not promoted(judged(0, key_insight=None))


def test_the_literal_gate_takes_good_decisions_alone() -> None:
    literal = Policy(promote=PromotePolicy(gate="quality"))
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
    assert promote.plan_facts(material([pair]), POLICY).promotions[0].importance == importance


def test_the_strongest_becomes_the_fact_and_the_others_repeat_it() -> None:
    pairs = [judged(0, quality_score=0.2), judged(1, quality_score=0.1), judged(2)]
    plan = promote.plan_facts(material(pairs), POLICY)
    assert [p.evaluation for p in plan.promotions] == [pairs[1][1]]
    assert [r.fact for r in plan.repetitions] == [plan.promotions[0].fact]
    assert {e.id for e in plan.repetitions[0].evaluations} == {pairs[0][1].id, pairs[2][1].id}


def test_of_equally_strong_ones_the_first_id_becomes_the_fact() -> None:
    pairs = [judged(1), judged(0)]
    plan = promote.plan_facts(material(pairs), POLICY)
    assert [p.evaluation.id for p in plan.promotions] == [min(o.id for o, _ in pairs)]


FIVE = "aaaa bbbb cccc dddd eeee"


@pytest.mark.parametrize(
    ("known", "repeats"),
    [("aaaa bbbb cccc", False), ("aaaa bbbb cccc dddd", True)],  # 0.6 exactly, 0.8
)
def test_only_more_than_60_percent_alike_repeats_a_fact(known: str, repeats: bool) -> None:
    found = promote.plan_facts(material([judged(0, key_insight=FIVE)], facts=[fact(known)]), POLICY)
    assert [r.fact for r in found.repetitions] == (["known-fact"] if repeats else [])
    assert bool(found.promotions) is not repeats


def test_a_fact_of_another_domain_is_not_repeated() -> None:
    other = Fact(id="known-fact", domain="perps", text=SAID)
    assert promote.plan_facts(material([judged(0)], facts=[other]), POLICY).promotions


def test_a_superseded_fact_is_not_repeated() -> None:
    facts = [fact(SAID), fact("Something else entirely now", "newer-fact", supersedes="known-fact")]
    assert promote.plan_facts(material([judged(0)], facts=facts), POLICY).promotions


def test_an_evaluation_with_a_link_is_done() -> None:
    pair = judged(0)
    link = link_of("promoted", Ref("evaluation", pair[1].id), Ref("fact", "known-fact"), NOW)
    found = promote.plan_facts(material([pair], facts=[fact("else")], links=[link]), POLICY)
    assert (found.promotions, found.repetitions) == ((), ())


def test_an_untrusted_insight_enters_no_memory_and_supports_none() -> None:
    pair = judged(0, trust="untrusted")
    for facts in ([], [fact(SAID)]):
        found = promote.plan_facts(material([pair], facts=facts), POLICY)
        assert (found.promotions, found.repetitions) == ((), ())


def test_a_trusted_insight_does_not_repeat_an_untrusted_fact() -> None:
    found = promote.plan_facts(material([judged(0)], facts=[fact(SAID, trust="untrusted")]), POLICY)
    assert found.promotions


def _removed(pair: tuple[Outcome, Evaluation]) -> Commit:
    source = f"evaluation:{pair[1].id}"
    return Commit("c0ffee", "promote", "promote: x", "", (source,), ("fact:gone-fact",))


def test_a_fact_that_a_person_took_away_is_not_made_again() -> None:
    pair = judged(0)
    found = promote.plan_facts(material([pair], commits=[_removed(pair)]), POLICY)
    assert found.promotions == ()
    assert [r.target for r in found.rejected] == ["fact:gone-fact"]


def test_nor_under_the_name_of_an_insight_that_repeats_it() -> None:
    pair = judged(0)
    found = promote.plan_facts(material([pair, judged(1)], commits=[_removed(pair)]), POLICY)
    assert found.promotions == ()


def test_a_support_that_a_person_took_away_is_not_made_again() -> None:
    _, said = pair = judged(0)
    link = link_of("reinforced", Ref("evaluation", said.id), Ref("fact", "known-fact"), NOW)
    made = Commit("c0ffee", "promote", "x", "", (f"evaluation:{said.id}",), (f"link:{link.id}",))
    found = promote.plan_facts(material([pair], facts=[fact(SAID)], commits=[made]), POLICY)
    assert (found.promotions, found.repetitions) == ((), ())
    assert [r.target for r in found.rejected] == [f"link:{link.id}"]


def test_a_fact_by_hand_says_something() -> None:
    with pytest.raises(UsageError, match="too little"):
        promote.by_hand(" x ", "coding", importance="low", supersedes=None, review_by=None, now=NOW)


# ── clusters ─────────────────────────────────────────────────────────────────────────


def _scan(facts: Sequence[str], threshold: float, min_size: int) -> list[list[int]]:
    """The rule as it is written."""
    used: set[int] = set()
    found = []
    for seed in range(len(facts)):
        if seed in used:
            continue
        later = (i for i in range(seed + 1, len(facts)) if i not in used)
        cluster = [seed, *(i for i in later if similarity(facts[seed], facts[i]) > threshold)]
        used.update(cluster)
        if len(cluster) >= min_size:
            found.append(cluster)
    return found


@given(
    st.lists(
        st.lists(st.sampled_from("aaaa bbbb cccc dddd eeee".split()), max_size=5).map(" ".join),
        max_size=14,
    ),
    st.sampled_from([0.2, 0.4, 0.5, 0.75]),
    st.integers(min_value=1, max_value=4),
)
def test_clusters_equal_the_greedy_scan(facts: list[str], threshold: float, size: int) -> None:
    assert clusters(facts, threshold, size) == _scan(facts, threshold, size)


def _vectors(shared: Path) -> list[dict[str, Any]]:
    found = json.loads((shared / "vectors/clusters_small.json").read_text())["vectors"]
    for path in sorted((shared / "vectors").glob("clusters_*.json.gz")):
        with gzip.open(path) as file:
            found += json.load(file)["vectors"]
    return list(found)


def test_clusters_and_themes_equal_the_vectors(shared: Path) -> None:
    for vector in _vectors(shared):
        found = clusters(*vector["args"])
        assert found == vector["expect"], vector["id"]
        for places, expected in zip(found, vector.get("themes", ()), strict=False):
            assert theme([vector["args"][0][i] for i in places]) == expected
