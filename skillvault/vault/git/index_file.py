"""Git's index: read how it differs from HEAD, and set entries. Git is asked once for each state."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from skillvault.model.errors import GitError
from skillvault.vault.disk import draft_name
from skillvault.vault.git.committer import EMPTY_TREE
from skillvault.vault.git.history import diff_entries
from skillvault.vault.git.objects import Entry, Objects
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT

QUIET_SECONDS = 0.2  # index and HEAD must be unchanged for so long: a git may be half-way
_OWN = "own-index"  # the file with the state of the index after our last write
_UNKNOWN = "unknown"  # in place of a commit: nobody compared the index with one
_SUM = 20  # bytes of the checksum at the end of an index


Entries = Mapping[str, Entry | None]  # by path; None: none there


class SparsePaths(msgspec.Struct, frozen=True):
    """The paths that a sparse checkout leaves out: single files, and folders that end with `/`."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.files or self.folders)

    def __contains__(self, path: object) -> bool:
        return path in self.files or (isinstance(path, str) and self.is_in_folder(path))

    def is_in_folder(self, path: str) -> bool:
        """Return True for a path below a folder of which the index holds only the tree."""
        return any(path[: i + 1] in self.folders for i, char in enumerate(path) if char == "/")


class IndexState(NamedTuple):
    """The state of an index with this checksum: the paths and entries that differ from a commit."""

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
    ) -> None:
        self._git = runner
        self._place = folder / "index"
        self._folder = folder / "skillvault"
        self._head = head
        self._objects = objects  # loaded when an entry is read
        self._state: IndexState | None = None

    def current(self) -> IndexState:
        """Compare the index with HEAD, and ask git if somebody else changed the index."""
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
        """Return (the entries of an index that differ from a commit, True if one is unmerged)."""
        # Not `diff-index`, which reads every file of a sparse index from the object database.
        options = ("--cached", "--ita-visible-in-index", "--ignore-submodules=none")
        words = ("diff", *options, commit or EMPTY_TREE)
        lines = list(diff_entries(self._git, *words, env=env))
        differences = {path: diff.after for path, diff, _ in lines}
        return differences, any(kind == "U" for _, _, kind in lines)

    def entries(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of these files, and of files added below them since HEAD, by path."""
        state, names = self.current(), set(paths)
        root = self._objects().root(state.commit) if state.commit else None
        entries: dict[str, Entry | None] = dict(self._objects().entries(root, sorted(names)))
        entries |= {
            path: entry
            for path, entry in state.differences.items()
            if path in names or any(path[:i] in names for i, c in enumerate(path) if c == "/")
        }
        return {path: entry for path, entry in entries.items() if entry}

    def all_entries(self) -> dict[str, Entry]:
        """Return the entry of every file without a merge conflict, by path."""
        state = self.current()
        files = self._objects().files(state.commit) if state.commit else {}
        return {path: entry for path, entry in {**files, **state.differences}.items() if entry}

    def checksum(self) -> str | None:
        """Return the checksum at the end of the index; None for an index without one."""
        try:
            with self._place.open("rb") as index:
                index.seek(-_SUM, os.SEEK_END)
                checksum = index.read(_SUM)
        except OSError:
            return None
        return checksum.hex() if any(checksum) else None

    def sparse_paths(self) -> SparsePaths:
        """Return the paths that a sparse checkout leaves out of the work tree."""
        if not (self._place.parent / "info/sparse-checkout").exists():
            return SparsePaths()
        paths = {path for tag, path in self.tags() if tag == "S"}
        folders = frozenset(path for path in paths if path.endswith("/"))
        return SparsePaths(frozenset(paths - folders), folders)

    def tags(self) -> list[tuple[str, str]]:
        """Return git's tag (S: left out by a sparse checkout) and path of each entry."""
        lines = os.fsdecode(self._git.run("ls-files", "--sparse", "-t", "-z")).split("\0")
        return [(line[0], line[2:]) for line in lines if line]

    def draft_sparse(
        self, left_out: Iterable[str], taken_in: Iterable[str], env: Mapping[str, str]
    ) -> Path:
        """Copy the index, and let it leave out these files and no longer leave out those.

        GitError if the copy would differ from HEAD in other files than the index: git 2.39 loses
        entries beside one of `git add --intent-to-add`.
        """
        state = self.current()
        draft = self._folder / f"index-{draft_name()}"
        draft.parent.mkdir(exist_ok=True)
        settings = {**env, "GIT_INDEX_FILE": str(draft)}
        try:
            shutil.copy2(self._place, draft)
            for flag, paths in (("--no-skip-worktree", taken_in), ("--skip-worktree", left_out)):
                names = "".join(f"{path}\0" for path in paths).encode(errors="surrogateescape")
                self._git.run("update-index", flag, "-z", "--stdin", stdin=names, env=settings)
            with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
                # Only a merge makes folders of the files, and only where no file is there yet.
                places = {"GIT_DIR": str(self._place.parent), "GIT_WORK_TREE": folder}
                words = ("-C", folder, "read-tree", "-m", "HEAD", "HEAD")
                self._git.run(*words, env=settings | places)
            self._check_same(draft, state)
        except (OSError, GitError):
            draft.unlink(missing_ok=True)
            raise
        return draft

    def _check_same(self, draft: Path, state: IndexState) -> None:
        env = {"GIT_INDEX_FILE": str(draft)}
        if self._read_differences(state.commit, env) != (state.differences, state.unmerged):
            raise GitError(
                "git cannot make this index sparse; commit what is staged, or unstage it"
            )

    def draft(self, entries: Entries, env: Mapping[str, str], draft: Path | None = None) -> Path:
        """Copy the index in the git dir and set these entries; `draft` is replaced if given."""
        draft = draft or self._folder / f"index-{draft_name()}"
        draft.parent.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        try:
            with suppress(FileNotFoundError):  # a new repository has no index
                # With its time, by which git knows what was saved in the second of its making.
                shutil.copy2(self._place, draft)
            settings = {**env, "GIT_INDEX_FILE": str(draft)}
            args = ("update-index", "-z", "--index-info")
            sparse_paths = self.sparse_paths()
            if any(map(sparse_paths.is_in_folder, entries)):
                entries = self._set_in_folders(entries, sparse_paths, settings)
            self._git.run(*args, stdin=_index_info(entries), env=settings, hold_lock=True)
            if flagged := sorted(path for path in sparse_paths.files if entries.get(path)):
                names = "\0".join([*flagged, ""]).encode(errors="surrogateescape")
                flag = ("update-index", "--skip-worktree", "-z", "--stdin")
                self._git.run(*flag, stdin=names, env=settings, hold_lock=True)
        except (OSError, GitError):
            draft.unlink(missing_ok=True)  # a full disk is not filled with drafts
            raise
        return draft

    def _set_in_folders(
        self, entries: Entries, sparse_paths: SparsePaths, env: Mapping[str, str]
    ) -> Entries:
        """Set the entries below the folders of a sparse index, and return the other entries.

        `update-index` would read every file of these folders into the index. A merge of the trees
        that the index holds before and after only replaces the ids of the folders.
        """
        state, objects = self.current(), self._objects()
        is_inside = sparse_paths.is_in_folder
        staged = {path: entry for path, entry in state.differences.items() if is_inside(path)}
        new_entries = {path: entry for path, entry in entries.items() if is_inside(path)}
        root = objects.root(state.commit) if state.commit else None
        old_tree = objects.write_tree(root, staged)
        new_tree = objects.write_tree(old_tree, new_entries)
        self._git.run("read-tree", "-m", old_tree, new_tree, env=env, hold_lock=True)
        return {path: entry for path, entry in entries.items() if not is_inside(path)}

    def install(self, draft: Path, commit: str = _UNKNOWN, entries: Entries | None = None) -> None:
        """Replace the index by a draft; the caller holds index.lock.

        `commit` is the next HEAD, which has the same `entries`.
        """
        state = self._state if self._state and self._state.checksum == self.checksum() else None
        draft.replace(self._place)
        differences = {
            path: entry
            for path, entry in (state.differences if state else {}).items()
            if path not in (entries or {})
        }
        self._state = IndexState(self.checksum(), commit if state else _UNKNOWN, differences)
        (self._folder / _OWN).write_text(json.dumps(self._state), encoding="ascii")

    def set_entries(self, entries: Entries, env: Mapping[str, str]) -> None:
        """Set these entries; the caller holds index.lock.

        In a hook, git itself sets the entries, because the git that owns the index waits for the
        hook.
        """
        if self._git.index:
            self._git.run("update-index", "-z", "--index-info", stdin=_index_info(entries), env=env)
        else:
            self.install(self.draft(entries, env))

    def is_own(self) -> bool:
        """Return True if nobody changed the index after our last write."""
        state = self._read_own_state()
        checksum = state.checksum if state else None
        return checksum is not None and checksum == self.checksum()

    def _read_own_state(self) -> IndexState | None:
        with suppress(FileNotFoundError, ValueError):  # another process may be writing it
            return msgspec.convert(json.loads((self._folder / _OWN).read_bytes()), IndexState)
        return None

    def unrest(self) -> float:
        """Return the seconds until index and HEAD have been unchanged for long enough.

        Git releases index.lock some ms before it moves HEAD. Writes of this process do not count.
        """
        if self.is_own():
            return 0.0
        time_now = time.time()
        places = [place for place in (self._place, self._place.with_name("HEAD")) if place.exists()]
        ages = [time_now - place.stat().st_mtime for place in places]
        youngest = min((age for age in ages if age >= 0), default=QUIET_SECONDS)
        return max(0.0, QUIET_SECONDS - youngest)


def _index_info(entries: Entries) -> bytes:
    lines = (
        f"{entry.mode} {entry.id}\t{path}\0" if entry else f"0 {ABSENT}\t{path}\0"
        for path, entry in entries.items()
    )
    return "".join(lines).encode(errors="surrogateescape")
