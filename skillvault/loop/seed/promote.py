"""promote of the profile `seed`: what repeats the text of a fact supports it."""

from collections.abc import Iterator

from skillvault.learning.promote.facts import STEP
from skillvault.learning.seed import facts
from skillvault.loop.promote import of_evaluations, pages, skill_changes
from skillvault.loop.run import Run
from skillvault.model.change import Change


def step(run: Run) -> Iterator[Change]:
    """One change a fact, a fact that is repeated, a skill, a skill that grows."""
    plan = _plan(run)
    run.report.rejected += plan.rejected
    for promotion in run.track(plan.promotions, "promoting"):
        yield facts.promotion_change(promotion)
    for repetition in plan.repetitions:
        if repetition.fact in run.view.facts:  # it may have had to wait
            yield facts.repetition_change(repetition, run.now)
    yield from skill_changes(run)


def _plan(run: Run) -> facts.FactPlan:
    """What is to be done among the evaluations that changed; settles the others."""
    candidates: list[str] = []
    due = run.view.due.keys(STEP)
    for material in pages(run, due):
        candidates += (
            evaluation.id
            for evaluation in material.evaluations.values()
            if facts.may_be_due(evaluation, material, run.policy)
        )
    run.settle(STEP, set(due).difference(candidates))
    return facts.plan_facts(of_evaluations(run, candidates), run.policy)
