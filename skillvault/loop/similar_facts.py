"""Search the facts that repeat a statement or state another value for it.

The search is by words; `learning/promote/versions.py` compares the statements.
"""

from skillvault.learning.promote.versions import FactVersions, find_versions
from skillvault.model.records import Fact
from skillvault.vault.index.snapshot import Snapshot

_MAX_COMPARED = 50  # facts to compare with a statement


def similar_facts(
    snapshot: Snapshot, text: str, domain: str | None, scope: str | None = None
) -> list[Fact]:
    """Return the current facts that share the most informative words with a text.

    Only facts of the same `scope` count, because a rule of one repository does not hold in others.
    """
    domains = None if domain is None else (domain,)
    hits = snapshot.search(text, _MAX_COMPARED, kinds=("fact",), domains=domains)
    facts = snapshot.facts.get_many(hit.id.partition(":")[2] for hit in hits)
    superseded_ids = snapshot.facts.superseded_ids(facts)
    return [f for fact_id, f in facts.items() if fact_id not in superseded_ids and f.scope == scope]


def find_similar_versions(
    snapshot: Snapshot, text: str, domain: str, *, scope: str | None = None, keep_both: bool = False
) -> FactVersions:
    """Return the facts that a statement repeats or is a newer version of."""
    facts = similar_facts(snapshot, text, domain, scope)
    ids = [fact.id for fact in facts]
    runs, opponents = snapshot.facts.supporter_counts(ids), snapshot.facts.opponent_counts(ids)
    support = {fact_id: runs.get(fact_id, 0) - opponents.get(fact_id, 0) for fact_id in ids}
    return find_versions(text, facts, support, keeps_both=keep_both)


def read_family(snapshot: Snapshot, fact: Fact) -> list[Fact]:
    """Return a fact with its older versions, the newest first."""
    family = {fact.id: fact}
    older_fact = snapshot.facts.get(fact.supersedes or "")
    while older_fact and older_fact.id not in family:
        family[older_fact.id] = older_fact
        older_fact = snapshot.facts.get(older_fact.supersedes or "")
    return list(family.values())
