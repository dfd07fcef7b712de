"""List and read the files of a source of skills: a folder, or an archive unpacked in memory.

The sizes in an archive are not trusted. A forbidden path or size is a problem of one skill only.
Nothing is written.
"""

import gzip
import io
import os
import posixpath
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from skillvault.model.change import Program
from skillvault.model.errors import BadInputError

MAX_FILES = 1000  # of one skill
MAX_BYTES = 16 * 1024 * 1024  # of one skill
_MAX_PATH, _MAX_NAME = 400, 200  # characters: any file system takes them
SKILL_FILES = ("SKILL.md", "skill.md")
# Files of git and of tools, which are not part of a skill that is a whole repository.
_GIT_FILES = frozenset(".gitignore .gitattributes .gitmodules".split())
_TOOL_FILES = frozenset(".git .github".split()) | _GIT_FILES
_PACKAGE_FOLDERS = frozenset("node_modules __pycache__ .venv site-packages".split())
_TEST_FOLDERS = frozenset("test tests __tests__ testdata fixtures __fixtures__".split())
# Folders of a skill that hold its own material, even if there is a SKILL.md in them.
_MATERIAL_FOLDERS = _TEST_FOLDERS | frozenset(
    "assets examples evals references resources scripts template templates".split()
)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f\\]|[\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")


class SourceTree(Struct, frozen=True):
    """The sizes of the files of a source by path. `unusable` has the reason for other files.

    `read` returns contents, or raises BadInputError for a file that changed since the listing.
    `links` maps each link to the path in this tree that it leads to.
    """

    sizes: Mapping[str, int]
    read: Callable[[Sequence[str]], Mapping[str, bytes]]
    unusable: Mapping[str, str] = {}
    links: Mapping[str, str] = {}


class SkillPaths(Struct, frozen=True):
    """A folder of a source with a SKILL.md ("" is the top folder), and the paths of its files.

    `links` are other paths of the folder, which come from links in the source.
    """

    folder: str
    paths: tuple[str, ...]
    links: tuple[str, ...] = ()

    def relative_path(self, path: str) -> str:
        """Return a path relative to the skill's folder."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path


class SkippedFile(Struct, frozen=True):
    """A file of a source that is not imported, with the reason."""

    path: str
    reason: str

    @property
    def is_skill_file(self) -> bool:
        """True for the SKILL.md of a folder."""
        return _is_skill_file(self.path)


class SkillScan(Struct, frozen=True):
    """The skills of a source, sorted by folder, and the files that are left out."""

    skills: list[SkillPaths]
    passed_over: list[SkippedFile]
    skill_files: int


def tree_of(files: Mapping[str, bytes]) -> SourceTree:
    """Return a tree of files that are in memory."""
    return SourceTree(
        {path: len(data) for path, data in files.items()},
        lambda paths: {path: files[path] for path in paths},
    )


def find_skills(tree: SourceTree) -> list[SkillPaths]:
    """Return the skills of a source, sorted by folder."""
    return scan_skills(tree).skills


def scan_skills(tree: SourceTree, within: str = "") -> SkillScan:
    """Find the skills of a source, or of one of its folders, and the files to leave out.

    A folder with a SKILL.md is a skill with everything below it except other skills. Skills of
    packages and tests, and in folders with material of another skill, are left out.
    """
    prefixes = tuple(f"{folder}/" for folder in _folders_within(tree, within))
    paths = sorted(p for p in (*tree.sizes, *tree.unusable) if not within or p.startswith(prefixes))
    skill_files = [path for path in paths if _is_skill_file(path)]
    folders = {posixpath.dirname(path) for path in skill_files}
    skipped_files = [
        SkippedFile(path, reason)
        for path in skill_files
        if (reason := _explain_no_skill(path, within, folders, tree.unusable))
    ]
    skipped_files += [
        SkippedFile(path, "its name is not SKILL.md in these letters; rename it")
        for path in paths
        if posixpath.basename(path).lower() == "skill.md" and not _is_skill_file(path)
    ]
    folders -= {posixpath.dirname(entry.path) for entry in skipped_files}
    first_name, second_name = SKILL_FILES
    second_pages = {
        posixpath.join(folder, second_name)
        for folder in folders
        if {posixpath.join(folder, name) for name in SKILL_FILES} <= tree.sizes.keys()
    }
    skipped_files += [
        SkippedFile(page, f"beside a {first_name}, which is read") for page in second_pages
    ]
    skipped_files += [
        SkippedFile(path, "a file for git, which is no part of a skill")
        for path in paths
        if posixpath.basename(path) in _GIT_FILES and _skill_above(path, folders) is not None
    ]
    members: dict[str, list[str]] = {folder: [] for folder in folders}
    for path in paths:
        folder = _skill_above(path, folders)
        if (
            folder is not None
            and _is_member(path.removeprefix(f"{folder}/"), folder == within)
            and path not in second_pages
            and not tree.unusable.get(path, "").startswith(_OMITTED_KINDS)
        ):
            members[folder].append(path)
    links_by_target: dict[str, list[str]] = {}
    for link, target in sorted(tree.links.items()):
        links_by_target.setdefault(target, []).append(link)
    skills = [
        SkillPaths(folder, tuple(members[folder]), _link_paths(folder, links_by_target))
        for folder in sorted(folders)
    ]
    mentions = {entry.path for entry in skipped_files}.union(*(skill.paths for skill in skills))
    skipped_files += [
        SkippedFile(path, tree.unusable[path])
        for path in paths
        if path in tree.unusable and path not in mentions
        if _PACKAGE_FOLDERS.isdisjoint(path.removeprefix(within).split("/"))
    ]
    return SkillScan(skills, sorted(skipped_files, key=lambda entry: entry.path), len(skill_files))


def _is_skill_file(path: str) -> bool:
    return posixpath.basename(path) in SKILL_FILES


def _folders_within(tree: SourceTree, folder: str) -> Iterator[str]:
    """Yield a folder of a tree, and the folders behind the links in it."""
    yield folder
    for link, target in tree.links.items():
        if link.startswith(f"{folder}/") and target and target not in tree.sizes:
            yield target


def _explain_no_skill(
    path: str, within: str, folders: Collection[str], unusable: Mapping[str, str]
) -> str | None:
    if path in unusable:
        return unusable[path]
    folder = posixpath.dirname(path)
    parts = folder.removeprefix(within).strip("/").split("/")
    if packages := _PACKAGE_FOLDERS.intersection(parts):
        return f"of a package in {min(packages)}/"
    parent = _skill_above(folder, folders)
    if parent is not None:
        inner_folders = folder.removeprefix(parent).strip("/").split("/")
        is_test = parent == within and inner_folders[0] in _TEST_FOLDERS
        if _MATERIAL_FOLDERS.intersection(inner_folders) and not is_test:
            return f"a file of the skill {parent or 'at the top'}"
    ancestors = parts[: parts.index("skills")] if "skills" in parts else parts[:-1]
    if _TEST_FOLDERS.intersection(ancestors):
        return "of a test; name its folder as SOURCE to install it"
    return None


def _skill_above(path: str, folders: Collection[str]) -> str | None:
    folder = path
    while folder:
        folder = posixpath.dirname(folder)
        if folder in folders:
            return folder
    return None


def _is_member(path: str, is_top: bool) -> bool:
    """Return True if a path, relative to the folder of a skill, belongs to the skill.

    A skill at the top of a source is often a whole repository, with tests and other folders.
    """
    if not (_TOOL_FILES | _PACKAGE_FOLDERS).isdisjoint(path.split("/")):
        return False
    folder, slash, _ = path.partition("/")
    return not (is_top and slash and (folder in _TEST_FOLDERS or folder.startswith(".")))


def _link_paths(folder: str, links_by_target: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the paths of a skill's folder through links to it or to a folder above it."""
    parts = folder.split("/")
    targets = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return tuple(
        sorted(
            link + folder.removeprefix(target)
            for target in targets
            for link in links_by_target.get(target, ())
            if target == folder or not link.startswith(f"{target}/")
        )
    )


def host_rank(folder: str) -> tuple[bool, bool]:
    """Sort key: skills outside a host's hidden folder first, then skills for all hosts."""
    parts = folder.split("/")
    return (any(part.startswith(".") for part in parts), ".agents" not in parts)


def path_outside_host(folder: str) -> tuple[str, ...] | None:
    """Return the path of a skill's folder without a host's hidden folder and `skills`.

    Return None for a folder that is not hidden, a section (`PATH#NAME`) and a flat file.
    """
    parts = folder.split("/")
    index = next((n for n, part in enumerate(parts) if part.startswith(".")), None)
    if index is None or ".md" in parts[-1]:
        return None
    outer_parts = [*parts[:index], *parts[index + 1 :]]
    return path_without_skills("/".join(outer_parts)) if outer_parts else None


def path_without_skills(folder: str) -> tuple[str, ...]:
    """Return the path of a skill's folder without `skills`."""
    return tuple(part for part in folder.split("/") if part != "skills")


def read_skill_files(tree: SourceTree, skill: SkillPaths) -> dict[str, bytes]:
    """Read a skill's files by path in its folder. Raise BadInputError for a forbidden path."""
    if len(skill.paths) > MAX_FILES:
        message = f"{len(skill.paths)} files; a skill has at most {MAX_FILES}, name a folder in it"
        raise BadInputError(message, code="too-large")
    if sum(tree.sizes.get(path, 0) for path in skill.paths) > MAX_BYTES:
        raise _too_large()
    for path in skill.paths:
        check_path(skill.relative_path(path))
        if path in tree.unusable:
            raise _path_error(path, tree.unusable[path])
    check_distinct(map(skill.relative_path, skill.paths))
    contents = tree.read(skill.paths)
    return {skill.relative_path(path): contents[path] for path in skill.paths}


def check_path(path: str) -> None:
    """Raise BadInputError for a path that a vault may not contain."""
    names = path.split("/")
    if path.startswith("/") or _DRIVE.match(path):
        raise _path_error(path, "an absolute path")
    if ".." in names:
        raise _path_error(path, "a path that leads out of its folder (..)")
    if _CONTROL_CHARACTER.search(path):
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
    """Raise BadInputError if paths are the same on some systems, or a file is also a folder."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        twin = files.setdefault(_fold_case(path), path)
        if twin != path:
            raise _path_error(path, f"a name that differs from {twin} in letter case or form")
        for folder in _folders_of(path):
            twin = folders.setdefault(_fold_case(folder), folder)
            if twin != folder:
                raise _path_error(path, f"a folder that differs from {twin} in letter case or form")
    if clashes := sorted(files.keys() & folders.keys()):
        raise _path_error(files[clashes[0]], "a file where another path has a folder")


def _too_large() -> BadInputError:
    message = f"more than {MAX_BYTES // 1024**2} MiB; a skill is smaller, ask its author"
    return BadInputError(message, code="too-large")


def _path_error(path: str, reason: str) -> BadInputError:
    return BadInputError(
        f"{path[:_MAX_NAME]!r}: {reason}; ask its author to change it", code="unsafe-path"
    )


def _is_git_name(name: str) -> bool:
    """Return True if git takes the name for its own folder on some file system."""
    visible_name = "".join(
        character for character in name.casefold() if unicodedata.category(character) != "Cf"
    )
    return visible_name in {".git", "git~1"} or visible_name.startswith(".git:")


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


# ── folders ──────────────────────────────────────────────────────────────────────────

_MAX_ENTRIES = 200_000  # of a source, in case somebody names a home folder by mistake
_LINK = "a link"
_OMITTED_KINDS = (_LINK, "a submodule")  # a skill comes in without them
_MAX_LINKS = 40  # links that lead to links
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folder_tree(root: Path) -> SourceTree:
    """List the files below a folder. Raise BadInputError if there are implausibly many."""
    states: dict[str, os.stat_result] = {}
    unusable: dict[str, str] = {}
    links: dict[str, str] = {}
    for path, state in _walk_files(root):
        if len(states) + len(unusable) + len(links) > _MAX_ENTRIES:
            message = f"{root}: more than {_MAX_ENTRIES} files; name the folder of the skills"
            raise BadInputError(message, code="too-large")
        if stat.S_ISREG(state.st_mode):
            states[path] = state
        elif stat.S_ISLNK(state.st_mode):
            target = (root / path).readlink()
            if target.is_relative_to(root):
                target = Path(os.path.relpath(target, (root / path).parent))
            links[path] = str(target)
        else:
            unusable[path] = "a device or a socket"

    def read(paths: Sequence[str]) -> dict[str, bytes]:
        return {path: _read_unchanged(root, path, states[path]) for path in paths}

    sizes = {path: state.st_size for path, state in states.items()}
    return follow_links(SourceTree(sizes, read, unusable, links))


def _walk_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield (path, state) for everything below a folder except folders.

    In packages, only the files of skills are listed, so that they can be reported.
    """
    for folder, folders, names in os.walk(root, followlinks=False):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = sorted(set(folders) - {".git"} - set(links))
        is_package = not _PACKAGE_FOLDERS.isdisjoint(Path(folder).relative_to(root).parts)
        for name in (*names, *links):
            if not is_package or name in SKILL_FILES:
                path = Path(folder) / name
                yield path.relative_to(root).as_posix(), path.lstat()


def follow_links(tree: SourceTree) -> SourceTree:
    """Return a tree in which links to its own files and folders are followed once.

    The links of `tree` lead to texts as in the file system. A linked folder with skills adds no
    files, because its skills are in the tree already. Any other link is unusable.
    """
    folders = {"", *(folder for path in tree.sizes for folder in _folders_of(path))}
    skills = {posixpath.dirname(path) for path in tree.sizes if _is_skill_file(path)}
    skill_parents = skills.union(*map(_folders_of, skills))
    unusable, links, files = dict(tree.unusable), dict[str, str](), dict[str, str]()
    paths = sorted(tree.sizes)
    for link, text in tree.links.items():
        target = _link_target(link, tree.links)
        if target is not None and target in tree.sizes:
            links[link] = files[link] = target
        elif target is not None and link.startswith(f"{target}/".lstrip("/")):
            unusable[link] = f"{_LINK} to {text[:_MAX_NAME]}, a folder above it"
        elif target is not None and target in folders:
            links[link] = target
            if target and target not in skill_parents and _skill_above(link, skills) is not None:
                start, end = (bisect_left(paths, target + sign) for sign in "/0")  # 0 is next to /
                files |= {link + path.removeprefix(target): path for path in paths[start:end]}
                if len(files) > _MAX_ENTRIES:
                    message = f"{link}: more than {_MAX_ENTRIES} files by links; remove the link"
                    raise BadInputError(message, code="too-large")
        else:
            is_outside = target is None
            fault = "leads out of the source or in a cycle" if is_outside else "is not there"
            unusable[link] = f"{_LINK} to {text[:_MAX_NAME]}, which {fault}"

    def read(paths: Sequence[str]) -> Mapping[str, bytes]:
        contents = tree.read(list(dict.fromkeys(files.get(path, path) for path in paths)))
        return {path: contents[files.get(path, path)] for path in paths}

    sizes = {**tree.sizes, **{path: tree.sizes[target] for path, target in files.items()}}
    return SourceTree(sizes, read, unusable, links)


def _link_target(link: str, links: Mapping[str, str]) -> str | None:
    """Return the path that a link leads to, or None if it leads outside or in a cycle."""
    path = link
    for _ in range(_MAX_LINKS):
        part = next((p for p in (*_folders_of(path), path) if p in links), None)
        if part is None:
            return "" if path == "." else path
        target = posixpath.join(posixpath.dirname(part), links[part])
        path = posixpath.normpath(target + path.removeprefix(part))
        if path.startswith(("/", "../")) or path == "..":
            return None
    return None


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _read_unchanged(root: Path, path: str, listed_state: os.stat_result) -> bytes:
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
        raise _too_large()
    if len({_identity(state) for state in (listed_state, opened_state, final_state)}) > 1:
        raise BadInputError(f"{path}: changed while it was read; try again", code="changed")
    return Program(content) if listed_state.st_mode & stat.S_IXUSR else content


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_dev, state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns)


