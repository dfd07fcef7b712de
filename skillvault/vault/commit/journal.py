"""The journal: it describes a publication, so that the next writer can finish or undo it.

A writer notes an intent before it touches the first file, and removes the note when all is done and
synced. If the writer is killed, the next writer, under the writer's lock and index.lock, reads the
note. If the branch has the commits, missing files are put back; otherwise every path that nobody
changed since is put back. If a person's commit took a part of the files, the publication is
finished on top of that commit, because undoing could remove the only copy of a text. A person's
`git commit` undoes a half-made publication through the pre-commit hook.
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

    before: str | None
    after: str | None
    staged: Entry | None
    entry: Entry | None
    grows: bool = False

    @property
    def sort_key(self) -> tuple[bool, bool]:
        """Sort key: new files first, then replaced files, removed files last."""
        return self.after is None, self.before is not None


class Intent(Struct, frozen=True, kw_only=True):
    """The intent to publish: the branch moves from `old` to `new`, and these paths change."""

    branch: str
    old: str | None
    new: str
    places: Mapping[str, PathChange]


class Journal:
    """The intents of the writers of a work tree, each in its own file in the git dir.

    A writer holds the flock of its file. If nobody holds it, the writer was killed.
    """

    def __init__(self, root: Path, git: Git) -> None:
        self._root = root
        self._git = git
        self._folder = git.dirs()[0] / "skillvault"
        self._file: tuple[Path, int] | None = None

    def write_intent(self, intent: Intent) -> None:
        """Write an intent to a file that appears whole or not at all."""
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
        """Write the intent anew, after paths have changed."""
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
        """Close the file of the intent; the next writer handles an intent that still exists."""
        if self._file is not None:
            os.close(self._file[1])
            self._file = None

    def roll_back(self, intent: Intent) -> None:
        """Undo the publication of this writer, unless the branch has its commits after all."""
        if not self._is_published(intent):
            self.undo(intent)
        self.remove()

    def has_abandoned(self) -> bool:
        """Return True if there is an intent of a killed writer."""
        return next(self._claim_abandoned(), None) is not None

    def pause_reason(self) -> str | None:
        """Return the reason if nothing may be committed because an intent cannot be read."""
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
            path.unlink(missing_ok=True)  # of a draft nothing was done

    def undo_before_commit(self) -> None:
        """Undo publications of killed writers in the index that a `git commit` will commit.

        That git waits for its hook and holds index.lock, so the journal stays: the next writer
        must look at the index that git leaves.
        """
        for path in self._claim_abandoned():
            if path.suffix == ".json" and not self._is_published(intent := _read_intent(path)):
                self.undo(intent)

    def unlock_killed(self) -> None:
        """Remove the locks that the git of killed writers left behind."""
        for path in self._claim_abandoned():
            self.unlock(since=path.stat().st_mtime)

    def _claim_abandoned(self) -> Iterator[Path]:
        """Yield the intents of killed writers; each is locked while the caller uses it."""
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

    def unlock(self, *, since: float = inf) -> None:
        """Remove stale locks of git, and with `since` also those that a killed writer made."""
        clear_git_locks(self._root, *self._git.dirs(), time.time(), since=since)

    def _is_published(self, intent: Intent) -> bool:
        """Return True if the branch got the commits, even if a person moved the branch later."""
        tip = self._git.tip(intent.branch)
        if tip and self._git.history.is_ancestor(intent.new, tip):
            return True
        return intent.new in self._git.history.reflog(intent.branch)

    def _finish(self, intent: Intent, commits: Sequence[str]) -> None:
        """Repeat the commits of a publication on top of a person's, without files changed there."""
        tip = parent = self._git.tip(intent.branch) or ""
        for sha in commits:
            parent = _copy_commit(self._git, sha, parent)
        entries = self._git.entries(parent, sorted(intent.places))
        for path, place in intent.places.items():
            if entries.get(path) == place.entry:
                self._advance(path, place)
        index = self._git.index_file.entries(sorted(intent.places))
        self._set_entries(
            {
                path: place.entry
                for path, place in intent.places.items()
                if index.get(path) == place.staged != place.entry == entries.get(path)
            }
        )
        note = "skillvault: finish what a kill cut off"
        branch = RefUpdate(f"refs/heads/{intent.branch}", parent, tip)
        with self._git.ref_session(note) as refs:
            refs.begin([branch])
            if not refs.commit():
                raise VaultBusyError(f"the branch moved meanwhile ({refs.error}); run again")

    def _advance(self, path: str, place: PathChange) -> None:
        """Bring a file to its state after the publication, if it is still in the state before."""
        if place.grows and place.before and place.after:
            self._switch_prefix(path, place.before, place.after)
        elif read_blob_id(self._root, path) == place.before != place.after:
            self._place_blob(path, place.after, place.entry)

    def _redo(self, intent: Intent) -> None:
        """Put back files of a publication that HEAD has and the index or the work tree lost."""
        paths = sorted(intent.places)
        committed = self._git.entries(self._git.head(), paths)
        index = self._git.index_file.entries(paths)
        # A git that read the index before us wrote it after us: the next commit would remove these.
        self._set_entries(
            {
                path: place.entry
                for path, place in intent.places.items()
                if index.get(path) == place.staged != place.entry == committed.get(path)
                and self._is_placed(path, place)
            }
        )
        for path, place in intent.places.items():
            entry = place.entry
            is_missing = place.after and not os.path.lexists(self._root / path)
            if entry and is_missing and committed.get(path) == index.get(path) == entry:
                self._place_blob(path, entry.id, entry)

    def undo(self, intent: Intent) -> None:
        """Put work tree and index back on paths that are still as the publication left them.

        Paths in a person's commit stay.
        """
        committed = self._git.entries(self._git.head(), sorted(intent.places))
        places = {
            path: place
            for path, place in intent.places.items()
            if committed.get(path) == place.staged or committed.get(path) != place.entry
        }
        for path, place in places.items():
            if self._is_changed(path, place) and self._is_placed(path, place):
                if place.grows and place.before and place.after:
                    self._switch_prefix(path, place.after, place.before)
                else:
                    self._place_blob(path, place.before, place.staged)
            with suppress(NotADirectoryError):  # a person put a file in the folder's place
                files.prune_folders(self._root, path)
            reach("undo-file")
        index = self._git.index_file.entries(sorted(places))
        self._set_entries(
            {
                path: place.staged
                for path, place in places.items()
                if index.get(path) == place.entry != place.staged
            }
        )
        reach("undo-index")

    def _set_entries(self, entries: Mapping[str, Entry | None]) -> None:
        if entries:
            self._git.index_file.set_entries(entries, self._git.settings().staging)

    def _is_changed(self, path: str, place: PathChange) -> bool:
        """Return True if a publication changed a path's content or mode."""
        if place.after != place.before:
            return True
        if place.staged is None or place.entry is None or place.staged.mode == place.entry.mode:
            return False
        return read_mode(self._root, path) == place.entry.mode

    def _is_placed(self, path: str, place: PathChange) -> bool:
        """Return True if the work tree still has a path as a publication left it."""
        if place.grows and place.after and place.before:
            return has_prefix(self._root, path, self._blob(place.after))
        return read_blob_id(self._root, path) == place.after

    def _blob(self, blob: str) -> bytes:
        return self._git.blobs([blob])[blob]

    def _switch_prefix(self, path: str, old_blob: str, new_blob: str) -> None:
        file = AppendedFile(self._root, path, self._folder)
        file.switch_prefix(self._blob(old_blob), self._blob(new_blob))

    def _place_blob(self, path: str, blob: str | None, entry: Entry | None) -> None:
        """Put a blob in its place in the work tree, with the mode of an entry; None: remove it."""
        if blob is None:
            files.remove_file(self._root, path)
            return
        files.write_file(
            self._root,
            path,
            self._blob(blob),
            self._folder / "drafts",
            mode=entry.mode if entry else None,
            replace=os.path.lexists(self._root / path),
        )


