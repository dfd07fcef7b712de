"""assess: skills that help are proven, skills that hurt are retired, and back."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache, partial

from msgspec.structs import replace

from skillvault.change import Change
from skillvault.learning import assess
from skillvault.learning.assess import STEP, Assessed
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.expire import lifetime, time_of
from skillvault.records import Ref
from skillvault.steps.clock import clock
from skillvault.steps.registry import MOVERS, STEPS
from skillvault.steps.run import Run
from skillvault.vault.index.rows import micros
from skillvault.vault.index.skills import SkillStatusRow


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
        skill = _assessed(run, row, known[row.name], clock_of)
        found = assess.status_change(skill, run.policy)
        if found:
            yield found


def _assessed(
    run: Run,
    row: SkillStatusRow,
    evidence: Evidence,
    clock_of: Callable[[str | None], datetime | None],
) -> Assessed:
    """A skill as it stands; of one that was never retired no file is read."""
    view, ref = run.view, Ref("skill", row.name)
    ours = row.shelf == "archive" and view.history.last_step(ref, MOVERS) == STEP
    at = clock_of(row.domain) or run.now
    shown = Assessed(
        name=row.name, shelf=row.shelf, status=row.status, evidence=evidence, clock=at, ours=ours
    )
    skill = view.skills.find(row.name) if ours or evidence.trial else None
    if skill is None:
        return shown
    retired, life = time_of(skill.retired), lifetime(skill, run.policy)
    last = view.history.commits_touching([ref])[:1]
    return replace(
        shown,
        retired=retired,
        trial=time_of(skill.trial),
        since=view.uses.closed_since(row.domain, micros(retired)) if ours and retired else 0,
        is_rejected=any(commit.step not in STEPS for commit in last)
        or (life is not None and life.ends < at),
    )
