"""Facts that recur make one pattern skill, which grows; sessions and trust decide its place."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.skills import Pattern
from skillvault.learning.sections import Version, WrittenTexts
from skillvault.loop.profiles import rules_of
from skillvault.model.brief import Draft
from skillvault.model.policy import Policy
from skillvault.model.records import Commit, Evaluation, Fact, Link, Outcome, Ref, Skill, link_of
from tests.given import NOW, evaluation, outcome, raw
from tests.learning.promote.test_facts import records

POLICY = Policy(profile="seed")
RULES = rules_of(POLICY)
DRAFT = Draft("retry-upload", "Generated from 3 related memory facts: retry.", (("One", "- a"),))
LIKE = "retry the upload only after {} because the server counts attempts"
SKILL = "pattern-coding-retry"


def fact(number: int, text: str = LIKE, **changes: Any) -> Fact:
    """One of several facts that say nearly the same."""
    return Fact(id=f"fact-{number}", domain="coding", text=text.format(f"pause{number}"), **changes)


def supported(
    facts: Sequence[Fact], sessions: Sequence[str], status: str = "failure"
) -> tuple[list[tuple[Outcome, Evaluation]], list[Link]]:
    """One evaluation a session for the facts in turn, with its link."""
    pairs, links = [], []
    for number, session in enumerate(sessions):
        of = outcome(raw(number, source__session=session, result={"status": status}))
        source, target = Ref("evaluation", of.id), Ref("fact", facts[number % len(facts)].id)
        pairs.append((of, evaluation(of)))
        links.append(link_of("promoted", source, target, NOW))
    return pairs, links


def due(
    facts: Sequence[Fact],
    sessions: Sequence[str] = ("s1", "s2", "s3"),
    *,
    skills: Sequence[Skill] = (),
    derived: Sequence[Fact] = (),
    commits: Sequence[Commit] = (),
    policy: Policy = POLICY,
    status: str = "failure",
) -> tuple[Pattern, ...]:
    """Return the patterns that are due from these facts."""
    pairs, links = supported(facts, sessions, status)
    links += [link_of("derived", Ref("fact", one.id), Ref("skill", SKILL), NOW) for one in derived]
    found = records(pairs, facts=facts, links=links, commits=commits, policy=policy)
    return recurrence.plan_patterns(found, {one.name: one for one in skills}, policy).due


def test_three_like_facts_are_a_pattern() -> None:
    facts = [fact(1), fact(2), fact(3)]
    assert [[f.id for f in p.facts] for p in due(facts)] == [["fact-1", "fact-2", "fact-3"]]
    assert due(facts[:2]) == ()


def test_two_sessions_make_it_independent_and_one_does_not() -> None:
    facts = [fact(1), fact(2), fact(3)]
    assert [p.is_independent for p in due(facts, ["s1", "s1", "s2"])] == [True]
    assert [p.is_independent for p in due(facts, ["s1", "s1", "s1"])] == [False]


def test_one_fact_of_three_sessions_is_a_pattern_by_itself() -> None:
    of_three, of_two = (
        due([fact(1)], sessions, policy=Policy(), status="success")
        for sessions in (["s1", "s2", "s3"], ["s1", "s2", "s2"])
    )
    assert [[f.id for f in pattern.facts] for pattern in of_three] == [["fact-1"]]
    assert of_two == ()


def test_facts_of_another_trust_or_domain_do_not_join() -> None:
    assert due([fact(1), fact(2), fact(3, trust="untrusted")]) == ()
    assert due([fact(1), fact(2), msgspec.structs.replace(fact(3), domain="perps")]) == ()


def test_a_superseded_fact_leaves_the_cluster() -> None:
    newer = fact(4, "something entirely different about caches", supersedes="fact-3")
    assert due([fact(1), fact(2), fact(3), newer]) == ()


def test_a_cluster_that_has_a_skill_makes_no_second_one() -> None:
    facts = [fact(1), fact(2), fact(3)]
    assert due(facts, derived=facts, skills=[Skill(SKILL)]) == ()
    assert due(facts, derived=facts) == ()  # archived: it stands for them all the same


def test_a_cluster_that_has_grown_gives_its_skill_the_new_facts() -> None:
    facts = [fact(1), fact(2), fact(3), fact(4)]
    (pattern,) = due(facts, derived=facts[:3], skills=[Skill(SKILL)])
    assert pattern.skill == SKILL
    assert [one.id for one in pattern.new_facts] == ["fact-4"]


def test_a_skill_that_a_person_took_away_is_not_made_again() -> None:
    facts = [fact(1), fact(2), fact(3)]
    made = Commit("c0ffee", "promote", "x", "", ("fact:fact-2",), ("skill:gone",))
    assert due(facts, commits=[made]) == ()


def test_a_growth_that_a_person_took_away_is_not_made_again() -> None:
    facts = [fact(1), fact(2), fact(3), fact(4)]
    link = link_of("derived", Ref("fact", "fact-4"), Ref("skill", SKILL), NOW)
    made = Commit("c0ffee", "promote", "x", "", ("fact:fact-4",), (f"link:{link.id}",))
    assert due(facts, derived=facts[:3], skills=[Skill(SKILL)], commits=[made]) == ()


def test_a_skill_that_waited_for_a_second_session_is_let_in() -> None:
    facts = [fact(1), fact(2), fact(3)]
    held = Skill(SKILL, status="proposed", origin="generated", body="# Pattern: x", trust="local")
    (pattern,) = due(facts, derived=facts, skills=[held])
    change = recurrence.growth_change(
        pattern, DRAFT, held, WrittenTexts(), folder="proposed", now=NOW, policy=POLICY
    )
    assert [(m.source, m.target) for m in change.moves] == [
        (f"proposed/{SKILL}", f"skills/{SKILL}")
    ]
    assert [(e.key, e.value) for e in change.edits] == [(("metadata", "status"), "testing")]
    untrusted = msgspec.structs.replace(held, trust="untrusted")
    assert due(facts, derived=facts, skills=[untrusted]) == ()


def _made(pattern: Pattern) -> Skill:
    change = recurrence.skill_change(pattern, DRAFT, is_taken=lambda _: False, now=NOW, rules=RULES)
    return next(record for record in change.writes if isinstance(record, Skill))


def test_a_pattern_of_one_session_waits_in_proposed() -> None:
    facts = (fact(1), fact(2), fact(3))
    assert _made(Pattern(facts=facts, new_facts=facts, is_independent=False)).status == "proposed"
    assert _made(Pattern(facts=facts, new_facts=facts, is_independent=True)).status == "testing"


def test_a_pattern_of_untrusted_facts_waits_in_proposed() -> None:
    facts = tuple(fact(n, trust="untrusted") for n in (1, 2, 3))
    made = _made(Pattern(facts=facts, new_facts=facts, is_independent=True))
    assert (made.status, made.trust) == ("proposed", "untrusted")


def test_the_skill_is_named_after_its_theme_and_linked_to_each_fact() -> None:
    facts = (fact(1), fact(2), fact(3))
    change = recurrence.skill_change(
        Pattern(facts=facts, new_facts=facts, is_independent=True),
        DRAFT,
        is_taken=lambda _: False,
        now=NOW,
        rules=RULES,
    )
    assert change.subject == "pattern-coding-retry-upload"
    assert [link.type for link in change.writes if isinstance(link, Link)] == ["derived"] * 3


def test_how_the_runs_ended_is_no_theme() -> None:
    facts = [fact(number, "deploy on web-{} succeeded with the canary") for number in (1, 2, 3)]
    pairs, links = supported(facts, ["s1", "s2", "s3"])
    found = records(pairs, facts=facts, links=links, policy=POLICY)
    (pattern,) = recurrence.plan_patterns(found, {}, POLICY).due
    assert recurrence.pattern_brief(pattern, found).theme == "deploy-canary"


def test_a_person_keeps_the_description_and_the_sections_they_wrote() -> None:
    facts = (fact(1), fact(2), fact(3))
    pattern = Pattern(facts=facts, new_facts=facts[2:], is_independent=True, skill=SKILL)
    wrote = WrittenTexts(
        bodies=[Version(None, "# Pattern: x\n\n## One\n\n- old")],
        descriptions=[Version(None, "theirs")],
    )
    edited = Skill(SKILL, "mine", "# Pattern: x\n\n## One\n\n- mine")
    change = recurrence.growth_change(
        pattern, DRAFT, edited, wrote, folder="skills", now=NOW, policy=POLICY
    )
    assert change.edits == ()
    assert [r.body.partition("## ")[2] for r in change.rewrites] == ["One\n\n- mine"]


@settings(max_examples=25)
@given(st.permutations([*range(1, 8)]))
def test_the_order_of_arrival_changes_nothing(order: list[int]) -> None:
    """Facts 1 to 4 are alike, 5 and 6 are alike, 7 is alone."""
    other = "write the idempotency key before {} as the first call may be lost"
    texts = {5: other, 6: other, 7: "ask the owner of the queue about {}"}
    start = datetime(2026, 11, 1, tzinfo=UTC)
    facts = [fact(n, texts.get(n, LIKE), created_at=start + timedelta(days=n)) for n in range(1, 8)]
    shuffled = [facts[n - 1] for n in order]
    sessions = [f"s{n}" for n in range(7)]
    found = [[one.id for one in pattern.facts] for pattern in due(shuffled, sessions)]
    assert found == [["fact-1", "fact-2", "fact-3", "fact-4"]]
