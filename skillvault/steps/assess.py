"""assess: skills that help are proven, skills that hurt are retired, and back."""

from collections.abc import Iterator

from skillvault.change import Change
from skillvault.learning import assess
from skillvault.learning.assess import STEP, Assessed
from skillvault.records import Ref
from skillvault.steps.registry import MOVERS
from skillvault.steps.run import Run


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    run.shelf.follow(run.store.staged)
    yield from list(due(run))


def waiting(run: Run) -> int:
    """How many skills get another status."""
    return len(list(due(run)))


def due(run: Run) -> Iterator[Change]:
    """The changes of status that follow from what is known of the skills' use."""
    view = run.view
    known = run.shelf.uses.evidence(view)
    for name, shelf, status in view.skills.statuses(known):
        ours = shelf == "archive" and view.history.last_step(Ref("skill", name), MOVERS) == STEP
        found = assess.status_change(Assessed(name, shelf, status, known[name], ours), run.policy)
        if found:
            yield found
