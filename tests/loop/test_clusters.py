"""Clusters of facts as they are kept: following what changed gives the same as following all."""

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest

from skillvault.api import Vault
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.facts import clusters
from skillvault.loop.general import records_of_facts
from skillvault.loop.managed_skills import derived_skills, may_archive
from skillvault.loop.promote import keep_clusters
from skillvault.loop.registry import CONSOLIDATE, RECOUNT
from skillvault.loop.run import Run
from skillvault.model.due import Agenda
from skillvault.model.records import Fact, Ref, link_of
from skillvault.vault.files import layout
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.facts import Membership
from skillvault.vault.index.snapshot import Staging
from tests.given import NOW, as_file, raw
from tests.streams import Raw, batches
from tests.thorough import one_of
from tests.vault.given import record_files

WORDS = [f"word{number}" for number in range(12)]
ABOVE = 0.4


def drawn(chance: random.Random, number: int) -> Fact:
    text = " ".join(chance.sample(WORDS, chance.randrange(0, 7)) or ["no"])
    at = NOW + timedelta(days=chance.randrange(20))
    return Fact(id=f"fact-{number}", domain="perps", text=text, created_at=at)


def placed(fact: Fact, pool: str) -> Membership:
    return Membership(fact.id, fact.domain, pool, f"{fact.created_at} {fact.id}", fact.text)


def seeds_of(facts: dict[str, Fact], pools: dict[str, str]) -> dict[str, str]:
    """Fact -> its seed, of all facts at once."""
    seeds: dict[str, str] = {}
    for pool in set(pools.values()):
        members = sorted(
            (facts[f] for f, its in pools.items() if its == pool), key=lambda f: f.order
        )
        for places in clusters([fact.text for fact in members], ABOVE, 1):
            seeds |= {members[place].id: members[places[0]].id for place in places}
    return seeds


@pytest.mark.parametrize("seed", one_of(4, range(20)))
def test_clusters_are_what_all_facts_come_to_whatever_changes(seed: int) -> None:
    chance = random.Random(seed)
    view = Staging(IndexDatabase(None, lambda: None, Agenda()), lambda _: {})
    facts: dict[str, Fact] = {}
    pools: dict[str, str] = {}
    for _ in range(30):
        changing = [drawn(chance, chance.randrange(40)) for _ in range(chance.choice((1, 1, 2, 8)))]
        due = {fact.id for fact in changing}
        facts |= {fact.id: fact for fact in changing}
        pools |= {name: chance.choice(("local pattern", "local warning")) for name in due}
        gone = {name for name in due if chance.random() < 0.2}
        for name in gone:
            view.stage({layout.path_of(facts[name]): None})
            del facts[name], pools[name]
        view.stage(record_files(*(facts[name] for name in sorted(due - gone))))
        contested = {name for name in due - gone if chance.random() < 0.2}
        for name in contested:
            del pools[name]
        new = {name: placed(facts[name], pools[name]) for name in due & pools.keys()}
        before = view.clusters.of_facts(pools)
        changed = keep_clusters(view, view.clusters.of_facts(due), new, ABOVE)
        kept = view.clusters.of_facts(facts)
        assert {name: row.seed for name, row in kept.items()} == seeds_of(facts, pools)
        moved = {n for n, row in kept.items() if n in before and row.seed != before[n].seed}
        assert moved <= {row.fact for row in changed} | due
        held = view.rows("select distinct seed from seed_word")
        speaking = {row.seed for row in kept.values() if row.seed and facts[row.seed].text != "no"}
        assert {name for (name,) in held} == speaking


def said(number: int, figure: int, *, won: bool) -> Raw:
    """A run that says of a figure nearly what others say of others."""
    return raw(
        number % 27,
        event_id=f"run-{number}",
        source__session=f"s{number % 7}",
        decision__target=f"service-{number % 5}",
        decision__reasoning=f"The pool of shard {figure} ran out, so raise its limit first.",
        result={"status": "success" if won else "failure"},
    )


