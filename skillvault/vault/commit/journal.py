"""Record a publication in a file, so that the next writer can finish or undo it.

A writer saves its intent before it touches the first file, and removes the intent at the end. If
the writer is killed, the next writer reads the intent and does one of three things:

- The branch has the commits: it restores missing files.
- A person's commit took a part of the files: it finishes the publication on top of that commit,
  because undoing could remove the only copy of a text.
- Otherwise it undoes every path that nobody changed since. The pre-commit hook does this, too.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path

import msgspec
from msgspec import Struct

from skillvault.model.errors import PausedError, VaultBusyError
from skillvault.vault.commit import files
from skillvault.vault.commit.files import AppendedFile
from skillvault.vault.commit.git_activity import clear_git_locks
from skillvault.vault.commit.local_edits import has_prefix, read_blob_id, read_mode
from skillvault.vault.commit.locks import claim
from skillvault.vault.failpoint import reach
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.refs import RefUpdate
from skillvault.vault.git.repository import Git


class PathChange(Struct, frozen=True):
    """A path with its blob in the work tree and its index entry, before and after; None is absent.

    If the file `grows`, agents append to it, and the blobs are only its beginning.
    """

    old_blob: str | None
    new_blob: str | None
    old_entry: Entry | None
    new_entry: Entry | None
    grows: bool = False

    @property
    def sort_key(self) -> tuple[bool, bool]:
        """Sort key that puts new files first and removed files last."""
        return self.new_blob is None, self.old_blob is not None


class Intent(Struct, frozen=True, kw_only=True):
    """The plan of a publication: the branch moves from `old` to `new`, and paths change."""

    branch: str
    old: str | None
    new: str
    changes: Mapping[str, PathChange]


class Journal:
    """The intents of the writers of a work tree, each in its own file in the git dir.

    A writer holds the flock of its file. If nobody holds the flock, the writer was killed.
    """

    def __init__(self, root: Path, git: Git) -> None:
        self._root = root
        self._git = git
        self._folder = git.dirs()[0] / "skillvault"
        self._file: tuple[Path, int] | None = None

    def write_intent(self, intent: Intent) -> None:
        """Write an intent to a file that appears complete or not at all."""
        self._folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix="intent-", suffix=".tmp", dir=self._folder)
        draft = Path(name)
        path = draft.with_suffix(".json")
        try:
            # If we are killed from here on, another user of the group may have to finish it.
            os.fchmod(descriptor, self._folder.stat().st_mode & 0o666)
            claim(descriptor)
            # ASCII: the name of a file in a skill's folder need not be UTF-8.
            draft.write_text(json.dumps(msgspec.to_builtins(intent)), encoding="ascii")
            draft.replace(path)
        except BaseException:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            raise
        self._file = path, descriptor

    def rewrite(self, intent: Intent) -> None:
        """Replace the intent after paths have changed."""
        old_file = self._file
        self.write_intent(intent)
        if old_file is not None:
            old_file[0].unlink(missing_ok=True)
            os.close(old_file[1])

    def remove(self) -> None:
        """Remove the intent after its publication is done or undone."""
        if self._file is not None:
            reach("intent-done")
            self._file[0].unlink(missing_ok=True)

    def release(self) -> None:
        """Close the file of the intent. If it still exists, the next writer handles it."""
        if self._file is not None:
            os.close(self._file[1])
            self._file = None

    def roll_back(self, intent: Intent) -> None:
        """Undo this publication, unless the branch has its commits after all."""
        if not self._is_published(intent):
            self.undo(intent)
        self.remove()

    def has_abandoned(self) -> bool:
        """Return True if a killed writer left an intent."""
        return next(self._claim_abandoned(), None) is not None

    def pause_reason(self) -> str | None:
        """Return the reason if an unreadable intent forbids commits, else None."""
        for path in self._claim_abandoned():
            if path.suffix == ".json":
                try:
                    _read_intent(path)
                except PausedError as error:
                    return str(error).removeprefix("paused: ")
        return None

    def recover(self) -> None:
        """Finish or undo the publications of killed writers.

        The caller holds the writer's lock and index.lock.
        """
        for path in self._claim_abandoned():
            if path.suffix == ".json":
                intent = _read_intent(path)
                if self._is_published(intent):
                    self._redo(intent)
                elif commits := _commits_to_finish(self._git, intent):
                    self._finish(intent, commits)
                else:
                    self.undo(intent)
                reach("intent-settled")
            path.unlink(missing_ok=True)  # a draft: its publication had not begun

    def undo_before_commit(self) -> None:
        """Undo publications of killed writers in the index of a running `git commit`.

        That git waits for its hook and holds index.lock, so the journal stays: the next writer must
        look at the index that git leaves.
        """
        for path in self._claim_abandoned():
            if path.suffix == ".json" and not self._is_published(intent := _read_intent(path)):
                self.undo(intent)

    def remove_killed_locks(self) -> None:
        """Remove the git locks of killed writers."""
        for path in self._claim_abandoned():
            self.remove_git_locks(since=path.stat().st_mtime)

    def _claim_abandoned(self) -> Iterator[Path]:
        """Yield the intents of killed writers, each locked while the caller uses it."""
        for path in sorted(self._folder.glob("intent-*")):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # its writer is done
            try:
                if claim(descriptor):
                    yield path
            finally:
                os.close(descriptor)

    def remove_git_locks(self, *, since: float = inf) -> None:
        """Remove stale git locks, and all unused ones that were made after `since`."""
        clear_git_locks(self._root, *self._git.dirs(), time.time(), since=since)

    def _is_published(self, intent: Intent) -> bool:
        """Return True if the branch ever had the commits of this intent."""
        tip, history = self._git.tip(intent.branch), self._git.history
        is_in_branch = tip is not None and history.is_ancestor(intent.new, tip)
        return is_in_branch or intent.new in history.reflog(intent.branch)

    def _finish(self, intent: Intent, commits: Sequence[str]) -> None:
        """Repeat the commits of a publication on top of a person's commit.

        Files that the person's commit changed keep their text.
        """
        tip = parent = self._git.tip(intent.branch) or ""
        for sha in commits:
            parent = _copy_commit(self._git, sha, parent)
        entries = self._git.entries(parent, sorted(intent.changes))
        for path, change in intent.changes.items():
            if entries.get(path) == change.new_entry:
                self._update_file(path, change)
        index = self._git.index_file.entries(sorted(intent.changes))
        self._set_entries(
            {
                path: change.new_entry
                for path, change in intent.changes.items()
                if index.get(path) == change.old_entry != change.new_entry == entries.get(path)
            }
        )
        reflog_message = "skillvault: finish what a kill cut off"
        branch = RefUpdate(f"refs/heads/{intent.branch}", parent, tip)
        with self._git.ref_session(reflog_message) as refs:
            refs.begin([branch])
            if not refs.commit():
                raise VaultBusyError(f"the branch moved meanwhile ({refs.error}); run again")

    def _update_file(self, path: str, change: PathChange) -> None:
        """Write the published content to a file, unless the file was changed since."""
        if change.grows and change.old_blob and change.new_blob:
            self._switch_prefix(path, change.old_blob, change.new_blob)
        elif read_blob_id(self._root, path) == change.old_blob != change.new_blob:
            self._write_blob(path, change.new_blob, change.new_entry)

    def _redo(self, intent: Intent) -> None:
        """Restore files of a publication that HEAD has, but the index or the work tree lacks."""
        paths = sorted(intent.changes)
        committed = self._git.entries(self._git.head(), paths)
        index = self._git.index_file.entries(paths)
        # A git that read the index before us wrote it after us: the next commit would remove these.
        self._set_entries(
            {
                path: change.new_entry
                for path, change in intent.changes.items()
                if index.get(path) == change.old_entry != change.new_entry == committed.get(path)
                and self._has_new_content(path, change)
            }
        )
        for path, change in intent.changes.items():
            entry = change.new_entry
            is_missing = change.new_blob and not os.path.lexists(self._root / path)
            if entry and is_missing and committed.get(path) == index.get(path) == entry:
                self._write_blob(path, entry.id, entry)

    def undo(self, intent: Intent) -> None:
        """Restore the old state of all paths that nobody changed or committed since."""
        committed = self._git.entries(self._git.head(), sorted(intent.changes))
        changes = {
            path: change
            for path, change in intent.changes.items()
            if committed.get(path) == change.old_entry or committed.get(path) != change.new_entry
        }
        for path, change in changes.items():
            if self._has_change(path, change) and self._has_new_content(path, change):
                if change.grows and change.old_blob and change.new_blob:
                    self._switch_prefix(path, change.new_blob, change.old_blob)
                else:
                    self._write_blob(path, change.old_blob, change.old_entry)
            with suppress(NotADirectoryError):  # a person replaced the folder by a file
                files.prune_folders(self._root, path)
            reach("undo-file")
        index = self._git.index_file.entries(sorted(changes))
        self._set_entries(
            {
                path: change.old_entry
                for path, change in changes.items()
                if index.get(path) == change.new_entry != change.old_entry
            }
        )
        reach("undo-index")

    def _set_entries(self, entries: Mapping[str, Entry | None]) -> None:
        if entries:
            self._git.index_file.set_entries(entries)

    def _has_change(self, path: str, change: PathChange) -> bool:
        if change.new_blob != change.old_blob:
            return True
        old_entry, new_entry = change.old_entry, change.new_entry
        if old_entry is None or new_entry is None or old_entry.mode == new_entry.mode:
            return False
        return read_mode(self._root, path) == new_entry.mode

    def _has_new_content(self, path: str, change: PathChange) -> bool:
        if change.grows and change.new_blob and change.old_blob:
            return has_prefix(self._root, path, self._blob(change.new_blob))
        return read_blob_id(self._root, path) == change.new_blob

    def _blob(self, blob: str) -> bytes:
        return self._git.blobs([blob])[blob]

    def _switch_prefix(self, path: str, old_blob: str, new_blob: str) -> None:
        file = AppendedFile(self._root, path, self._folder)
        file.switch_prefix(self._blob(old_blob), self._blob(new_blob))

    def _write_blob(self, path: str, blob: str | None, entry: Entry | None) -> None:
        """Write a blob to a file with the mode of its entry, or remove the file if it is None."""
        if blob is None:
            files.remove_file(self._root, path)
            return
        mode, is_present = entry.mode if entry else None, os.path.lexists(self._root / path)
        content, drafts = self._blob(blob), self._folder / "drafts"
        files.write_file(self._root, path, content, drafts, mode=mode, replace=is_present)


def _commits_to_finish(git: Git, intent: Intent) -> list[str]:
    """Return the commits to finish, oldest first, if a person committed some of their files.

    A merge is not finished, because `sync` merges again.
    """
    entries = git.entries(git.tip(intent.branch), sorted(intent.changes))
    changes = intent.changes.items()
    has_part = any(entries.get(path) == c.new_entry != c.old_entry for path, c in changes)
    if intent.old is None or not has_part:
        return []
    commits = list(git.history.commits(f"{intent.old}..{intent.new}"))
    is_merge = any(len(commit.parents) != 1 for commit in commits)
    return [] if is_merge else [commit.sha for commit in commits]


def _copy_commit(git: Git, sha: str, parent: str) -> str:
    """Repeat a commit on another parent, without the files that differ there."""
    origin = f"{sha}^"
    entries = git.history.diff_trees(origin, sha)
    base = git.entries(git.history.commit_named(origin), sorted(entries))
    current = git.entries(parent, sorted(entries))
    unchanged_entries = {
        path: entry
        for path, entry in entries.items()
        if current.get(path) in (base.get(path), entry)
    }
    tree = git.objects.write_tree(git.objects.root(parent), unchanged_entries)
    return git.committer.recommit(sha, tree, parent)


def _read_intent(path: Path) -> Intent:
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="ascii")), Intent)
    except ValueError:  # a power failure with `durability: normal`
        raise PausedError(
            f"paused: {path}: the journal cannot be read; undo what `git status` shows of "
            "skillvault's changes, then remove the journal"
        ) from None
