"""The next version of a skill that a person let in: it waits in proposed/ until they decide.

It stands beside the approved one, under a name of its own, and states which one it replaces.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.expire import key_edits
from skillvault.learning.sections import Version, Written
from skillvault.model.change import Change, Edit, Move, Rewrite
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Skill, link_of, ref_of
from skillvault.model.sameness import comparison
from skillvault.model.sameness import form as forms
from skillvault.model.section_marks import (
    DESCRIPTION,
    format_marks,
    heading_mark,
    plain_section,
    sections_of,
    text_mark,
)
from skillvault.model.text import front_matter, markdown

if TYPE_CHECKING:
    from skillvault.model.sameness.form import Form

FILE = "SKILL.md"
APPROVE = "approve"
_SERVED, _PROPOSED = "skills", "proposed"
_WRITTEN = ("metadata", "written")
# What of a skill the one that is approved may get from its next version.
_KEYS = ("description", "tags", "roles", "stages", "subject", "account", "created", "expires")
# Of a statement the counts and the day, which grow while it says the same.
_COUNTS = re.compile(
    r"\b\d+ of (?:all )?\d+\b|\b\d{4}-\d\d-\d\d\b|\b\d+(?= (?:more |other )?(?:outcomes?|runs?|"
    r"times?|sessions?|episodes?|decisions?|cases?|facts?|failures?|losses|successes|gains?)\b)"
)

Files = Mapping[str, bytes]


def metadata_of(files: Files) -> Mapping[str, Any]:
    """The metadata of a skill's file."""
    meta, _ = front_matter.read(front_matter.text_of(files[FILE]))
    metadata = meta.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def as_proposed(files: Files, name: str, replaces: str | None = None) -> dict[str, bytes]:
    """A skill's files as they wait under a name, in place of the skill that it replaces.

    Without the mark of the shelf, which is set where they are written.
    """
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), _PROPOSED)
    for key in ("replaces", "internal"):
        content = front_matter.without_key(content, ("metadata", key))
    if replaces:
        content = front_matter.with_key(content, ("metadata", "replaces"), replaces)
    return {**files, FILE: content}


# ── what the program writes ──────────────────────────────────────────────────────────


class Approved(Struct, frozen=True):
    """A skill in skills/, its files by their path in its folder, what the program wrote of it."""

    skill: Skill
    files: Files = {}
    written: Written = Written()

    @property
    def personal(self) -> tuple[str, ...]:
        """The sections that a person wrote in it."""
        texts = sections_of(self.skill.body)
        keys = sections.theirs(self.written.bodies, self.skill.body)
        return tuple(plain_section(texts[key]) for key in texts if key in keys)

    @property
    def marks(self) -> str:
        """Which of its sections the program wrote, as `metadata.written` states it.

        What a person removed stays marked, as that is theirs to have removed.
        """
        texts = {DESCRIPTION: self.skill.description, **sections_of(self.skill.body)}
        personal = set(sections.theirs(self.written.bodies, self.skill.body))
        if not sections.untouched(self.written.descriptions, self.skill.description):
            personal.add(DESCRIPTION)
        ours = {heading_mark(key): text_mark(texts[key]) for key in texts if key not in personal}
        return format_marks(
            ours | {heading_mark(key): text_mark("") for key in personal - set(texts)}
        )


class WaitingVersion(Struct, frozen=True):
    """A version that waits already, and what the program wrote of it."""

    skill: Skill
    written: Written


def rewritten_skill(change: Change, shelf: str) -> str | None:
    """The skill on a shelf of which a change rewrites the text or the description."""
    paths = [rewrite.path for rewrite in change.rewrites]
    paths += [edit.path for edit in change.edits if edit.key == ("description",)]
    names = (path.split("/")[1] for path in paths if path.startswith(f"{shelf}/"))
    return next(names, None)


def with_account_of(waiting: Skill, skill: Skill) -> Skill:
    """A skill as far as the program has told: with the account and subject of what waits."""
    return replace(skill, account=waiting.account, subject=waiting.subject)


