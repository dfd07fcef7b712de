"""What a person edited locally: paths on which HEAD, index and work tree do not agree.

A path is ours only while index and work tree each hold what HEAD holds, or already exactly
what a change writes, or what a commit of ours left there that is in no branch any more; modes
count. Everything else waits.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.vault.commit.files import Growth
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.history import PastCommit, new_home
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Entry, mode_of
from skillvault.vault.git.repository import Git

Files = Mapping[str, bytes | None]


class GitState(Struct, frozen=True):
    """What HEAD and the index hold where a change wants to write.

    `clashes` are paths for which HEAD has a folder in the place of a file or the reverse,
    `bare` the folders that are not in HEAD, `modes` says whether the work tree's count. `lost` are
    the blobs (None: removed) that a commit of ours, in no branch any more, left in the index.
    `skipped` are the paths that a sparse checkout leaves out: not there is not deleted.
    """

    tree: Mapping[str, Entry]
    index: Mapping[str, Entry]
    clashes: Mapping[str, str]
    bare: frozenset[str]
    modes: bool
    lost: Mapping[str, frozenset[str | None]]
    skipped: frozenset[str] = frozenset()

    def leaves_out(self, root: Path, path: str) -> bool:
        """Whether a sparse checkout keeps a file away, and nothing stands in its place."""
        return path in self.skipped and not os.path.lexists(root / path)


def read_git_state(
    git: Git, commit: str | None, files: Files, origins: Mapping[str, str], *, modes: bool
) -> GitState:
    """The ground of a change; `origins` names where each file that it moves stands now."""
    paths = sorted({*files, *origins.values()})
    root = git.objects.root(commit) if commit else None
    clashes, bare = git.objects.clashes(root, paths)
    tree = git.objects.entries(root, [path for path in paths if path not in clashes])
    index = git.index_file.entries([*paths, *sorted(bare)])
    strays = [path for path in files if index.get(path) != tree.get(path)]
    lost = _left_by_lost_commits(git, index, strays) if strays else {}
    skipped = git.index_file.sparse_paths()
    return GitState(tree, index, clashes, frozenset(bare), modes, lost, skipped)


def _left_by_lost_commits(
    git: Git, index: Mapping[str, Entry], paths: Sequence[str]
) -> dict[str, frozenset[str | None]]:
    """path -> its blob in the index, for those that stand there as a lost commit left them."""
    lost: dict[str, set[str | None]] = {}
    for commit in git.history.find_lost_commits():
        for path in commit.files.keys() & set(paths):
            entry = commit.files[path].after
            if index.get(path) == entry and (entry or _is_moved(git, commit, path)):
                lost.setdefault(path, set()).add(entry.id if entry else None)
    return {path: frozenset(blobs) for path, blobs in lost.items()}


def _is_moved(git: Git, commit: PastCommit, path: str) -> bool:
    """Whether a file that a lost commit took away still stands where that commit put it.

    If not, a person may have removed it.
    """
    home = new_home(path, commit.files)
    return home is not None and git.index_file.entries([home]).get(home) == commit.files[home].after


def local_edits(
    root: Path,
    ground: GitState,
    files: Files,
    origins: Mapping[str, str] | None = None,
    *,
    growths: Mapping[str, Growth] | None = None,
) -> dict[str, str]:
    """path -> why it is a person's now; empty if every path is ours.

    `growths` are the files that agents append to: what they appended is no person's edit.
    """
    moved, grown = origins or {}, growths or {}
    beside = {**_staged_beside(ground, files), **ground.clashes}
    reasons: dict[str, str] = {}
    for path, content in files.items():
        before = ground.tree.get(path) or ground.tree.get(moved.get(path, path))
        modes = {mode_of(content or b"", before), mode_of(b"", before)}
        blob = blob_id(content) if content is not None else None
        change = _Target(path, blob, frozenset(modes), grown.get(path))
        if reason := beside.get(path) or _edit_reason(root, ground, change):
            reasons[path] = reason
    for target, source in moved.items():
        # What only the changes before this one made is nobody's to remove.
        if source in ground.tree and _removed_by_person(root, ground, source, target):
            reasons[source] = "deleted and not committed"
    return reasons


def _staged_beside(ground: GitState, files: Files) -> dict[str, str]:
    """The paths for which a folder is staged in the place of the file, or a file of its folder."""
    reasons: dict[str, str] = {}
    for path in files:
        folders = [path[:i] for i, char in enumerate(path) if char == "/"]
        if file := next((f for f in folders if f in ground.bare and f in ground.index), None):
            reasons[path] = f"a file of yours is staged at {file}, where a folder is needed"
    for staged in ground.index:
        folders = [staged[:i] for i, char in enumerate(staged) if char == "/"]
        reasons |= {
            path: f"{staged} of yours is staged below it" for path in folders if path in files
        }
    return reasons


def _removed_by_person(root: Path, ground: GitState, source: str, target: str) -> bool:
    """Whether a person removed a file that we did not begin to move."""
    there = os.path.lexists(root / source) or os.path.lexists(root / target)
    there = there or ground.leaves_out(root, source)
    return not there or (source not in ground.index and target not in ground.index)


class _Target(NamedTuple):
    """What a change makes of a path: its blob, None for one that goes away; the mode then or now.

    `growth`: it is a file that agents append to.
    """

    path: str
    blob: str | None
    modes: frozenset[str]
    growth: Growth | None = None


def _edit_reason(root: Path, ground: GitState, target: _Target) -> str | None:
    """Why one path is a person's."""
    path, blob, modes, growth = target
    base = ground.tree[path].id if path in ground.tree else None
    lost = ground.lost.get(path, frozenset())
    if blob is not None:  # what was moved away is not written where it stood: it would stand twice
        lost -= {None}
    staged = ground.index.get(path)
    index = staged.id if staged else None
    if index not in (base, *lost) and (growth or index != blob):
        return "staged in the index and not committed"
    if staged and staged.mode not in modes:
        return "its mode is staged and not committed"
    if not growth and index != base and read_blob_id(root, path) not in (blob, *lost):
        return "staged in the index, and otherwise in the work tree"
    if ground.modes and read_mode(root, path) not in (None, *modes):
        return "its mode is changed and not committed"
    if growth and file_starts_with(root, path, growth.start):
        return None
    return None if ground.leaves_out(root, path) else _unlike(root, path, {base, blob, *lost})


def read_mode(root: Path, path: str) -> str | None:
    """The mode that git would record for a file in the work tree; None if there is none."""
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


def read_blob_id(root: Path, path: str) -> str | None:
    """The blob id of a file in the work tree; None if there is no regular file."""
    place = root / path
    if place.is_symlink() or not place.is_file():
        return None
    return blob_id(place.read_bytes())


def file_starts_with(root: Path, path: str, start: bytes) -> bool:
    """Whether a regular file of the work tree begins with these bytes."""
    place = root / path
    if place.is_symlink() or not place.is_file() or _odd_folder(root, path):
        return False
    with place.open("rb") as file:
        return file.read(len(start)) == start


def _unlike(root: Path, path: str, fine: set[str | None]) -> str | None:
    """Why the work tree has none of the `fine` blobs at a path; None if it has."""
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
