"""merge: which skills become one, which grow, which a person keeps apart."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.merge import groups as merge
from skillvault.learning.rejection import Rejections
from skillvault.policy import MergePolicy, Policy
from skillvault.records import Commit, Link, Outcome, Ref, Skill, Subject, link_of
from tests.given import NOW, outcome, trade

POLICY = Policy()
LESSON = "- The canary stage was left out.\n- Errors rose on every server within minutes.\n"
OTHER = "- Backups were never restored.\n- The archive turned out to be empty afterwards.\n"


def skill(name: str, body: str = LESSON, **changes: Any) -> Skill:
    """A skill that could merge."""
    fields = {"kind": "warning", "domain": "ops", "origin": "generated", "created": "2026-11-01"}
    return Skill(name, f"About {name}.", f"## A\n\n{body}", **{**fields, **changes})


def linked(source: str, target: str, kind: str = "skill", link: Any = "merged") -> Link:
    """A link between two records."""
    return link_of(link, Ref(kind, source), Ref("skill", target), NOW)  # type: ignore[arg-type]


class Origins:
    """Where skills come from: all of the same outcomes, some from memory."""

    def __init__(
        self, derived: Collection[str], outcomes: tuple[Outcome, ...], created: Mapping[str, str]
    ) -> None:
        self._derived, self._outcomes, self._created = derived, outcomes, created

    def from_memory(self, name: str) -> bool:
        return name in self._derived

    def outcomes_behind(self, names: Iterable[str]) -> dict[str, tuple[Outcome, ...]]:
        return dict.fromkeys(names, self._outcomes)

    def subjects_behind(self, names: Iterable[str]) -> dict[str, list[Subject]]:
        return {name: [outcome.subject for outcome in self._outcomes] for name in names}

    def created(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self._created[name] for name in names if name in self._created}


def material(
    skills: Iterable[Skill],
    archived: Iterable[Skill] = (),
    links: Iterable[Link] = (),
    commits: Iterable[Commit] = (),
) -> merge.MergeMaterial:
    """A vault with these skills."""
    live, old = {s.name: s for s in skills}, {s.name: s for s in archived}
    there = {f"skill:{name}" for name in (*live, *old)} | {f"link:{link.id}" for link in links}
    into = {link.source.id: link.target.id for link in links if link.type == "merged"}
    for commit in commits:
        made = [t.partition(":")[2] for t in commit.targets if t in there and t.startswith("skill")]
        into |= {s.partition(":")[2]: name for name in made for s in commit.sources}
    derived = {link.target.id for link in links if link.type == "derived"}
    return merge.MergeMaterial(
        skills=live,
        all_skills=old | live,
        merged=into,
        sources={e: sorted(s for s in into if into[s] == e) for e in into.values()},
        origins=Origins(derived, (), {n: one.created or "" for n, one in (old | live).items()}),
        rejections=Rejections(commits, there),
    )


def due(found: merge.MergeMaterial, policy: Policy = POLICY) -> list[tuple[str | None, list[str]]]:
    """(the evolved skill that grows, what is fresh) of each merge."""
    return [(m.evolved, sorted(m.fresh)) for m in merge.plan_merges(found, policy).due]


THREE = [skill(name) for name in "abc"]
GROWN = [linked(name, "e") for name in "abc"]
EVOLVED = skill("e", "- Whatever a judge has made of it.\n", kind="evolved")


def test_three_that_say_the_same_merge() -> None:
    assert due(material(THREE)) == [(None, ["a", "b", "c"])]


def test_all_that_say_the_same_merge_at_once() -> None:
    assert due(material([*THREE, skill("d"), skill("x", OTHER)])) == [(None, list("abcd"))]


def test_two_do_not() -> None:
    assert due(material(THREE[:2])) == []
    assert due(material(THREE[:2]), Policy(merge=MergePolicy(min_similar=1))) == [
        (None, ["a", "b"])
    ]


def test_more_alike_than_the_threshold_not_as_much() -> None:
    half = [skill(n, f"- The canary stage left {w}.\n") for n, w in zip("abc", "xyz", strict=True)]
    assert due(material(half), Policy(merge=MergePolicy(similarity=1.0))) == []
    assert len(due(material(half), Policy(merge=MergePolicy(similarity=0.9)))) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": "pinned"},
        {"origin": "manual"},
        {"origin": "installed"},
        {"origin": "distilled"},
        {"trust": "untrusted"},
        {"status": "retired"},
        {"kind": "strategy"},
        {"kind": "guide"},
        {"kind": "pattern"},
        {"domain": "coding"},
        {"domain": None},
    ],
)
def test_only_what_is_the_programs_and_of_one_kind_merges(change: dict[str, Any]) -> None:
    assert due(material([*THREE[:2], skill("c", **change)])) == []


def test_a_proven_skill_merges() -> None:
    assert len(due(material([*THREE[:2], skill("c", status="proven")]))) == 1


def test_what_memory_made_merges_with_its_like_alone() -> None:
    patterns = [skill(name, kind="pattern") for name in "abc"]
    links = [linked(f"f{name}", name, "fact", "derived") for name in "abc"]
    assert due(material(patterns, links=links)) == [(None, ["a", "b", "c"])]
    assert due(material(patterns, links=links[:1])) == []


# ── growing ──────────────────────────────────────────────────────────────────────────


def test_one_that_is_like_its_sources_is_taken_up() -> None:
    found = material([EVOLVED, skill("d")], THREE, GROWN)
    (only,) = merge.plan_merges(found, POLICY).due
    assert (only.evolved, only.fresh, only.earlier) == ("e", ("d",), ("a", "b", "c"))
    assert [s.name for s in merge.merge_brief(only, found, POLICY.merge).skills] == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_one_that_is_not_stays_alone() -> None:
    assert due(material([EVOLVED, skill("d", OTHER)], THREE, GROWN)) == []


def test_it_takes_up_only_its_own_side() -> None:
    assert due(material([EVOLVED, skill("d", kind="pattern")], THREE, GROWN)) == []


def test_one_without_sources_speaks_for_itself() -> None:
    alone = skill("e", kind="evolved")
    found = material([alone, skill("d")])
    (only,) = merge.plan_merges(found, POLICY).due
    assert (only.evolved, only.fresh) == ("e", ("d",))
    assert [s.name for s in merge.merge_brief(only, found, POLICY.merge).skills] == ["d", "e"]


def test_one_whose_side_is_not_known_grows_on_one_side_at_a_time() -> None:
    alone = skill("e", kind="evolved")
    assert due(material([alone, skill("d"), skill("p", kind="pattern")])) == [("e", ["p"])]


def test_where_a_source_is_gone_the_evolved_skill_speaks_for_it() -> None:
    found = material([EVOLVED, skill("d")], THREE[:2], GROWN)
    (only,) = merge.plan_merges(found, POLICY).due
    assert (only.earlier, only.missing) == (("a", "b"), ("c",))
    assert "e" in [s.name for s in merge.merge_brief(only, found, POLICY.merge).skills]


@pytest.mark.parametrize("change", [{"status": "pinned"}, {"origin": "manual"}])
def test_one_that_a_person_holds_does_not_grow(change: dict[str, Any]) -> None:
    held = skill("e", kind="evolved", **change)
    assert due(material([held, skill("d")], THREE, GROWN)) == []


def test_a_source_that_was_brought_back_stays_out() -> None:
    assert due(material([EVOLVED, THREE[0]], THREE[1:], GROWN)) == []


def test_the_first_of_two_that_it_belongs_to_takes_it() -> None:
    second = skill("f", "- Another.\n", kind="evolved", created="2026-11-02")
    links = [*GROWN, linked("g", "f"), linked("h", "f")]
    archived = [*THREE, skill("g"), skill("h")]
    assert due(material([EVOLVED, second, skill("x")], archived, links)) == [("e", ["x"])]


# ── what a person took away ──────────────────────────────────────────────────────────


def commit(sources: str, *targets: str, sha: str = "c1") -> Commit:
    """A commit of merge."""
    return Commit(sha, "merge", "", "", tuple(f"skill:{s}" for s in sources), targets)


def test_a_rejected_merge_stands_for_any_set_that_shares_two_of_its_sources() -> None:
    gone = [commit("abc", "skill:e")]
    plan = merge.plan_merges(material([*THREE, skill("d")], commits=gone), POLICY)
    assert plan.due == ()
    assert [(r.target, r.commit) for r in plan.rejected] == [("skill:e", "c1")]
    others = [skill("c"), skill("x"), skill("y")]
    assert due(material(others, commits=gone)) == [(None, ["c", "x", "y"])]


def test_what_an_evolved_skill_took_in_later_is_rejected_with_it() -> None:
    gone = [commit("d", "skill:e", "link:l", sha="c2"), commit("abc", "skill:e")]
    assert due(material([skill("a"), skill("d"), skill("x")], commits=gone)) == []


def test_a_growth_that_was_taken_away_is_not_redone() -> None:
    link = linked("d", "e")
    gone = [commit("d", "skill:e", f"link:{link.id}", sha="c2"), commit("abc", "skill:e")]
    plan = merge.plan_merges(material([EVOLVED, skill("d")], THREE, GROWN, gone), POLICY)
    assert plan.due == ()
    assert [r.target for r in plan.rejected] == [f"link:{link.id}"]


def test_links_that_were_removed_by_hand_are_known_from_the_commit() -> None:
    made = [commit("abc", "skill:e")]
    found = material([EVOLVED, skill("d")], THREE, commits=made)
    assert [m.earlier for m in merge.plan_merges(found, POLICY).due] == [("a", "b", "c")]


# ── what holds for all ───────────────────────────────────────────────────────────────


POOL = [skill(n, created=f"2026-11-0{1 + i % 3}") for i, n in enumerate("abcd")]
POOL += [skill(n, OTHER) for n in "xyz"] + [EVOLVED, skill("p", kind="pattern")]


@given(st.permutations(POOL))
def test_the_order_of_the_vault_changes_nothing(order: list[Skill]) -> None:
    archived = [skill("s"), skill("t", OTHER)]
    links = [linked("s", "e"), linked("t", "e")]
    plans = [merge.plan_merges(material(each, archived, links), POLICY) for each in (order, POOL)]
    assert plans[0] == plans[1]


def about(*outcomes: Outcome) -> frozenset[str]:
    """What a skill is about that rests on these."""
    found = merge.MergeMaterial(
        skills={},
        all_skills={},
        merged={},
        sources={},
        origins=Origins((), outcomes, {}),
        rejections=Rejections([], ()),
    )
    return found.about(["a"])["a"]


def test_a_skill_is_about_what_its_outcomes_are_about() -> None:
    both = outcome(trade(0)), outcome(trade(1, decision__target="ETH-PERP"))
    assert about(*both) == {"perps", "open-long", "sol-perp", "eth-perp"}


def test_a_target_in_another_script_hides_no_other_word() -> None:
    assert about(outcome(trade(0, decision__target="比特币"))) == {"perps", "open-long"}
