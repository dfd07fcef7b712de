"""What a person decides about a skill: put, approve, retire, pin, restore. One change each."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from skillvault.learning.expire import EXPIRES
from skillvault.learning.next_version import APPROVE
from skillvault.learning.rejection import REJECT, RejectedSkill
from skillvault.model.change import FORGET, Change, Edit, Move, Rewrite
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import LEARNED, Link, Ref, Skill, stamp
from skillvault.model.text.text import is_slug, join_items

MOVERS = frozenset({"retire", "restore"})  # put a skill into archive/, or take it out
_POLICY = "vault.yaml"
_STATUS = ("metadata", "status")
_MAX_DESCRIPTION = 1024  # by the specification
# What `put` sets in a file that is there; its status, origin and trust are the vault's.
_PUT = ("description", "kind", "domain", "version", "expires", "tags", "roles", "stages")


def put(skill: Skill, old: Skill | None, shelf: str = "skills") -> Change | None:
    """Write a skill, new or over the `old` one in this folder; None if that changes nothing.

    Of a file that is there only the named keys and the text that differ change; a key that the
    skill leaves empty is cleared.
    """
    _check(skill, shelf)
    target = (Ref("skill", skill.name),)
    if old is None:
        subject = f"{skill.kind} {skill.name}"
        return Change(step="put", subject=subject, writes=(skill,), targets=target)
    path = f"{shelf}/{skill.name}/SKILL.md"
    values = {key: _key_text(skill, key) for key in _PUT}
    changed = [key for key, value in values.items() if value != _key_text(old, key)]
    places = {key: (key,) if key == "description" else ("metadata", key) for key in changed}
    edits = tuple(Edit(path, places[key], values[key]) for key in changed)
    texts = (Rewrite(path, skill.body.strip()),) if skill.body.strip() != old.body.strip() else ()
    changes = join_items([*changed, *(["text"] if texts else [])])
    if not changes:
        return None
    return Change(
        step="put",
        subject=skill.name,
        reason=f"Changed: {changes}.",
        edits=edits,
        rewrites=texts,
        targets=target,
    )


def over(skill: Skill, old: Skill | None) -> Skill:
    """How a skill that is put is read afterwards, new or over the `old` one."""
    if old is None:
        return skill
    changed = (key for key in _PUT if _key_text(skill, key) != _key_text(old, key))
    body = skill.body if skill.body.strip() != old.body.strip() else old.body
    return msgspec.structs.replace(old, body=body, **{key: getattr(skill, key) for key in changed})


def approve(skill: Skill, shelf: str) -> Change:
    """Let a proposed skill in: it is served from now on, as testing."""
    if shelf != "proposed":
        raise UsageError(f"{skill.name}: is in {shelf}/; only a proposed skill can be approved")
    return _moved(APPROVE, skill, shelf, "skills", edits=(_set(skill, shelf, "testing"),))


def reject(skill: Skill, shelf: str, reason: str, paths: Sequence[str]) -> Change:
    """Take a proposed skill away, with its links: nothing that says the same is made again.

    `paths` are all of its files, and its links as `Change.removes` names them.
    """
    if shelf != "proposed":
        way = {"skills": "retire", "archive": "restore"}[shelf]
        raise UsageError(
            f"{skill.name}: is in {shelf}/; only a proposed skill can be rejected "
            f"(`skillvault skill {way}`, or `skillvault undo` for what made it)"
        )
    if not reason.strip():
        raise UsageError(f"{skill.name}: why is it rejected? Say so with --reason TEXT")
    return Change(
        step=REJECT,
        subject=skill.name,
        reason=reason,
        removes=tuple(paths),
        targets=(Ref("skill", skill.name),),
        why=reason,
    )


def forget(refusal: RejectedSkill, files: Mapping[str, bytes], links: Sequence[Link]) -> Change:
    """Take a rejection back: the proposal waits again, with its links."""
    because = f": {refusal.reason}" if refusal.reason else "."
    return Change(
        step=FORGET,
        subject=f"the rejection of {refusal.skill}",
        reason=f"Was rejected in {refusal.commit[:10]}{because}",
        writes=tuple(links),
        files=tuple(sorted(files.items())),
        targets=(Ref("skill", refusal.skill),),
    )


def retire(skill: Skill, shelf: str) -> Change:
    """Take a skill out of service; it stays readable in archive/."""
    if skill.name == LEARNED:
        raise UsageError(
            f"{LEARNED}: holds the patterns; delete an entry of resources/expertise.yaml, and that "
            "pattern is not captured again"
        )
    if shelf == "archive":
        raise UsageError(f"{skill.name}: is in archive/ already; `skill restore` brings it back")
    return _moved("retire", skill, shelf, "archive", edits=(_set(skill, shelf, "retired"),))


def pin(skill: Skill, shelf: str) -> Change:
    """Keep a skill whatever its evidence and age."""
    if shelf != "skills":
        step = "approve" if shelf == "proposed" else "restore"
        raise UsageError(f"{skill.name}: is in {shelf}/; `skill {step}` it first")
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
        raise UsageError(f"{skill.name}: is in {shelf}/; only an archived skill can be restored")
    edits = [_set(skill, shelf, "testing")]
    days = policy.days(skill.kind)
    if skill.expires and days:
        path = f"{shelf}/{skill.name}/SKILL.md"
        edits.append(Edit(path, EXPIRES, stamp(now + timedelta(days=days))))
    return _moved("restore", skill, shelf, "skills", edits=tuple(edits))


def retire_beside(name: str, policy: Policy) -> Change:
    """Serve a skill of a package or a folder no more; its file is not ours to move."""
    hidden = policy.shelf.hidden
    if name in hidden:
        raise UsageError(f"{name}: is hidden already; `skillvault skill restore {name}` serves it")
    return _ruled("retire", name, {"hidden": (*hidden, name), **_without(name, "pinned", policy)})


def pin_beside(name: str, policy: Policy) -> Change:
    """Keep a skill of a package or a folder whatever its evidence."""
    pinned = policy.shelf.pinned
    if name in policy.shelf.hidden:
        raise UsageError(f"{name}: is hidden; `skillvault skill restore {name}` it first")
    if name in pinned:
        raise UsageError(f"{name}: is pinned already")
    return _ruled("pin", name, {"pinned": (*pinned, name)})


def restore_beside(name: str, policy: Policy) -> Change:
    """Let a skill of a package or a folder be as if it were never hidden or pinned."""
    lists = {**_without(name, "hidden", policy), **_without(name, "pinned", policy)}
    if not lists:
        raise UsageError(
            f"{name}: is neither hidden nor pinned; `skillvault skill retire {name}` hides it"
        )
    return _ruled("restore", name, lists)


def _without(name: str, key: str, policy: Policy) -> dict[str, tuple[str, ...]]:
    """The list of `shelf` under a key without a name; nothing if it does not hold the name."""
    names: tuple[str, ...] = getattr(policy.shelf, key)
    return {key: tuple(other for other in names if other != name)} if name in names else {}


def _ruled(step: str, name: str, lists: Mapping[str, tuple[str, ...]]) -> Change:
    """A decision about a skill that is no file of the vault stands in vault.yaml.

    `lists`: what stands in `shelf` from now on, by key.
    """
    settings = (
        f"shelf.{key} in vault.yaml to [{', '.join(names)}]" for key, names in lists.items()
    )
    return Change(
        step=step,
        subject=name,
        reason=f"Sets {' and '.join(settings)}.",
        edits=tuple(Edit(_POLICY, ("shelf", key), names) for key, names in lists.items()),
        targets=(Ref("skill", name),),
    )


def _check(skill: Skill, shelf: str) -> None:
    if shelf == "archive":
        raise UsageError(f"{skill.name}: is in archive/; `skill restore` brings it back")
    if skill.name == LEARNED:
        raise UsageError(f"{LEARNED}: is the name of the skill of patterns; choose another")
    if not is_slug(skill.name):
        raise UsageError(
            f"{skill.name[:80]!r} cannot be a skill's name; use lower-case letters, digits and "
            "single hyphens, at most 64"
        )
    if not 0 < len(skill.description) <= _MAX_DESCRIPTION:
        raise UsageError(
            f"{skill.name}: its description has {len(skill.description)} characters; say in 1 to "
            f"{_MAX_DESCRIPTION} what it does and when to use it"
        )


def _key_text(skill: Skill, key: str) -> str:
    """A key's value as one line, as it stands in the file."""
    value = getattr(skill, key)
    return " ".join(value if isinstance(value, tuple) else (value or "").split())


def _set(skill: Skill, shelf: str, status: str) -> Edit:
    return Edit(f"{shelf}/{skill.name}/SKILL.md", _STATUS, status)


def _moved(step: str, skill: Skill, shelf: str, target: str, *, edits: tuple[Edit, ...]) -> Change:
    return Change(
        step=step,
        subject=skill.name,
        reason=f"From {shelf}/ to {target}/; was {skill.status}.",
        edits=edits,
        moves=(Move(f"{shelf}/{skill.name}", f"{target}/{skill.name}"),),
        targets=(Ref("skill", skill.name),),
    )
