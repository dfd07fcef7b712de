"""The step `refresh`: rewrite a skill when its statements change, or archive it without outcomes.

`accounts.py` finds the due skills; `learning/refresh.py` decides about each and builds the change.
"""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from skillvault.learning.account.statements import KINDS
from skillvault.learning.expire import is_cut_short
from skillvault.learning.generate import ExistingSkill
from skillvault.learning.naming import DOMAIN_KINDS, subject_key
from skillvault.learning.refresh import (
    STEP,
    SkillRefresh,
    find_refresh,
    orphan_change,
    rewrite_change,
    withdrawal_change,
)
from skillvault.loop.managed_skills import is_edited, is_restored, read_references, sources_of_skill
from skillvault.loop.run import Run, perform_due_tasks
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change
from skillvault.model.records import Skill


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each skill to rewrite, restore, withdraw or archive."""
    yield from perform_due_tasks(run, STEP, partial(_plan_refresh, run), partial(_refresh, run))
    yield from _archive_orphans(run)


def skip_step(run: Run) -> Iterator[Change]:
    """Settle everything that is due, for a profile that rewrites no skills."""
    run.settle(STEP, run.snapshot.due.keys(STEP))
    return iter(())


def _archive_orphans(run: Run) -> Iterator[Change]:
    """Archive skills without outcomes, and strategies of domains without rules."""
    skills = run.snapshot.skills
    rows = (row for kind in DOMAIN_KINDS for row in skills.unarchived_rows(kind))
    for row in sorted({*skills.without_outcomes(), *rows}):
        skill = skills.find(row.name)
        if skill is None or skill.kind not in KINDS or skill.origin != "generated":
            continue
        is_managed = run.accounts.is_managed(skill) and not is_edited(run, row.name)
        if is_managed and row.folder != "archive" and not _has_outcomes(run, skill):
            yield orphan_change(skill, row.folder)


def _has_outcomes(run: Run, skill: Skill) -> bool:
    domain = skill.domain or ""
    if skill.kind in DOMAIN_KINDS and skill.subject == subject_key((domain, "", None)):
        if skill.kind == "strategy":
            return bool(run.accounts.find_ruled_actions(domain))
        return bool(run.accounts.find_shared_statements(domain)[0])
    subjects = run.snapshot.subjects.evaluated_subjects(domain, skill.trust)
    keys = {subject_key(subject) for subject in subjects}
    keys |= {subject_key((domain, action, None)) for domain, action, _ in subjects}
    return skill.subject in keys


def _plan_refresh(run: Run, findings: Findings, existing: ExistingSkill) -> SkillRefresh | None:
    name = existing.skill.name if existing.skill else ""
    folders = (folder for folder in existing.others if not is_edited(run, folder.partition("/")[2]))
    sources = sources_of_skill(run, findings.account.outcomes, name)
    return find_refresh(findings, replace(existing, others=tuple(folders)), sources, run.policy)


def _refresh(run: Run, task: SkillRefresh) -> Iterator[Change]:
    """Yield the change of a skill, unless a person decided on the skill."""
    skill = task.existing.skill
    assert skill is not None
    if task.what == "leave":
        if not is_edited(run, skill.name) and not is_restored(run, skill.name):
            yield from run.admit_change(withdrawal_change(task))
        return
    ends = run.written_texts(skill.name).ends
    if task.what == "restore" and is_cut_short(skill, ends, run.policy):
        return  # a person decided when it ends
    yield from run.write_skill(skill.name, task.findings, partial(rewrite_skill, run, task))


def rewrite_skill(run: Run, task: SkillRefresh, draft: Draft) -> Change | None:
    """Return the change that rewrites the text of a skill."""
    skill = task.existing.skill
    assert skill is not None
    return rewrite_change(
        task,
        draft,
        run.written_texts(skill.name),
        references=read_references(run, task.existing.folder, skill),
        policy=run.policy,
    )
