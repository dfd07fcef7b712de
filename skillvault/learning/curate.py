"""Build the change for each decision of a person: put, approve, reject, retire, pin, restore, ….

`review/` reads the records and calls these functions. An impossible decision raises UsageError.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from skillvault.learning.expire import EXPIRES
from skillvault.learning.next_version import APPROVE, key_text, skill_edits
from skillvault.learning.rejection import REJECT, RejectedSkill
from skillvault.model.change import FORGET, LINK, REVERT, Change, Edit, Move, Rewrite
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import (
    LEARNED,
    PROGRAM_ORIGINS,
    Link,
    Ref,
    Retraction,
    Skill,
    link_of,
    stamp,
)
from skillvault.model.text.text import is_slug, join_items, pluralize

MOVING_STEPS = frozenset({"retire", "restore"})  # move a skill into archive/ or out of it
RENAME, FOLLOW = "rename", "follow"
RETRACT = "retract"
_POLICY = "vault.yaml"
_MAX_DESCRIPTION = 1024  # characters, by the specification of skills
# The keys that `put` sets in an existing file; status, origin and trust stay.
_PUT_KEYS = ("description", "kind", "domain", "version", "expires", "tags", "roles", "stages")


def put(skill: Skill, current: Skill | None, folder: str = "skills") -> Change | None:
    """Write a skill, or update the `current` skill; return None if nothing changes.

    In an existing file, only the keys and texts that differ change. A key that is empty in `skill`
    is removed. `folder` is the top folder of the current skill.
    """
    _check(skill, folder)
    if current is None:
        return _skill_change(
            "put", skill.name, subject=f"{skill.kind} {skill.name}", writes=(skill,)
        )
    new_skill, path = apply_put(skill, current), f"{folder}/{skill.name}/SKILL.md"
    edits = skill_edits(path, current, new_skill, _PUT_KEYS)
    is_new_text = new_skill.body != current.body
    changes = [edit.key[-1] for edit in edits] + (["text"] if is_new_text else [])
    if not changes:
        return None
    rewrites = (Rewrite(path, skill.body.strip()),) if is_new_text else ()
    reason = f"Changed: {join_items(changes)}."
    return _skill_change("put", skill.name, reason, edits=edits, rewrites=rewrites)


def apply_put(skill: Skill, current: Skill | None) -> Skill:
    """Return the skill as it will be after `put`."""
    if current is None:
        return skill
    keys = (key for key in _PUT_KEYS if key_text(skill, key) != key_text(current, key))
    body = skill.body if skill.body.strip() != current.body.strip() else current.body
    return replace(current, body=body, **{key: getattr(skill, key) for key in keys})


def edit(name: str, text: str) -> Change:
    """Replace the file of a proposal with a text that a person edited."""
    # Without a target, the commit does not count as a text of skillvault.
    file = (f"proposed/{name}/SKILL.md", text.encode())
    return Change(step="put", subject=name, reason="Edited before the decision.", files=(file,))


def draft_skill(name: str, domain: str | None, description: str) -> Skill:
    """Return a template of a skill for its author to complete."""
    _check_is_not_learned(name)
    title = name.replace("-", " ").capitalize()
    return Skill(
        name=name,
        description=description or f"{title}. Say here what it does and when to use it.",
        body=f"# {title}\n\n1. Say what to do first.\n2. Then say how to see that it worked.",
        domain=domain,
    )


def approve(skill: Skill, folder: str) -> Change:
    """Approve a proposed skill: agents get it from now on, with the status `testing`."""
    if folder != "proposed":
        raise UsageError(f"{skill.name}: is in {folder}/; only a proposed skill can be approved")
    return _move_change(APPROVE, skill, folder, "testing")


def propose_again(skills: Sequence[tuple[Skill, str]], commit: str, reason: str) -> Change:
    """Undo an approval: the skills (skill, folder) become proposals again and keep later edits."""
    names = [skill.name for skill, _ in skills]
    return Change(
        step=REVERT,
        subject=f"the approval of {join_items(names)}",
        reason=f"Approved in {commit[:10]}. {reason}",
        edits=tuple(_status_edit(skill, folder, "proposed") for skill, folder in skills),
        moves=tuple(
            Move(f"{folder}/{skill.name}", f"proposed/{skill.name}") for skill, folder in skills
        ),
        targets=tuple(Ref("skill", name) for name in names),
        why=reason,
    )


def reject(skill: Skill, folder: str, reason: str, paths: Sequence[str]) -> Change:
    """Remove a proposed skill with its links, so that it is not proposed again.

    `paths` has the paths of its files and of its links.
    """
    if folder != "proposed":
        state = "is served already" if folder == "skills" else "is in archive/, which no agent gets"
        hint = ""
        if skill.origin in PROGRAM_ORIGINS:
            hint = f"; `skillvault undo {skill.name}` removes it, and it is not made again"
        elif folder == "skills":
            hint = f"; `skillvault skill retire {skill.name}` takes it out of service"
        raise UsageError(f"{skill.name}: {state}{hint}")
    if not reason.strip():
        raise UsageError(f"{skill.name}: a rejection needs a reason; pass --reason TEXT")
    return _skill_change(REJECT, skill.name, reason, removes=tuple(paths), why=reason)


def forget(refusal: RejectedSkill, files: Mapping[str, bytes], links: Sequence[Link]) -> Change:
    """Undo a rejection: the skill is a proposal again, with its links."""
    reason_text = f": {refusal.reason}" if refusal.reason else "."
    return _skill_change(
        FORGET,
        refusal.skill,
        f"Was rejected in {refusal.commit[:10]}{reason_text}",
        f"the rejection of {refusal.skill}",
        writes=tuple(links),
        files=tuple(sorted(files.items())),
    )


def retire(skill: Skill, folder: str) -> Change:
    """Retire a skill: its folder moves to archive/, where people can read it."""
    if skill.name == LEARNED:
        raise UsageError(
            f"{LEARNED}: holds the patterns; delete an entry of resources/expertise.yaml, and that "
            "pattern is not captured again"
        )
    if folder == "archive":
        raise UsageError(f"{skill.name}: is in archive/ already; `skill restore` brings it back")
    return _move_change("retire", skill, folder, "retired")


def pin(skill: Skill, folder: str) -> Change:
    """Pin a skill, so that neither evidence nor age retires it."""
    if folder != "skills":
        step = "approve" if folder == "proposed" else "restore"
        raise UsageError(f"{skill.name}: is in {folder}/; `skill {step}` it first")
    if skill.status == "pinned":
        raise UsageError(f"{skill.name}: is pinned already")
    edit = _status_edit(skill, folder, "pinned")
    return _skill_change("pin", skill.name, f"Was {skill.status}.", edits=(edit,))


def restore(skill: Skill, folder: str, *, now: datetime, policy: Policy) -> Change:
    """Restore an archived skill with the status `testing` and a new time to live, or unpin one."""
    if folder == "skills" and skill.status == "pinned":
        edit = _status_edit(skill, folder, "testing")
        return _skill_change("restore", skill.name, "Was pinned.", edits=(edit,))
    if folder != "archive":
        raise UsageError(
            f"{skill.name}: is in {folder}/; only an archived or pinned skill can be restored"
        )
    days = policy.days(skill.kind)
    path, end = f"{folder}/{skill.name}/SKILL.md", stamp(now + timedelta(days=days or 0))
    edits = [Edit(path, EXPIRES, end)] if skill.expires and days else []
    return _move_change("restore", skill, folder, "testing", *edits)


def hide_in_layer(name: str, policy: Policy) -> Change:
    """Hide a skill of a shared layer; its source stays as it is."""
    hidden_names = policy.shelf.hidden
    if name in hidden_names:
        raise UsageError(f"{name}: is hidden already; `skillvault skill restore {name}` serves it")
    return _shelf_change(
        "retire", name, {"hidden": (*hidden_names, name), **_remove_name(name, "pinned", policy)}
    )


def pin_in_layer(name: str, policy: Policy) -> Change:
    """Pin a skill of a shared layer."""
    pinned_names = policy.shelf.pinned
    if name in policy.shelf.hidden:
        raise UsageError(f"{name}: is hidden; `skillvault skill restore {name}` it first")
    if name in pinned_names:
        raise UsageError(f"{name}: is pinned already")
    return _shelf_change("pin", name, {"pinned": (*pinned_names, name)})


def restore_in_layer(name: str, policy: Policy) -> Change:
    """Undo the hiding and the pinning of a skill of a shared layer."""
    lists = {**_remove_name(name, "hidden", policy), **_remove_name(name, "pinned", policy)}
    if not lists:
        raise UsageError(
            f"{name}: is neither hidden nor pinned; `skillvault skill retire {name}` hides it"
        )
    return _shelf_change("restore", name, lists)


def rename(skill: Skill, folder: str, name: str, links: Iterable[Link]) -> Change:
    """Rename a skill: move its folder, and redirect its `links`.

    The file keeps the former names, so that records with these names still count.
    """
    _check_is_not_learned(skill.name, name)
    path = f"{folder}/{skill.name}"
    change = _skill_change(
        RENAME,
        name,
        f"Records of {skill.name} count for {name} from now on.",
        f"{skill.name} to {name}",
        moves=(Move(path, f"{folder}/{name}"),),
    )
    return _add_former_names(change, path, [*skill.formerly, skill.name], links)


def follow_rename(
    folder: str,
    name: str,
    former_names: Sequence[str],
    links: Iterable[Link],
    *,
    versions: Iterable[str],
) -> Change:
    """Note the former names of a skill whose folder a person renamed, and redirect its links.

    `versions` has proposals that would replace the skill under a former name.
    """
    change = _skill_change(
        FOLLOW,
        name,
        f"A person renamed {former_names[-1]}; its records count for {name} from now on.",
        f"{former_names[-1]} to {name}",
    )
    change = _add_former_names(change, f"{folder}/{name}", former_names, links)
    edits = (Edit(f"proposed/{v}/SKILL.md", ("metadata", "replaces"), name) for v in versions)
    return replace(change, edits=(*change.edits, *edits))


def _add_former_names(
    change: Change, folder: str, former_names: Collection[str], links: Iterable[Link]
) -> Change:
    (new_ref,) = change.targets
    path, removes, new_links = f"{folder}/SKILL.md", [], []
    for link in links:
        source, target = (
            new_ref if ref.kind == "skill" and ref.id in former_names else ref
            for ref in (link.source, link.target)
        )
        new_link = link_of(link.type, source, target, link.created_at)
        new_links.append(replace(new_link, metadata=link.metadata))
        removes.append(f"{LINK}{link.id}")
    aliases = " ".join(dict.fromkeys(name for name in former_names if name != new_ref.id))
    edits = (Edit(path, ("name",), new_ref.id), Edit(path, ("metadata", "formerly"), aliases))
    return replace(change, edits=edits, writes=tuple(new_links), removes=tuple(removes))


def _remove_name(name: str, key: str, policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return `{key: names}` without a name, for `shelf` in vault.yaml, or {} without the name."""
    names: tuple[str, ...] = getattr(policy.shelf, key)
    return {key: tuple(other for other in names if other != name)} if name in names else {}


