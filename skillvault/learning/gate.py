"""The gate for new skills, and the changes that several steps share.

The gate decides if agents get a new skill at once, or if it waits in proposed/ for a person.
Untrusted skills always wait. The shared changes archive a skill, and link records that say the
same.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from skillvault.model.change import Change, Move, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Skill, link_of

_SERVED, _PROPOSED = "skills", "proposed"


def apply_gate(change: Change, policy: Policy) -> Change:
    """Move the new skills of a change to the folder that the policy requires."""
    must_wait = policy.generate.gate == "always"
    old_status = {"always": "testing", "never": "proposed"}.get(policy.generate.gate)
    names = {
        skill.name
        for skill in change.writes
        if isinstance(skill, Skill)
        and skill.trust != "untrusted"
        and skill.origin in ("generated", "distilled")
        and skill.status == old_status
    }
    if not names:
        return change
    status, folder = ("proposed", _PROPOSED) if must_wait else ("testing", _SERVED)
    writes = tuple(
        replace(record, status=status)
        if isinstance(record, Skill) and record.name in names
        else record
        for record in change.writes
    )
    files = []
    for path, data in change.files:
        old_folder, _, inner_path = path.partition("/")
        is_moved = old_folder in (_SERVED, _PROPOSED) and inner_path.partition("/")[0] in names
        files.append((f"{folder}/{inner_path}" if is_moved else path, data))
    return replace(change, writes=writes, files=tuple(files))


def home_of(skill: Skill) -> str:
    """Return the folder for a restored skill: proposed/ for a former proposal."""
    return _PROPOSED if skill.status == "proposed" else _SERVED


def archive_change(step: str, skill: Skill, folder: str, reason: str) -> Change:
    """Return the change by which a step archives a skill."""
    ref = Ref("skill", skill.name)
    return Change(
        step=step,
        subject=f"archive {skill.name}",
        commit_with=skill_series(step, skill.domain),
        reason=reason,
        moves=(Move(f"{folder}/{skill.name}", f"archive/{skill.name}"),),
        sources=(ref,),
        targets=(ref,),
    )


def reinforcement_change(
    step: str, target: Ref, sources: Iterable[Ref], *, at: datetime, reason: str
) -> Change:
    """Return the change that links records to a skill or a fact that says the same."""
    refs = tuple(sources)
    links = tuple(link_of("reinforced", source, target, at) for source in refs)
    return Change(
        step=step,
        subject=f"reinforce {target.id}",
        reason=reason,
        writes=links,
        sources=refs,
        targets=tuple(Ref("link", link.id) for link in links),
    )


def repetition_words(count: int) -> str:
    """Return `once more` or `3 times more`."""
    return "once more" if count == 1 else f"{count} times more"
