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
from skillvault.vault.commit import files as work_tree
from skillvault.vault.commit.journal import Intent, Journal, Place
from skillvault.vault.commit.local_edits import Ground, blob_at, ground_of, local_edits
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


class StagedChanges(Struct, frozen=True):
    """What staged changes do together, the last word on each path."""

    changes: Sequence[StagedChange]

    @property
    def files(self) -> dict[str, bytes | None]:
        """path -> the bytes after all of them."""
        files: dict[str, bytes | None] = {}
        for change in self.changes:
            files |= change.files
        return files

    @property
    def origins(self) -> dict[str, str]:
        """Where each file that is moved stood before the first of them."""
        origins: dict[str, str] = {}
        for change in self.changes:
            origins |= {to: origins.get(source, source) for to, source in change.origins.items()}
        created = frozenset().union(*(change.created for change in self.changes))
        return {to: source for to, source in origins.items() if source not in created}


class _Base(Struct, frozen=True):
    """What a group is published on: the branch's commit, what stands there, git's settings."""

    parent: str | None
    ground: Ground
    settings: Settings


class Writer:
    """Publishes groups of changes in one work tree, under the writer's lock."""

    def __init__(self, root: Path, git: Git, *, branch: str, durable: bool) -> None:
        self._root = root
        self._git = git
        self._branch = branch
        self._durable = durable
        self._journal = Journal(root, git)

    def publish(self, group: StagedChanges, parent: str | None, at: datetime) -> list[str] | None:
        """The commits, oldest first; None if the branch moved meanwhile.

        EditedError if a path is edited locally; then nothing is published.
        """
        # Asked at first, as nobody is asked for a key in vain, and the trees are built on it.
        base = self._base(group, parent, self._git.settings())
        commits, entries = self._commits(group, base, at)
        reach("objects-written")
        if base.settings.signs:  # people save while a commit is signed, so once more, late
            base = self._base(group, parent, base.settings)
        intent = self._intent(group.files, entries, base, commits[-1])
        self._journal.write(intent, durable=self._durable)
        try:
            published = self._carry_out(group, intent, entries, base.settings)
            self._journal.forget()
        except BaseException as error:
            self._roll_back(intent, error)
            raise
        finally:
            self._journal.release()
        return commits if published else None

    def _carry_out(
        self,
        group: StagedChanges,
        intent: Intent,
        entries: Mapping[str, Entry | None],
        settings: Settings,
    ) -> bool:
        """Do what is intended; False, and nothing is left of it, if the branch moved."""
        files = group.files
        reach("intent-written")
        self._place_files(files, intent)
        reach("before-index")
        self._git.index_file.stage(entries, settings.staging)
        staged = self._git.index_file.checksum()
        reach("index-written")
        if self._durable:
            all_synced(self._root, self._git.dirs()[1])
        reach("before-swap")
        if self._swap(intent.new, intent.old, group.changes[-1].change.headline):
            reach("branch-moved")
            if staged is None or self._git.index_file.checksum() != staged:
                self._restage(intent, settings)
            return True
        # What a person's commit took up with theirs stays in their hands.
        theirs = self._git.entries(self._git.head(), sorted(files))
        self._journal.undo(intent, [p for p in files if theirs.get(p) != entries.get(p)])
        return False

    def _base(self, group: StagedChanges, parent: str | None, settings: Settings) -> _Base:
        """What to publish a group on; EditedError if a path of it is edited locally."""
        files, origins = group.files, group.origins
        ground = ground_of(self._git, parent, files, origins, modes=settings.modes)
        if edits := local_edits(self._root, ground, files, origins):
            path, why = min(edits.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")
        return _Base(parent, ground, settings)

    def _commits(
        self,
        group: StagedChanges,
        base: _Base,
        at: datetime,
    ) -> tuple[list[str], dict[str, Entry | None]]:
        """(the commit objects, path -> index entry after them), nothing of it published."""
        objects, tree = self._git.objects, base.ground.tree
        root = objects.root(base.parent) if base.parent else None
        now: dict[str, Entry | None] = dict(tree)
        drafts: list[tuple[str, str]] = []
        for staged in group.changes:
            entries = {path: self._entry(path, staged, now) for path in staged.files}
            root = objects.write_tree(root, entries)
            now |= entries
            drafts.append((root, staged.change.message))
        entries = {path: now[path] for path in group.files if now[path] or path in tree}
        return self._git.committer.commits(drafts, base.parent, at, base.settings), entries

    def _entry(
        self, path: str, staged: StagedChange, now: Mapping[str, Entry | None]
    ) -> Entry | None:
        """The index entry of a file; one that stays or moves keeps its mode."""
        content = staged.files[path]
        if content is None:
            return None
        before = now.get(staged.origins.get(path, path)) or now.get(path)
        return Entry(before.mode if before else REGULAR, self._git.objects.write_blob(content))

    def _intent(
        self,
        files: Mapping[str, bytes | None],
        entries: Mapping[str, Entry | None],
        base: _Base,
        new: str,
    ) -> Intent:
        places = {}
        for path in files:
            entry = entries.get(path)
            before = blob_at(self._root, path)
            places[path] = Place(
                before, entry.id if entry else None, base.ground.index.get(path), entry
            )
        draft = f".skillvault-{os.getpid()}.tmp"
        return Intent(branch=self._branch, old=base.parent, new=new, draft=draft, places=places)

    def _place_files(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Put the files into the work tree; what a person saves meanwhile is not replaced."""
        for path, place in intent.places.items():
            content = files[path]
            if place.after == place.before:
                continue
            if blob_at(self._root, path) != place.before:
                raise EditedError(f"{path}: a file of yours appeared there; run again")
            if content is None:
                work_tree.remove_file(self._root, path)
            else:
                mode = place.entry.mode if place.entry else None
                replace = place.before is not None
                work_tree.place_file(
                    self._root, path, content, mode=mode, replace=replace, draft=intent.draft
                )

    def _restage(self, intent: Intent, settings: Settings) -> None:
        """Put back the index entries that a person's git wrote over with what it read before.

        Git reads the index before it locks it; the person's next commit would remove our files.
        """
        index = self._git.index_file.entries(sorted(intent.places))
        lost = {
            path: place.entry
            for path, place in intent.places.items()
            if index.get(path) == place.staged != place.entry
        }
        if lost:
            self._git.index_file.stage(lost, settings.staging)

    def _swap(self, new: str, old: str | None, headline: str) -> bool:
        """Whether the branch moved from `old` to `new`."""
        done = self._git.swap(self._branch, new, old, headline, durable=self._durable)
        if done and self._durable:
            folder = self._git.dirs()[1] / "refs/heads" / self._branch
            synced(folder.parent)
        return done

    def _roll_back(self, intent: Intent, cause: BaseException) -> None:
        """Undo what was done; where even that fails the journal stays, for the next writer."""
        try:
            self._journal.roll_back(intent)
        except (OSError, GitError) as error:
            cause.add_note(f"the next command that writes undoes the unfinished change ({error})")
