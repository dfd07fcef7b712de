"""The step `propose`: propose the rules that a person states in answer to an agent's work.

The words are the `next_words` of an outcome. `learning/corrections.py` finds the rules in them.
"""

from collections.abc import Iterator

from skillvault.learning.corrections import STEP, proposals_of, statements_of
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.records import Outcome


def step(run: Run) -> Iterator[Change]:
    """Yield the changes that propose, update or withdraw the rules of each scope."""
    keys = run.snapshot.due.keys(STEP)
    due_outcomes = [o for o in run.snapshot.outcomes.get_many(keys).values() if _is_quoting(o)]
    for scope in sorted({scope_of(outcome) for outcome in due_outcomes}):
        outcomes = {o.id: o for o in run.snapshot.outcomes.quoting(scope) if _is_quoting(o)}
        retractions = run.snapshot.retractions.get_many(outcomes)
        statements = [s for outcome in outcomes.values() for s in statements_of(outcome)]
        changes = proposals_of(
            [statement for statement in statements if statement.outcome not in retractions],
            [statement for statement in statements if statement.outcome in retractions],
            run.snapshot.corrections.of_scope(scope),
            [rule for rule in run.snapshot.facts.approved_corrections() if rule.scope == scope],
        )
        for change in changes:
            new_targets = [
                target for target in change.targets if target not in run.snapshot.records
            ]
            rejections = map(run.rejections.of_target, new_targets)
            if rejection := next(filter(None, rejections), None):
                run.report.rejected.append(rejection)
            else:
                yield change
    run.settle(STEP, keys)


def _is_quoting(outcome: Outcome) -> bool:
    return bool(outcome.result.next_words) and outcome.trust == "local"
