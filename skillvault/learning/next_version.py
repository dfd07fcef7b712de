"""The text of an approved skill's next version, which waits until a person decides.

The version has a name of its own in proposed/, and states the approved skill that it replaces.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.expire import key_edits
from skillvault.learning.sections import Version, WrittenTexts
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
# The keys that an approved skill may get from its next version.
_KEYS = ("description", "tags", "roles", "stages", "subject", "account", "created", "expires")
# The counts and days of a statement, which grow while it says the same.
_COUNTS = re.compile(
    r"\b\d+ of (?:all )?\d+\b|\b\d{4}-\d\d-\d\d\b|\b\d+(?= (?:more |other )?(?:outcomes?|runs?|"
    r"times?|sessions?|occasions?|decisions?|cases?|facts?|failures?|losses|successes|gains?)\b)"
)

Files = Mapping[str, bytes]


def metadata_of(files: Files) -> Mapping[str, Any]:
    """Return the metadata of a skill's file."""
    meta, _ = front_matter.read_document(front_matter.text_of(files[FILE]))
    metadata = meta.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def as_proposed(files: Files, name: str, replaces: str | None = None) -> dict[str, bytes]:
    """Return a skill's files as they wait under a name, to replace a skill.

    The key that marks its folder is removed; the writer sets it again.
    """
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), _PROPOSED)
    for key in ("replaces", "internal"):
        content = front_matter.without_key(content, ("metadata", key))
    if replaces:
        content = front_matter.with_key(content, ("metadata", "replaces"), replaces)
    return {**files, FILE: content}


# ── changes of the program ──────────────────────────────────────────────────────────


class ApprovedSkill(Struct, frozen=True):
    """A skill in skills/, its files by their path in its folder, and its generated texts."""

    skill: Skill
    files: Files = {}
    written: WrittenTexts = WrittenTexts()

    @property
    def personal(self) -> tuple[str, ...]:
        """The sections that a person wrote."""
        texts = sections_of(self.skill.body)
        keys = sections.edited_sections(self.written.bodies, self.skill.body)
        return tuple(plain_section(texts[key]) for key in texts if key in keys)

    @property
    def marks(self) -> str:
        """The digests of the generated sections, as `metadata.written` has them.

        A section that a person removed keeps its digest, so that it is not added again.
        """
        texts = {DESCRIPTION: self.skill.description, **sections_of(self.skill.body)}
        edits = set(sections.edited_sections(self.written.bodies, self.skill.body))
        if not sections.is_untouched(self.written.descriptions, self.skill.description):
            edits.add(DESCRIPTION)
        marks = {heading_mark(key): text_mark(texts[key]) for key in texts if key not in edits}
        return format_marks(
            marks | {heading_mark(key): text_mark("") for key in edits - set(texts)}
        )


class WaitingVersion(Struct, frozen=True):
    """A version that waits already, and its generated texts."""

    skill: Skill
    written: WrittenTexts


def rewritten_skill(change: Change, shelf: str) -> str | None:
    """Return the skill of a folder whose text or description a change rewrites."""
    paths = [rewrite.path for rewrite in change.rewrites]
    paths += [edit.path for edit in change.edits if edit.key == ("description",)]
    names = (path.split("/")[1] for path in paths if path.startswith(f"{shelf}/"))
    return next(names, None)


def with_account_of(waiting: Skill, skill: Skill) -> Skill:
    """Return a skill with the account and subject of its waiting version."""
    return replace(skill, account=waiting.account, subject=waiting.subject)


def first_version(change: Change, name: str, approved: ApprovedSkill) -> Change:
    """Turn the rewrite of an approved skill into the proposal of its next version.

    `name` is that of the proposal.
    """
    current = approved.skill.name
    place, move = f"{_PROPOSED}/{name}", _PathMove(f"{_SERVED}/{current}/", f"{_PROPOSED}/{name}/")
    proposal_files = as_proposed(approved.files, name, current)
    if not approved.skill.written:
        proposal_files[FILE] = front_matter.with_key(proposal_files[FILE], _WRITTEN, approved.marks)
    files = {f"{place}/{path}": data for path, data in proposal_files.items()}
    files |= {move(path): data for path, data in change.files}
    return replace(
        _as_proposal(change, name, current, frozenset()),
        files=tuple(sorted(files.items())),
        edits=tuple(replace(edit, path=move(edit.path)) for edit in change.edits),
        rewrites=tuple(replace(rewrite, path=move(rewrite.path)) for rewrite in change.rewrites),
    )


