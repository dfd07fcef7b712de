"""Facts in the profile `seed`: a strong, confirmed verdict makes a fact, repetitions support it.

`loop/seed.py` calls `plan_facts`; other profiles use `promote/support.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from skillvault.learning.gate import reinforcement_change, repetition_words
from skillvault.learning.naming import numbered_name
from skillvault.learning.promote.facts import (
    STEP,
    PromotionRecords,
    fact_id,
    find_unmet,
    promoted_records,
    rejection_of,
    strength,
)
from skillvault.learning.rejection import Rejection
from skillvault.model.change import Change
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Evaluation, Ref, SkillKind


class FactPlan(Struct, frozen=True):
    """The changes that make facts, the evaluations that repeat each fact, and the rejections."""

    promotions: tuple[Change, ...]
    repetitions: Mapping[str, Sequence[Ref]]
    rejected: tuple[Rejection, ...]


def plan_facts(records: PromotionRecords, policy: Policy) -> FactPlan:
    """Return the facts to make and to support, the strongest verdict first."""
    promotions: list[Change] = []
    repetitions: dict[str, list[Ref]] = defaultdict(list)
    rejections: list[Rejection] = []
    for evaluation in _candidates(records, policy, rejections):
        facts, source = records.texts_by_domain[evaluation.domain], Ref("evaluation", evaluation.id)
        rejection, repeated_fact = facts.find_repeated(evaluation)
        if rejection:
            rejections.append(rejection)
        elif repeated_fact is not None:
            repetitions[repeated_fact].append(source)
        else:
            insight = evaluation.key_insight or ""
            fact = fact_id(evaluation.slug or insight, evaluation.domain, str(source))
            at = records.outcomes[evaluation.outcome].occurred_at
            promotions.append(_promotion_change(evaluation, fact, at, policy.promote))
            facts.add_fact(fact, insight)
    return FactPlan(tuple(promotions), repetitions, tuple(sorted(set(rejections))))


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


def _promotion_change(
    evaluation: Evaluation, fact_id: str, at: datetime, settings: PromotePolicy
) -> Change:
    is_certain = strength(evaluation, settings) >= settings.high_from
    fact, link = promoted_records(
        evaluation,
        fact_id,
        evaluation.key_insight or "",
        importance="high" if is_certain else "medium",
        at=at,
    )
    verdict = "good" if evaluation.was_good_decision else "bad"
    return Change(
        step=STEP,
        subject=fact_id,
        reason=(
            f"A {verdict} decision (quality {evaluation.quality_score:.2f}), confirmed by the "
            f"result; importance {fact.importance}.\n{fact.text}"
        ),
        writes=(fact, link),
        sources=(link.source,),
        targets=(link.target,),
        judge=f"{evaluation.judge.name} {evaluation.judge.version}",
    )


def repetition_change(fact: str, sources: Sequence[Ref], now: datetime) -> Change:
    """Return the change that links insights to the fact that they repeat."""
    reason = f"Confirmed {repetition_words(len(sources))}."
    return reinforcement_change(STEP, Ref("fact", fact), sources, at=now, reason=reason)


def pattern_name(
    kind: SkillKind, topic: str, _facts: Sequence[str], is_taken: Callable[[str], bool]
) -> str:
    """Return the name of a skill from facts: its title, with a number if the name is taken."""
    return numbered_name(kind, topic, is_taken)
