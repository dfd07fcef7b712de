"""refresh: a subject's skill is written anew if its account says something else by now."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.account import KINDS
from skillvault.learning.expire import is_cut_short
from skillvault.learning.naming import subject_key
from skillvault.learning.refresh import STEP, refreshing
from skillvault.learning.refresh.refreshing import Refreshing
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.merge import is_brought_back, is_edited, references, unlinked
from skillvault.loop.run import Run
from skillvault.model.change import Change


def step(run: Run) -> Iterator[Change]:
    """One change a skill."""
    for one, keys in list(refreshes(run)):
        changes = list(run.written(partial(_composed, run, one), _name(one)))
        if not changes and not run.report.unavailable:
            run.settle(STEP, keys)
        yield from changes
    yield from _without_outcomes(run)


def _without_outcomes(run: Run) -> Iterator[Change]:
    """The skills of subjects of which no outcome is left leave."""
    for place in run.view.skills.without_outcomes():
        skill = run.view.skills.find(place.name)
        if skill is None or skill.kind not in KINDS or skill.origin != "generated":
            continue
        ours = run.accounts.is_ours(skill) and not is_edited(run, f"{place.shelf}/{place.name}")
        evaluated = run.view.subjects.evaluated(skill.domain or "", skill.trust)
        if ours and not any(subject_key(subject) == skill.subject for subject in evaluated):
            yield refreshing.bare_change(skill, place.shelf)


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
            older = tuple(place for place in present.more if not is_edited(run, place))
            one = refreshing.refreshing(
                findings,
                replace(present, more=older),
                unlinked(run, findings.account.outcomes, name),
                run.policy,
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
    written = run.versions(_name(due))
    skill = due.present.skill
    assert skill is not None
    if due.what == "leave":
        personal = sections.theirs(written.bodies, skill.body)
        kept = personal or is_brought_back(run, skill.name)
        return None if kept else refreshing.leave_change(due)
    if due.what == "restore" and is_cut_short(skill, written.ends, run.policy):
        return None  # a person said when it ends
    draft = draft_by(run.judge, due.findings)
    if draft is None:
        return None
    files = references(run, due.present.shelf, skill)
    change = refreshing.rewrite_change(due, draft, written, references=files, policy=run.policy)
    return told_by(change, draft, run.view)
