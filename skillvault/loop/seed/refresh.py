"""refresh of the profile `seed`: the texts of skills stay as they are."""

from collections.abc import Iterator

from skillvault.learning.refresh import STEP
from skillvault.loop.run import Run
from skillvault.model.change import Change


def step(run: Run) -> Iterator[Change]:
    """Settle what is due: nothing is written anew."""
    run.settle(STEP, run.view.due.keys(STEP))
    return iter(())
