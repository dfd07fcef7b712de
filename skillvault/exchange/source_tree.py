"""The files of a source of skills: a folder, or a zip or tar archive unpacked in memory.

The sizes that an archive states are not trusted. A forbidden path or size is a problem of one skill
and does not affect the others. Nothing is written.
"""

import gzip
import io
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from skillvault.model.change import Program
from skillvault.model.errors import BadInputError

MAX_FILES = 1000  # files of one skill
MAX_BYTES = 16 * 1024 * 1024  # bytes of one skill
_MAX_PATH, _MAX_NAME = 400, 200  # characters, which any file system accepts
_SKILL_FILES = ("SKILL.md", "skill.md")
# Files of git and of tools, which do not belong to a skill even if it is a whole repository.
_IGNORED = frozenset(
    ".git .gitignore .gitattributes .gitmodules .github node_modules __pycache__ .venv".split()
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]|[\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")

Reader = Callable[[Sequence[str]], Mapping[str, bytes]]


class SourceTree(Struct, frozen=True):
    """The files of a source by path: their sizes in bytes; for `unfit` files, the reason.

    `read` returns contents; it raises BadInputError for a file that changed since it was listed.
    """

    sizes: Mapping[str, int]
    read: Reader
    unfit: Mapping[str, str] = {}


class SkillPaths(Struct, frozen=True):
    """A folder of a source that contains a SKILL.md, and the paths below the folder.

    The top folder of the source is "".
    """

    folder: str
    paths: tuple[str, ...]

    def inner(self, path: str) -> str:
        """Return a path relative to the skill's folder."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path


def tree_of(files: Mapping[str, bytes]) -> SourceTree:
    """Build the tree of files that are in memory."""
    return SourceTree(
        {path: len(data) for path, data in files.items()},
        lambda paths: {path: files[path] for path in paths},
    )


def find_skills(tree: SourceTree, within: str = "") -> list[SkillPaths]:
    """Find the skills of a source, or of one of its folders, sorted by folder.

    All files below a folder with a SKILL.md belong to that skill.
    """
    prefix = f"{within}/" if within else ""
    all_paths = sorted(path for path in (*tree.sizes, *tree.unfit) if path.startswith(prefix))
    paths = [path for path in all_paths if _IGNORED.isdisjoint(path.split("/"))]
    folders = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in _SKILL_FILES}
    return [
        SkillPaths(folder, tuple(p for p in paths if not folder or p.startswith(f"{folder}/")))
        for folder in sorted(folders)
        if not any(folder != top and (not top or folder.startswith(f"{top}/")) for top in folders)
    ]


def read_skill_files(tree: SourceTree, skill: SkillPaths) -> dict[str, bytes]:
    """Read a skill's files by path in its folder; BadInputError for a forbidden path."""
    _check_size(tree, skill.paths)
    for path in skill.paths:
        check_path(skill.inner(path))
        if path in tree.unfit:
            raise _path_error(path, tree.unfit[path])
    check_distinct(skill.inner(path) for path in skill.paths)
    contents = tree.read(skill.paths)
    return {skill.inner(path): contents[path] for path in skill.paths}


def check_path(path: str) -> None:
    """Raise BadInputError for a path that a vault may not contain."""
    names = path.split("/")
    if path.startswith("/") or _DRIVE.match(path):
        raise _path_error(path, "an absolute path")
    if ".." in names:
        raise _path_error(path, "a path that leads out of its folder (..)")
    if _CONTROL.search(path):
        raise _path_error(path, "a path with a backslash or a control character")
    if any(name in ("", ".") or name != name.strip() or name.endswith(".") for name in names):
        raise _path_error(path, "a path with an empty name, or one that ends with a dot or a space")
    if any(_is_git_name(name) for name in names):
        raise _path_error(path, "a path into a git directory")
    if len(path) > _MAX_PATH or any(len(name.encode()) > _MAX_NAME for name in names):
        raise _path_error(
            path, f"a path longer than {_MAX_PATH} characters, or {_MAX_NAME} in a name"
        )


def check_distinct(paths: Iterable[str]) -> None:
    """Raise BadInputError if two paths are one on some systems, or a file is also a folder."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        form = _fold_case(path)
        if form in files:
            raise _path_error(
                path, f"a name that differs from {files[form]} in letter case or form"
            )
        files[form] = path
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folders.setdefault(_fold_case(folder), folder) != folder:
                clash = folders[_fold_case(folder)]
                raise _path_error(
                    path, f"a folder that differs from {clash} in letter case or form"
                )
    if clashes := sorted(files.keys() & folders.keys()):
        raise _path_error(files[clashes[0]], "a file where another path has a folder")


def _check_size(tree: SourceTree, paths: Sequence[str]) -> None:
    if len(paths) > MAX_FILES:
        message = f"{len(paths)} files; a skill has at most {MAX_FILES}, name a folder in it"
        raise BadInputError(message, code="too-large")
    total_size = sum(tree.sizes.get(path, 0) for path in paths)
    if total_size > MAX_BYTES:
        raise too_large_error()


def too_large_error() -> BadInputError:
    """Return the error for a skill that is too large."""
    message = f"more than {MAX_BYTES // 1024**2} MiB; a skill is smaller, ask its author"
    return BadInputError(message, code="too-large")


def _path_error(path: str, reason: str) -> BadInputError:
    return BadInputError(
        f"{path[:_MAX_NAME]!r}: {reason}; ask its author to change it", code="unsafe-path"
    )


def _is_git_name(name: str) -> bool:
    """Return True if git on some file system takes the name for its own folder."""
    form = "".join(
        character for character in name.casefold() if unicodedata.category(character) != "Cf"
    )
    return form in {".git", "git~1"} or form.startswith(".git:")


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


# ── folders ──────────────────────────────────────────────────────────────────────────

_MAX_ENTRIES = 200_000  # files of a source; somebody may name a home folder by mistake
_PRUNED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folder_tree(root: Path) -> SourceTree:
    """List the files below a folder; BadInputError for more than a source can plausibly hold."""
    states: dict[str, os.stat_result] = {}
    unfit: dict[str, str] = {}
    for path, state in _walk_files(root):
        if len(states) + len(unfit) > _MAX_ENTRIES:
            message = f"{root}: more than {_MAX_ENTRIES} files; name the folder of the skills"
            raise BadInputError(message, code="too-large")
        if stat.S_ISREG(state.st_mode):
            states[path] = state
        else:
            unfit[path] = "a link" if stat.S_ISLNK(state.st_mode) else "a device or a socket"

    def read(paths: Sequence[str]) -> dict[str, bytes]:
        return {path: _read_unchanged(root, path, states[path]) for path in paths}

    return SourceTree({path: state.st_size for path, state in states.items()}, read, unfit)


def _walk_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and state of each file below a folder."""
    for folder, folders, names in os.walk(root, followlinks=False):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = sorted(set(folders) - _PRUNED - set(links))
        for name in (*names, *links):
            place = Path(folder) / name
            yield place.relative_to(root).as_posix(), place.lstat()


def _read_unchanged(root: Path, path: str, listed_state: os.stat_result) -> bytes:
    """Read a file; BadInputError if it changed since it was listed."""
    try:
        handle = os.open(root / path, _OPEN_FLAGS)
        with os.fdopen(handle, "rb") as file:
            opened_state = os.fstat(handle)
            content = file.read(MAX_BYTES + 1)
            final_state = os.fstat(handle)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); check the path and its rights"
        raise BadInputError(message, code="unreadable") from None
    if len(content) > MAX_BYTES:
        raise too_large_error()
    if len({_identity(state) for state in (listed_state, opened_state, final_state)}) > 1:
        raise BadInputError(f"{path}: changed while it was read; try again", code="changed")
    return Program(content) if listed_state.st_mode & stat.S_IXUSR else content


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_dev, state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns)


