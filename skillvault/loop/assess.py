"""assess: skills that help are proven, skills that hurt are retired, and back."""

from collections.abc import Iterator
from datetime import datetime
from functools import cache, partial

from msgspec.structs import replace

from skillvault.learning import assess
from skillvault.learning.assess import STEP, Assessed
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.expire import lifetime, time_of
from skillvault.loop.clock import clock
from skillvault.loop.registry import MOVERS, STEPS
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Ref
from skillvault.vault.index.rows import micros
from skillvault.vault.index.skills import SkillStatusRow
from skillvault.vault.index.snapshot import Topics


def assessed(view: Topics, row: SkillStatusRow, evidence: Evidence, clock: datetime) -> Assessed:
    """A skill as it stands at its domain's time; of one that was never retired no file is read."""
    ref = Ref("skill", row.name)
    ours = row.shelf == "archive" and view.history.last_step(ref, MOVERS) == STEP
    shown = Assessed(
        name=row.name,
        shelf=row.shelf,
        status=row.status,
        evidence=evidence,
        clock=clock,
        ours=ours,
    )
    skill = view.skills.find(row.name) if ours or evidence.trial else None
    if skill is None:
        return shown
    retired, life = time_of(skill.retired), lifetime(skill, view.policy)
    last = view.history.commits_touching([ref])[:1]
    return replace(
        shown,
        retired=retired,
        trial=time_of(skill.trial),
        since=view.uses.closed_since(row.domain, micros(retired)) if ours and retired else 0,
        is_rejected=any(commit.step not in STEPS for commit in last)
        or (life is not None and life.ends < clock),
    )


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
    clock_of = cache(partial(clock, view, now=run.now))
    for row in view.skills.statuses(known):
        at = clock_of(row.domain) or run.now
        skill = assessed(view, row, known[row.name], at)
        found = assess.status_change(skill, run.policy)
        if found:
            yield found