# ── archives ─────────────────────────────────────────────────────────────────────────

_ZIP_START, _GZIP_START = b"PK\x03\x04", b"\x1f\x8b"
_CHUNK_SIZE = 64 * 1024
_BAD_ARCHIVE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError,
            NotImplementedError, ValueError)  # fmt: skip


def unpack(archive: bytes) -> dict[str, bytes]:
    """Unpack a zip, tar or tar.gz archive to contents by path.

    Raises BadInputError if it is damaged or too large, or has members other than files and folders.
    """
    members = _zip_members(archive) if archive.startswith(_ZIP_START) else _tar_members(archive)
    files: dict[str, bytes] = {}
    free_bytes = MAX_BYTES
    try:
        for count, (path, mode, file) in enumerate(members, start=1):
            is_full = len(files) == MAX_FILES and file is not None
            if is_full or count > 2 * MAX_FILES:  # folders are members too
                message = f"more than {MAX_FILES} files in one archive; a skill has fewer"
                raise BadInputError(f"{message}, ask its author", code="too-large")
            check_path(path)
            if file is None:
                continue
            if path in files:
                raise BadInputError(f"{path!r}: is in the archive twice", code="unsafe-path")
            data = _read_bounded(file, free_bytes)
            free_bytes -= len(data)
            files[path] = Program(data) if mode & stat.S_IXUSR else data
    except _BAD_ARCHIVE as error:
        raise BadInputError(
            f"the archive is damaged or of another kind ({error}); a zip or tar.gz is expected",
            code="bad-archive",
        ) from None
    check_distinct(files)
    return files


