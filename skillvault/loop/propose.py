"""propose: rules that persons state in their next words wait for approval."""

from collections.abc import Iterator

from skillvault.learning.propose.corrections import STEP, proposals_of
from skillvault.loop.run import Run
from skillvault.model.change import Change


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each rule that trusted outcomes quote."""
    keys = run.view.due.keys(STEP)
    outcomes = run.view.outcomes.get_many(keys)
    quoting = [o for o in outcomes.values() if o.result.next_words and o.trust == "local"]
    for outcome in sorted(quoting, key=lambda outcome: outcome.order):
        waiting = run.view.corrections.waiting()
        for change in proposals_of(outcome, waiting, run.view.facts.approved_corrections()):
            rejections = (run.rejections.of_target(target) for target in change.targets[:1])
            if rejection := next(filter(None, rejections), None):
                run.report.rejected.append(rejection)
            else:
                yield change
    run.settle(STEP, keys)
