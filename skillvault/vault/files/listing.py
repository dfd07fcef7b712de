"""A listing of a folder of skills, from the file system's metadata alone.

A folder with an unchanged time has the same names; a file with unchanged size and times has the
same content. Very recent changes are listed again, because a later one may have the same time.
"""

import os
import re
import time
from pathlib import Path

from msgspec import Struct

FILE = "SKILL.md"
_OTHER_CASES = ("skill.md", "Skill.md")
_UNTEXT = re.compile("[\ud800-\udfff]")
_UNSETTLED = 2 * 10**9  # nanoseconds: file systems keep times of up to 2 s

Stamp = tuple[int, int, int]  # size, time of the content, time of the entry; all 0: look again
_AGAIN: Stamp = (0, 0, 0)


class FolderNames(Struct, frozen=True, array_like=True, gc=False):
    """The folders, markdown files and links in a folder; `time` 0: list again."""

    time: int
    folders: tuple[str, ...]
    files: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def skill_file(self) -> str | None:
        """The file that makes the folder a skill's."""
        return next((name for name in (FILE, *_OTHER_CASES) if name in self.files), None)


class FolderListing(Struct, frozen=True, gc=False):
    """The folders below one, itself included, and the skill files in them, by path."""

    folders: dict[str, FolderNames]
    files: dict[str, Stamp]

    def changed_files(self, old_listing: "FolderListing") -> list[str]:
        """Return the files that are new or may have changed."""
        old_stamps = old_listing.files
        return [
            path for path, at in self.files.items() if at == _AGAIN or old_stamps.get(path) != at
        ]


EMPTY = FolderListing({}, {})


def list_folder(root: Path, old_listing: FolderListing = EMPTY) -> FolderListing:
    """List the skill files of a folder: each `SKILL.md`, and `*.md` outside the folders of those.

    Folders and files whose names begin with a dot, or cannot be decoded, are left out. A link to
    a skill's folder counts as that folder; no other link is followed.
    """
    settled_before = time.time_ns() - _UNSETTLED
    folders: dict[str, FolderNames] = {}
    files: dict[str, Stamp] = {}
    is_inside_skill = any((parent / FILE).is_file() for parent in root.parents)
    pending = [(str(root), is_inside_skill)]
    while pending:  # of tens of thousands, so little is done for each
        folder, is_material = pending.pop()
        names = _scan_names(folder, old_listing.folders.get(folder), settled_before)
        if names is None:  # gone meanwhile, or not ours to read
            continue
        folders[folder] = names
        skill_file = names.skill_file
        paths = [f"{folder}/{name}" for name in names.files if name == skill_file]
        # A file beside a SKILL.md or below one is a skill's material, not a skill.
        if not (is_material := is_material or skill_file is not None):
            paths = [f"{folder}/{name}" for name in names.files]
            paths += [
                path for name in names.links if (path := _linked_skill_file(f"{folder}/{name}"))
            ]
        if names.folders:
            pending.extend((f"{folder}/{name}", is_material) for name in names.folders)
        for path in paths:
            files[path] = _stamp(path, settled_before)
    return FolderListing(folders, files)


def _scan_names(
    folder: str, old_names: FolderNames | None, settled_before: int
) -> FolderNames | None:
    try:
        at = os.stat(folder).st_ctime_ns  # noqa: PTH116 (of thousands, and a Path costs more)
        if old_names is not None and at == old_names.time:
            return old_names
        with os.scandir(folder) as directory:
            entries = [entry for entry in directory if _is_listed(entry.name)]
            folders = tuple(sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)))
            files = (e.name for e in entries if e.name.endswith(".md") and not _is_folder(e))
            links = (e.name for e in entries if e.is_symlink() and _is_folder(e))
            time_ = at if at < settled_before else 0
            return FolderNames(time_, folders, tuple(sorted(files)), tuple(sorted(links)))
    except OSError:
        return None


def is_skill_file(name: str) -> bool:
    """Return True if a file of this name makes its folder a skill's."""
    return name == FILE or name in _OTHER_CASES


def _linked_skill_file(folder: str) -> str | None:
    """Return the skill's file in a linked folder; None if it is not a skill's."""
    paths = (f"{folder}/{name}" for name in (FILE, *_OTHER_CASES))
    return next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113 (as below)


def _is_listed(name: str) -> bool:
    return not name.startswith(".") and (name.isascii() or not _UNTEXT.search(name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return True if an entry is a folder or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(path: str, settled_before: int) -> Stamp:
    try:
        state = os.stat(path)  # noqa: PTH116 (of thousands, and a Path costs more)
    except OSError:
        return _AGAIN
    if max(state.st_mtime_ns, state.st_ctime_ns) >= settled_before:
        return _AGAIN
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns
