"""The page of a vault with many outcomes and skills: how long it takes, how large the file is."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

from ground import Ground
from learned import BATCH, Dated, Loop
from row import Figure, Row, at_most, spent
from shelf import shelved
from stream import START, STEP, shifted, stream

from skillvault import Vault
from skillvault.loop.registry import AGENDA
from skillvault.model.records import Skill

SKILLS, USED = 500, 3  # of so many decisions all but one applied a skill
SECONDS, MEGABYTES = 3, 1.5


def rows(ground: Ground) -> Iterator[Row]:
    """One page in a process of its own, the file of which is kept until it is weighed."""
    outcomes = 1_000 if ground.quick else 10_000
    starts = ground.ends - outcomes * STEP
    root = ground.report(outcomes, lambda: history(outcomes, starts))
    settle(root)
    place = root.parent / "report.html"
    command = [sys.executable, "-m", "skillvault", "--vault", str(root), "report", "-o", str(place)]
    took = spent(partial(subprocess.run, command, check=True, capture_output=True))
    work = f"page of {outcomes:,} outcomes, {SKILLS} skills and more"
    note = f"of the processor {took.processor / 1e3:.1f} s"
    yield at_most(work, Figure("report", took.wall / 1e3, "s"), SECONDS, note)
    yield at_most(work, Figure("its file", place.stat().st_size / 1e6, "MB"), MEGABYTES)


def history(outcomes: int, starts: datetime) -> Iterator[Dated]:
    """A library of skills, then outcomes that apply them in turn, and what is learned of these."""
    names: list[str] = []
    for dated in shelved(SKILLS, starts - timedelta(days=1)):
        names += [one.name for one in dated.change.writes if isinstance(one, Skill)]
        yield dated
    given = (shifted(one, starts - START) for one in stream(outcomes))
    applying = (
        one | ({"applied": [names[n % SKILLS]]} if n % USED else {}) for n, one in enumerate(given)
    )
    loop = Loop()
    while batch := list(islice(applying, BATCH)):
        yield from loop.cycle(batch)


def settle(root: Path) -> None:
    """As after a run that did all that was due: nothing waits, and uses are added up."""
    vault = Vault.open(root)
    vault.shelf.ready()
    due = vault.store.staging.due
    for queue in AGENDA.queues:
        due.mark_done(queue.name, due.keys(queue.name))
    vault.store.save_index()
