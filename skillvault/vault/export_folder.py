"""A folder that skills are exported to, in step with an export: a list there says what is ours.

What a person edited or wrote is left and told, as a whole where it is a skill's folder. No link is
followed out of the folder, and what stands already is not touched.
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
from skillvault.model.export import Export, ExportedPart
from skillvault.model.records import Problem
from skillvault.vault.commit.files import draft_file, place_file, remove_file
from skillvault.vault.commit.locks import folder_lock
from skillvault.vault.files import layout
from skillvault.vault.git.trees import EXECUTABLE

LIST = ".skillvault-export.json"
FORMAT = 1

Digests = dict[str, dict[str, str]]  # folder -> path in it -> digest of what of it is ours


class ExportList(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was exported to a folder, by format; `unfinished` is what a killed export was at."""

    format: int
    exports: dict[str, Digests] = field(default_factory=dict)
    unfinished: dict[str, Digests] = field(default_factory=dict)

    def of(self, name: str) -> Digests:
        """What was exported in a format, or was about to be."""
        return {**self.unfinished.get(name, {}), **self.exports.get(name, {})}


class Synced(Struct, frozen=True):
    """What an export did to a folder: paths below it, and what it left as it is."""

    written: list[str]
    removed: list[str]
    unchanged: int
    left: list[Problem]


class _File(Struct, frozen=True):
    """A file as it stands and as it has to be; None: there is none."""

    unit: str
    path: str
    content: bytes | None
    target: bytes | None
    trouble: Problem | None = None

    @property
    def place(self) -> str:
        """Its path below the folder."""
        return _place_of(self.unit, self.path)

    @property
    def differs(self) -> bool:
        return not _is_as(self.content, self.target)


def sync(root: Path, name: str, export: Export, drafts: Path, *, dry: bool = False) -> Synced:
    """Bring a folder in step with an export of a format's `name`; files are made in `drafts`.

    Raises BadInputError where the list cannot be read, VaultBusyError while another export writes
    there. `dry`: say what would be done.
    """
    if dry or not (export.units or root.is_dir()):
        return _synced(root, name, export, None)
    root.mkdir(parents=True, exist_ok=True)
    with folder_lock(root):
        return _synced(root, name, export, drafts)


def _synced(root: Path, name: str, export: Export, drafts: Path | None) -> Synced:
    """The same, once no other export writes there; without a place for drafts nothing is done."""
    known = _read_list(root)
    digests = _owned(known, name)
    files = list(_Comparison(root, export, digests).files())
    edited = {file.unit for file in files if file.trouble}
    free = [file for file in files if file.unit not in edited]
    kept = {unit: paths for unit, paths in known.of(name).items() if unit in edited}
    listing = kept | _digests_of(free, export.own)
    changes = [file for file in free if file.differs]
    if drafts:
        _carry_out(root, changes, drafts, _lists(known, name, listing, pending=bool(changes)))
    return Synced(
        written=[file.place for file in changes if file.target is not None],
        removed=[file.place for file in changes if file.target is None],
        unchanged=sum(not file.differs for file in free),
        left=[file.trouble for file in files if file.trouble],
    )


# ── what stands there ────────────────────────────────────────────────────────────────


class _Comparison(Struct, frozen=True):
    """A folder beside what an export would have there; `digests` are those of what is ours."""

    root: Path
    export: Export
    digests: Mapping[tuple[str, str], set[str]]

    def files(self) -> Iterator[_File]:
        """Every file of the export, then those of earlier ones that are in it no more."""
        for unit, files in self.export.units.items():
            for path, part in files.items():
                yield self._compare(unit, path, part)
        for unit, path in self.digests:
            if path not in self.export.units.get(unit, {}):
                yield self._compare(unit, path, None)

    def _compare(self, unit: str, path: str, part: bytes | None) -> _File:
        """One file, with why it may not be touched."""
        place = _place_of(unit, path)
        try:
            content = _standing(self.root, place)
            return self._decided(_File(unit, path, content, part))
        except BadInputError as error:
            return _File(unit, path, None, None, Problem(place, None, error.code, error.message))

    def _decided(self, file: _File) -> _File:
        """A file as it has to be: `target` is what of it is ours until now."""
        unit, path, content, part = file.unit, file.path, file.content, file.target
        if content is None and part is None:
            return file
        own = self.export.own
        target = own.put(path, content, part)
        before = None if content is None else own.read(path, content)
        after = None if target is None else own.read(path, target)
        known = self.digests.get((unit, path), set())
        if before is None or before == after or _digest(before) in known:
            return _File(unit, path, content, target)
        trouble = _trouble(file.place, is_listed=bool(known), is_gone=part is None)
        return _File(unit, path, content, target, trouble)


def _trouble(place: str, *, is_listed: bool, is_gone: bool) -> Problem:
    if not is_listed:
        message = "stands there and no export wrote it; rename or remove it, and export again"
        return Problem(place, None, "not-ours", message)
    why = "was edited, and its skill is exported no more" if is_gone else "was edited"
    message = f"{why}; put the edit into the vault and remove it here, or leave it as yours"
    return Problem(place, None, "edited", message)


