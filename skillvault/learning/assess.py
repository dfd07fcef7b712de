"""assess: a skill's status follows from what its use showed, one commit each with the numbers.

Pinned and proposed skills, and those that a person took out of service, are not its to judge.
"""

from msgspec import Struct

from skillvault.change import Change, Edit, Move
from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.verdict import Evidence
from skillvault.policy import Policy
from skillvault.records import Ref

STEP = "assess"
_SERVED, _ARCHIVE = "skills", "archive"
_JUDGED = ("testing", "proven", "retired")


class Assessed(Struct, frozen=True):
    """A skill as it stands: `shelf` is its folder, `ours` whether this step put it there."""

    name: str
    shelf: str
    status: str
    evidence: Evidence
    ours: bool = False


def status_change(skill: Assessed, policy: Policy) -> Change | None:
    """The commit that gives a skill the status it earned; None if it has it."""
    archived = skill.shelf == _ARCHIVE
    if skill.status not in _JUDGED or (archived and not skill.ours):
        return None
    # What stands in skills/ as retired was brought back by a person.
    before = "retired" if archived else skill.status.replace("retired", "testing")
    following = effect.next_status(before, skill.evidence, policy)
    if following.status == skill.status and archived == (following.status == "retired"):
        return None
    place = _ARCHIVE if following.status == "retired" else _SERVED
    source, target = f"{skill.shelf}/{skill.name}", f"{place}/{skill.name}"
    return Change(
        step=STEP,
        subject=f"{following.status} {skill.name}",
        reason=f"Was {skill.status}. {following.reason}",
        edits=(Edit(f"{source}/SKILL.md", ("metadata", "status"), following.status),),
        moves=(Move(source, target),) if source != target else (),
        targets=(Ref("skill", skill.name),),
    )