# ── archives ─────────────────────────────────────────────────────────────────────────

_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_CHUNK = 64 * 1024
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError,
            NotImplementedError, ValueError)  # fmt: skip


def unpack(archive: bytes) -> dict[str, bytes]:
    """Unpack a zip, tar or tar.gz archive into contents by path.

    BadInputError for an archive that is damaged or too large, or contains anything but files and
    folders.
    """
    read_members = _read_zip if archive.startswith(_ZIP) else _read_tar
    files: dict[str, bytes] = {}
    try:
        for path, data in read_members(archive):
            check_path(path)
            if path in files:
                raise BadInputError(f"{path!r}: is in the archive twice", code="unsafe-path")
            files[path] = data
            if len(files) > MAX_FILES:
                raise _too_many_files()
    except _DAMAGED as error:
        raise BadInputError(
            f"the archive is damaged or of another kind ({error}); a zip or tar.gz is expected",
            code="bad-archive",
        ) from None
    check_distinct(files)
    return files


def _read_zip(archive: bytes) -> Iterator[tuple[str, bytes]]:
    free_bytes = MAX_BYTES
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        entries = source.infolist()
        if len(entries) > 2 * MAX_FILES:  # folders have entries too
            raise _too_many_files()
        for entry in entries:
            mode = entry.external_attr >> 16  # 0 in an archive that knows no modes
            if entry.is_dir():
                check_path(entry.filename.rstrip("/"))
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _member_error(entry.filename)
            with source.open(entry) as file:
                data = _read_bounded(file, free_bytes)
            free_bytes -= len(data)
            yield entry.filename, _mark_program(data, mode)


def _read_tar(archive: bytes) -> Iterator[tuple[str, bytes]]:
    is_gzip = archive.startswith(_GZIP)
    raw = gzip.GzipFile(fileobj=io.BytesIO(archive)) if is_gzip else io.BytesIO(archive)
    stream = io.BytesIO(_read_bounded(raw, 2 * MAX_BYTES))  # headers and padding count too
    free_bytes, count = MAX_BYTES, 0
    with tarfile.open(fileobj=stream, mode="r:") as source:
        for entry in source:
            count += 1
            if count > 2 * MAX_FILES:
                raise _too_many_files()
            name = entry.name.removeprefix("./")
            if entry.isdir():
                if name not in ("", "."):
                    check_path(name)
                continue
            if not entry.isreg() or entry.issparse():
                raise _member_error(entry.name)
            file = source.extractfile(entry)
            data = _read_bounded(file, free_bytes) if file else b""
            free_bytes -= len(data)
            yield name, _mark_program(data, entry.mode)


def _mark_program(data: bytes, mode: int) -> bytes:
    """Mark the content of a member as a program if its owner may run it."""
    return Program(data) if mode & stat.S_IXUSR else data


def _read_bounded(file: IO[bytes] | gzip.GzipFile | io.BytesIO, limit: int) -> bytes:
    """Read a file; BadInputError as soon as the file exceeds `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise too_large_error()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_many_files() -> BadInputError:
    message = f"more than {MAX_FILES} files in one archive; a skill has fewer, ask its author"
    return BadInputError(message, code="too-large")


def _member_error(path: str) -> BadInputError:
    return BadInputError(
        f"{path!r}: a link, a device or a sparse file; an archive of a skill holds plain files",
        code="unsafe-path",
    )
