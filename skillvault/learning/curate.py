"""What a person decides about a skill: approve, retire, pin, restore. One change each."""

from datetime import datetime, timedelta

from skillvault.change import Change, Edit, Move
from skillvault.errors import UsageError
from skillvault.learning.expire import EXPIRES
from skillvault.policy import Policy
from skillvault.records import Ref, Skill, stamp

_STATUS = ("metadata", "status")


def approve(skill: Skill, shelf: str) -> Change:
    """Let a proposed skill in: it is served from now on, as testing."""
    if shelf != "proposed":
        raise UsageError(f"{skill.name}: stands in {shelf}/, only a proposed skill is approved")
    return _moved("approve", skill, shelf, "skills", (_set(skill, shelf, "testing"),))


def retire(skill: Skill, shelf: str) -> Change:
    """Take a skill out of service; it stays readable in archive/."""
    if shelf == "archive":
        raise UsageError(f"{skill.name}: is in archive/ already; `skill restore` brings it back")
    return _moved("retire", skill, shelf, "archive", (_set(skill, shelf, "retired"),))


def pin(skill: Skill, shelf: str) -> Change:
    """Keep a skill whatever its evidence and age."""
    if shelf != "skills":
        step = "approve" if shelf == "proposed" else "restore"
        raise UsageError(f"{skill.name}: stands in {shelf}/; `skill {step}` it first")
    if skill.status == "pinned":
        raise UsageError(f"{skill.name}: is pinned already")
    return Change(
        step="pin",
        subject=skill.name,
        reason=f"Was {skill.status}.",
        edits=(_set(skill, shelf, "pinned"),),
        targets=(Ref("skill", skill.name),),
    )


def restore(skill: Skill, shelf: str, *, now: datetime, policy: Policy) -> Change:
    """Bring an archived skill back as testing; its time to live starts again."""
    if shelf != "archive":
        raise UsageError(f"{skill.name}: stands in {shelf}/, only an archived skill is restored")
    edits = [_set(skill, shelf, "testing")]
    days = policy.days(skill.kind)
    if skill.expires and days:
        path = f"{shelf}/{skill.name}/SKILL.md"
        edits.append(Edit(path, EXPIRES, stamp(now + timedelta(days=days))))
    return _moved("restore", skill, shelf, "skills", tuple(edits))


def _set(skill: Skill, shelf: str, status: str) -> Edit:
    return Edit(f"{shelf}/{skill.name}/SKILL.md", _STATUS, status)


def _moved(step: str, skill: Skill, shelf: str, target: str, edits: tuple[Edit, ...]) -> Change:
    return Change(
        step=step,
        subject=skill.name,
        reason=f"From {shelf}/ to {target}/; was {skill.status}.",
        edits=edits,
        moves=(Move(f"{shelf}/{skill.name}", f"{target}/{skill.name}"),),
        targets=(Ref("skill", skill.name),),
    )
