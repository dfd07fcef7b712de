"""What a judge is told of an outcome: itself, and for a model what stands around it.

Floor 3, beside the step `evaluate`.
"""

from skillvault.brief import Case
from skillvault.learning.evaluate import evaluate
from skillvault.records import Outcome
from skillvault.steps.run import Run

_BEHIND = 8  # outcomes of the subject that are looked at for failures in a row


def case_of(run: Run, outcome: Outcome) -> Case:
    """The case of an outcome; the offline judge is told of nothing else."""
    if run.policy.judge.provider == "offline":
        return evaluate.case_of(outcome)
    return evaluate.case_of(outcome, _before(run, outcome))


def _before(run: Run, outcome: Outcome) -> list[Outcome]:
    """The outcomes of a subject before this one, oldest first."""
    history = [placed.id for placed in run.view.subjects.history(outcome.id)]
    if outcome.id not in history:
        return []
    names = history[: history.index(outcome.id)][-_BEHIND:]
    outcomes = run.view.outcomes.get_many(names)
    return [outcomes[name] for name in names if name in outcomes]
