"""refresh: a subject's skill is written anew if its account says something else by now."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.statements import KINDS
from skillvault.learning.expire import is_cut_short
from skillvault.learning.naming import OF_DOMAIN, subject_key
from skillvault.learning.refresh import STEP, refreshing
from skillvault.learning.refresh.refreshing import SkillRefresh
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.merge import is_brought_back, is_edited, references, unlinked
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Skill


def step(run: Run) -> Iterator[Change]:
    """Yield one change a skill."""
    changed: set[str] = set()
    quiet: set[str] = set()
    for one, keys in list(refreshes(run)):
        changes = list(run.written(partial(_composed, run, one), _name(one)))
        (changed if changes else quiet).update(keys)
        yield from changes
    if not run.report.unavailable:
        run.settle(STEP, quiet - changed)
    yield from _baseless(run)


def _baseless(run: Run) -> Iterator[Change]:
    """Archive skills of whose outcomes none is left, and of domains that say nothing any more."""
    skills = run.view.skills
    of_domains = (place for kind in OF_DOMAIN for place in skills.living(kind))
    for place in sorted({*skills.without_outcomes(), *of_domains}):
        skill = skills.find(place.name)
        if skill is None or skill.kind not in KINDS or skill.origin != "generated":
            continue
        ours = run.accounts.is_ours(skill) and not is_edited(run, f"{place.shelf}/{place.name}")
        if ours and place.shelf != "archive" and not _has_outcomes(run, skill):
            yield refreshing.orphan_change(skill, place.shelf)


def _has_outcomes(run: Run, skill: Skill) -> bool:
    """Return True if an evaluated outcome is left of what a skill is about, or of what it says."""
    if skill.kind in OF_DOMAIN and skill.subject == subject_key((skill.domain or "", "", None)):
        domain, accounts = skill.domain or "", run.accounts
        strategy = skill.kind == "strategy"
        return bool(accounts.ruled(domain) if strategy else accounts.agreeing(domain)[0])
    subjects = run.view.subjects.evaluated_subjects(skill.domain or "", skill.trust)
    keys = {subject_key(subject) for subject in subjects}
    keys |= {subject_key((domain, action, None)) for domain, action, _ in subjects}
    return skill.subject in keys


def refreshes(run: Run) -> Iterator[tuple[SkillRefresh, frozenset[str]]]:
    """Yield what is to be done about skills, and the keys by which it is due; settle the others."""
    accounts, idle = run.accounts.due(STEP)
    kept: set[str] = set()
    keys = set(idle)
    for account in accounts:
        keys |= account.keys
        for findings, present in run.accounts.of_kinds(account):
            name = present.skill.name if present.skill else ""
            older = tuple(place for place in present.more if not is_edited(run, place))
            one = refreshing.find_refresh(
                findings,
                replace(present, more=older),
                unlinked(run, findings.account.outcomes, name),
                run.policy,
            )
            if one is not None:
                kept |= account.keys
                yield one, account.keys
    run.settle(STEP, keys - kept)


def _name(due: SkillRefresh) -> str:
    return due.present.skill.name if due.present.skill else ""


def _composed(run: Run, due: SkillRefresh) -> Change | None:
    """The commit for one skill; None if there is nothing that the program may do."""
    written = run.versions(_name(due))
    skill = due.present.skill
    assert skill is not None
    if due.what == "leave":
        personal = sections.edited_sections(written.bodies, skill.body)
        kept = personal or is_brought_back(run, skill.name)
        return None if kept else refreshing.withdrawal_change(due)
    if due.what == "restore" and is_cut_short(skill, written.ends, run.policy):
        return None  # a person said when it ends
    draft = draft_by(run.judge, due.findings)
    if draft is None:
        return None
    files = references(run, due.present.shelf, skill)
    change = refreshing.rewrite_change(due, draft, written, references=files, policy=run.policy)
    return told_by(change, draft, run.view)
