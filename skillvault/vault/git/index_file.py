"""Read the entries of git's index, as differences from HEAD, and write a changed index.

Git is asked once for each state of the index. The class `IndexFile` does this for the user's index,
or for the index that git handed to a hook.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from skillvault.model.errors import GitError
from skillvault.vault.disk import draft_name
from skillvault.vault.files import layout
from skillvault.vault.git.committer import EMPTY_TREE
from skillvault.vault.git.config import Settings
from skillvault.vault.git.history import diff_entries
from skillvault.vault.git.objects import Entry, Objects
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT

QUIET_SECONDS = 0.2  # a git may be half-way until index and HEAD are unchanged for so long
_STATE_FILE = "own-index"  # has the state of the index after our last write
_UNKNOWN = "unknown"  # instead of a commit: the index was compared with none
_CHECKSUM_BYTES = 20  # at the end of an index


Entries = Mapping[str, Entry | None]  # by path; None: not in the index


class SparsePaths(msgspec.Struct, frozen=True):
    """The paths that a sparse checkout leaves out: files, and folders that end with `/`."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.files or self.folders)

    def __contains__(self, path: object) -> bool:
        return path in self.files or (isinstance(path, str) and self.is_in_folder(path))

    def is_in_folder(self, path: str) -> bool:
        """Return True for a path in a folder that the sparse index has as one entry."""
        return any(f"{folder}/" in self.folders for folder in layout.folders_above(path))


class IndexState(NamedTuple):
    """The entries in which the index with this checksum differs from a commit."""

    checksum: str | None
    commit: str | None
    differences: Entries
    unmerged: bool = False


