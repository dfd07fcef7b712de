"""Store: read a vault, and the one function that turns Changes into commits.

How they are made so that a person beside us loses nothing stands in `writer`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

from skillvault.change import Change, Move
from skillvault.errors import BadInputError, EditedError, PausedError, VaultBusyError
from skillvault.policy import Policy
from skillvault.records import Commit
from skillvault.vault import codec, hand, layout
from skillvault.vault.history import Git
from skillvault.vault.index import Projection
from skillvault.vault.journal import Journal
from skillvault.vault.lock import daemon_lock, writer_lock
from skillvault.vault.snapshot import Snapshot, blob_id
from skillvault.vault.writer import Group, Laid, Writer

_TRIES = 5


class Store:
    """A vault on disk: its root, its git, and what was parsed of it so far."""

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self.git = Git(root, index)
        self._latest: Snapshot | None = None
        self._history: tuple[str | None, list[Commit]] = (None, [])

    @cached_property
    def _projection(self) -> Projection:
        """What was parsed of the vault before, by whomever."""
        return Projection(self.git.dirs()[1] / "skillvault" / "index.db")

    # ── reading ──────────────────────────────────────────────────────────────────────

    def head(self) -> Snapshot:
        """The committed vault: what learning and serving read."""
        return self._at(self.git.head())

    def staged(self) -> Snapshot:
        """The index, as the next commit would have it."""
        return self._snapshot({path: entry.id for path, entry in self.git.staged().items()})

    def work_tree(self) -> Snapshot:
        """The files a person sees, committed or not."""
        data: dict[str, bytes] = {}
        contents: dict[str, str] = {}
        for path in self._files():
            try:
                content = (self.root / path).read_bytes()
            except FileNotFoundError:
                continue  # a writer's draft, gone since it was listed
            contents[path] = blob_id(content)
            data[contents[path]] = content
        return Snapshot(
            contents, lambda keys: {key: data[key] for key in keys}, projection=self._projection
        )

    def forget_the_past(self) -> None:
        """Let go of what was read of files as they stand no more, for who stays long."""
        if self._latest is not None:
            self._projection.drop_but(self._latest.contents.items())

    def history(self, head: str | None) -> list[Commit]:
        """The program's commits up to `head`, newest first; read once, then what is new."""
        known, commits = self._history
        if head != known:
            grown = known and head and self.git.is_ancestor(known, head)
            fresh = list(self.git.log(head, since=known if grown else None)) if head else []
            self._history = (head, fresh + commits if grown else fresh)
        return self._history[1]

    def skill_texts(self, name: str, commits: Sequence[str]) -> dict[str, tuple[str, str]]:
        """commit -> (description, body) of a skill there, in whatever folder it stood."""
        places = {
            f"{commit}:{layout.skill_path(name, shelf)}": commit
            for commit in commits
            for shelf in layout.SHELVES
        }
        found: dict[str, tuple[str, str]] = {}
        for place, data in self.git.files_at(list(places)).items():
            try:
                meta, body = codec.front_matter(codec.text_of(data))
                found[places[place]] = str(meta.get("description", "")), body
            except BadInputError:
                # What a person broke then counts as theirs, whatever it said.
                found[places[place]] = "", ""
        return found

    def _at(self, commit: str | None) -> Snapshot:
        """The vault of a commit; what differs from the last one asked for is all that is read."""
        known = self._latest
        if commit is None:
            return self._snapshot({})
        if known is not None and known.commit == commit:
            return known
        self._latest = self._snapshot(self._contents(commit, known), commit)
        return self._latest

    def _contents(self, commit: str, known: Snapshot | None) -> dict[str, str]:
        """path -> blob of a commit."""
        if known is not None and known.commit is not None and self.git.has(known.commit):
            contents = dict(known.contents)
            for path, entry in self.git.changed(known.commit, commit).items():
                if entry is None:
                    contents.pop(path, None)
                else:
                    contents[path] = entry.id
            return contents
        return {path: entry.id for path, entry in self.git.tree(commit).items()}

    def _snapshot(self, contents: Mapping[str, str], commit: str | None = None) -> Snapshot:
        return Snapshot(contents, self.git.blobs, commit=commit, projection=self._projection)

    def _files(self) -> Iterator[str]:
        if (self.root / layout.MARK).is_file():
            yield layout.MARK
        for top in layout.FOLDERS:
            for folder, _, names in os.walk(self.root / top):
                for name in names:
                    path = Path(folder) / name
                    if path.is_file() and not path.is_symlink():
                        yield path.relative_to(self.root).as_posix()

    # ── what a change does to files ──────────────────────────────────────────────────

    def files_of(self, change: Change, base: Snapshot) -> dict[str, bytes | None]:
        """path -> new bytes, or None for a file that goes away.

        EditedError where an edited file is gone or a moved one would replace another.
        """
        files: dict[str, bytes | None] = dict(change.files)
        for record in change.writes:
            try:
                path = layout.path_of(record)
            except ValueError as error:  # a person gave a folder a name that none can refer to
                raise EditedError(f"{change.subject}: {error}; rename its folder") from None
            files[path] = codec.encode(record)
        for edit in change.edits:
            before = files.get(edit.path) or base.bytes_of([edit.path]).get(edit.path)
            if before is None:
                raise EditedError(f"{edit.path}: removed by a commit meanwhile; run again")
            files[edit.path] = codec.with_key(before, edit.key, edit.value)
        for rewrite in change.rewrites:
            before = files.get(rewrite.path) or base.bytes_of([rewrite.path]).get(rewrite.path)
            if before is None:
                raise EditedError(f"{rewrite.path}: removed by a commit meanwhile; run again")
            files[rewrite.path] = codec.with_body(before, rewrite.body)
        origins = _origins(change, base)
        moved = base.bytes_of(origins.values())
        for target, path in origins.items():
            if target in base.contents:
                raise EditedError(f"{target}: stands there already; rename one of the two")
            files[target] = files.get(path) or moved[path]
            files[path] = None
        return files

    def lay(self, change: Change, base: Snapshot) -> tuple[Laid, Snapshot]:
        """What a change does, and the vault after it, committed or not."""
        laid = Laid(change, self.files_of(change, base), _origins(change, base))
        return laid, base.with_files(laid.files)

    def in_hand(self, files: Mapping[str, bytes | None], base: Snapshot) -> dict[str, str]:
        """path -> why it is a person's now; empty when every path is ours to write."""
        return self._held(files, {}, base)

    def check_free(self, laid: Laid, base: Snapshot) -> None:
        """EditedError where a path that a change touches is in a person's hand."""
        if held := self._held(laid.files, laid.origins, base):
            path, why = min(held.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")

    def _held(
        self, files: Mapping[str, bytes | None], origins: Mapping[str, str], base: Snapshot
    ) -> dict[str, str]:
        modes = self.git.settings().modes
        ground = hand.ground(self.git, base.commit, files, origins, modes=modes)
        return hand.held(self.root, ground, files, origins)

    # ── committing ───────────────────────────────────────────────────────────────────

    def paused(self, policy: Policy) -> str | None:
        """Why nothing may be committed now; None when all is normal."""
        return self.git.pause_reason(policy.branch) or self.git.nameless()

    def apply(
        self,
        changes: Sequence[Change],
        base: Snapshot,
        *,
        now: datetime,
        policy: Policy,
        first: bool = False,
    ) -> tuple[list[str], Snapshot]:
        """Commit changes, one commit each and all at once: (the commits, the vault after them).

        `base` is the view the first was made on, each other one is made on what those before
        it leave; where the branch has moved since, they are laid on the new tip if none of
        their paths changed. Raises EditedError where a path is in a person's hand, PausedError
        in a repository in the middle of something, VaultBusyError where another writer holds it.
        """
        with self._writing():
            reason = self.git.pause_reason(policy.branch, founding=first)
            if reason:
                raise PausedError(f"paused: {reason}")
            self._unlock(policy.branch)
            durable = policy.durability == "full"
            writer = Writer(self.root, self.git, branch=policy.branch, durable=durable)
            for _ in range(_TRIES):
                parent = self.git.tip(policy.branch)
                tip = base if parent == base.commit else self._at(parent)
                group, after = self._laid(changes, base, tip)
                commits = writer.publish(group, parent, now)
                if commits:
                    self._latest = after.at(commits[-1])
                    return commits, self._latest
        raise VaultBusyError("the branch moves faster than a change can be laid on it; try again")

    def _laid(
        self, changes: Sequence[Change], base: Snapshot, tip: Snapshot
    ) -> tuple[Group, Snapshot]:
        """The changes on the present tip, and the vault after them."""
        steps: list[Laid] = []
        after = tip
        for change in changes:
            laid, after = self.lay(change, after)
            steps.append(laid)
        group = Group(steps, tip.contents)
        _refuse_stale(group.files, base, tip)
        return group, after

    def settle(self) -> None:
        """Undo what a killed writer left half-made; where the repository is paused, later."""
        journal = Journal(self.root, self.git)
        if not journal.left():
            return
        branch = self.head().policy.branch
        with self._writing():
            if self.git.pause_reason(branch, founding=True) is None:
                journal.settle()

    def _unlock(self, branch: str) -> None:
        """Clear away what killed writers left: half-made changes, and locks of git's."""
        journal = Journal(self.root, self.git)
        journal.settle()
        own, common = self.git.dirs()
        if (own / "index.lock").exists() or (common / f"refs/heads/{branch}.lock").exists():
            journal.unlock()

    def watched(self) -> AbstractContextManager[None]:
        """Be the one daemon of this vault; VaultBusyError where there is one."""
        return daemon_lock(self.git.dirs()[1] / "skillvault")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the writer's lock; VaultBusyError where another one does."""
        with writer_lock(self.git.dirs()[1] / "skillvault") as lock, self.git.fenced(lock):
            yield


def _refuse_stale(files: Iterable[str], base: Snapshot, tip: Snapshot) -> None:
    """A change made on an older tip may not undo what a newer commit did to its paths."""
    if base is tip:
        return
    for path in sorted(files):
        if base.contents.get(path) != tip.contents.get(path):
            raise EditedError(f"{path}: changed by a commit meanwhile; run again")


def _moved(move: Move, path: str) -> str:
    return move.target + path.removeprefix(move.source)


def _origins(change: Change, base: Snapshot) -> dict[str, str]:
    """Where each file that a change moves stood before."""
    return {_moved(move, path): path for move in change.moves for path in base.below(move.source)}
