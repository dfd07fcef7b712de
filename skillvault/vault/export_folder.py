"""Write an export to a folder, and keep a list of the exported files there.

If a person edited or wrote a file, all files of that skill stay as they are, and the file is
reported. No link is followed out of the folder, and an unchanged file is not touched.
"""

import hashlib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from skillvault.model.change import Program
from skillvault.model.errors import BadInputError, UncommittedEditError
from skillvault.model.export import Export
from skillvault.model.records import Problem
from skillvault.vault.commit.files import remove_file, write_file
from skillvault.vault.commit.locks import folder_lock
from skillvault.vault.files import layout
from skillvault.vault.git.objects import EXECUTABLE

LIST_FILE = ".skillvault-export.json"
FORMAT = 1

Digests = dict[str, dict[str, str]]  # folder -> path in the folder -> digest of the exported part


class ExportList(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list of exported files by format. `unfinished` has those of an interrupted export."""

    format: int
    exports: dict[str, Digests] = field(default_factory=dict)
    unfinished: dict[str, Digests] = field(default_factory=dict)


class FolderReport(Struct, frozen=True):
    """The paths that an export wrote and removed, and the problems of files that it `left`."""

    written: list[str]
    removed: list[str]
    unchanged: int
    left: list[Problem]


class _File(Struct, frozen=True):
    """A file with its old content and the content that the export gives it. None means no file."""

    unit: str
    path: str
    content: bytes | None = None
    output: bytes | None = None
    problem: Problem | None = None

    @property
    def label(self) -> str:
        """The path below the folder."""
        return "/".join(filter(None, (self.unit, self.path)))


def sync(root: Path, name: str, export: Export, drafts: Path, *, dry: bool = False) -> FolderReport:
    """Update a folder to an export in the format `name`.

    Drafts are written to `drafts`. With `dry`, nothing is written. Raises BadInputError if the list
    of exported files cannot be read, VaultBusyError while another export writes to the folder.
    """
    if dry or not (export.units or root.is_dir()):
        return _update_folder(root, name, export, None)
    root.mkdir(parents=True, exist_ok=True)
    with folder_lock(root):
        return _update_folder(root, name, export, drafts)


def _update_folder(root: Path, name: str, export: Export, drafts: Path | None) -> FolderReport:
    old_list = _read_list(root)
    files = list(_compare(root, export, _collect_digests(old_list, name)))
    edited_units = {file.unit for file in files if file.problem}
    unedited_files = [file for file in files if file.unit not in edited_units]
    old_digests = {**old_list.unfinished.get(name, {}), **old_list.exports.get(name, {})}
    digests = {unit: paths for unit, paths in old_digests.items() if unit in edited_units}
    for file in unedited_files:
        part = None if file.output is None else export.owned_part.read(file.path, file.output)
        if part is not None:
            digests.setdefault(file.unit, {})[file.path] = _digest(part)
    changes = [file for file in unedited_files if not _is_current(file.content, file.output)]
    if drafts:
        _write_changes(root, changes, drafts, _next_lists(old_list, name, digests))
    return FolderReport(
        written=[file.label for file in changes if file.output is not None],
        removed=[file.label for file in changes if file.output is None],
        unchanged=len(unedited_files) - len(changes),
        left=[file.problem for file in files if file.problem],
    )


def _compare(
    root: Path, export: Export, digests: Mapping[tuple[str, str], set[str]]
) -> Iterator[_File]:
    """Yield the files of the export, then the files that are exported no more."""
    parts: dict[tuple[str, str], bytes | None] = {
        (unit, path): part for unit, files in export.units.items() for path, part in files.items()
    }
    parts |= {key: None for key in digests if key not in parts}
    for (unit, path), part in parts.items():
        file = _File(unit, path)
        try:
            content = _read_exported(root, file.label)
            if content is None and part is None:
                yield file
                continue
            output = export.owned_part.put(path, content, part)
            old_part = None if content is None else export.owned_part.read(path, content)
            new_part = None if output is None else export.owned_part.read(path, output)
        except BadInputError as error:
            link_problem = Problem(file.label, None, error.code, error.message)
            yield _File(unit, path, problem=link_problem)
            continue
        old_digests = digests.get((unit, path), set())
        problem = None
        if old_part not in (None, new_part) and _digest(old_part or b"") not in old_digests:
            problem = _edit_problem(file.label, is_listed=bool(old_digests), is_gone=part is None)
        yield _File(unit, path, content, output, problem)


def _edit_problem(path: str, *, is_listed: bool, is_gone: bool) -> Problem:
    if not is_listed:
        message = "stands there and no export wrote it; rename or remove it, and export again"
        return Problem(path, None, "not-ours", message)
    reason = "was edited, and its skill is exported no more" if is_gone else "was edited"
    message = f"{reason}; put the edit into the vault and remove it here, or leave it as yours"
    return Problem(path, None, "edited", message)


def _read_exported(root: Path, path: str) -> bytes | None:
    """Return the bytes of a file, or None if it does not exist.

    Raises BadInputError for a folder, or for a link out of the export's folder.
    """
    target = _resolve_inside(root, path)
    try:
        state = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(state.st_mode):
        raise BadInputError("is not a regular file; move it, and export again", code="not-a-file")
    content = target.read_bytes()
    return Program(content) if state.st_mode & stat.S_IXUSR else content


def _is_current(content: bytes | None, output: bytes | None) -> bool:
    """Return True if a file has the new content; it may be executable in addition."""
    return content == output and (isinstance(content, Program) or not isinstance(output, Program))


def _resolve_inside(root: Path, path: str) -> Path:
    base = layout.real_path(root)
    try:
        target = (base / path).resolve()
    except (OSError, RuntimeError):  # links in a circle
        target = base.parent
    if ".." in Path(path).parts or base not in target.parents:
        message = f"leads out of {root}, where nothing is written; remove the link"
        raise BadInputError(message, code="leads-out")
    return target


# ── the list ─────────────────────────────────────────────────────────────────────────


def _read_list(root: Path) -> ExportList:
    file, advice = root / LIST_FILE, "remove it, and what it listed counts as yours"
    try:
        content = _read_exported(root, LIST_FILE)
    except BadInputError as error:
        raise BadInputError(f"{file}: {error.message}", code=error.code) from None
    if content is None:
        return ExportList(format=FORMAT)
    try:
        listing = msgspec.json.decode(content, type=ExportList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{file}: not a list of an export ({error}); {advice}"
        raise BadInputError(message, code="json") from None
    if listing.format != FORMAT:
        message = f"has format {listing.format}, and this version reads {FORMAT}; {advice}"
        raise BadInputError(f"{file}: {message}", code="format")
    return listing


def _collect_digests(listing: ExportList, name: str) -> dict[tuple[str, str], set[str]]:
    digests: dict[tuple[str, str], set[str]] = {}
    for exports in (listing.exports, listing.unfinished):
        for unit, paths in exports.get(name, {}).items():
            for path, digest in paths.items():
                digests.setdefault((unit, path), set()).add(digest)
    return digests


def _next_lists(old_list: ExportList, name: str, digests: Digests) -> tuple[bytes, bytes | None]:
    """Return the list for the time of the changes, and the list for afterwards (None: no list)."""
    unfinished_exports = {key: units for key, units in old_list.unfinished.items() if key != name}
    exports = {key: units for key, units in {**old_list.exports, name: digests}.items() if units}
    pending_list = ExportList(
        format=FORMAT, exports=old_list.exports, unfinished={**unfinished_exports, name: digests}
    )
    final_list = ExportList(format=FORMAT, exports=exports, unfinished=unfinished_exports)
    return _encode(pending_list), _encode(final_list) if exports or unfinished_exports else None


def _encode(listing: ExportList) -> bytes:
    values: Any = msgspec.to_builtins(listing, order="sorted")
    return msgspec.json.format(msgspec.json.encode(values), indent=1) + b"\n"


def _digest(part: bytes) -> str:
    return f"sha256:{hashlib.sha256(part).hexdigest()}"


# ── writing ──────────────────────────────────────────────────────────────────────────


def _write_changes(
    root: Path, changes: list[_File], drafts: Path, lists: tuple[bytes, bytes | None]
) -> None:
    """Change the files. Write a list before and after, so that a kill loses no entry."""
    pending_list, final_list = lists
    if changes:
        _write_content(root, LIST_FILE, pending_list, drafts)
    for file in changes:
        if _read_exported(root, file.label) != file.content:
            raise UncommittedEditError(f"{root / file.label}: changed meanwhile; export again")
        _write_content(root, file.label, file.output, drafts)
    _write_content(root, LIST_FILE, final_list, drafts)


def _write_content(root: Path, path: str, content: bytes | None, drafts: Path) -> None:
    old_content = _read_exported(root, path)
    if _is_current(old_content, content):
        return
    base = layout.real_path(root)
    target = _resolve_inside(root, path).relative_to(base).as_posix()
    if content is not None:
        mode = EXECUTABLE if isinstance(content, Program) else None
        write_file(base, target, content, drafts, mode=mode, replace=old_content is not None)
    elif "/" in target:
        remove_file(base, target)  # with folders that become empty
    else:
        (base / target).unlink()
