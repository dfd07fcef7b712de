"""evaluate: every outcome without an evaluation gets one."""

from collections.abc import Iterator

from skillvault.change import Change
from skillvault.learning import evaluate
from skillvault.records import Evaluation, Outcome, Ref
from skillvault.run import Run
from skillvault.steps.record import by_domain
from skillvault.vault import layout

STEP = "evaluate"


def step(run: Run) -> Iterator[Change]:
    """One commit a domain."""
    batches = by_domain(unevaluated(run))
    for domain, batch in batches.items():
        judged = [_judged(run, o) for o in run.track(batch, f"evaluating {domain}")]
        free = run.free(judged)
        ready = [e for e in judged if free[layout.path_of(e)]]
        if ready:
            yield evaluate.change(domain, ready, run.judge.info)


def unevaluated(run: Run) -> list[Outcome]:
    """The outcomes without an evaluation, but for those that a person took away."""
    found: list[Outcome] = []
    for outcome in run.view.outcomes.of(run.view.unevaluated()).values():
        refused = run.rejections.of_target(Ref("evaluation", outcome.id))
        if refused:
            run.report.rejected.append(refused)
        else:
            found.append(outcome)
    return found


def _judged(run: Run, outcome: Outcome) -> Evaluation:
    """The judge's word on one outcome: the verdict first and blind, then the insight."""
    verdict = run.judge.verdict(
        outcome.domain,
        outcome.decision,
        outcome.context,
        outcome.applied,
        outcome.result.entry_value,
    )
    insight = run.judge.insight(run.peers.case(outcome), verdict)
    return evaluate.evaluation_of(outcome, run.judge.info, verdict, insight, run.policy)