def later_version(
    change: Change,
    approved: ApprovedSkill,
    waiting: WaitingVersion,
    *,
    linked: Container[Ref],
    policy: Policy,
) -> Change:
    """Turn the rewrite of an approved skill into a rewrite of its waiting version.

    A person's words stay.
    """
    skill, current = waiting.skill, approved.skill
    path = f"{_PROPOSED}/{skill.name}/{FILE}"
    move = _PathMove(f"{_SERVED}/{current.name}/", f"{_PROPOSED}/{skill.name}/")
    target = next((rewrite.body for rewrite in change.rewrites), current.body)
    body = sections.rewrite_body(skill.body, waiting.written.bodies, target)
    edited = _apply_edits(with_account_of(skill, current), change.edits)
    new_skill = replace(skill, **{key: getattr(edited, key) for key in _KEYS})
    return replace(
        _as_proposal(change, skill.name, current.name, linked),
        files=tuple((move(at), data) for at, data in change.files),
        edits=tuple(key_edits(path, skill, new_skill, waiting.written, policy=policy)),
        rewrites=(Rewrite(path, body, approved.personal),) if body != skill.body else (),
    )


def withdrawal(change: Change, waiting: Skill, paths: Iterable[str]) -> Change:
    """Withdraw a next version whose remaining statements were all rejected earlier."""
    return Change(
        step=change.step,
        subject=f"withdraw {waiting.name}",
        commit_with=change.commit_with,
        reason="With the latest outcomes it would repeat what was rejected.",
        removes=tuple(sorted(paths)),
        targets=(Ref("skill", waiting.name),),
    )


class _PathMove:
    """A function that moves paths from one folder to another."""

    def __init__(self, source: str, target: str) -> None:
        self._source = source
        self._target = target

    def __call__(self, path: str) -> str:
        if not path.startswith(self._source):
            return path
        return self._target + path.removeprefix(self._source)


def _as_proposal(change: Change, name: str, current: str, linked: Container[Ref]) -> Change:
    """Return a change with links to the proposal, and without moves of served skills."""
    links = {
        record.id: _redirect_link(record, name)
        if record.target == Ref("skill", current)
        else record
        for record in change.writes
        if isinstance(record, Link)
    }
    records = [record for record in change.writes if not isinstance(record, Link)]
    new_links = [link for link in links.values() if ref_of(link) not in linked]
    targets = [r for r in change.targets if r.kind != "link" and r != Ref("skill", current)]
    moves = tuple(move for move in change.moves if not move.source.startswith(f"{_SERVED}/"))
    return replace(
        change,
        subject=change.subject.replace(current, name),
        reason=f"Waits as the next version of {current}, which is served.\n{change.reason}",
        writes=(*records, *new_links),
        moves=moves,
        targets=(Ref("skill", name), *targets, *map(ref_of, new_links)),
    )


def _redirect_link(link: Link, name: str) -> Link:
    moved_link = link_of(link.type, link.source, Ref("skill", name), link.created_at)
    return replace(moved_link, metadata=link.metadata)


def _apply_edits(skill: Skill, edits: Iterable[Edit]) -> Skill:
    values = {edit.key[-1]: edit.value for edit in edits if edit.key[-1] in _KEYS}
    lists = {
        key: tuple(value.split()) if isinstance(value, str) else value
        for key, value in values.items()
        if key in ("tags", "roles", "stages")
    }
    return replace(skill, **{**values, **lists})


def restored_as_proposal(change: Change, name: str) -> Change:
    """Let a skill that a change restores with a new text wait for approval again."""
    restore = Move(f"archive/{name}", f"{_SERVED}/{name}")
    if restore not in change.moves:
        return change
    path_move = _PathMove(f"{_SERVED}/{name}/", f"{_PROPOSED}/{name}/")
    status = Edit(f"archive/{name}/{FILE}", ("metadata", "status"), _PROPOSED)
    moves = tuple(move for move in change.moves if move != restore)
    return replace(
        change,
        files=tuple((path_move(path), data) for path, data in change.files),
        edits=(*change.edits, status),
        moves=(Move(f"archive/{name}", f"{_PROPOSED}/{name}"), *moves),
    )


# ── decisions of a person ────────────────────────────────────────────────────────────