def _standing(root: Path, place: str) -> bytes | None:
    """A file's bytes, None if there is none; BadInputError for what is no file of the folder."""
    target = _inside(root, place)
    try:
        state = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(state.st_mode):
        raise BadInputError("is no regular file; move it away, and export again", code="not-a-file")
    content = target.read_bytes()
    return Program(content) if state.st_mode & stat.S_IXUSR else content


def _is_as(content: bytes | None, target: bytes | None) -> bool:
    """Whether a file stands as it has to be; one that may be run need not be a program."""
    runs = isinstance(content, Program) or not isinstance(target, Program)
    return content == target and runs


def _inside(root: Path, place: str) -> Path:
    """Where a path leads, links followed; BadInputError where that is outside the folder."""
    base = layout.real_path(root)
    try:
        target = (base / place).resolve()
    except (OSError, RuntimeError):  # links in a circle
        target = base.parent
    if ".." in Path(place).parts or base not in target.parents:
        raise BadInputError(
            f"leads out of {root}, where nothing is written; remove the link", code="leads-out"
        )
    return target


def _place_of(unit: str, path: str) -> str:
    return f"{unit}/{path}" if unit else path


# ── the list ─────────────────────────────────────────────────────────────────────────


def _read_list(root: Path) -> ExportList:
    try:
        content = _standing(root, LIST)
        known = ExportList(format=FORMAT) if content is None else _decoded(content)
    except BadInputError as error:
        raise BadInputError(f"{root / LIST}: {error.message}", code=error.code) from None
    return known


def _decoded(content: bytes) -> ExportList:
    advice = "remove it, and what it listed counts as yours"
    try:
        known = msgspec.json.decode(content, type=ExportList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"not a list of an export ({error}); {advice}", code="json") from None
    if known.format != FORMAT:
        raise BadInputError(
            f"has format {known.format}, and this version reads {FORMAT}; {advice}", code="format"
        )
    return known


def _owned(known: ExportList, name: str) -> dict[tuple[str, str], set[str]]:
    """(folder, path) of each file of ours -> the digests that it may have."""
    owned: dict[tuple[str, str], set[str]] = {}
    for listing in (known.exports, known.unfinished):
        for unit, paths in listing.get(name, {}).items():
            for path, digest in paths.items():
                owned.setdefault((unit, path), set()).add(digest)
    return owned


def _digests_of(files: list[_File], own: ExportedPart) -> Digests:
    digests: Digests = {}
    for file in files:
        part = None if file.target is None else own.read(file.path, file.target)
        if part is not None:
            digests.setdefault(file.unit, {})[file.path] = _digest(part)
    return digests


def _lists(
    known: ExportList, name: str, listing: Digests, *, pending: bool
) -> tuple[bytes | None, bytes | None]:
    """The list while files change, and the one after that; None: it stays, or there is none."""
    unfinished = {other: units for other, units in known.unfinished.items() if other != name}
    exports = {**known.exports, name: listing}
    after = ExportList(
        format=FORMAT,
        exports={key: units for key, units in exports.items() if units},
        unfinished=unfinished,
    )
    during = ExportList(
        format=FORMAT, exports=known.exports, unfinished={**unfinished, name: listing}
    )
    is_empty = not (after.exports or after.unfinished)
    return _encoded(during) if pending else None, None if is_empty else _encoded(after)


def _encoded(listing: ExportList) -> bytes:
    values: Any = msgspec.to_builtins(listing, order="sorted")
    return msgspec.json.format(msgspec.json.encode(values), indent=1) + b"\n"


def _digest(part: bytes) -> str:
    return f"sha256:{hashlib.sha256(part).hexdigest()}"


# ── writing ──────────────────────────────────────────────────────────────────────────


def _carry_out(
    root: Path,
    changes: list[_File],
    drafts: Path,
    lists: tuple[bytes | None, bytes | None],
) -> None:
    """Change the files, the list before and behind them, so that a kill between loses none."""
    during, after = lists
    if during is not None:
        _place_content(root, LIST, during, drafts)
    for file in changes:
        if _standing(root, file.place) != file.content:
            raise UncommittedEditError(f"{root / file.place}: changed meanwhile; export again")
        _place_content(root, file.place, file.target, drafts)
    _place_content(root, LIST, after, drafts)


def _place_content(root: Path, place: str, content: bytes | None, drafts: Path) -> None:
    """Give a file another content, if it has not that already."""
    before = _standing(root, place)
    if _is_as(before, content):
        return
    base = layout.real_path(root)
    target = _inside(root, place).relative_to(base).as_posix()
    if content is None:
        if "/" in target:
            remove_file(base, target)  # and the folders of ours that it leaves empty
        else:
            (base / target).unlink()
        return
    draft = draft_file(drafts, content)
    mode = EXECUTABLE if isinstance(content, Program) else None
    try:
        place_file(base, target, draft, mode=mode, replace=before is not None)
    finally:
        draft.unlink(missing_ok=True)
