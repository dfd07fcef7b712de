"""The rule of `evaluate`: build the case for the judge, and the evaluation from its answer.

Each outcome is judged alone; `account/` compares outcomes.
"""

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from skillvault.learning.tries.insight import insights_of
from skillvault.model.brief import AnswerCost, Case, InsightText, Verdict, add_cost
from skillvault.model.change import INTAKE, Change
from skillvault.model.policy import Policy
from skillvault.model.records import Answer, Evaluation, JudgeInfo, Outcome, Ref
from skillvault.model.text.text import join_items, pluralize, shorten

_MIN_FAILURES, _MAX_FAILURES = 2, 3  # earlier failures with which a success is compared


def case_of(
    outcome: Outcome,
    earlier_outcomes: Sequence[Outcome] = (),
    earlier_lines: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> Case:
    """Return the case for the judge.

    `earlier_outcomes` has outcomes of the subject, oldest first, and `earlier_lines` a line for
    each. `facts` has (id, line) of facts in the domain.
    """
    failures: tuple[Outcome, ...] = ()
    if outcome.result.status == "success":
        streak = takewhile(lambda o: o.result.status != "success", reversed(earlier_outcomes))
        failures = tuple(o for o in streak if o.result.status == "failure")[:_MAX_FAILURES][::-1]
    if len(failures) < _MIN_FAILURES:
        failures = ()
    return Case(
        outcome=outcome,
        insights=insights_of(outcome),
        failures=failures,
        earlier=() if failures else tuple(earlier_lines),
        facts=tuple(facts),
    )


def evaluation_of(
    outcome: Outcome,
    info: JudgeInfo,
    verdict: Verdict,
    insight: InsightText | None,
    *,
    policy: Policy,
) -> Evaluation:
    """Return the evaluation with a verdict and an insight; leave out an insight too short."""
    key_insight = insight.key_insight.strip() if insight else ""
    answer = verdict.answer
    author = replace(answer.judge, tokens=None, cost_usd=None) if answer else info
    bills = [reply.spent for reply in (verdict, insight) if reply and reply.spent]
    if insight is None or len(key_insight) < policy.evaluate.min_insight:
        insight = None
    return Evaluation(
        outcome=outcome.id,
        domain=outcome.domain,
        judge=add_cost(author, sum(bills, start=AnswerCost())) if bills else author,
        was_good_decision=verdict.was_good_decision,
        quality_score=verdict.quality_score,
        key_insight=key_insight if insight else None,
        insight_type=insight.insight_type if insight else None,
        applicability=insight.applicability if insight else None,
        strengths=verdict.strengths,
        weaknesses=verdict.weaknesses,
        missed_factors=verdict.missed_factors,
        better_approach=insight.better_approach if insight else None,
        repeats=insight.repeats if insight else None,
        contradicts=insight.contradicts if insight else None,
        unlike=insight.unlike if insight else (),
        slug=insight.slug if insight else None,
        judge_was_right=is_right(verdict, outcome),
    )


def is_right(verdict: Verdict, outcome: Outcome) -> bool | None:
    """Return True if the blind verdict agrees with the result, or None for a neutral result."""
    if outcome.result.status == "neutral":
        return None
    return verdict.was_good_decision == (outcome.result.status == "success")


def evaluation_change(
    domain: str, evaluations: Sequence[Evaluation], info: JudgeInfo, answers: Sequence[Answer] = ()
) -> Change:
    """Return the change that adds evaluations of one domain, and the answers that they use."""
    agreements = sum(evaluation.judge_was_right is True for evaluation in evaluations)
    tests = sum(evaluation.judge_was_right is not None for evaluation in evaluations)
    silent_count = sum(evaluation.key_insight is None for evaluation in evaluations)
    counts = [f"{agreements} of {tests} blind verdicts agree with the result"]
    if silent_count:
        counts.append(f"{silent_count} support no insight")
    quote = f"\n{shorten(evaluations[0].key_insight or '', 300)}" if len(evaluations) == 1 else ""
    return Change(
        step="evaluate",
        subject=f"{pluralize(len(evaluations), 'outcome')} in {domain}",
        reason=f"{join_items(counts)}.{quote}",
        writes=(*evaluations, *answers),
        sources=tuple(Ref("outcome", evaluation.outcome) for evaluation in evaluations),
        targets=tuple(Ref("evaluation", evaluation.id) for evaluation in evaluations),
        judge=f"{info.name} {info.version}",
        commit_with=INTAKE,
    )
