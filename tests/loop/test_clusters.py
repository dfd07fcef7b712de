"""Facts in their clusters, as they are kept: what changed is followed, and it is as if all were."""

import random
from datetime import timedelta

import pytest

from skillvault.learning.promote.facts import clusters
from skillvault.loop.promote import keep_clusters
from skillvault.model.due import Agenda
from skillvault.model.records import Fact
from skillvault.vault.files import layout
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.facts import Membership
from skillvault.vault.index.snapshot import Staged
from tests.given import NOW
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


@pytest.mark.parametrize("seed", range(20))
def test_clusters_are_what_all_facts_come_to_whatever_changes(seed: int) -> None:
    chance = random.Random(seed)
    view = Staged(IndexDatabase(None, lambda: None, Agenda()), lambda _: {})
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
