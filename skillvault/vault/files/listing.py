"""List the skill files of a folder, and compare two listings to find changed files.

Only metadata is read: a folder with the same time has the same names, and a file with the same size
and times has the same content. Very recent times are not trusted.
"""

import os
import re
import time
from pathlib import Path

from msgspec import Struct

FILE = "SKILL.md"
_OTHER_SPELLINGS = ("skill.md", "Skill.md")
_UNDECODABLE = re.compile("[\ud800-\udfff]")
_UNSETTLED_NS = 2 * 10**9  # some file systems store times in steps of 2 s

Stamp = tuple[int, int, int]  # size, time of the content, time of the entry; all 0: unknown
_UNKNOWN: Stamp = (0, 0, 0)


class FolderNames(Struct, frozen=True, array_like=True, gc=False):
    """The names of the folders, markdown files and links in a folder. `time` is 0 if unknown."""

    time: int
    folders: tuple[str, ...]
    files: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def skill_file(self) -> str | None:
        """The file that makes the folder a skill, or None."""
        return next((name for name in (FILE, *_OTHER_SPELLINGS) if name in self.files), None)


class FolderListing(Struct, frozen=True, gc=False):
    """The folders and the skill files below a folder, by path."""

    folders: dict[str, FolderNames]
    files: dict[str, Stamp]

    def changed_files(self, old_listing: "FolderListing") -> list[str]:
        """Return the files that are new or may have changed."""
        old_stamps = old_listing.files
        return [
            path for path, at in self.files.items() if at == _UNKNOWN or old_stamps.get(path) != at
        ]


EMPTY = FolderListing({}, {})


def list_folder(root: Path, old_listing: FolderListing = EMPTY) -> FolderListing:
    """List each `SKILL.md` below a folder, and each `*.md` outside the folders of skills.

    Names that begin with a dot or cannot be decoded are left out. A link to the folder of a skill
    is followed, no other link.
    """
    newest_time = time.time_ns() - _UNSETTLED_NS
    folders: dict[str, FolderNames] = {}
    files: dict[str, Stamp] = {}
    is_root_in_skill = any((parent / FILE).is_file() for parent in root.parents)
    open_folders = [(str(root), is_root_in_skill)]
    while open_folders:  # there may be tens of thousands
        folder, is_in_skill = open_folders.pop()
        names = _scan_names(folder, old_listing.folders.get(folder), newest_time)
        if names is None:  # removed meanwhile, or unreadable
            continue
        folders[folder] = names
        skill_file = names.skill_file
        paths = [f"{folder}/{name}" for name in names.files if name == skill_file]
        # A file beside or below a SKILL.md belongs to that skill.
        if not (is_in_skill := is_in_skill or skill_file is not None):
            paths = [f"{folder}/{name}" for name in names.files]
            linked_files = (_linked_skill_file(f"{folder}/{name}") for name in names.links)
            paths += filter(None, linked_files)
        open_folders.extend((f"{folder}/{name}", is_in_skill) for name in names.folders)
        files |= {path: _stamp(path, newest_time) for path in paths}
    return FolderListing(folders, files)


def _scan_names(folder: str, old_names: FolderNames | None, newest_time: int) -> FolderNames | None:
    try:
        changed_at = os.stat(folder).st_ctime_ns  # noqa: PTH116 (of thousands, and a Path costs more)
        if old_names is not None and changed_at == old_names.time:
            return old_names
        with os.scandir(folder) as directory:
            entries = [e for e in directory if _is_listed(e.name)]
            folders = tuple(sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)))
            files = (e.name for e in entries if e.name.endswith(".md") and not _is_folder(e))
            links = (e.name for e in entries if e.is_symlink() and _is_folder(e))
            time_stored = changed_at if changed_at < newest_time else 0
            return FolderNames(time_stored, folders, tuple(sorted(files)), tuple(sorted(links)))
    except OSError:
        return None


def is_skill_file(name: str) -> bool:
    """Return True if a file of this name makes its folder a skill."""
    return name == FILE or name in _OTHER_SPELLINGS


def _linked_skill_file(folder: str) -> str | None:
    paths = (f"{folder}/{name}" for name in (FILE, *_OTHER_SPELLINGS))
    return next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113 (as below)


def _is_listed(name: str) -> bool:
    return not name.startswith(".") and (name.isascii() or not _UNDECODABLE.search(name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(path: str, newest_time: int) -> Stamp:
    try:
        state = os.stat(path)  # noqa: PTH116 (of thousands, and a Path costs more)
    except OSError:
        return _UNKNOWN
    if max(state.st_mtime_ns, state.st_ctime_ns) >= newest_time:
        return _UNKNOWN
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns
