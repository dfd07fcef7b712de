"""The journal of intent: what a publication is about to do, so that a half-made one is undone.

It is written before the first file is touched and removed when all is done and synced. Whoever
writes to the vault next, under the writer's lock and index.lock, finds it: if the branch has the
commits, what is missing of them is put back; otherwise every path that stands as the publication
left it goes back to what it was. If a person's commit took a part of it, the publication is
finished on top of that commit, as to undo the rest could remove the only copy of a text. A
person's `git commit` undoes it itself before it commits, through the pre-commit hook.
"""

import json
import os
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path

import msgspec
from msgspec import Struct

from skillvault.model.errors import PausedError, VaultBusyError
from skillvault.vault.commit import files
from skillvault.vault.commit.files import AppendedFile
from skillvault.vault.commit.git_activity import clear_git_locks
from skillvault.vault.commit.local_edits import file_starts_with, read_blob_id, read_mode
from skillvault.vault.commit.locks import claim
from skillvault.vault.failpoint import reach
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.refs import RefUpdate
from skillvault.vault.git.repository import Git


class Place(Struct, frozen=True):
    """One path: blobs in the work tree and entries in the index, before and after; None: absent.

    `grows`: agents append to it, so the blobs are what it begins with.
    """

    before: str | None
    after: str | None
    staged: Entry | None
    entry: Entry | None
    grows: bool = False

    @property
    def sort_key(self) -> tuple[bool, bool]:
        """Sorts files that are new before those that are replaced, those that go away last."""
        return self.after is None, self.before is not None


class Intent(Struct, frozen=True, kw_only=True):
    """A publication: the branch moves from `old` to `new`, these paths change."""

    branch: str
    old: str | None
    new: str
    places: Mapping[str, Place]