def _shelf_change(step: str, name: str, lists: Mapping[str, tuple[str, ...]]) -> Change:
    """Return the change of vault.yaml that sets the lists under `shelf` for a skill."""
    settings = (
        f"shelf.{key} in vault.yaml to [{', '.join(names)}]" for key, names in lists.items()
    )
    edits = tuple(Edit(_POLICY, ("shelf", key), names) for key, names in lists.items())
    return _skill_change(step, name, f"Sets {' and '.join(settings)}.", edits=edits)


def check_name(name: str) -> None:
    """Raise UsageError if a skill cannot have this name."""
    if not is_slug(name):
        raise UsageError(
            f"{name[:80]!r} cannot be a skill's name; use lower-case letters, digits and "
            "single hyphens, at most 64"
        )


def _check(skill: Skill, folder: str) -> None:
    if folder == "archive":
        raise UsageError(f"{skill.name}: is in archive/; `skill restore` brings it back")
    _check_is_not_learned(skill.name)
    check_name(skill.name)
    if not 0 < len(skill.description) <= _MAX_DESCRIPTION:
        raise UsageError(
            f"{skill.name}: its description has {len(skill.description)} characters; say in 1 to "
            f"{_MAX_DESCRIPTION} what it does and when to use it"
        )


def _check_is_not_learned(*names: str) -> None:
    if LEARNED in names:
        raise UsageError(f"{LEARNED}: is the name of the skill of patterns; choose another")


