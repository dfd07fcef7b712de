"""The step `assess`: prove skills that help, and retire skills that hurt.

`effects.py` counts the uses of a skill; `learning/assess.py` decides on its status.
"""

from collections.abc import Iterator
from functools import cache, partial

from skillvault.learning import assess
from skillvault.loop.clock import clock
from skillvault.loop.effects import load_assessed_skill
from skillvault.loop.managed_skills import is_edited
from skillvault.loop.run import Run
from skillvault.model.brief import RULES
from skillvault.model.change import Change
from skillvault.model.section_marks import sections_of


def step(run: Run) -> Iterator[Change]:
    """Yield one change for each skill whose status changes."""
    run.flush()  # the commits count as looks at the skills
    run.shelf.follow(run.store.staging)
    yield from list(_find_due(run))


def _find_due(run: Run) -> Iterator[Change]:
    snapshot = run.snapshot
    evidence = run.shelf.uses.evidence(snapshot)
    clock_of = cache(partial(clock, snapshot, now=run.now, rules=run.profile))
    for row in snapshot.skills.statuses(evidence):
        time = clock_of(row.domain) or run.now
        skill = load_assessed_skill(snapshot, row, evidence[row.name], time)
        change = assess.status_change(skill, run.profile)
        if not change or (change.moves and row.folder == "skills" and _keeps_guide(run, row.name)):
            continue
        yield change


def _keeps_guide(run: Run, name: str) -> bool:
    """Return True for a guide with rules or with edits of a person; it is never retired."""
    skill = run.snapshot.skills.find(name)
    if skill is None or skill.kind != "guide":
        return False
    has_rules = any(heading == RULES for heading, _ in sections_of(skill.body))
    return has_rules or is_edited(run, name)
