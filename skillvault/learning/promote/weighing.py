"""promote, the first arrow: the changes that make facts, and that link runs with them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from skillvault.learning.promote.facts import STEP, fact_text
from skillvault.learning.rejection import Rejection
from skillvault.model.change import Change, Edit, Rewrite
from skillvault.model.records import (
    Evaluation,
    Fact,
    Importance,
    Link,
    LinkType,
    Outcome,
    Ref,
    link_of,
    stamp,
)
from skillvault.model.text.text import join_items, slug

_LISTED = 20  # facts that a message names
_TOGETHER = 50  # facts of one commit
_AT_ONCE = 250  # links of one commit

Stance = Literal["for", "against"]
_LINKS: Mapping[Stance, LinkType] = {"for": "reinforced", "against": "contradicted"}


class NewFact(Struct, frozen=True, kw_only=True):
    """An insight that becomes a fact: the evaluation that says it, its outcome, and why."""

    evaluation: Evaluation
    outcome: Outcome
    fact: str
    importance: Importance
    why: str


class Retelling(Struct, frozen=True, kw_only=True):
    """A fact that an earlier run says already, or a surer one: its text, time and importance."""

    fact: Fact
    evaluation: Evaluation
    outcome: Outcome
    importance: Importance
    is_earlier: bool


class SupportPlan(Struct, frozen=True):
    """The first arrow's work: facts, what more speaks for and against facts, what is retold."""

    facts: Sequence[NewFact]
    links: Sequence[Link]
    retellings: Sequence[Retelling]
    rejected: Sequence[Rejection]


def fact_name(domain: str, words: str, about: str) -> str:
    """The id of a fact: what it is about, and a digest of its claim, whichever run made it."""
    tail = sha256(f"{domain} {words}".encode()).hexdigest()[:6]
    # A text in another script has no slug; the domain still says what it is about.
    return f"{slug(about, limit=48) or slug(domain, limit=48)}-{tail}"


def link_to(fact: str, evaluation: Evaluation, outcome: Outcome, stance: Stance) -> Link:
    """The link of a run that is for or against a fact."""
    source, target = Ref("evaluation", evaluation.id), Ref("fact", fact)
    return link_of(_LINKS[stance], source, target, outcome.occurred_at)


def fact_changes(facts: Iterable[NewFact]) -> Iterator[Change]:
    """The commits that make insights facts; those of one run in one domain share them."""
    by_domain: dict[str, list[NewFact]] = defaultdict(list)
    for fact in facts:
        by_domain[fact.evaluation.domain].append(fact)
    for domain, together in sorted(by_domain.items()):
        for start in range(0, len(together), _TOGETHER):
            yield _facts_change(domain, together[start : start + _TOGETHER])


def _facts_change(domain: str, facts: Sequence[NewFact]) -> Change:
    """One commit; each source stands where the fact stands that was made of it."""
    if len(facts) == 1:
        text = fact_text(facts[0].evaluation)
        reason = f"{facts[0].why} Importance {facts[0].importance}.\n{text}"
    else:
        reason = "\n".join(_some([f"- {fact.fact}: {fact.why}" for fact in facts]))
    judges = {f"{fact.evaluation.judge.name} {fact.evaluation.judge.version}" for fact in facts}
    return Change(
        step=STEP,
        subject=facts[0].fact if len(facts) == 1 else f"{len(facts)} facts in {domain}",
        reason=reason,
        writes=tuple(record for fact in facts for record in _records(fact)),
        sources=tuple(Ref("evaluation", fact.evaluation.id) for fact in facts),
        targets=tuple(Ref("fact", fact.fact) for fact in facts),
        judge=join_items(sorted(judges)),
    )


def _some(lines: Sequence[str]) -> list[str]:
    more = [f"- and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [*lines[:_LISTED], *more]


def _records(new: NewFact) -> tuple[Fact, Link]:
    """The fact, with what it says to do, and the link to what made it."""
    evaluation, at = new.evaluation, new.outcome.occurred_at
    fact = Fact(
        id=new.fact,
        domain=evaluation.domain,
        text=fact_text(evaluation),
        importance=new.importance,
        kind="judge",
        created_at=at,
        insight_type=evaluation.insight_type,
    )
    source, target = Ref("evaluation", evaluation.id), Ref("fact", new.fact)
    return fact, link_of("promoted", source, target, at)


def weighing_changes(links: Sequence[Link], retellings: Sequence[Retelling]) -> Iterator[Change]:
    """The commits that link runs to the facts that they speak for and against, fact by fact."""
    ordered = sorted(links, key=lambda link: (link.target, link.source))
    for start in range(0, max(len(ordered), 1), _AT_ONCE):
        retold = retellings if not start else ()
        yield _weighing_change(ordered[start : start + _AT_ONCE], retold)


def _weighing_change(links: Sequence[Link], retellings: Sequence[Retelling]) -> Change:
    facts = sorted({link.target.id for link in links} | {each.fact.id for each in retellings})
    counts = Counter((link.target.id, link.type) for link in links)
    lines = [
        f"- {fact}: {counts[fact, 'reinforced']} more for it, "
        f"{counts[fact, 'contradicted']} against it"
        for fact in facts
    ]
    return Change(
        step=STEP,
        subject=f"weigh {facts[0]}" if len(facts) == 1 else f"weigh {len(facts)} facts",
        reason="\n".join([*_some(lines), *map(_retold, retellings[:_LISTED])]),
        writes=tuple(links),
        edits=tuple(edit for each in retellings for edit in _retold_keys(each)),
        rewrites=tuple(
            Rewrite(_path(each.fact), fact_text(each.evaluation) + "\n")
            for each in retellings
            if each.is_earlier
        ),
        sources=tuple(dict.fromkeys(link.source for link in links)),
        targets=tuple(Ref("link", link.id) for link in links),
    )


def _retold(retelling: Retelling) -> str:
    """What becomes of a fact that is retold."""
    words = ["told as an earlier run tells it"] if retelling.is_earlier else []
    if retelling.importance != retelling.fact.importance:
        words.append(f"importance {retelling.importance}")
    return f"- {retelling.fact.id}: {' and '.join(words)}"


def _retold_keys(retelling: Retelling) -> Iterator[Edit]:
    fact = retelling.fact
    if retelling.is_earlier:
        yield Edit(_path(fact), ("created_at",), stamp(retelling.outcome.occurred_at))
    if retelling.importance != fact.importance:
        yield Edit(_path(fact), ("importance",), retelling.importance)


def _path(fact: Fact) -> str:
    return f"memory/{fact.domain}/{fact.id}.md"