def first_version(change: Change, name: str, approved: Approved) -> Change:
    """A change that would rewrite an approved skill, as the proposal of its next version.

    `name` is that of the proposal.
    """
    old = approved.skill.name
    place, moved = f"{_PROPOSED}/{name}", _Moved(f"{_SERVED}/{old}/", f"{_PROPOSED}/{name}/")
    copied = as_proposed(approved.files, name, old)
    if not approved.skill.written:
        copied[FILE] = front_matter.with_key(copied[FILE], _WRITTEN, approved.marks)
    files = {f"{place}/{path}": data for path, data in copied.items()}
    files |= {moved(path): data for path, data in change.files}
    return replace(
        _as_proposal(change, name, old, frozenset()),
        files=tuple(sorted(files.items())),
        edits=tuple(replace(edit, path=moved(edit.path)) for edit in change.edits),
        rewrites=tuple(replace(rewrite, path=moved(rewrite.path)) for rewrite in change.rewrites),
    )


def later_version(
    change: Change,
    approved: Approved,
    waiting: WaitingVersion,
    *,
    linked: Container[Ref],
    policy: Policy,
) -> Change:
    """The same of a version that waits already: it is written anew, but for a person's words."""
    skill, old = waiting.skill, approved.skill
    path = f"{_PROPOSED}/{skill.name}/{FILE}"
    moved = _Moved(f"{_SERVED}/{old.name}/", f"{_PROPOSED}/{skill.name}/")
    target = next((rewrite.body for rewrite in change.rewrites), old.body)
    body = sections.rewritten(skill.body, waiting.written.bodies, target)
    edited = _edited(with_account_of(skill, old), change.edits)
    wanted = replace(skill, **{key: getattr(edited, key) for key in _KEYS})
    return replace(
        _as_proposal(change, skill.name, old.name, linked),
        files=tuple((moved(at), data) for at, data in change.files),
        edits=tuple(key_edits(path, skill, wanted, waiting.written, policy=policy)),
        rewrites=(Rewrite(path, body, approved.personal),) if body != skill.body else (),
    )


def withdrawal(change: Change, waiting: Skill, paths: Iterable[str]) -> Change:
    """The change that takes a version back of which by now what is left was rejected before."""
    return Change(
        step=change.step,
        subject=f"withdraw {waiting.name}",
        commit_with=change.commit_with,
        reason="By what is known now it would say what was rejected.",
        removes=tuple(sorted(paths)),
        targets=(Ref("skill", waiting.name),),
    )


class _Moved:
    """Paths below one folder as they stand below another."""

    def __init__(self, source: str, target: str) -> None:
        self._source = source
        self._target = target

    def __call__(self, path: str) -> str:
        if not path.startswith(self._source):
            return path
        return self._target + path.removeprefix(self._source)


def _as_proposal(change: Change, name: str, old: str, linked: Container[Ref]) -> Change:
    """A change whose links lead to the proposal, without what puts served skills away."""
    links = {
        record.id: _relinked(record, name) if record.target == Ref("skill", old) else record
        for record in change.writes
        if isinstance(record, Link)
    }
    others = [record for record in change.writes if not isinstance(record, Link)]
    new = [link for link in links.values() if ref_of(link) not in linked]
    kept = [ref for ref in change.targets if ref.kind != "link" and ref != Ref("skill", old)]
    moves = tuple(move for move in change.moves if not move.source.startswith(f"{_SERVED}/"))
    return replace(
        change,
        subject=change.subject.replace(old, name),
        reason=f"Waits as the next version of {old}, which is served.\n{change.reason}",
        writes=(*others, *new),
        moves=moves,
        targets=(Ref("skill", name), *kept, *map(ref_of, new)),
    )


def _relinked(link: Link, name: str) -> Link:
    moved = link_of(link.type, link.source, Ref("skill", name), link.created_at)
    return replace(moved, metadata=link.metadata)


def _edited(skill: Skill, edits: Iterable[Edit]) -> Skill:
    """A skill with the keys that a change sets."""
    values = {edit.key[-1]: edit.value for edit in edits if edit.key[-1] in _KEYS}
    lists = {
        key: tuple(value.split()) if isinstance(value, str) else value
        for key, value in values.items()
        if key in ("tags", "roles", "stages")
    }
    return replace(skill, **{**values, **lists})


def restored_as_proposal(change: Change, name: str) -> Change:
    """A change that takes a skill out of the archive with another text: it waits again."""
    back = Move(f"archive/{name}", f"{_SERVED}/{name}")
    if back not in change.moves:
        return change
    moved = _Moved(f"{_SERVED}/{name}/", f"{_PROPOSED}/{name}/")
    waits = Edit(f"archive/{name}/{FILE}", ("metadata", "status"), _PROPOSED)
    others = tuple(move for move in change.moves if move != back)
    return replace(
        change,
        files=tuple((moved(path), data) for path, data in change.files),
        edits=(*change.edits, waits),
        moves=(Move(f"archive/{name}", f"{_PROPOSED}/{name}"), *others),
    )


