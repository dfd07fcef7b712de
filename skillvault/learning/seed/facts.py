"""Facts in the profile `seed`: a strong, confirmed verdict makes a fact, and repeats support it.

`loop/seed.py` calls `plan_facts` and builds the changes; other profiles use `promote/support.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from msgspec import Struct

from skillvault.learning.gate import reinforcement_change, repetition_words
from skillvault.learning.naming import numbered_name
from skillvault.learning.promote.facts import (
    STEP,
    DomainTexts,
    PromotionRecords,
    find_unmet,
    rejection_of,
    strength,
)
from skillvault.learning.rejection import Rejection
from skillvault.model.change import Change
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Importance, Ref, SkillKind, link_of
from skillvault.model.text.text import slug


class Promotion(Struct, frozen=True):
    """An insight that becomes a fact."""

    evaluation: Evaluation
    fact: str
    importance: Importance
    made_at: datetime


class Repetition(Struct, frozen=True):
    """Evaluations whose insights repeat a fact."""

    fact: str
    evaluations: tuple[Evaluation, ...]


class FactPlan(Struct, frozen=True):
    """The facts to make and to support, and the rejections of earlier facts."""

    promotions: tuple[Promotion, ...]
    repetitions: tuple[Repetition, ...]
    rejected: tuple[Rejection, ...]


def plan_facts(records: PromotionRecords, policy: Policy) -> FactPlan:
    """Return the facts to make and to support, the strongest verdict first."""
    rules = policy.promote
    domains: dict[str, DomainTexts] = {}
    promotions: list[Promotion] = []
    by_fact: dict[str, list[Evaluation]] = defaultdict(list)
    rejections: list[Rejection] = []
    for evaluation in _candidates(records, policy, rejections):
        domain = evaluation.domain
        if domain not in domains:
            domains[domain] = DomainTexts(domain, records)
        facts = domains[domain]
        rejection, repeated_fact = facts.find_repeated(evaluation)
        if rejection:
            rejections.append(rejection)
        elif repeated_fact is not None:
            by_fact[repeated_fact].append(evaluation)
        else:
            is_certain = strength(evaluation, rules) >= rules.high_from
            made_at = records.outcomes[evaluation.outcome].occurred_at
            importance: Importance = "high" if is_certain else "medium"
            promotion = Promotion(evaluation, fact_id(evaluation), importance, made_at)
            promotions.append(promotion)
            facts.add_fact(promotion.fact, evaluation.key_insight or "")
    return FactPlan(
        tuple(promotions),
        tuple(Repetition(fact, tuple(evaluations)) for fact, evaluations in by_fact.items()),
        tuple(sorted(set(rejections))),
    )


def fact_id(evaluation: Evaluation) -> str:
    """Return the id of a fact: the first words of its evaluation, and hex of its source."""
    tail = sha256(str(Ref("evaluation", evaluation.id)).encode()).hexdigest()[:6]
    # A text in another script has no slug, so use the domain.
    subject = evaluation.slug or evaluation.key_insight or ""
    return f"{slug(subject, limit=48) or slug(evaluation.domain, limit=48)}-{tail}"


def may_be_due(evaluation: Evaluation, records: PromotionRecords, policy: Policy) -> bool:
    """Return True if an evaluation may make or repeat a fact, before its text is compared."""
    if evaluation.id in records.fact_links:
        return False
    return bool(rejection_of(evaluation, records)) or not find_unmet(evaluation, records, policy)


def _candidates(
    records: PromotionRecords, policy: Policy, rejections: list[Rejection]
) -> Iterator[Evaluation]:
    """Yield the evaluations to compare by their texts, strongest first; collect rejections."""
    order = sorted(records.evaluations.values(), key=lambda e: (-strength(e, policy.promote), e.id))
    for evaluation in order:
        if not may_be_due(evaluation, records, policy):
            continue
        if rejection := rejection_of(evaluation, records):
            rejections.append(rejection)
        else:
            yield evaluation


# ── the changes ──────────────────────────────────────────────────────────────────────


def promotion_change(promotion: Promotion) -> Change:
    """Return the change that makes a fact from an insight."""
    evaluation = promotion.evaluation
    source, target = Ref("evaluation", evaluation.id), Ref("fact", promotion.fact)
    fact = Fact(
        id=promotion.fact,
        domain=evaluation.domain,
        text=evaluation.key_insight or "",
        importance=promotion.importance,
        kind="judge",
        created_at=promotion.made_at,
        insight_type=evaluation.insight_type,
    )
    verdict = "good" if evaluation.was_good_decision else "bad"
    return Change(
        step=STEP,
        subject=promotion.fact,
        reason=(
            f"A {verdict} decision (quality {evaluation.quality_score:.2f}), confirmed by the "
            f"result; importance {promotion.importance}.\n{fact.text}"
        ),
        writes=(fact, link_of("promoted", source, target, promotion.made_at)),
        sources=(source,),
        targets=(target,),
        judge=f"{evaluation.judge.name} {evaluation.judge.version}",
    )


def repetition_change(repetition: Repetition, now: datetime) -> Change:
    """Return the change that links insights to the fact that they repeat."""
    sources = [Ref("evaluation", evaluation.id) for evaluation in repetition.evaluations]
    reason = f"Confirmed {repetition_words(len(sources))}."
    return reinforcement_change(STEP, Ref("fact", repetition.fact), sources, at=now, reason=reason)


def pattern_name(
    kind: SkillKind, about: str, _facts: Sequence[str], is_taken: Callable[[str], bool]
) -> str:
    """Return the name of a skill from facts: its title, with a number if the name is taken."""
    return numbered_name(kind, about, is_taken)
