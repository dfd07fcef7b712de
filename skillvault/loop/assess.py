"""assess: skills that help are proven, skills that hurt are retired, and back."""

from collections.abc import Iterator
from functools import cache, partial

from skillvault.learning import assess, sections
from skillvault.loop.clock import clock
from skillvault.loop.effects import assessed
from skillvault.loop.run import Run
from skillvault.model.brief import RULES
from skillvault.model.change import Change
from skillvault.model.section_marks import sections_of


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    run.flush()  # a look at a skill is a commit that brought its decisions
    run.shelf.follow(run.store.staging)
    yield from list(due(run))


def due(run: Run) -> Iterator[Change]:
    """The changes of status that follow from what is known of the skills' use."""
    view = run.view
    known = run.shelf.uses.evidence(view)
    clock_of = cache(partial(clock, view, now=run.now, rules=run.rules))
    for row in view.skills.statuses(known):
        at = clock_of(row.domain) or run.now
        skill = assessed(view, row, known[row.name], at)
        found = assess.status_change(skill, run.rules)
        if found and not (found.moves and row.shelf == "skills" and _keeps_guide(run, row.name)):
            yield found


def _keeps_guide(run: Run, name: str) -> bool:
    """Return True for a guide that holds a rule or a person's words: it is not retired whole."""
    skill = run.view.skills.find(name)
    if skill is None or skill.kind != "guide":
        return False
    has_rule = any(heading == RULES for heading, _ in sections_of(skill.body))
    return has_rule or bool(sections.edited_sections(run.versions(name).bodies, skill.body))
