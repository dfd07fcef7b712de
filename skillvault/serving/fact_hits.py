"""The facts that a task finds, with what to do and what they are about.

Facts of other domains are those that are said to hold there too.
"""

from collections.abc import Iterable

from skillvault.learning.recommend.facts import FactHit
from skillvault.model.records import Evaluation, Fact, Ref
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.search.ranking import Hit

_FACTS = ("fact",)
_HITS = 50  # facts that are looked at, of the domain and of all
_ABROAD = frozenset({"cross_domain", "general"})


def fact_hits(head: Topics, task: str, domain: str) -> list[FactHit]:
    """The trusted facts in force that a task finds, of the domain and what holds beyond its own."""
    # Apart, so that the many of other domains take no place from those of this one.
    searches = (head.search(task, _HITS, kinds=_FACTS, domains=(domain,)), _everywhere(head, task))
    shares = {hit.id.partition(":")[2]: hit.share for hits in searches for hit in hits}
    facts = _in_force(head, shares)
    actions = head.facts.actions(facts)
    return [
        FactHit(
            id=fact.id,
            domain=fact.domain,
            text=fact.text,
            share=shares[fact.id],
            blob=_blob(head, fact.id),
            advice=_advice(fact, evaluations),
            actions=frozenset(actions.get(fact.id, ())),
        )
        for fact in facts.values()
        if _holds(domain, fact, evaluations := head.evaluations.supporting(fact.id))
    ]


def _everywhere(head: Topics, task: str) -> list[Hit]:
    return head.search(task, _HITS, kinds=_FACTS)


def holding_abroad(head: Topics, ids: Iterable[str], domain: str) -> set[str]:
    """Those of these facts that are of other domains and hold in this one too."""
    return {
        fact.id
        for fact in _in_force(head, ids).values()
        if fact.domain != domain and _holds(domain, fact, head.evaluations.supporting(fact.id))
    }


def _in_force(head: Topics, ids: Iterable[str]) -> dict[str, Fact]:
    """The trusted ones of these facts that nothing supersedes and less speaks against than for."""
    facts = head.facts.get_many(ids)
    gone = head.facts.superseded(facts)
    against, runs = head.facts.against(facts), head.facts.runs(facts)
    made = head.facts.makers(facts)
    # What a run made rests on those runs that still count.
    support = {name: runs.get(name, 0 if name in made else 1) for name in facts}
    return {
        name: fact
        for name, fact in facts.items()
        if fact.trust == "local" and name not in gone and against.get(name, 0) <= support[name] > 0
    }


def _holds(domain: str, fact: Fact, evaluations: Iterable[Evaluation]) -> bool:
    """Whether a fact is of a domain, or holds in others than its own."""
    return fact.domain == domain or any(e.applicability in _ABROAD for e in evaluations)


def _advice(fact: Fact, evaluations: Iterable[Evaluation]) -> str:
    """What to do: the fact's last line if it has several, else what would have been better."""
    lines = [line for line in fact.text.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines[-1]
    return next((e.better_approach for e in evaluations if e.better_approach), "")


def _blob(head: Topics, name: str) -> str:
    """The version of a fact, git's id of its bytes."""
    return head.files.get(head.records.path_of(Ref("fact", name)) or "") or ""
