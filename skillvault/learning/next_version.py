"""Build the changes of next versions: proposals that would replace an approved skill.

A next version has another name in proposed/, and names the approved skill that it replaces.
`loop/next_versions.py` finds versions and calls this module; `review/` approves and rejects them.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.expire import key_edits
from skillvault.learning.sections import Version, WrittenTexts
from skillvault.model.change import Change, Edit, Move, Rewrite
from skillvault.model.errors import UsageError
from skillvault.model.lazy import regex
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
_LEARNED_KEYS = (
    "description", "tags", "roles", "stages", "subject", "account", "created", "expires",
)  # fmt: skip
# The counts and days in a statement, which change while the statement says the same.
_COUNTS = regex(
    r"\b\d+ of (?:all )?\d+\b|\b\d{4}-\d\d-\d\d\b|\b\d+(?= (?:more |other )?(?:outcomes?|runs?|"
    r"times?|sessions?|occasions?|decisions?|cases?|facts?|failures?|losses|successes|gains?)\b)"
)

Files = Mapping[str, bytes]
_Edit = TypeVar("_Edit", Edit, Rewrite)


def metadata_of(files: Files) -> Mapping[str, Any]:
    """Return the metadata in the SKILL.md of some files."""
    meta, _ = front_matter.read_document(front_matter.text_of(files[FILE]))
    metadata = meta.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def proposed_files(files: Files, name: str, replaces: str | None = None) -> dict[str, bytes]:
    """Return the files of a skill as the proposal `name`, which would replace `replaces`.

    Remove the key `internal`, because the writer sets it again.
    """
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), _PROPOSED)
    for key in ("replaces", "internal"):
        content = front_matter.without_key(content, ("metadata", key))
    if replaces:
        content = front_matter.with_key(content, ("metadata", "replaces"), replaces)
    return {**files, FILE: content}


# ── changes of the program ──────────────────────────────────────────────────────────


class WrittenSkill(Struct, frozen=True):
    """A skill, its files by path in its folder, and the texts that skillvault wrote into it."""

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
        """The digests of the generated sections, as in `metadata.written`.

        A section that a person removed has the digest of an empty text, so that it is not added
        again.
        """
        texts = {DESCRIPTION: self.skill.description, **sections_of(self.skill.body)}
        edits = set(sections.edited_sections(self.written.bodies, self.skill.body))
        if not sections.is_untouched(self.written.descriptions, self.skill.description):
            edits.add(DESCRIPTION)
        marks = {heading_mark(key): text_mark(texts[key]) for key in texts if key not in edits}
        return format_marks(
            marks | {heading_mark(key): text_mark("") for key in edits - set(texts)}
        )


def rewritten_skill(change: Change, folder: str) -> str | None:
    """Return the name of the skill in a folder that a change rewrites, or None."""
    paths = [rewrite.path for rewrite in change.rewrites]
    paths += [edit.path for edit in change.edits if edit.key == ("description",)]
    names = (path.split("/")[1] for path in paths if path.startswith(f"{folder}/"))
    return next(names, None)


def with_account_of(proposal: Skill, skill: Skill) -> Skill:
    """Give a skill the account and the subject of its waiting version."""
    return replace(skill, account=proposal.account, subject=proposal.subject)


def first_version(change: Change, name: str, approved: WrittenSkill) -> Change:
    """Turn the rewrite of an approved skill into a new proposal called `name`."""
    old_name = approved.skill.name
    old_folder, folder = f"{_SERVED}/{old_name}/", f"{_PROPOSED}/{name}/"
    proposal_files = proposed_files(approved.files, name, old_name)
    if not approved.skill.written:
        proposal_files[FILE] = front_matter.with_key(proposal_files[FILE], _WRITTEN, approved.marks)
    files = {f"{folder}{path}": data for path, data in proposal_files.items()}
    files |= {_move_path(path, old_folder, folder): data for path, data in change.files}
    return replace(
        _as_proposal(change, name, old_name, frozenset()),
        files=tuple(sorted(files.items())),
        edits=tuple(_move_edit(edit, old_folder, folder) for edit in change.edits),
        rewrites=tuple(_move_edit(rewrite, old_folder, folder) for rewrite in change.rewrites),
    )


def later_version(
    change: Change,
    approved: WrittenSkill,
    proposal: WrittenSkill,
    *,
    linked: Container[Ref],
    policy: Policy,
) -> Change:
    """Turn the rewrite of an approved skill into a rewrite of its waiting version.

    Text that a person edited stays. `linked` has the links that the version has already.
    """
    skill, old_skill = proposal.skill, approved.skill
    path = f"{_PROPOSED}/{skill.name}/{FILE}"
    old_folder, folder = f"{_SERVED}/{old_skill.name}/", f"{_PROPOSED}/{skill.name}/"
    target = next((rewrite.body for rewrite in change.rewrites), old_skill.body)
    body = sections.rewrite_body(skill.body, proposal.written.bodies, target)
    edited_skill = _apply_edits(with_account_of(skill, old_skill), change.edits)
    new_skill = replace(skill, **{key: getattr(edited_skill, key) for key in _LEARNED_KEYS})
    return replace(
        _as_proposal(change, skill.name, old_skill.name, linked),
        files=tuple((_move_path(file, old_folder, folder), data) for file, data in change.files),
        edits=tuple(key_edits(path, skill, new_skill, proposal.written, policy=policy)),
        rewrites=(Rewrite(path, body, approved.personal),) if body != skill.body else (),
    )


def withdrawal_change(change: Change, proposal: Skill, paths: Iterable[str]) -> Change:
    """Return the change that removes a next version whose statements were rejected earlier."""
    return Change(
        step=change.step,
        subject=f"withdraw {proposal.name}",
        commit_with=change.commit_with,
        reason="With the latest outcomes it would repeat what was rejected.",
        removes=tuple(sorted(paths)),
        targets=(Ref("skill", proposal.name),),
    )


def _move_path(path: str, source: str, target: str) -> str:
    return target + path.removeprefix(source) if path.startswith(source) else path


def _move_edit(edit: _Edit, source: str, target: str) -> _Edit:
    return replace(edit, path=_move_path(edit.path, source, target))


def _as_proposal(change: Change, name: str, old_name: str, linked: Container[Ref]) -> Change:
    """Redirect the links of a change to the proposal, and drop its moves of served skills."""
    old_ref = Ref("skill", old_name)
    links = [
        _redirect_link(record, name) if record.target == old_ref else record
        for record in change.writes
        if isinstance(record, Link)
    ]
    records = [record for record in change.writes if not isinstance(record, Link)]
    new_links = [link for link in links if ref_of(link) not in linked]
    targets = [ref for ref in change.targets if ref.kind != "link" and ref != old_ref]
    moves = tuple(move for move in change.moves if not move.source.startswith(f"{_SERVED}/"))
    return replace(
        change,
        subject=change.subject.replace(old_name, name),
        reason=f"Waits as the next version of {old_name}, which is served.\n{change.reason}",
        writes=(*records, *new_links),
        moves=moves,
        targets=(Ref("skill", name), *targets, *map(ref_of, new_links)),
    )


def _redirect_link(link: Link, name: str) -> Link:
    moved_link = link_of(link.type, link.source, Ref("skill", name), link.created_at)
    return replace(moved_link, metadata=link.metadata)


def _apply_edits(skill: Skill, edits: Iterable[Edit]) -> Skill:
    values = {edit.key[-1]: edit.value for edit in edits if edit.key[-1] in _LEARNED_KEYS}
    lists = {
        key: tuple(value.split()) if isinstance(value, str) else value
        for key, value in values.items()
        if key in ("tags", "roles", "stages")
    }
    return replace(skill, **{**values, **lists})


def restore_as_proposal(change: Change, name: str) -> Change:
    """Turn the restoration of a skill with a new text into a proposal."""
    restore = Move(f"archive/{name}", f"{_SERVED}/{name}")
    if restore not in change.moves:
        return change
    old_folder, folder = f"{_SERVED}/{name}/", f"{_PROPOSED}/{name}/"
    status = Edit(f"archive/{name}/{FILE}", ("metadata", "status"), _PROPOSED)
    moves = tuple(move for move in change.moves if move != restore)
    return replace(
        change,
        files=tuple((_move_path(path, old_folder, folder), data) for path, data in change.files),
        edits=(*change.edits, status),
        moves=(Move(f"archive/{name}", f"{_PROPOSED}/{name}"), *moves),
    )


# ── decisions of a person ────────────────────────────────────────────────────────────


def approved_skill(proposal: Skill, approved: Skill, base: Skill) -> Skill:
    """Give an approved skill the text of its next version.

    `base` is the approved skill from which the version was written. Later edits of a person stay.
    """
    body = sections.rewrite_body(approved.body, [Version(None, base.body)], proposal.body)
    keys = (*_LEARNED_KEYS, "written")
    unedited_keys = [key for key in keys if getattr(approved, key) == getattr(base, key)]
    return replace(approved, body=body, **{key: getattr(proposal, key) for key in unedited_keys})


def approve_learned(
    proposal: Skill,
    approved: Skill,
    new_skill: Skill,
    *,
    files: Files,
    paths: Iterable[str],
    links: Sequence[Link],
) -> Change:
    """Return the change that replaces an approved skill with its learned next version.

    `files` has the files of the version by path in its folder, `paths` their paths in the vault,
    and `links` the links to the version.
    """
    name, path = approved.name, f"{_SERVED}/{approved.name}/{FILE}"
    changes = sections.statement_changes(approved.body, new_skill.body)
    return _approval(
        proposal.name,
        name,
        links,
        reason="\n".join([f"{proposal.name} replaces {name}.", *changes]),
        files=tuple((f"{_SERVED}/{name}/{file}", data) for file, data in files.items()),
        edits=skill_edits(path, approved, new_skill, (*_LEARNED_KEYS, "written")),
        rewrites=(Rewrite(path, new_skill.body),) if new_skill.body != approved.body else (),
        removes=tuple(paths),
    )


def skill_edits(path: str, skill: Skill, new_skill: Skill, keys: Iterable[str]) -> tuple[Edit, ...]:
    """Return the edits of the `keys` in which a skill differs from the new skill."""
    changed_keys = [key for key in keys if key_text(new_skill, key) != key_text(skill, key)]
    key_paths = {key: (key,) if key == "description" else ("metadata", key) for key in changed_keys}
    return tuple(
        Edit(path, key_paths[key], None if value is None else key_text(new_skill, key))
        for key in changed_keys
        for value in [getattr(new_skill, key)]
    )


def key_text(skill: Skill, key: str) -> str:
    """Return the value of a key on one line as in the file, or ""."""
    value = getattr(skill, key)
    return " ".join(value if isinstance(value, tuple) else (value or "").split())


def approve_installed(
    skill: Skill, files: Files, paths: Iterable[str], links: Sequence[Link]
) -> Change:
    """Return the change that replaces an installed skill with its next version.

    The version starts as `testing`. `files` has the files of the version, `paths` the files of the
    replaced skill, and `links` the links to the version.
    """
    name = skill.replaces
    if name is None:
        raise UsageError(f"{skill.name}: replaces no skill; `skill approve` serves it as it is")
    content = front_matter.with_key(files[FILE], ("name",), name)
    content = front_matter.with_key(content, ("metadata", "status"), "testing")
    content = front_matter.without_key(content, ("metadata", "replaces"))
    return _approval(
        skill.name,
        name,
        links,
        reason=f"{skill.name} replaces {name}; counting starts again.",
        files=((f"{_SERVED}/{name}/{FILE}", content),),
        removes=tuple(f"{_SERVED}/{name}/{path}" for path in paths),
        moves=(Move(f"{_PROPOSED}/{skill.name}", f"{_SERVED}/{name}"),),
    )


def _approval(
    version: str, name: str, links: Sequence[Link], removes: Iterable[str], **parts: Any
) -> Change:
    return Change(
        step=APPROVE,
        subject=f"{name}, its next version",
        writes=tuple(_redirect_link(link, name) for link in links),
        removes=tuple(sorted([*removes, *(str(ref_of(link)) for link in links)])),
        targets=(Ref("skill", name), Ref("skill", version)),
        **parts,
    )


def repeats_rejected(text: str, rejected_text: str, approved_text: str) -> bool:
    """Return True if a text only makes changes that a rejected version made too.

    Counts and days in statements are ignored.
    """
    base = _forms(approved_text)
    added_forms, removed_forms = _differences(_forms(text), base)
    rejected_added, rejected_removed = _differences(_forms(rejected_text), base)
    return all(_is_among(form, rejected_added) for form in added_forms) and all(
        _is_among(form, rejected_removed) for form in removed_forms
    )


def _forms(text: str) -> "list[Form]":
    return [forms.normal_form(_COUNTS.sub("", line)) for line in markdown.statements(text)]


def _differences(
    new_forms: "Sequence[Form]", old_forms: "Sequence[Form]"
) -> "tuple[list[Form], list[Form]]":
    added_forms = [form for form in new_forms if not _is_among(form, old_forms)]
    return added_forms, [form for form in old_forms if not _is_among(form, new_forms)]


def _is_among(form: "Form", candidates: "Iterable[Form]") -> bool:
    return any(form == other or comparison.is_same(form, other) for other in candidates)
