"""expire: skills whose time to live is over leave for archive/, or get another time."""

from collections.abc import Iterator

from skillvault.change import Change
from skillvault.learning import expire
from skillvault.records import Ref
from skillvault.run import Run


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    for expiry in list(due(run)):
        yield expire.change(expiry, run.now)


def due(run: Run) -> Iterator[expire.Expiry]:
    """The skills whose time is over now."""
    view = run.snapshot
    shelves = {"skills": view.skills, "proposed": view.proposed}
    names = [name for skills in shelves.values() for name in skills]
    commits = {name: run.commits_on(Ref("skill", name), {expire.STEP}) for name in names}
    yield from expire.due(shelves, view.outcomes.values(), commits, now=run.now, policy=run.policy)
