"""Find the facts that may say the same as a statement, or state another value of it.

`learning/promote/versions.py` compares the statements.
"""

from skillvault.learning.promote.versions import FactVersions, find_versions
from skillvault.model.records import Fact
from skillvault.vault.index.snapshot import Topics

_MAX_COMPARED = 50  # facts that are compared with a statement


def similar_facts(
    head: Topics, text: str, domain: str | None, scope: str | None = None
) -> list[Fact]:
    """Return the current facts that share the most informative words with a text.

    Only facts of the same `scope` count: a rule of one repository says nothing of others.
    """
    domains = None if domain is None else (domain,)
    hits = head.search(text, _MAX_COMPARED, kinds=("fact",), domains=domains)
    facts = head.facts.get_many(hit.id.partition(":")[2] for hit in hits)
    superseded_ids = head.facts.superseded_ids(facts)
    return [f for name, f in facts.items() if name not in superseded_ids and f.scope == scope]


def find_similar_versions(
    head: Topics, text: str, domain: str, *, scope: str | None = None, keep_both: bool = False
) -> FactVersions:
    """Return the facts that a statement repeats or is a newer version of."""
    facts = similar_facts(head, text, domain, scope)
    names = [fact.id for fact in facts]
    runs, opponents = head.facts.supporter_counts(names), head.facts.opponent_counts(names)
    support = {name: runs.get(name, 0) - opponents.get(name, 0) for name in names}
    return find_versions(text, facts, support, keeps_both=keep_both)


def read_family(head: Topics, fact: Fact) -> list[Fact]:
    """Return a fact with its older versions, the newest first."""
    family = {fact.id: fact}
    older_fact = head.facts.get(fact.supersedes or "")
    while older_fact and older_fact.id not in family:
        family[older_fact.id] = older_fact
        older_fact = head.facts.get(older_fact.supersedes or "")
    return list(family.values())
