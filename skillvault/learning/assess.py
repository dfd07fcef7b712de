"""The rule of `assess`: change the status of a skill if the evidence of its use asks for it.

Pinned skills, proposals, and skills that a person retired keep their status. A skill that this step
retired gets a second trial later, because a verdict can be wrong. `effect/verdict.py` judges the
evidence.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.verdict import Evidence, NextStatus
from skillvault.learning.rules import Rules
from skillvault.model.change import Change, Edit, Move
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, stamp

STEP = "assess"
_SERVED, _ARCHIVE = "skills", "archive"
_CHANGING_STATUSES = ("testing", "proven", "retired")


class AssessedSkill(Struct, frozen=True, kw_only=True):
    """The state of a skill for `assess`.

    `folder` is the top folder of the skill, `clock` the time of its domain. `is_archived_here` is
    True if this step archived the skill. `retired` is the time of that, or None if the skill
    recovered. `decisions_since` counts the decisions of the domain after that time. `trial` is the
    start of the last trial. `is_rejected` forbids a trial, because a person changed the skill or
    its time to live is over. `last_outcome` is the latest outcome in the evidence.
    """

    name: str
    folder: str
    status: str
    evidence: Evidence
    clock: datetime
    is_archived_here: bool = False
    retired: datetime | None = None
    trial: datetime | None = None
    decisions_since: int = 0
    is_rejected: bool = False
    last_outcome: str = ""

    @property
    def source_refs(self) -> tuple[Ref, ...]:
        """The refs that a change of the status names as its sources."""
        outcomes = (Ref("outcome", self.last_outcome),) if self.last_outcome else ()
        return Ref("skill", self.name), *outcomes


class NextTrial(Struct, frozen=True, kw_only=True):
    """The time of the next trial of a retired skill, by the clock of its domain.

    The trial starts at the time `at`, or earlier if so many `decisions` follow, but not before
    `not_before`.
    """

    at: datetime
    decisions: int
    not_before: datetime | None = None

    def is_due(self, clock: datetime) -> bool:
        """Return True if the trial may start now."""
        if self.not_before is not None and clock < self.not_before:
            return False
        return clock >= self.at or not self.decisions


def status_change(skill: AssessedSkill, rules: Rules) -> Change | None:
    """Return the change that gives a skill its new status, or None if the status stays."""
    is_archived = skill.folder == _ARCHIVE
    if skill.status not in _CHANGING_STATUSES or (is_archived and not skill.is_archived_here):
        return None
    if not is_archived and effect.is_on_trial(skill.evidence, rules.policy):
        return None
    new_status = earned_status(skill, rules)
    if new_status.status == "retired" and is_archived:
        trial = next_trial(skill, rules)
        is_due = trial is not None and trial.is_due(skill.clock)
        return _trial_change(skill, rules.policy) if is_due else None
    is_over = skill.retired is not None and skill.evidence.trial and not is_archived
    if new_status.status == skill.status and not is_archived and not is_over:
        return None
    return _status_commit(skill, new_status)


def next_trial(skill: AssessedSkill, rules: Rules) -> NextTrial | None:
    """Return the next trial of a retired skill, or None if there will be no trial."""
    numbers = rules.policy.effect
    is_archived = skill.folder == _ARCHIVE and skill.status == "retired" and skill.is_archived_here
    may_return = is_archived and rules.tries_again and not skill.is_rejected
    if skill.retired is None or not may_return:
        return None
    return NextTrial(
        at=skill.retired + timedelta(days=numbers.trial_days),
        decisions=max(0, numbers.trial_decisions - skill.decisions_since),
        not_before=skill.trial and skill.trial + timedelta(days=numbers.trial_pause),
    )


def earned_status(skill: AssessedSkill, rules: Rules) -> NextStatus:
    """Return the status that the evidence asks for; a trial is judged once, at its end."""
    if skill.folder != _ARCHIVE and skill.evidence.trial and skill.retired is not None:
        return effect.status_after_trial(skill.evidence, rules.policy)
    # A retired skill in skills/ was restored by a person.
    status = skill.status.replace("retired", "testing")
    status = "retired" if skill.folder == _ARCHIVE else status
    return effect.next_status(status, skill.evidence, rules)


def _status_commit(skill: AssessedSkill, new_status: NextStatus) -> Change:
    is_retirement = new_status.status == "retired"
    values = {"status": new_status.status}
    if is_retirement or skill.retired is not None:
        values["retired"] = stamp(skill.clock) if is_retirement else ""
    subject = f"{new_status.status} {skill.name}"
    reason = f"Was {skill.status}. {new_status.reason}"
    return _skill_commit(skill, subject, reason, values)


def _trial_change(skill: AssessedSkill, policy: Policy) -> Change:
    days = (skill.clock - skill.retired).days if skill.retired else 0
    reason = (
        f"Its use retired it {days} days and {skill.decisions_since} decisions of its domain "
        f"ago. It is judged again once it was shown to {policy.effect.trial_shown} decisions."
    )
    values = {"status": "testing", "trial": stamp(skill.clock)}
    return _skill_commit(skill, f"try {skill.name} again", reason, values)


def _skill_commit(
    skill: AssessedSkill, subject: str, reason: str, values: Mapping[str, str]
) -> Change:
    source = f"{skill.folder}/{skill.name}"
    target = f"{_ARCHIVE if values['status'] == 'retired' else _SERVED}/{skill.name}"
    return Change(
        step=STEP,
        subject=subject,
        reason=reason,
        edits=tuple(
            Edit(f"{source}/SKILL.md", ("metadata", key), value) for key, value in values.items()
        ),
        moves=(Move(source, target),) if source != target else (),
        sources=skill.source_refs,
        targets=(Ref("skill", skill.name),),
    )