def topic(count: int, figures: int, seed: int) -> Iterator[Raw]:
    """Runs on one topic, of so many figures in turn."""
    chance = random.Random(seed)
    for number in range(count):
        figure = number % figures
        yield said(number, figure, won=chance.random() < (0.85 if figure % 3 else 0.3))


def record(vault: Vault, number: int, part: Sequence[Raw]) -> None:
    files = [(f"{number}-{i}.json", as_file({**one})) for i, one in enumerate(part)]
    vault.record(files, now=NOW)


def left_of_all(run: Run) -> Iterator[object]:
    """Yield all that there is to do in whole domains, whatever changed."""
    for domain in run.snapshot.facts.domains_with_facts():
        found = records_of_facts(run, run.snapshot.facts.by_domain([domain]))
        skills = derived_skills(run, set(found.skills_of.values()))
        plan = recurrence.plan_patterns(found, skills, run.policy)
        warnings = (pattern for pattern in plan.due if pattern.kind == "warning")
        told = [w for w in warnings if run.snapshot.facts.is_of_one_action([f.id for f in w.facts])]
        yield from (pattern for pattern in plan.due if pattern not in told)
        yield from (skill for skill in plan.leaving if may_archive(run, skill))


@pytest.mark.parametrize("way", one_of(3, ["random batches", "one at a time", "random order"]))
def test_nothing_is_left_to_do_of_all_facts_when_what_changed_is_done(
    vault: Vault, way: str
) -> None:
    stream = list(topic(36, 6, seed=len(way)))
    for number, part in enumerate(batches(stream, way, seed=2)):
        record(vault, number, part)
        vault.run(now=NOW)
        vault.run(now=NOW)
        run = Run(vault.store, judge=vault.judge, now=NOW)
        assert [*run.snapshot.due.keys(CONSOLIDATE), *run.snapshot.due.keys(RECOUNT)] == []
        assert list(left_of_all(run)) == []
    assert any(name.startswith("pattern") for name in vault.store.snapshot().skills)


def trace(database: Connection, queries: list[str]) -> None:
    database.set_trace_callback(queries.append)


def queries_for_one_more(vault: Vault, figures: int) -> int:
    """Return the fewest queries by which `promote` links one more run, among many facts alike."""
    known = list(topic(figures * 4, figures, seed=1))
    known += [said(number, 1, won=True) for number in range(len(known), len(known) + 40)]
    record(vault, 0, known)
    for _ in range(3):
        vault.run(now=NOW)
    counts: list[int] = []
    for number in range(len(known), len(known) + 6):
        record(vault, number, [said(number, 1, won=True)])
        vault.run(["evaluate"], now=NOW)
        queries: list[str] = []
        vault.store.index.run(partial(trace, queries=queries))
        done = vault.run(["promote"], now=NOW).done
        counts += [len(queries)] * bool(done)
    assert len(vault.store.snapshot().facts) > figures / 2
    return min(counts)


def test_a_run_more_costs_as_many_queries_with_many_facts_alike(tmp_path: Path) -> None:
    """At a point, and when a fact comes or goes, more are due: a skill is written of all facts."""
    vaults = [Vault.init(tmp_path / name, ["coding"], now=NOW)[0] for name in ("few", "many")]
    few, many = (queries_for_one_more(v, n) for v, n in zip(vaults, (12, 96), strict=True))
    assert abs(many - few) <= few / 10, (few, many)


def test_a_link_that_stays_in_a_list_is_no_new_one() -> None:
    view = Staging(IndexDatabase(None, lambda: None, Agenda()), lambda _: {})
    ends = [
        Ref("evaluation", "20261101t100000z-0123456789"),
        *(Ref("fact", name) for name in "abc"),
    ]
    made = [link_of("reinforced", ends[0], fact, NOW) for fact in ends[1:]]
    view.stage(record_files(*made[:2]))
    before: dict[str, int] = dict(view.rows("select id, n from link"))
    view.stage(record_files(*made[1:]))
    after: dict[str, int] = dict(view.rows("select id, n from link"))
    assert after.keys() == {link.id for link in made[1:]}
    assert after[made[1].id] == before[made[1].id]
    assert after[made[2].id] > max(before.values())