def _status_edit(skill: Skill, folder: str, status: str) -> Edit:
    return Edit(f"{folder}/{skill.name}/SKILL.md", ("metadata", "status"), status)


def _move_change(step: str, skill: Skill, folder: str, status: str, *edits: Edit) -> Change:
    target = "archive" if status == "retired" else "skills"
    return _skill_change(
        step,
        skill.name,
        f"From {folder}/ to {target}/; was {skill.status}.",
        edits=(_status_edit(skill, folder, status), *edits),
        moves=(Move(f"{folder}/{skill.name}", f"{target}/{skill.name}"),),
    )


def _skill_change(
    step: str, name: str, reason: str = "", subject: str = "", **parts: Any
) -> Change:
    target = Ref("skill", name)
    return Change(step=step, subject=subject or name, reason=reason, targets=(target,), **parts)


def retract_change(
    retraction: Retraction,
    removed_refs: Sequence[tuple[Ref, str]],
    orphans: Sequence[tuple[str, str]],
    *,
    learner: str | None = None,
) -> Change:
    """Return the change that retracts an outcome: its file stays but no longer counts.

    `removed_refs` has (ref, path) of the facts and links that rest on the outcome; other evidence
    may make them again. `orphans` has (folder, name) of skills without other evidence.
    `learner` is the clone that learns, if that is another clone.
    """
    if not retraction.reason.strip():
        raise UsageError(f"{retraction.outcome}: a retraction needs a reason; pass --reason TEXT")
    facts = [ref for ref, _ in removed_refs if ref.kind == "fact"]
    consequence = "what used it is computed again"
    if learner:
        consequence = f"{learner} learns, and computes what used it again"
    lines = [retraction.reason, f"Nothing counts it from now on; {consequence}."]
    if facts:
        lines.append(
            f"{pluralize(len(facts), 'fact')} made from it; made again if others say the same:"
        )
        lines += [f"  {fact.id}" for fact in facts]
    return Change(
        step=RETRACT,
        subject=retraction.outcome,
        reason="\n".join(lines),
        writes=(retraction,),
        removes=tuple(path for _, path in removed_refs),
        moves=tuple(Move(f"{folder}/{name}", f"archive/{name}") for folder, name in orphans),
        sources=(Ref("outcome", retraction.outcome), *(ref for ref, _ in removed_refs)),
        targets=(
            Ref("retraction", retraction.outcome),
            *(Ref("skill", name) for _, name in orphans),
        ),
        why=retraction.reason,
    )
