"""refresh: a subject's skill is written anew if its account says something else by now."""

from collections.abc import Iterator
from functools import partial

from skillvault.change import Change
from skillvault.learning import refresh, sections
from skillvault.learning.refresh import STEP, Refreshing
from skillvault.steps.merge import references, unlinked
from skillvault.steps.run import Run


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    for one, keys in list(refreshes(run)):
        changes = list(run.written(partial(_composed, run, one), _name(one)))
        if not changes and not run.report.unavailable:
            run.settle(STEP, keys)
        yield from changes
    yield from _without_outcomes(run)


def _without_outcomes(run: Run) -> Iterator[Change]:
    """The skills of subjects of which no outcome is left leave."""
    for domain, kind, subject in run.view.subjects.without_outcomes():
        for place in run.view.skills.by_subject(subject):
            skill = run.view.skills.find(place.name)
            plain = place.kind == kind and place.shelf != "archive"
            if skill and plain and run.accounts.is_ours(skill):
                yield refresh.bare_change(skill, place.shelf)
        if not run.options.asks:
            run.store.staged.subjects.drop_voice(domain, kind, subject)


def waiting(run: Run) -> int:
    """How many skills are written anew, leave or come back."""
    return len(list(refreshes(run)))


def refreshes(run: Run) -> Iterator[tuple[Refreshing, frozenset[str]]]:
    """What is to be done about the skills of subjects, and by which keys it is due.

    Settles where nothing is.
    """
    accounts, idle = run.accounts.due(STEP)
    run.settle(STEP, idle)
    for reading in accounts:
        kept = False
        for findings, present in run.accounts.both(reading.account):
            name = present.skill.name if present.skill else ""
            one = refresh.refreshing(
                findings, present, unlinked(run, findings.account.outcomes, name), run.policy
            )
            if one is not None:
                kept = True
                yield one, reading.keys
        if not kept:
            run.settle(STEP, reading.keys)


def _name(due: Refreshing) -> str:
    return due.present.skill.name if due.present.skill else ""


def _composed(run: Run, due: Refreshing) -> Change | None:
    """The commit for one skill; None if there is nothing that the program may do."""
    descriptions, bodies = run.versions(_name(due))
    written = sections.Written(bodies=bodies, descriptions=descriptions)
    skill = due.present.skill
    assert skill is not None
    if due.what == "leave":
        personal = sections.theirs(bodies, skill.body)
        return None if personal else refresh.leave_change(due)
    draft = run.judge.write(due.findings)
    if draft is None:
        return None
    files = references(run, due.present.shelf, skill)
    change = refresh.rewrite_change(due, draft, written, references=files, policy=run.policy)
    return change.noting(draft.note)