def _zip_members(archive: bytes) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    """Yield (path, mode, file) for each member. The file of a folder is None."""
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        for entry in source.infolist():
            mode = entry.external_attr >> 16  # 0 in an archive that knows no modes
            if entry.is_dir():
                yield entry.filename.rstrip("/"), mode, None
            elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                with source.open(entry) as file:
                    yield entry.filename, mode, file
            else:
                raise _member_error(entry.filename)


def _tar_members(archive: bytes) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    """Yield (path, mode, file) for each member. The file of a folder is None."""
    is_gzip = archive.startswith(_GZIP_START)
    raw = gzip.GzipFile(fileobj=io.BytesIO(archive)) if is_gzip else io.BytesIO(archive)
    stream = io.BytesIO(_read_bounded(raw, 2 * MAX_BYTES))  # headers and padding count too
    with tarfile.open(fileobj=stream, mode="r:") as source:
        for entry in source:
            path = entry.name.removeprefix("./")
            if entry.isdir():
                if path not in ("", "."):
                    yield path, entry.mode, None
            elif entry.isreg() and not entry.issparse():
                yield path, entry.mode, source.extractfile(entry)
            else:
                raise _member_error(entry.name)


def _read_bounded(file: IO[bytes] | gzip.GzipFile | io.BytesIO, limit: int) -> bytes:
    """Read a file. Raise BadInputError if it has more than `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_CHUNK_SIZE):
        size += len(chunk)
        if size > limit:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _member_error(path: str) -> BadInputError:
    return BadInputError(
        f"{path!r}: a link, a device or a sparse file; an archive of a skill holds plain files",
        code="unsafe-path",
    )