class IndexFile:
    """The index of one repository. `head` returns the commit of HEAD."""

    def __init__(
        self,
        runner: Runner,
        folder: Path,
        head: Callable[[], str | None],
        objects: Callable[[], Objects],
        *,
        settings: Callable[[], Settings],
    ) -> None:
        self._git = runner
        self._path = folder / "index"
        self._folder = folder / "skillvault"
        self._head = head
        self._objects = objects  # loaded when an entry is read
        self._settings = settings
        self._state: IndexState | None = None

    def current(self) -> IndexState:
        """Return the differences between the index and HEAD. Git is asked only after a change."""
        commit, checksum = self._head(), None if self._git.index else self.checksum()
        key = checksum, commit
        if checksum is None or self._state is None or self._state[:2] != key:
            state = self._read_own_state()
            self._state = state if checksum and state and state[:2] == key else self._compare(*key)
        return self._state

    def _compare(self, checksum: str | None, commit: str | None) -> IndexState:
        differences, is_unmerged = self._read_differences(commit)
        checksum_after = checksum if checksum == self.checksum() else None
        return IndexState(checksum_after, commit, differences, is_unmerged)

    def _read_differences(
        self, commit: str | None, env: Mapping[str, str] | None = None
    ) -> tuple[Entries, bool]:
        """Return (entries that differ from a commit, True if a file is unmerged)."""
        # Not `diff-index`, which reads every file of a sparse index from the object database.
        options = ("--cached", "--ita-visible-in-index", "--ignore-submodules=none")
        arguments = ("diff", *options, commit or EMPTY_TREE)
        lines = list(diff_entries(self._git, *arguments, env=env))
        differences = {path: diff.after for path, diff, _ in lines}
        return differences, any(kind == "U" for _, _, kind in lines)

    def entries(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of files. A path may also be a folder with added files."""
        state, path_set = self.current(), set(paths)
        root = self._objects().root(state.commit) if state.commit else None
        entries: dict[str, Entry | None] = dict(self._objects().entries(root, sorted(path_set)))
        entries |= {
            path: entry
            for path, entry in state.differences.items()
            if path in path_set or not path_set.isdisjoint(layout.folders_above(path))
        }
        return {path: entry for path, entry in entries.items() if entry}

    def all_entries(self) -> dict[str, Entry]:
        """Return the entries of all files without a merge conflict."""
        state = self.current()
        files = self._objects().files(state.commit) if state.commit else {}
        return {path: entry for path, entry in {**files, **state.differences}.items() if entry}

    def checksum(self) -> str | None:
        """Return the checksum at the end of the index, or None if there is none."""
        try:
            with self._path.open("rb") as index:
                index.seek(-_CHECKSUM_BYTES, os.SEEK_END)
                checksum = index.read(_CHECKSUM_BYTES)
        except OSError:
            return None
        return checksum.hex() if any(checksum) else None

    def sparse_paths(self) -> SparsePaths:
        """Return the paths that a sparse checkout leaves out of the work tree."""
        if not (self._path.parent / "info/sparse-checkout").exists():
            return SparsePaths()
        paths = {path for tag, path in self.tags() if tag == "S"}
        folders = frozenset(path for path in paths if path.endswith("/"))
        return SparsePaths(frozenset(paths - folders), folders)

    def tags(self) -> list[tuple[str, str]]:
        """Return (git's tag, path) for each entry; the tag S means left out."""
        lines = os.fsdecode(self._git.run("ls-files", "--sparse", "-t", "-z")).split("\0")
        return [(line[0], line[2:]) for line in lines if line]

    def draft_sparse(self, excluded: Iterable[str], included: Iterable[str]) -> Path:
        """Draft an index with some files left out, and others no longer left out.

        Raises GitError if the draft would lose staged changes: git 2.39 loses entries beside a file
        of `git add --intent-to-add`.
        """
        state = self.current()
        draft = self._folder / f"index-{draft_name()}"
        with self._copy(draft) as index_env:
            for flag, paths in (("--no-skip-worktree", included), ("--skip-worktree", excluded)):
                arguments = ("update-index", flag, "-z", "--stdin")
                self._git.run(*arguments, stdin=path_list(paths), env=index_env)
            with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
                # Only a merge replaces files by folders, and only in an empty work tree.
                repository_env = {"GIT_DIR": str(self._path.parent), "GIT_WORK_TREE": folder}
                merge = ("-C", folder, "read-tree", "-m", "HEAD", "HEAD")
                self._git.run(*merge, env=index_env | repository_env)
            differences = self._read_differences(state.commit, {"GIT_INDEX_FILE": str(draft)})
            if differences != (state.differences, state.unmerged):
                raise GitError(
                    "git cannot make this index sparse; commit what is staged, or unstage it"
                )
        return draft

    def draft(self, entries: Entries, draft: Path | None = None) -> Path:
        """Draft an index with these entries. Replace `draft` if there is one."""
        draft = draft or self._folder / f"index-{draft_name()}"
        with self._copy(draft) as index_env:
            sparse_paths = self.sparse_paths()
            if any(map(sparse_paths.is_in_folder, entries)):
                entries = self._set_in_folders(entries, sparse_paths, index_env)
            arguments = ("update-index", "-z", "--index-info")
            self._git.run(*arguments, stdin=_index_info(entries), env=index_env, hold_lock=True)
            if flagged_paths := sorted(path for path in sparse_paths.files if entries.get(path)):
                flag = ("update-index", "--skip-worktree", "-z", "--stdin")
                flagged_list = path_list(flagged_paths)
                self._git.run(*flag, stdin=flagged_list, env=index_env, hold_lock=True)
        return draft

    def _set_in_folders(
        self, entries: Entries, sparse_paths: SparsePaths, env: Mapping[str, str]
    ) -> Entries:
        """Set the entries below folders of a sparse index, and return the other entries.

        `update-index` would add every file of these folders to the index. A merge of the old and
        the new tree only replaces the ids of the folders.
        """
        state, objects = self.current(), self._objects()
        is_inside = sparse_paths.is_in_folder
        old_entries = {path: entry for path, entry in state.differences.items() if is_inside(path)}
        new_entries = {path: entry for path, entry in entries.items() if is_inside(path)}
        root = objects.root(state.commit) if state.commit else None
        old_tree = objects.write_tree(root, old_entries)
        new_tree = objects.write_tree(old_tree, new_entries)
        self._git.run("read-tree", "-m", old_tree, new_tree, env=env, hold_lock=True)
        return {path: entry for path, entry in entries.items() if not is_inside(path)}

    @contextmanager
    def _copy(self, draft: Path) -> Iterator[dict[str, str]]:
        """Copy the index to a draft, and yield the environment in which git changes the draft.

        The draft is removed if the block fails, because the disk may be full.
        """
        draft.parent.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        try:
            with suppress(FileNotFoundError):  # a new repository has no index
                # With its time, which git compares with the times of the files.
                shutil.copy2(self._path, draft)
            yield {**self._settings().staging, "GIT_INDEX_FILE": str(draft)}
        except (OSError, GitError):
            draft.unlink(missing_ok=True)
            raise

    def install(self, draft: Path, commit: str = _UNKNOWN, entries: Entries | None = None) -> None:
        """Replace the index with a draft. The caller holds index.lock.

        `commit` is the next HEAD, which has the same `entries`.
        """
        state = self._state if self._state and self._state.checksum == self.checksum() else None
        draft.replace(self._path)
        differences = {
            path: entry
            for path, entry in (state.differences if state else {}).items()
            if path not in (entries or {})
        }
        self._state = IndexState(self.checksum(), commit if state else _UNKNOWN, differences)
        (self._folder / _STATE_FILE).write_text(json.dumps(self._state), encoding="ascii")

    def set_entries(self, entries: Entries) -> None:
        """Set entries in the index. The caller holds index.lock.

        In a hook, `git update-index` changes the index that git handed to the hook.
        """
        if self._git.index:
            arguments, env = ("update-index", "-z", "--index-info"), self._settings().staging
            self._git.run(*arguments, stdin=_index_info(entries), env=env)
        else:
            self.install(self.draft(entries))

    def is_last_written(self) -> bool:
        """Return True if nobody changed the index since skillvault wrote it."""
        state = self._read_own_state()
        checksum = state.checksum if state else None
        return checksum is not None and checksum == self.checksum()

    def _read_own_state(self) -> IndexState | None:
        with suppress(FileNotFoundError, ValueError):  # another process may be writing it
            content = (self._folder / _STATE_FILE).read_bytes()
            return msgspec.convert(json.loads(content), IndexState)
        return None

    def seconds_until_quiet(self) -> float:
        """Return the seconds until index and HEAD are unchanged for QUIET_SECONDS.

        Git moves HEAD some ms after index.lock is gone. An index of skillvault's is quiet.
        """
        if self.is_last_written():
            return 0.0
        time_now = time.time()
        files = [file for file in (self._path, self._path.with_name("HEAD")) if file.exists()]
        ages = [time_now - file.stat().st_mtime for file in files]
        youngest_age = min((age for age in ages if age >= 0), default=QUIET_SECONDS)
        return max(0.0, QUIET_SECONDS - youngest_age)


def path_list(paths: Iterable[str]) -> bytes:
    """Encode paths as input for a git command with the options `-z --stdin`."""
    return "".join(f"{path}\0" for path in paths).encode(errors="surrogateescape")


def _index_info(entries: Entries) -> bytes:
    lines = (
        f"{entry.mode} {entry.id}\t{path}\0" if entry else f"0 {ABSENT}\t{path}\0"
        for path, entry in entries.items()
    )
    return "".join(lines).encode(errors="surrogateescape")
