"""evaluate: what the judge is asked about an outcome, and what its answer makes.

An outcome is judged by itself: whatever compares outcomes belongs to their account.
"""

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from skillvault.learning.tries.insight import insights_of
from skillvault.model.brief import Case, InsightText, Spent, Verdict, billed
from skillvault.model.change import INTAKE, Change
from skillvault.model.policy import Policy
from skillvault.model.records import Answer, Evaluation, JudgeInfo, Outcome, Ref
from skillvault.model.text.text import listed, shorten

FAILURES = 3  # before a success that are told with it, at most
REPEATED = 2  # so many say that a success is worth comparing


def case_of(
    outcome: Outcome,
    before: Sequence[Outcome] = (),
    earlier: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> Case:
    """What a judge is told of an outcome; `before` are those of its subject, oldest first.

    `earlier` says the same of them in a line each. `facts` are what is known of the domain, by id.
    """
    failures = _ended_failures(before) if outcome.result.status == "success" else ()
    shown = failures[-FAILURES:] if len(failures) >= REPEATED else ()
    return Case(
        outcome=outcome,
        insights=insights_of(outcome),
        failures=tuple(shown),
        earlier=() if shown else tuple(earlier),
        facts=tuple(facts),
    )


def _ended_failures(before: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The failures since the last success, oldest first."""
    latest = takewhile(lambda o: o.result.status != "success", reversed(before))
    return tuple(o for o in latest if o.result.status == "failure")[::-1]


def evaluation_of(
    outcome: Outcome,
    info: JudgeInfo,
    verdict: Verdict,
    insight: InsightText | None,
    *,
    policy: Policy,
) -> Evaluation:
    """The evaluation that a verdict and an insight make; too short an insight is none."""
    key_insight = insight.key_insight.strip() if insight else ""
    answer = verdict.answer
    author = replace(answer.judge, tokens=None, cost_usd=None) if answer else info
    judge = _billed(author, verdict, insight)
    if insight is None or len(key_insight) < policy.evaluate.min_insight:
        insight = None
    return Evaluation(
        outcome=outcome.id,
        domain=outcome.domain,
        judge=judge,
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


def _billed(info: JudgeInfo, verdict: Verdict, insight: InsightText | None) -> JudgeInfo:
    """The judge, with what both of its answers took; a free one as it is."""
    paid = [answer.spent for answer in (verdict, insight) if answer and answer.spent]
    if not paid:
        return info
    return billed(info, sum(paid, start=Spent()))


def is_right(verdict: Verdict, outcome: Outcome) -> bool | None:
    """Does the blind verdict agree with the result? None for a neutral one."""
    if outcome.result.status == "neutral":
        return None
    return verdict.was_good_decision == (outcome.result.status == "success")


def evaluation_change(
    domain: str, evaluations: Sequence[Evaluation], info: JudgeInfo, answers: Sequence[Answer] = ()
) -> Change:
    """The commit that holds a batch of one domain's evaluations, and the answers they rest on."""
    rights = sum(e.judge_was_right is True for e in evaluations)
    tested = sum(e.judge_was_right is not None for e in evaluations)
    silent = sum(e.key_insight is None for e in evaluations)
    counts = [f"{rights} of {tested} blind verdicts agree with the result"]
    if silent:
        counts.append(f"{silent} support no insight")
    noun = "outcome" if len(evaluations) == 1 else "outcomes"
    quote = f"\n{shorten(evaluations[0].key_insight or '', 300)}" if len(evaluations) == 1 else ""
    return Change(
        step="evaluate",
        subject=f"{len(evaluations)} {noun} in {domain}",
        reason=f"{listed(counts)}.{quote}",
        writes=(*evaluations, *answers),
        sources=tuple(Ref("outcome", e.outcome) for e in evaluations),
        targets=tuple(Ref("evaluation", e.id) for e in evaluations),
        judge=f"{info.name} {info.version}",
        commit_with=INTAKE,
    )