class Journal:
    """The intents of a work tree's writers, each in a file of its own under the git dir.

    A writer holds the flock of its file: one that nobody holds is of a writer that was killed.
    """

    def __init__(self, root: Path, git: Git) -> None:
        self._root = root
        self._git = git
        self._folder = git.dirs()[0] / "skillvault"
        self._own: tuple[Path, int] | None = None

    def intend(self, intent: Intent) -> None:
        """State an intent; it is there whole or not at all."""
        self._folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix="intent-", suffix=".tmp", dir=self._folder)
        draft = Path(name)
        path = draft.with_suffix(".json")
        try:
            # Another one of the group may have to finish it, were we killed from here on.
            os.fchmod(descriptor, self._folder.stat().st_mode & 0o666)
            claim(descriptor)
            # ASCII: the name of a file that a skill brought along need not be UTF-8.
            draft.write_text(json.dumps(msgspec.to_builtins(intent)), encoding="ascii")
            draft.replace(path)
        except BaseException:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            raise
        self._own = path, descriptor

    def rewrite(self, intent: Intent) -> None:
        """State it once more, as the ground under it changed."""
        former = self._own
        self.intend(intent)
        if former is not None:
            former[0].unlink(missing_ok=True)
            os.close(former[1])

    def forget(self) -> None:
        """What was intended is done, or undone."""
        if self._own is not None:
            reach("intent-done")
            self._own[0].unlink(missing_ok=True)

    def release(self) -> None:
        """Nobody works on it any more; what is still stated is for the next writer."""
        if self._own is not None:
            os.close(self._own[1])
            self._own = None

    def roll_back(self, intent: Intent) -> None:
        """Undo this writer's own publication, unless the branch has it after all."""
        if not self._published(intent):
            self.undo(intent, self.untouched(intent))
        self.forget()

    def has_abandoned(self) -> bool:
        """Whether there is an intent of a writer that is no more."""
        return next(self._abandoned(), None) is not None

    def unreadable(self) -> str | None:
        """Why nothing may be committed: an intent cannot be read; None if all can."""
        for path in self._abandoned():
            if path.suffix == ".json":
                try:
                    _intent_in(path)
                except PausedError as error:
                    return str(error).removeprefix("paused: ")
        return None

    def recover(self) -> None:
        """Under the writer's lock and index.lock: finish or undo what killed writers left."""
        for path in self._abandoned():
            if path.suffix == ".json":
                intent = _intent_in(path)
                if self._published(intent):
                    self.redo(intent)
                elif commits := _commits_to_finish(self._git, intent):
                    self._finish(intent, commits)
                else:
                    self.undo(intent, self.untouched(intent))
                reach("intent-settled")
            path.unlink(missing_ok=True)  # behind a draft nothing was done

    def undo_before_commit(self) -> None:
        """Undo what killed writers left, in the index that a person's `git commit` will commit.

        That git waits for its hook and holds index.lock, so the journal stays: the next writer
        looks at the index that this git leaves.
        """
        for path in self._abandoned():
            if path.suffix == ".json" and not self._published(intent := _intent_in(path)):
                self.undo(intent, self.untouched(intent))

    def unlock_killed(self) -> None:
        """Remove the locks that the git of killed writers left behind."""
        for path in self._abandoned():
            self.unlock(since=path.stat().st_mtime)

    def _abandoned(self) -> Iterator[Path]:
        """The intents of writers that are no more, each while it is ours."""
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
        """Remove git's locks that were left behind; `since`: also those of a killed writer."""
        own, common = self._git.dirs()
        clear_git_locks(self._root, own, common, time.time(), since=since)

    def _published(self, intent: Intent) -> bool:
        """Whether the branch got the commits, though a person may have moved it since."""
        tip = self._git.tip(intent.branch)
        if tip and self._git.history.is_ancestor(intent.new, tip):
            return True
        return intent.new in self._git.history.reflog(intent.branch)

    def untouched(self, intent: Intent) -> list[str]:
        """The paths of an intent that no commit of a person's took up meanwhile."""
        committed = self._git.entries(self._git.head(), sorted(intent.places))
        return [
            path
            for path, place in intent.places.items()
            if committed.get(path) == place.staged or committed.get(path) != place.entry
        ]

    def _finish(self, intent: Intent, commits: Sequence[str]) -> None:
        """Make the commits of a publication on top of a person's, but for files they changed."""
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

    def _advance(self, path: str, place: Place) -> None:
        """Let a file that stands as before a publication stand as after it."""
        if place.grows and place.before and place.after:
            before, after = self._blob(place.before), self._blob(place.after)
            AppendedFile(self._root, path, self._folder).put_back(after, before)
        elif read_blob_id(self._root, path) != place.before or place.before == place.after:
            return
        elif place.after is None:
            files.remove_file(self._root, path)
        else:
            self._write(path, place.after, mode=place.entry.mode if place.entry else None)

    def redo(self, intent: Intent) -> None:
        """Put back what HEAD has of a publication and the index or the work tree lost."""
        paths = sorted(intent.places)
        committed = self._git.entries(self._git.head(), paths)
        index = self._git.index_file.entries(paths)
        # A git that read the index before us wrote it after us: the next commit would remove these.
        self._set_entries(
            {
                path: place.entry
                for path, place in intent.places.items()
                if index.get(path) == place.staged != place.entry == committed.get(path)
                and self._stands(path, place)
            }
        )
        for path, place in intent.places.items():
            entry = place.entry
            lost = not os.path.lexists(self._root / path)
            if entry and lost and committed.get(path) == index.get(path) == entry:
                self._write(path, entry.id, mode=entry.mode)

    def undo(self, intent: Intent, paths: Collection[str]) -> None:
        """Put work tree and index back on these paths, if they stand as they were left."""
        for path in paths:
            place = intent.places[path]
            if self._is_changed(path, place) and self._stands(path, place):
                self._put_back(path, place)
            with suppress(NotADirectoryError):  # a person put a file in the folder's place
                files.prune_folders(self._root, path)
            reach("undo-file")
        index = self._git.index_file.entries(sorted(paths))
        back = {
            path: intent.places[path].staged
            for path in paths
            if index.get(path) == intent.places[path].entry != intent.places[path].staged
        }
        self._set_entries(back)
        reach("undo-index")

    def _set_entries(self, entries: Mapping[str, Entry | None]) -> None:
        if entries:
            self._git.index_file.set_entries(entries, self._git.settings().staging)

    def _is_changed(self, path: str, place: Place) -> bool:
        """Whether a publication made another file of a path, or one of another mode."""
        if place.after != place.before:
            return True
        before, after = place.staged, place.entry
        if before is None or after is None or before.mode == after.mode:
            return False
        return read_mode(self._root, path) == after.mode

    def _stands(self, path: str, place: Place) -> bool:
        """Whether the work tree has a path as a publication left it."""
        if place.grows and place.after and place.before:
            return file_starts_with(self._root, path, self._blob(place.after))
        return read_blob_id(self._root, path) == place.after

    def _blob(self, blob: str) -> bytes:
        return self._git.blobs([blob])[blob]

    def _put_back(self, path: str, place: Place) -> None:
        if place.grows and place.before and place.after:
            before, after = self._blob(place.before), self._blob(place.after)
            AppendedFile(self._root, path, self._folder).put_back(before, after)
        elif place.before is None:
            files.remove_file(self._root, path)
        else:
            self._write(path, place.before, mode=place.staged.mode if place.staged else None)

    def _write(self, path: str, blob: str, *, mode: str | None) -> None:
        """Put a blob in its place in the work tree."""
        draft = files.draft_file(self._folder / "drafts", self._blob(blob))
        replace = os.path.lexists(self._root / path)
        files.place_file(self._root, path, draft, mode=mode, replace=replace)
        draft.unlink(missing_ok=True)


def _commits_to_finish(git: Git, intent: Intent) -> list[str]:
    """The commits of an intent, oldest first, if a person's commit took a part of them.

    None of a merge: `sync` makes it anew.
    """
    committed = git.entries(git.tip(intent.branch), sorted(intent.places))
    places = intent.places.items()
    has_part = any(committed.get(path) == place.entry != place.staged for path, place in places)
    if intent.old is None or not has_part:
        return []
    found = list(git.history.commits(f"{intent.old}..{intent.new}"))
    is_merged = any(len(commit.parents) != 1 for commit in found)
    return [] if is_merged else [commit.sha for commit in found]


def _copy_commit(git: Git, sha: str, parent: str) -> str:
    """Make a commit of ours on another parent, without the files that were changed there since."""
    origin = f"{sha}^"
    entries = git.history.diff_trees(origin, sha)
    before = git.entries(git.history.commit_named(origin), sorted(entries))
    standing = git.entries(parent, sorted(entries))
    unchanged = {
        path: entry
        for path, entry in entries.items()
        if standing.get(path) in (before.get(path), entry)
    }
    tree = git.objects.write_tree(git.objects.root(parent), unchanged)
    return git.committer.recommit(sha, tree, parent, git.settings())


def _intent_in(path: Path) -> Intent:
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="ascii")), Intent)
    except ValueError:  # a loss of power, where `durability: normal` was asked for
        raise PausedError(
            f"paused: {path}: the journal cannot be read; undo what `git status` shows of "
            "skillvault's changes, then remove the journal"
        ) from None