# ── what a person decides ────────────────────────────────────────────────────────────


def as_approved(waiting: Skill, approved: Skill, base: Skill) -> Skill:
    """What a skill says once its next version takes its place.

    `base` is what was approved when that was first written: what a person changed in the approved
    one since stays.
    """
    body = sections.rewritten(approved.body, [Version(None, base.body)], waiting.body)
    keys = (*_KEYS, "written")
    changed = [key for key in keys if getattr(approved, key) == getattr(base, key)]
    return replace(approved, body=body, **{key: getattr(waiting, key) for key in changed})


def approve_learned(
    waiting: Skill,
    approved: Skill,
    after: Skill,
    *,
    files: Files,
    standing: Iterable[str],
    links: Sequence[Link],
) -> Change:
    """The next version of what the program learned takes the place of the approved one.

    `files` are those that it brings by their paths in its folder, `standing` the paths of all its
    files, `links` those that lead to it.
    """
    name, path = approved.name, f"{_SERVED}/{approved.name}/{FILE}"
    keys = [key for key in (*_KEYS, "written") if getattr(after, key) != getattr(approved, key)]
    places = {key: (key,) if key == "description" else ("metadata", key) for key in keys}
    changes = sections.statement_changes(approved.body, after.body)
    return Change(
        step=APPROVE,
        subject=f"{name}, its next version",
        reason="\n".join([f"{waiting.name} takes the place of {name}.", *changes]),
        writes=tuple(_relinked(link, name) for link in links),
        files=tuple((f"{_SERVED}/{name}/{at}", data) for at, data in files.items()),
        edits=tuple(Edit(path, places[key], _key_text(after, key)) for key in keys),
        rewrites=(Rewrite(path, after.body),) if after.body != approved.body else (),
        removes=tuple(sorted([*standing, *(str(ref_of(link)) for link in links)])),
        targets=(Ref("skill", name), Ref("skill", waiting.name)),
    )


def _key_text(skill: Skill, key: str) -> str | None:
    value = getattr(skill, key)
    return " ".join(value) if isinstance(value, tuple) else value


def approve_installed(
    skill: Skill, files: Files, standing: Iterable[str], links: Sequence[Link]
) -> Change:
    """The next version of an installed skill takes the approved one's place, and is tested anew.

    `files` are the waiting one's, `standing` the paths of the one it replaces, `links` those that
    lead to the waiting one.
    """
    name = skill.replaces
    if name is None:
        raise UsageError(f"{skill.name}: replaces no skill; `skill approve` serves it as it is")
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), "testing")
    content = front_matter.without_key(content, ("metadata", "replaces"))
    removes = [f"{_SERVED}/{name}/{path}" for path in standing]
    removes += [str(ref_of(link)) for link in links]
    return Change(
        step=APPROVE,
        subject=f"{name}, its next version",
        reason=f"{skill.name} takes the place of {name}; counting starts again.",
        writes=tuple(_relinked(link, name) for link in links),
        files=((f"{_SERVED}/{name}/{FILE}", content),),
        removes=tuple(sorted(removes)),
        moves=(Move(f"{_PROPOSED}/{skill.name}", f"{_SERVED}/{name}"),),
        targets=(Ref("skill", name), Ref("skill", skill.name)),
    )


def says_no_more(text: str, rejected: str, approved: str) -> bool:
    """Whether a next version brings and drops only what a rejected one did, counts aside.

    All three are texts: of the version, of the rejected one, of what is approved.
    """
    before = _forms(approved)
    came, gone = _differences(_forms(text), before)
    refused_came, refused_gone = _differences(_forms(rejected), before)
    return _all_said(came, refused_came) and _all_said(gone, refused_gone)


def _forms(text: str) -> "list[Form]":
    return [forms.normal_form(_COUNTS.sub("", line)) for line in markdown.statements(text)]


def _differences(
    after: "Sequence[Form]", before: "Sequence[Form]"
) -> "tuple[list[Form], list[Form]]":
    """(what came, what went)."""
    came = [form for form in after if not _is_among(form, before)]
    return came, [form for form in before if not _is_among(form, after)]


def _all_said(forms: "Iterable[Form]", others: "Sequence[Form]") -> bool:
    return all(_is_among(form, others) for form in forms)


def _is_among(form: "Form", others: "Iterable[Form]") -> bool:
    return any(form == other or comparison.is_same(form, other) for other in others)
