"""Store: read a vault, and the one function that turns a Change into a commit.

The commit protocol: objects and the commit first (nobody sees them), then the work tree,
then exactly our index entries, then the branch by compare-and-swap. A path is ours only
while HEAD, index and work tree agree on it; otherwise the change waits.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from skillvault.change import Change, Move
from skillvault.errors import BadInputError, EditedError, PausedError, VaultBusyError
from skillvault.policy import Policy
from skillvault.records import Commit
from skillvault.vault import codec, layout
from skillvault.vault.history import Entry, Git
from skillvault.vault.lock import writer_lock
from skillvault.vault.snapshot import Cache, Snapshot, blob_id

_TRIES = 5
_REGULAR = "100644"
_EXECUTABLE = "100755"


class Store:
    """A vault on disk: its root, its git, and what was parsed of it so far."""

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self.git = Git(root, index)
        self._cache: Cache = {}
        self._history: tuple[str | None, list[Commit]] = (None, [])

    # ── reading ──────────────────────────────────────────────────────────────────────

    def head(self) -> Snapshot:
        """The committed vault: what learning and serving read."""
        return self._at(self.git.head())

    def staged(self) -> Snapshot:
        """The index, as the next commit would have it."""
        return self._snapshot({path: entry.blob for path, entry in self.git.staged().items()})

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
        return Snapshot(contents, lambda keys: {key: data[key] for key in keys}, cache=self._cache)

    def history(self, head: str | None) -> list[Commit]:
        """The program's commits up to `head`, newest first; read once, then what is new."""
        known, commits = self._history
        if head != known:
            grown = known and head and self.git.is_ancestor(known, head)
            fresh = list(self.git.commits(head, since=known if grown else None)) if head else []
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
        tree = self.git.tree(commit) if commit else {}
        return self._snapshot({path: entry.blob for path, entry in tree.items()}, commit)

    def _snapshot(self, contents: Mapping[str, str], commit: str | None = None) -> Snapshot:
        return Snapshot(contents, self.git.blobs, commit=commit, cache=self._cache)

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
        files |= {layout.path_of(record): codec.encode(record) for record in change.writes}
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

    def lay(self, change: Change, base: Snapshot) -> Snapshot:
        """The vault after a change that is not committed; EditedError where a path is held."""
        files = self.files_of(change, base)
        if held := self.in_hand(files, base.contents):
            path, why = min(held.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")
        return base.with_files(files, commit=base.commit)

    def in_hand(
        self,
        files: Mapping[str, bytes | None],
        base: Mapping[str, str],
        tree: Mapping[str, Entry] | None = None,
    ) -> dict[str, str]:
        """path -> why it is a person's now; empty when every path is ours.

        A path is ours when index and work tree each hold what HEAD holds, or already
        exactly what the change writes. `base` are HEAD's blobs by path, `tree` its
        entries where a staged mode counts too.
        """
        index = self.git.staged(sorted(files))
        held: dict[str, str] = {}
        for path, data in files.items():
            wanted = blob_id(data) if data is not None else None
            fine = {base.get(path), wanted}
            if (index[path].blob if path in index else None) not in fine:
                held[path] = "staged in the index and not committed"
            elif tree and path in index and path in tree and index[path].mode != tree[path].mode:
                held[path] = "its mode is staged and not committed"
            elif reason := self._edited(path, fine):
                held[path] = reason
        return held

    def _edited(self, path: str, fine: set[str | None]) -> str | None:
        place = self.root / path
        for folder in list(place.parents)[: len(Path(path).parts) - 1]:
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                return f"{folder.relative_to(self.root)} is not a plain folder"
        if place.is_symlink() or (place.exists() and not place.is_file()):
            return "not a regular file"
        if not place.exists():
            return None if None in fine else "deleted in the work tree and not committed"
        if blob_id(place.read_bytes()) in fine:
            return None
        return "edited and not committed" if fine - {None} else "a file of yours stands there"

    # ── committing ───────────────────────────────────────────────────────────────────

    def paused(self, policy: Policy) -> str | None:
        """Why nothing may be committed now; None when all is normal."""
        return self.git.pause_reason(policy.branch)

    def apply(
        self, change: Change, base: Snapshot, *, now: datetime, branch: str, first: bool = False
    ) -> Snapshot:
        """Commit a change and return the vault after it.

        `base` is the view the change was made on; where the branch has moved since, the
        change is laid on the new tip if none of its paths changed. Raises EditedError
        where a path is in a person's hand, PausedError in a repository in the middle of
        something, VaultBusyError where another writer holds it.
        """
        own, common = self.git.dirs()
        with writer_lock(common / "skillvault"), _drafts(own) as drafts:
            reason = self.git.pause_reason(branch, founding=first)
            if reason:
                raise PausedError(f"paused: {reason}")
            for _ in range(_TRIES):
                after = self._attempt(change, base, now, branch, drafts)
                if after is not None:
                    return after
        raise VaultBusyError("the branch moves faster than a change can be laid on it; try again")

    def _attempt(
        self, change: Change, base: Snapshot, now: datetime, branch: str, drafts: Path
    ) -> Snapshot | None:
        """One try on the present tip; None when the branch moved meanwhile."""
        parent = self.git.head()
        tip = base if parent == base.commit else self._at(parent)
        files = self.files_of(change, tip)
        self._refuse_stale(files, base, tip)
        origins = _origins(change, tip)
        tree = self.git.tree(parent, sorted({*files, *origins.values()})) if parent else {}
        self._refuse_held(files, tip, tree, origins)
        entries = self._written(files, tree, origins, drafts)
        root = self.git.write_tree(parent, entries)
        commit = self.git.commit_tree(root, parent, change.message, now)
        self._refuse_held(files, tip, tree, origins)  # people save while a commit is signed
        undo = {path: self._bytes(path) for path in files}
        staged = self.git.staged(sorted(files))
        try:
            self._place(files, undo, entries)
            self.git.stage(entries)
            moved = not self.git.swap(branch, commit, parent, change.headline)
        except BaseException:
            self._restore(files, undo, entries, staged)
            raise
        if moved:
            # What a person's commit took up with theirs stays in their hands.
            theirs = self.git.tree(self.git.head() or commit, sorted(files))
            lost = {p: data for p, data in files.items() if theirs.get(p) != entries.get(p)}
            self._restore(lost, undo, entries, staged)
            return None
        return tip.with_files(files, commit=commit)

    def _refuse_held(
        self,
        files: Mapping[str, bytes | None],
        tip: Snapshot,
        tree: Mapping[str, Entry],
        origins: Mapping[str, str],
    ) -> None:
        held = self.in_hand(files, tip.contents, tree) | self._taken_away(origins)
        if held:
            path, why = min(held.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")

    def _taken_away(self, origins: Mapping[str, str]) -> dict[str, str]:
        """The files to move that a person removed, where we did not begin to move them."""
        index = self.git.staged([*origins, *origins.values()])
        return {
            source: "deleted and not committed"
            for target, source in origins.items()
            if not (os.path.lexists(self.root / source) or os.path.lexists(self.root / target))
            or (source not in index and target not in index)
        }

    def _refuse_stale(
        self, files: Mapping[str, bytes | None], base: Snapshot, tip: Snapshot
    ) -> None:
        """A change made on an older tip may not undo what a newer commit did to its paths."""
        if base is tip:
            return
        for path in sorted(files):
            if base.contents.get(path) != tip.contents.get(path):
                raise EditedError(f"{path}: changed by a commit meanwhile; run again")

    def _written(
        self,
        files: Mapping[str, bytes | None],
        tree: Mapping[str, Entry],
        origins: Mapping[str, str],
        drafts: Path,
    ) -> dict[str, Entry | None]:
        """path -> index entry, the blobs stored; a file that stays or moves keeps its mode."""
        kept = {path: data for path, data in files.items() if data is not None}
        blobs = self.git.store_blobs(list(kept.values()), drafts) if kept else []
        entries: dict[str, Entry | None] = {path: None for path in files if path in tree}
        for path, blob in zip(kept, blobs, strict=True):
            before = tree.get(origins.get(path, path))
            entries[path] = Entry(before.mode if before else _REGULAR, blob)
        return entries

    def _bytes(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.is_file() else None

    def _place(
        self,
        files: Mapping[str, bytes | None],
        before: Mapping[str, bytes | None],
        entries: Mapping[str, Entry | None],
    ) -> None:
        """Put the files into the work tree; what a person saves meanwhile is not replaced."""
        for path, data in files.items():
            if data == before[path]:
                continue
            if self._bytes(path) != before[path]:
                raise EditedError(f"{path}: a file of yours appeared there; run again")
            if data is None:
                (self.root / path).unlink()
                self._prune(path)
            else:
                self._put(path, data, entries[path], replace=before[path] is not None)

    def _put(self, path: str, data: bytes, entry: Entry | None, *, replace: bool) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.parent / f".skillvault-{os.getpid()}.tmp"
        draft.write_bytes(data)
        try:
            if replace:
                shutil.copymode(place, draft)
                draft.replace(place)
            else:
                if entry and entry.mode == _EXECUTABLE:
                    draft.chmod(draft.stat().st_mode | 0o111)
                os.link(draft, place)
        except FileExistsError:
            raise EditedError(f"{path}: a file of yours appeared there; run again") from None
        finally:
            draft.unlink(missing_ok=True)

    def _prune(self, path: str) -> None:
        """Remove the folders that a removed file leaves empty, below the top one."""
        for folder in list((self.root / path).parents)[: len(Path(path).parts) - 2]:
            if any(folder.iterdir()):
                return
            folder.rmdir()

    def _restore(
        self,
        files: Mapping[str, bytes | None],
        before: Mapping[str, bytes | None],
        entries: Mapping[str, Entry | None],
        staged: Mapping[str, Entry],
    ) -> None:
        """Put work tree and index back as they were before a commit that did not happen.

        Only what stands there as this change left it: anything else is a person's by now.
        """
        for path, left in files.items():
            data = before[path]
            if self._bytes(path) != left or left == data:
                continue
            if data is None:
                (self.root / path).unlink()
                self._prune(path)
            else:
                self._put(path, data, staged.get(path), replace=left is not None)
        index = self.git.staged(sorted(files))
        back = {
            path: staged.get(path)
            for path in files
            if index.get(path) == entries.get(path) != staged.get(path)
        }
        if back:
            self.git.stage(back)


def _moved(move: Move, path: str) -> str:
    return move.target + path.removeprefix(move.source)


def _origins(change: Change, base: Snapshot) -> dict[str, str]:
    """Where each file that a change moves stood before."""
    return {_moved(move, path): path for move in change.moves for path in base.below(move.source)}


@contextmanager
def _drafts(git_dir: Path) -> Iterator[Path]:
    """A scratch folder under the git dir, gone afterwards."""
    home = git_dir / "skillvault"
    home.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="draft-", dir=home) as folder:
        yield Path(folder)
