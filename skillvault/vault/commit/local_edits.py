"""What is in a person's hand: paths on which HEAD, index and work tree do not agree.

A path is ours only while index and work tree each hold what HEAD holds, or already exactly
what a change writes; modes count. Everything else waits.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import EXECUTABLE, REGULAR, Entry

Files = Mapping[str, bytes | None]


class Ground(Struct, frozen=True):
    """What HEAD and the index hold where a change wants to write.

    `clashes` are paths for which HEAD has a folder in the place of a file or the reverse,
    `bare` the folders that are not in HEAD, `modes` says whether the work tree's count.
    """

    tree: Mapping[str, Entry]
    index: Mapping[str, Entry]
    clashes: Mapping[str, str]
    bare: frozenset[str]
    modes: bool


def ground(
    git: Git, commit: str | None, files: Files, origins: Mapping[str, str], *, modes: bool
) -> Ground:
    """The ground of a change; `origins` says where each file that it moves stands now."""
    paths = sorted({*files, *origins.values()})
    root = git.objects.root(commit) if commit else None
    clashes, bare = git.objects.clashes(root, paths)
    tree = git.objects.entries(root, [path for path in paths if path not in clashes])
    index = git.staged([*paths, *sorted(bare)])
    return Ground(tree, index, clashes, frozenset(bare), modes)


def held(
    root: Path, found: Ground, files: Files, origins: Mapping[str, str] | None = None
) -> dict[str, str]:
    """path -> why it is a person's now; empty when every path is ours."""
    moved = origins or {}
    beside = {**_staged_beside(found, files), **found.clashes}
    reasons: dict[str, str] = {}
    for path, data in files.items():
        before = found.tree.get(path) or found.tree.get(moved.get(path, path))
        mode = before.mode if before else REGULAR
        reason = beside.get(path) or _reason(root, found, path, data, mode)
        if reason:
            reasons[path] = reason
    for target, source in moved.items():
        # What only the changes before this one made is nobody's to take away.
        if source in found.tree and _taken_away(root, found, source, target):
            reasons[source] = "deleted and not committed"
    return reasons


def _staged_beside(found: Ground, files: Files) -> dict[str, str]:
    """The paths for which a folder is staged in the place of the file, or a file of its folder."""
    reasons: dict[str, str] = {}
    for path in files:
        folders = [path[:i] for i, char in enumerate(path) if char == "/"]
        if file := next((f for f in folders if f in found.bare and f in found.index), None):
            reasons[path] = f"a file of yours is staged at {file}, where a folder is needed"
    for staged in found.index:
        folders = [staged[:i] for i, char in enumerate(staged) if char == "/"]
        reasons |= {
            path: f"{staged} of yours is staged below it" for path in folders if path in files
        }
    return reasons


def _taken_away(root: Path, found: Ground, source: str, target: str) -> bool:
    """Whether a person removed a file that we did not begin to move."""
    there = os.path.lexists(root / source) or os.path.lexists(root / target)
    return not there or (source not in found.index and target not in found.index)


def _reason(root: Path, found: Ground, path: str, data: bytes | None, mode: str) -> str | None:
    """Why one path is a person's."""
    base = found.tree[path].id if path in found.tree else None
    wanted = blob_id(data) if data is not None else None
    staged = found.index.get(path)
    index = staged.id if staged else None
    if index not in (base, wanted):
        return "staged in the index and not committed"
    if staged and staged.mode != mode:
        return "its mode is staged and not committed"
    if index != base and blob_at(root, path) != wanted:
        return "staged in the index, and otherwise in the work tree"
    if found.modes and _mode_at(root, path) not in (None, mode):
        return "its mode is changed and not committed"
    return _edited(root, path, {base, wanted})


def _mode_at(root: Path, path: str) -> str | None:
    """The mode that git would record for a file in the work tree; None where there is none."""
    mode = _type_at(root, path)
    if mode is None or not stat.S_ISREG(mode):
        return None
    return EXECUTABLE if mode & 0o100 else REGULAR


def _type_at(root: Path, path: str) -> int | None:
    """What stands at a path, links not followed; None for nothing."""
    try:
        return os.lstat(f"{root}/{path}").st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _odd_folder(root: Path, path: str) -> str | None:
    """The folder above a path that is no plain one."""
    for depth in (i for i, char in enumerate(path) if char == "/"):
        mode = _type_at(root, path[:depth])
        if mode is None:
            return None
        if not stat.S_ISDIR(mode):
            return path[:depth]
    return None


def blob_at(root: Path, path: str) -> str | None:
    """The blob id of a file in the work tree; None where there is no regular file."""
    place = root / path
    if place.is_symlink() or not place.is_file():
        return None
    return blob_id(place.read_bytes())


def _edited(root: Path, path: str, fine: set[str | None]) -> str | None:
    if odd := _odd_folder(root, path):
        return f"{odd} is not a plain folder"
    mode = _type_at(root, path)
    if mode is None:
        return None if None in fine else "deleted in the work tree and not committed"
    if not stat.S_ISREG(mode):
        return "not a regular file"
    if blob_id((root / path).read_bytes()) in fine:
        return None
    return "edited and not committed" if fine - {None} else "a file of yours stands there"
