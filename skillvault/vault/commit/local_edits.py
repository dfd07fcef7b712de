"""Find local edits of a person: paths that differ between HEAD, the index and the work tree.

A change may write a path only if index and work tree each have the blob of HEAD, the blob that the
change writes, or the blob of a lost commit of skillvault. Modes count, too.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from skillvault.vault.commit.files import AppendedPrefix
from skillvault.vault.disk import read_state
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.history import find_new_path
from skillvault.vault.git.index_file import SparsePaths
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Entry, mode_of
from skillvault.vault.git.repository import Git

Files = Mapping[str, bytes | None]


class GitState(Struct, frozen=True):
    """HEAD and the index at the paths that a change writes.

    `clashes` maps paths to a reason, if HEAD has a folder instead of a file or the reverse.
    `missing_folders` are not in HEAD, or are files in the index. `has_modes` is True if the modes
    of files in the work tree count. `lost_blobs` are in the index because of a lost commit (None if
    the commit removed the file). `sparse_paths` are left out by a sparse checkout, not deleted.
    """

    tree: Mapping[str, Entry]
    index: Mapping[str, Entry]
    clashes: Mapping[str, str]
    missing_folders: frozenset[str]
    has_modes: bool
    lost_blobs: Mapping[str, frozenset[str | None]]
    sparse_paths: SparsePaths

    def is_sparse(self, root: Path, path: str) -> bool:
        """Return True if the sparse checkout leaves a path out and no file is there."""
        return path in self.sparse_paths and not os.path.lexists(root / path)


def read_git_state(
    git: Git, commit: str | None, files: Files, origins: Mapping[str, str]
) -> GitState:
    """Read HEAD and the index at the paths of a change.

    `origins` maps moved files to their current paths.
    """
    paths = sorted({*files, *origins.values()})
    root = git.objects.root(commit) if commit else None
    clashes, folders = git.objects.clashes(root, paths)
    staged = git.index_file.current().differences
    folders |= {f for path in paths for f in layout.folders_above(path) if staged.get(f)}
    tree = git.objects.entries(root, [path for path in paths if path not in clashes])
    index = git.index_file.entries([*paths, *sorted(folders)])
    changed_paths = [path for path in files if index.get(path) != tree.get(path)]
    return GitState(
        tree,
        index,
        clashes,
        frozenset(folders),
        git.settings().modes,
        _find_lost_blobs(git, index, changed_paths) if changed_paths else {},
        git.index_file.sparse_paths(),
    )


def _find_lost_blobs(
    git: Git, index: Mapping[str, Entry], paths: Sequence[str]
) -> dict[str, frozenset[str | None]]:
    lost_blobs: dict[str, frozenset[str | None]] = {}
    for commit in git.history.find_lost_commits():
        for path in commit.files.keys() & set(paths):
            entry = commit.files[path].after
            if index.get(path) != entry:
                continue
            if entry is None:  # moved by us, unless a person removed the file
                new_path = find_new_path(path, commit.files)
                entries = git.index_file.entries([new_path]) if new_path else {}
                if new_path is None or entries.get(new_path) != commit.files[new_path].after:
                    continue
            blob = entry.id if entry else None
            lost_blobs[path] = lost_blobs.get(path, frozenset()) | {blob}
    return lost_blobs


def local_edits(
    root: Path,
    state: GitState,
    files: Files,
    origins: Mapping[str, str],
    *,
    prefixes: Mapping[str, AppendedPrefix],
) -> dict[str, str]:
    """Return the reason for each path that is edited locally.

    `prefixes` belong to files that agents append to: an appended line is not a local edit.
    """
    clashes = {**_find_staged_clashes(state, files), **state.clashes}
    reasons: dict[str, str] = {}
    for path, content in files.items():
        entry = state.tree.get(path) or state.tree.get(origins.get(path, path))
        modes = {mode_of(content or b"", entry), mode_of(b"", entry)}
        blob = blob_id(content) if content is not None else None
        prefix = prefixes.get(path)
        reason = clashes.get(path) or _edit_reason(
            root, state, path, blob, modes=modes, prefix=prefix
        )
        if reason:
            reasons[path] = reason
    for target_path, source in origins.items():
        if source not in state.tree:
            continue  # made by an earlier change of the group, so no person can have removed it
        both_paths = (source, target_path)
        exists = any(os.path.lexists(root / path) for path in both_paths)
        is_staged = any(path in state.index for path in both_paths)
        if not ((exists or state.is_sparse(root, source)) and is_staged):
            reasons[source] = "deleted and not committed"
    return reasons


def _find_staged_clashes(state: GitState, files: Files) -> dict[str, str]:
    """Return a reason for each path if a folder is staged instead of the file, or the reverse."""
    reasons: dict[str, str] = {}
    for path in files:
        for folder in layout.folders_above(path):
            if folder in state.missing_folders and folder in state.index:
                reasons[path] = f"a file of yours is staged at {folder}, where a folder is needed"
                break
    for staged_path in state.index:
        reasons |= {
            path: f"{staged_path} of yours is staged below it"
            for path in layout.folders_above(staged_path)
            if path in files
        }
    return reasons


def _edit_reason(
    root: Path,
    state: GitState,
    path: str,
    blob: str | None,
    *,
    modes: set[str],
    prefix: AppendedPrefix | None,
) -> str | None:
    """Return the reason if a file is edited locally, else None.

    `blob` and `modes` are the content and modes that the change may give the file.
    """
    base = state.tree[path].id if path in state.tree else None
    lost_blobs = state.lost_blobs.get(path, frozenset())
    if blob is not None:  # a moved file is not written at its old path: it would exist twice
        lost_blobs -= {None}
    staged_entry = state.index.get(path)
    index = staged_entry.id if staged_entry else None
    if index not in (base, *lost_blobs) and (prefix or index != blob):
        return "staged in the index and not committed"
    if staged_entry and staged_entry.mode not in modes:
        return "its mode is staged and not committed"
    if not prefix and index != base and read_blob_id(root, path) not in (blob, *lost_blobs):
        return "staged in the index, and different in the work tree"
    if state.has_modes and read_mode(root, path) not in (None, *modes):
        return "its mode is changed and not committed"
    if (prefix and has_prefix(root, path, prefix.start)) or state.is_sparse(root, path):
        return None
    return _file_reason(root, path, {base, blob, *lost_blobs})


def read_mode(root: Path, path: str) -> str | None:
    """Return the mode that git would record for a file, or None if the file does not exist."""
    state = read_state(f"{root}/{path}")
    if state is None or not stat.S_ISREG(state.st_mode):
        return None
    return EXECUTABLE if state.st_mode & 0o100 else REGULAR


def _find_special_folder(root: Path, path: str) -> str | None:
    for folder in layout.folders_above(path):
        state = read_state(f"{root}/{folder}")
        if state is None:
            return None
        if not stat.S_ISDIR(state.st_mode):
            return folder
    return None


def read_blob_id(root: Path, path: str) -> str | None:
    """Return the blob id of a file in the work tree, or None for anything but a regular file."""
    file = root / path
    if file.is_symlink() or not file.is_file():
        return None
    return blob_id(file.read_bytes())


def has_prefix(root: Path, path: str, start: bytes) -> bool:
    """Return True if a regular file of the work tree begins with these bytes."""
    target = root / path
    if target.is_symlink() or not target.is_file() or _find_special_folder(root, path):
        return False
    with target.open("rb") as file:
        return file.read(len(start)) == start


def _file_reason(root: Path, path: str, blobs: set[str | None]) -> str | None:
    """Return the reason if the file in the work tree is none of these blobs, else None."""
    if folder := _find_special_folder(root, path):
        return f"{folder} is not a plain folder"
    state = read_state(f"{root}/{path}")
    if state is None:
        return None if None in blobs else "deleted in the work tree and not committed"
    if not stat.S_ISREG(state.st_mode):
        return "not a regular file"
    if blob_id((root / path).read_bytes()) in blobs:
        return None
    return "edited and not committed" if blobs - {None} else "a file of yours is there"
