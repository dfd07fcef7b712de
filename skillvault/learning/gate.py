"""The gate: which of the program's new skills are served, and which wait for a person.

What is untrusted always waits; that is not the policy's to change.
"""

from collections.abc import Collection

from msgspec.structs import replace

from skillvault.model.change import Change, Move, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Skill

_SERVED, _PROPOSED = "skills", "proposed"


def apply_gate(change: Change, policy: Policy) -> Change:
    """A change of the program's, with its new skills on the shelf that the policy gives them."""
    skills = [record for record in change.writes if isinstance(record, Skill)]
    held = {skill.name: skill for skill in skills if _is_held_otherwise(skill, policy)}
    if not held:
        return change
    waits = policy.generate.gate == "always"
    status, shelf = ("proposed", _PROPOSED) if waits else ("testing", _SERVED)
    writes = tuple(
        replace(record, status=status)
        if isinstance(record, Skill) and record.name in held
        else record
        for record in change.writes
    )
    files = tuple((_moved_below(path, held.keys(), shelf), data) for path, data in change.files)
    return replace(change, writes=writes, files=files)


def _is_held_otherwise(skill: Skill, policy: Policy) -> bool:
    """Whether the policy holds a new skill otherwise than the rule that made it."""
    gate = policy.generate.gate
    if skill.trust == "untrusted" or skill.origin not in ("generated", "distilled"):
        return False
    return skill.status == {"always": "testing", "never": "proposed"}.get(gate)


def _moved_below(path: str, names: Collection[str], shelf: str) -> str:
    top, _, inner = path.partition("/")
    if top in (_SERVED, _PROPOSED) and inner.partition("/")[0] in names:
        return f"{shelf}/{inner}"
    return path


def home_of(skill: Skill) -> str:
    """The shelf to which a skill comes back from the archive: one that waited waits again."""
    return _PROPOSED if skill.status == "proposed" else _SERVED


def archive_change(step: str, skill: Skill, shelf: str, reason: str) -> Change:
    """Return the commit by which a step archives a skill that stands on this shelf."""
    return Change(
        step=step,
        subject=f"archive {skill.name}",
        commit_with=skill_series(step, skill.domain),
        reason=reason,
        moves=(Move(f"{shelf}/{skill.name}", f"archive/{skill.name}"),),
        targets=(Ref("skill", skill.name),),
    )
