"""The journal of intent: what a publication is about to do, so that a half-made one is undone.

It is written before the first file is touched and removed when all is done. Whoever writes to
the vault next, under the writer's lock, finds it: if the branch has the commits nothing is
left to do, otherwise every path that stands as the publication left it goes back to what it
was. Anything else is a person's by now, and stays.
"""

import json
import os
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path

import msgspec
from msgspec import Struct

from skillvault.errors import PausedError
from skillvault.vault import hand, worktree
from skillvault.vault.disk import synced
from skillvault.vault.failpoint import reach
from skillvault.vault.held import removed
from skillvault.vault.history import Git
from skillvault.vault.trees import Entry

_NAME = "intent.json"


class Place(Struct, frozen=True):
    """One path: blobs in the work tree and entries in the index, before and after; None: absent."""

    before: str | None
    after: str | None
    staged: Entry | None
    entry: Entry | None


class Intent(Struct, frozen=True, kw_only=True):
    """A publication: the branch moves from `old` to `new`, these paths change.

    `draft` is the name that files are written under first, beside their place.
    """

    branch: str
    old: str | None
    new: str
    draft: str
    places: Mapping[str, Place]


class Journal:
    """The one entry that a work tree has, under its git dir."""

    def __init__(self, root: Path, git: Git) -> None:
        self._root = root
        self._git = git

    @property
    def path(self) -> Path:
        """Where it stands."""
        return self._git.dirs()[0] / "skillvault" / _NAME

    def write(self, intent: Intent, *, durable: bool) -> None:
        """State an intent; it is there whole or not at all."""
        self.path.parent.mkdir(exist_ok=True)
        draft = self.path.with_suffix(".tmp")
        # ASCII: the name of a file that a skill brought along need not be UTF-8.
        draft.write_text(json.dumps(msgspec.to_builtins(intent)), encoding="ascii")
        if durable:
            synced(draft)
        draft.replace(self.path)
        if durable:
            synced(self.path.parent)
        reach("intent-written")

    def forget(self) -> None:
        """Nothing is intended any more."""
        reach("intent-done")
        self.path.unlink(missing_ok=True)

    def read(self) -> Intent | None:
        """What is intended; None for nothing."""
        try:
            said = self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        try:
            return msgspec.convert(json.loads(said), Intent)
        except ValueError:  # a loss of power, where `durability: normal` was asked for
            raise PausedError(
                f"paused: {self.path}: the journal cannot be read; put back what `git status` "
                "shows half-made, and remove the journal"
            ) from None

    def settle(self) -> bool:
        """Under the writer's lock: undo what was left half-made; whether there was any."""
        intent = self.read()
        if intent is None:
            return False
        self.unlock(since=self.path.stat().st_mtime)
        if not self._published(intent):
            self.undo(intent, intent.places)
        self.forget()
        return True

    def unlock(self, *, since: float = inf) -> list[Path]:
        """Remove git's locks that were left behind; `since`: also those of a killed writer."""
        own, common = self._git.dirs()
        return removed(self._root, own, common, time.time(), since=since)

    def _published(self, intent: Intent) -> bool:
        """Whether the branch got the commits, though a person may have moved it since."""
        tip = self._git.head()
        if tip and self._git.is_ancestor(intent.new, tip):
            return True
        return intent.new in self._git.passed(intent.branch)

    def undo(self, intent: Intent, paths: Collection[str]) -> None:
        """Put work tree and index back on these paths, where they stand as they were left."""
        for path in paths:
            place = intent.places[path]
            with suppress(NotADirectoryError):  # a person put a file in the folder's place
                (self._root / path).parent.joinpath(intent.draft).unlink(missing_ok=True)
            if hand.blob_at(self._root, path) == place.after != place.before:
                self._put_back(path, place, intent.draft)
            worktree.prune(self._root, path)
            reach("undo-file")
        index = self._git.staged(sorted(paths))
        back = {
            path: intent.places[path].staged
            for path in paths
            if index.get(path) == intent.places[path].entry != intent.places[path].staged
        }
        if back:
            self._git.stage(back, self._git.settings())
        reach("undo-index")

    def _put_back(self, path: str, place: Place, draft: str) -> None:
        if place.before is None:
            worktree.remove(self._root, path)
            return
        data = self._git.blobs([place.before])[place.before]
        mode = place.staged.mode if place.staged else None
        replace = os.path.lexists(self._root / path)
        worktree.put(self._root, path, data, mode=mode, replace=replace, draft=draft)