def as_approved(waiting: Skill, approved: Skill, base: Skill) -> Skill:
    """Return an approved skill with the text of its next version.

    `base` is the approved skill when that version was first written; a person's later edits of the
    approved skill stay.
    """
    body = sections.rewrite_body(approved.body, [Version(None, base.body)], waiting.body)
    keys = (*_KEYS, "written")
    changed = [key for key in keys if getattr(approved, key) == getattr(base, key)]
    return replace(approved, body=body, **{key: getattr(waiting, key) for key in changed})


def approve_learned(
    waiting: Skill,
    approved: Skill,
    new_skill: Skill,
    *,
    files: Files,
    paths: Iterable[str],
    links: Sequence[Link],
) -> Change:
    """Replace an approved skill by its next version, which skillvault learned.

    `files` are the version's files by their paths in its folder, `paths` the paths of these files,
    `links` the links to the version.
    """
    name, path = approved.name, f"{_SERVED}/{approved.name}/{FILE}"
    keys = [key for key in (*_KEYS, "written") if getattr(new_skill, key) != getattr(approved, key)]
    places = {key: (key,) if key == "description" else ("metadata", key) for key in keys}
    changes = sections.statement_changes(approved.body, new_skill.body)
    return Change(
        step=APPROVE,
        subject=f"{name}, its next version",
        reason="\n".join([f"{waiting.name} replaces {name}.", *changes]),
        writes=tuple(_redirect_link(link, name) for link in links),
        files=tuple((f"{_SERVED}/{name}/{at}", data) for at, data in files.items()),
        edits=tuple(Edit(path, places[key], _key_text(new_skill, key)) for key in keys),
        rewrites=(Rewrite(path, new_skill.body),) if new_skill.body != approved.body else (),
        removes=tuple(sorted([*paths, *(str(ref_of(link)) for link in links)])),
        targets=(Ref("skill", name), Ref("skill", waiting.name)),
    )


def _key_text(skill: Skill, key: str) -> str | None:
    value = getattr(skill, key)
    return " ".join(value) if isinstance(value, tuple) else value


def approve_installed(
    skill: Skill, files: Files, paths: Iterable[str], links: Sequence[Link]
) -> Change:
    """Replace an installed skill by its next version, which is tested anew.

    `files` are the waiting version's, `paths` the paths of the skill that it replaces, `links` the
    links to the waiting version.
    """
    name = skill.replaces
    if name is None:
        raise UsageError(f"{skill.name}: replaces no skill; `skill approve` serves it as it is")
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), "testing")
    content = front_matter.without_key(content, ("metadata", "replaces"))
    removed_paths = [f"{_SERVED}/{name}/{path}" for path in paths]
    removed_paths += [str(ref_of(link)) for link in links]
    return Change(
        step=APPROVE,
        subject=f"{name}, its next version",
        reason=f"{skill.name} replaces {name}; counting starts again.",
        writes=tuple(_redirect_link(link, name) for link in links),
        files=((f"{_SERVED}/{name}/{FILE}", content),),
        removes=tuple(sorted(removed_paths)),
        moves=(Move(f"{_PROPOSED}/{skill.name}", f"{_SERVED}/{name}"),),
        targets=(Ref("skill", name), Ref("skill", skill.name)),
    )


def says_no_more(text: str, rejected: str, approved: str) -> bool:
    """Return True if a version changes nothing beyond a rejected version, counts aside.

    All three are texts: the version, the rejected version, the approved skill.
    """
    base = _forms(approved)
    added_forms, removed_forms = _differences(_forms(text), base)
    rejected_added, rejected_removed = _differences(_forms(rejected), base)
    return all(_is_among(form, rejected_added) for form in added_forms) and all(
        _is_among(form, rejected_removed) for form in removed_forms
    )


def _forms(text: str) -> "list[Form]":
    return [forms.normal_form(_COUNTS.sub("", line)) for line in markdown.statements(text)]


def _differences(
    new_forms: "Sequence[Form]", old_forms: "Sequence[Form]"
) -> "tuple[list[Form], list[Form]]":
    """Return the (added, removed) statements."""
    added_forms = [form for form in new_forms if not _is_among(form, old_forms)]
    return added_forms, [form for form in old_forms if not _is_among(form, new_forms)]


def _is_among(form: "Form", forms_list: "Iterable[Form]") -> bool:
    return any(form == item or comparison.is_same(form, item) for item in forms_list)
