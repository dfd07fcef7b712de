"""The commit protocol: a group of changes becomes commits, all published at once.

Objects first (nobody sees them), then the journal of intent, the work tree, exactly our index
entries, and the branch by compare-and-swap, which is the fence should the lock lie. A person's
`commit -a` right afterwards finds nothing of ours to add or to remove.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from skillvault.change import Change
from skillvault.errors import EditedError, GitError
from skillvault.vault.commit import files as worktree
from skillvault.vault.commit import local_edits as hand
from skillvault.vault.commit.journal import Intent, Journal, Place
from skillvault.vault.disk import all_synced, synced
from skillvault.vault.failpoint import reach
from skillvault.vault.git.config import Settings
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import REGULAR, Entry


class StagedChange(Struct, frozen=True):
    """A change and what it does to files: path -> new bytes, None for one that goes away.

    `origins` says where each file that it moves stood before, `created` which were not there.
    """

    change: Change
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    created: frozenset[str]


class Group(Struct, frozen=True):
    """What laid changes do together, the last word on each path."""

    steps: Sequence[StagedChange]

    @property
    def files(self) -> dict[str, bytes | None]:
        """path -> the bytes after all of them."""
        found: dict[str, bytes | None] = {}
        for step in self.steps:
            found |= step.files
        return found

    @property
    def origins(self) -> dict[str, str]:
        """Where each file that is moved stood before the first of them."""
        found: dict[str, str] = {}
        for step in self.steps:
            found |= {to: found.get(source, source) for to, source in step.origins.items()}
        created = frozenset().union(*(step.created for step in self.steps))
        return {to: source for to, source in found.items() if source not in created}


class Writer:
    """Publishes groups of changes in one work tree, under the writer's lock."""

    def __init__(self, root: Path, git: Git, *, branch: str, durable: bool) -> None:
        self._root = root
        self._git = git
        self._branch = branch
        self._durable = durable
        self._journal = Journal(root, git)

    def publish(self, group: Group, parent: str | None, at: datetime) -> list[str] | None:
        """The commits, oldest first; None where the branch moved meanwhile.

        EditedError where a path is in a person's hand; then nothing is published.
        """
        files, origins = group.files, group.origins
        settings = self._git.settings()
        # Asked at first, as nobody is asked for a key in vain, and the trees are built on it.
        ground = self._ours(parent, files, origins, settings)
        commits, entries = self._commits(group, parent, at, settings, ground.tree)
        reach("objects-written")
        if settings.signs:  # people save while a commit is signed, so once more as late as can be
            ground = self._ours(parent, files, origins, settings)
        intent = self._intent(files, entries, ground.index, parent, commits[-1])
        self._journal.write(intent, durable=self._durable)
        try:
            published = self._done(files, intent, entries, settings, group.steps[-1].change)
            self._journal.forget()
        except BaseException as error:
            self._take_back(intent, error)
            raise
        finally:
            self._journal.release()
        return commits if published else None

    def _done(
        self,
        files: Mapping[str, bytes | None],
        intent: Intent,
        entries: Mapping[str, Entry | None],
        settings: Settings,
        last: Change,
    ) -> bool:
        """Do what is intended; False, and nothing is left of it, where the branch moved."""
        reach("intent-written")
        self._place(files, intent)
        reach("before-index")
        self._git.stage(entries, settings)
        staged = self._git.index_sum()
        reach("index-written")
        if self._durable:
            all_synced(self._root, self._git.dirs()[1])
        reach("before-swap")
        if self._swap(intent.new, intent.old, last.headline):
            reach("branch-moved")
            if staged is None or self._git.index_sum() != staged:
                self._keep_staged(intent, settings)
            return True
        # What a person's commit took up with theirs stays in their hands.
        theirs = self._git.entries(self._git.head(), sorted(files))
        self._journal.undo(intent, [p for p in files if theirs.get(p) != entries.get(p)])
        return False

    def _ours(
        self,
        parent: str | None,
        files: Mapping[str, bytes | None],
        origins: Mapping[str, str],
        settings: Settings,
    ) -> hand.Ground:
        """The ground of these files; EditedError where a path is not ours."""
        ground = hand.ground(self._git, parent, files, origins, modes=settings.modes)
        if held := hand.held(self._root, ground, files, origins):
            path, why = min(held.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")
        return ground

    def _commits(
        self,
        group: Group,
        parent: str | None,
        at: datetime,
        settings: Settings,
        tree: Mapping[str, Entry],
    ) -> tuple[list[str], dict[str, Entry | None]]:
        """(the commit objects, path -> index entry after them), nothing of it published."""
        objects = self._git.objects
        root = objects.root(parent) if parent else None
        now: dict[str, Entry | None] = dict(tree)
        made: list[tuple[str, str]] = []
        for step in group.steps:
            entries = {p: self._entry(p, data, step, now) for p, data in step.files.items()}
            root = objects.write_tree(root, entries)
            now |= entries
            made.append((root, step.change.message))
        entries = {path: now[path] for path in group.files if now[path] or path in tree}
        return self._git.commits(made, parent, at, settings), entries

    def _entry(
        self, path: str, data: bytes | None, step: StagedChange, now: Mapping[str, Entry | None]
    ) -> Entry | None:
        """A file that stays or moves keeps its mode."""
        if data is None:
            return None
        before = now.get(step.origins.get(path, path)) or now.get(path)
        return Entry(before.mode if before else REGULAR, self._git.objects.write_blob(data))

    def _intent(
        self,
        files: Mapping[str, bytes | None],
        entries: Mapping[str, Entry | None],
        index: Mapping[str, Entry],
        old: str | None,
        new: str,
    ) -> Intent:
        places = {}
        for path in files:
            entry = entries.get(path)
            before = hand.blob_at(self._root, path)
            places[path] = Place(before, entry.id if entry else None, index.get(path), entry)
        draft = f".skillvault-{os.getpid()}.tmp"
        return Intent(branch=self._branch, old=old, new=new, draft=draft, places=places)

    def _place(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Put the files into the work tree; what a person saves meanwhile is not replaced."""
        for path, place in intent.places.items():
            data = files[path]
            if place.after == place.before:
                continue
            if hand.blob_at(self._root, path) != place.before:
                raise EditedError(f"{path}: a file of yours appeared there; run again")
            if data is None:
                worktree.remove(self._root, path)
            else:
                mode = place.entry.mode if place.entry else None
                replace = place.before is not None
                worktree.put(self._root, path, data, mode=mode, replace=replace, draft=intent.draft)

    def _keep_staged(self, intent: Intent, settings: Settings) -> None:
        """Put back the index entries that a person's git wrote over with what it read before.

        Git reads the index before it locks it; the person's next commit would remove our files.
        """
        index = self._git.staged(sorted(intent.places))
        lost = {
            path: place.entry
            for path, place in intent.places.items()
            if index.get(path) == place.staged != place.entry
        }
        if lost:
            self._git.stage(lost, settings)

    def _swap(self, new: str, old: str | None, headline: str) -> bool:
        """Whether the branch moved from `old` to `new`."""
        done = self._git.swap(self._branch, new, old, headline, durable=self._durable)
        if done and self._durable:
            folder = self._git.dirs()[1] / "refs/heads" / self._branch
            synced(folder.parent)
        return done

    def _take_back(self, intent: Intent, cause: BaseException) -> None:
        """Undo what was done; where even that fails the journal stays, for the next writer."""
        try:
            self._journal.take_back(intent)
        except (OSError, GitError) as error:
            cause.add_note(f"the next command that writes undoes the unfinished change ({error})")