def _commits_to_finish(git: Git, intent: Intent) -> list[str]:
    """Return the commits to finish, oldest first, if a person's commit took a part of their files.

    A merge is never finished here: `sync` makes it again.
    """
    committed = git.entries(git.tip(intent.branch), sorted(intent.places))
    places = intent.places.items()
    has_part = any(committed.get(path) == place.entry != place.staged for path, place in places)
    if intent.old is None or not has_part:
        return []
    commits = list(git.history.commits(f"{intent.old}..{intent.new}"))
    is_merge = any(len(commit.parents) != 1 for commit in commits)
    return [] if is_merge else [commit.sha for commit in commits]


def _copy_commit(git: Git, sha: str, parent: str) -> str:
    """Repeat a commit on another parent, without the files that were changed there."""
    origin = f"{sha}^"
    entries = git.history.diff_trees(origin, sha)
    base = git.entries(git.history.commit_named(origin), sorted(entries))
    current = git.entries(parent, sorted(entries))
    unchanged = {
        path: entry
        for path, entry in entries.items()
        if current.get(path) in (base.get(path), entry)
    }
    tree = git.objects.write_tree(git.objects.root(parent), unchanged)
    return git.committer.recommit(sha, tree, parent, git.settings())


def _read_intent(path: Path) -> Intent:
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="ascii")), Intent)
    except ValueError:  # a loss of power, where `durability: normal` was asked for
        raise PausedError(
            f"paused: {path}: the journal cannot be read; undo what `git status` shows of "
            "skillvault's changes, then remove the journal"
        ) from None
