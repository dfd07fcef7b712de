"""The commit protocol: a group of changes becomes commits, all published at once.

What takes long comes first, where nobody sees it: the objects, pinned by a ref of ours; the files
and the new index as drafts in the git dir; the journal of intent; one sync. Then git's own locks,
of the index, the branch and HEAD; another look at everything under them; the files, the index, the
branch. A person's git beside it waits a moment, or is refused as by any other git, and finds
either nothing of ours or all of it.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct

from skillvault.model.change import Change, group_by_commit, message_of
from skillvault.model.errors import GitError, UncommittedEditError, VaultBusyError
from skillvault.model.records import Link
from skillvault.vault.commit import files as work_tree
from skillvault.vault.commit.fence import index_lock
from skillvault.vault.commit.git_activity import clock, git_processes, open_commit
from skillvault.vault.commit.growing import GrowingFile, Growth, Late, held_open
from skillvault.vault.commit.journal import Intent, Journal, Place
from skillvault.vault.commit.local_edits import Ground, blob_at, ground_of, local_edits, mode_at
from skillvault.vault.disk import all_synced
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.config import Settings
from skillvault.vault.git.refs import ABSENT, RefSession, RefUpdate
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import Entry, mode_of

_RESTLESS_SECONDS = 5.0  # a person's git that never rests is not waited for any longer
_LOCK_SECONDS = 5.0  # that another git may hold the index before outcomes wait in the inbox
_CLEAN_SECONDS = 1.0  # that a `git clean` which began before us may still remove files
_PAUSE = 0.01


class StagedChange(Struct, frozen=True):
    """A change and what it does to files: path -> new bytes, None for one that goes away.

    `origins` says where each file that it moves stood before, `created` which were not there,
    `growths` which agents append to, `links` those that come, go or change.
    """

    change: Change
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    created: frozenset[str]
    growths: Mapping[str, Growth] = {}
    links: tuple[Link, ...] = ()


class _StagedChanges(Struct, frozen=True):
    """What staged changes do together: those of each commit, the last word on each path.

    `origins` says where each file that is moved stood before the first of them, `growths` what the
    first of them stands for of each file that agents append to.
    """

    by_commit: Sequence[Sequence[StagedChange]]
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    growths: Mapping[str, Growth]


def _combined(staged: Sequence[StagedChange]) -> _StagedChanges:
    """What these staged changes do together."""
    following = iter(staged)
    groups = group_by_commit([part.change for part in staged])
    files: dict[str, bytes | None] = {}
    origins: dict[str, str] = {}
    growths: dict[str, Growth] = {}
    for part in staged:
        files |= part.files
        origins |= {to: origins.get(source, source) for to, source in part.origins.items()}
        growths = {**part.growths, **growths}
    created = frozenset().union(*(part.created for part in staged))
    return _StagedChanges(
        [list(islice(following, len(changes))) for changes in groups],
        files,
        {to: source for to, source in origins.items() if source not in created},
        growths,
    )


class _Base(Struct, frozen=True):
    """What a group is published on: the branch's commit, what stands there, git's settings."""

    parent: str | None
    ground: Ground
    settings: Settings


class _Prepared(Struct, frozen=True):
    """A publication of which everything is written and nothing is seen yet.

    `checksum` is of the index that `index` was drawn from.
    """

    group: _StagedChanges
    base: _Base
    entries: Mapping[str, Entry | None]
    drafts: Mapping[str, Path]
    intent: Intent
    index: Path
    checksum: str | None


class Writer:
    """Publishes groups of changes in one work tree, under the writer's lock.

    `check_normal` raises PausedError in a repository that is in the middle of something. The
    program is the author of what these `steps` alone do.
    """

    def __init__(
        self,
        root: Path,
        git: Git,
        *,
        branch: str,
        durable: bool,
        check_normal: Callable[[], None],
        steps: frozenset[str] = frozenset(),
    ) -> None:
        self._root = root
        self._git = git
        self._branch = branch
        self._durable = durable
        self._check_normal = check_normal
        self._steps = steps
        self._folder = git.dirs()[0] / "skillvault"
        self._journal = Journal(root, git)
        self._begun = False  # whether anything of a publication can be seen yet
        self._late: list[Late] = []

    def publish(
        self, staged: Sequence[StagedChange], parent: str | None, at: datetime
    ) -> list[tuple[str, Sequence[StagedChange]]] | None:
        """Each commit and the changes in it, oldest first; None if the branch moved meanwhile.

        UncommittedEditError if a path is edited locally, VaultBusyError while another git is at
        work; then nothing is published.
        """
        group = _combined(staged)
        # Asked at first, as nobody is asked for a key in vain, and the trees are built on it.
        base = self._base(group, parent, self._git.settings())
        self._check_closed(group)
        drafts, entries = self._drafts(group, base)
        commits = self._committed(group, drafts, base, at)
        new = commits[-1]
        headline, _, _ = drafts[-1].message.partition("\n")
        with (
            self._git.ref_session(f"skillvault: {headline}", durable=self._durable) as refs,
            self._git.pinned(new, refs) as pin,
        ):
            reach("objects-written")
            plain = {p: data for p, data in group.files.items() if p not in group.growths}
            with work_tree.drafted(self._folder / "drafts", plain) as places:
                intent = self._intent(group, entries, base, new)
                checksum = self._git.index_file.checksum()
                index = self._git.index_file.draw(entries, base.settings.staging)
                prepared = _Prepared(group, base, entries, places, intent, index, checksum)
                branch = f"refs/heads/{self._branch}"
                updates = [RefUpdate(branch, new, parent or ABSENT), RefUpdate(pin, ABSENT, new)]
                refs.begin(updates)
                published = self._publish(prepared, refs)
        return list(zip(commits, group.by_commit, strict=True)) if published else None

    def _publish(self, prepared: _Prepared, refs: RefSession) -> bool:
        """State the intent, take git's locks, do it; False if the branch moved meanwhile."""
        self._begun = False
        try:
            self._journal.intend(prepared.intent)
            self._sync()  # all that takes long is done before anybody has to wait for us
            reach("intent-written")
            with self._lock_without_commit():
                published = self._publish_locked(prepared, refs)
            reach("index-unlocked")
            self._settle_late()
            whole = not published or self._restage(prepared)
            self._sync()
            if whole:
                self._journal.forget()
        except BaseException:
            if not self._begun:
                self._journal.forget()  # nothing is to be undone, and nothing may be
            raise
        finally:
            self._settle_late()
            self._journal.release()
            prepared.index.unlink(missing_ok=True)
        return published

    def _check_closed(self, group: _StagedChanges) -> None:
        """Raise UncommittedEditError if a file to be replaced is held open by who appends to it."""
        for path, growth in group.growths.items():
            unchanged = group.files[path] == growth.start and not growth.left
            holder = None if unchanged else held_open(self._root, path)
            if holder:
                raise UncommittedEditError(
                    f"{path}: process {holder} holds it open; let it close it"
                )

    def _settle_late(self) -> None:
        """Append what arrived in the files that were replaced."""
        while self._late:
            self._late.pop().settle()

    def _publish_locked(self, prepared: _Prepared, refs: RefSession) -> bool:
        """Under index.lock: look again, lock the branch and HEAD, do it; False if it moved."""
        self._check_normal()
        parent, settings = prepared.base.parent, prepared.base.settings
        base = self._base(prepared.group, parent, settings)
        index_file = self._git.index_file
        if prepared.checksum is None or index_file.checksum() != prepared.checksum:
            index_file.draw(prepared.entries, settings.staging, prepared.index)
        if not refs.prepare():
            refs.let_go()
            if self._git.tip(self._branch) == parent:
                error = refs.error
                if "File exists" not in error:
                    raise GitError(f"git update-ref: {error}")
                raise VaultBusyError(
                    f"another git has locked the branch ({error[:300]}); try again when it ends"
                )
            return False
        self._check_normal()
        intent = self._intent(prepared.group, prepared.entries, base, prepared.intent.new)
        if intent != prepared.intent:
            self._journal.rewrite(intent)
        self._begun = True
        try:
            return self._carry_out(prepared, intent, refs)
        except BaseException as error:
            refs.let_go()
            try:
                self._journal.roll_back(intent)
            except (OSError, GitError) as again:  # the journal stays, for the next writer
                error.add_note(
                    f"the next command that writes undoes the unfinished change ({again})"
                )
            raise

    def _carry_out(self, prepared: _Prepared, intent: Intent, refs: RefSession) -> bool:
        """Files, index, branch; False, and nothing is left of it, if git refuses the branch."""
        # The files first: were we killed here and the lock removed by hand, a person's commit of
        # the index would hold what the work tree lacks, and their next `commit -a` delete it.
        self._place_files(prepared, intent)
        reach("before-index")
        self._git.index_file.install(prepared.index, intent.new, prepared.entries)
        reach("index-written")
        reach("before-swap")
        if not refs.commit():
            self._journal.undo(intent, self._journal.untouched(intent))
            return False
        reach("branch-moved")
        self._put_back_cleaned(prepared.group.files, intent)
        return True

    def _restage(self, prepared: _Prepared) -> bool:
        """Put back the index entries that a person's git wrote over with what it read before.

        Git reads the index before it locks it; the person's next commit would remove our files.
        False if that git holds it: it is published all the same, and the next writer does this.
        """
        index_file = self._git.index_file
        if index_file.is_own():
            return True
        try:
            with self._lock_at_rest():
                before = prepared.base.ground.index
                index = index_file.entries(sorted(prepared.entries))
                lost = {
                    path: entry
                    for path, entry in prepared.entries.items()
                    if index.get(path) == before.get(path) != entry
                }
                if lost:
                    index_file.install(index_file.draw(lost, prepared.base.settings.staging))
        except VaultBusyError:
            return False
        return True

    def _put_back_cleaned(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Put back what a `git clean` takes that read the index before us; it takes no lock."""
        self._put_back_missing(files, intent)
        if not self._is_cleaning():
            return
        deadline = time.monotonic() + _CLEAN_SECONDS
        while self._is_cleaning() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        self._put_back_missing(files, intent)

    def _is_cleaning(self) -> bool:
        found = git_processes(self._root, *self._git.dirs())
        return any(process.command == "clean" for process in found)

    def _put_back_missing(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Put files of ours that are gone in their place once more."""
        for path, place in intent.places.items():
            content = files[path] if place.after else None
            if content is not None and not os.path.lexists(self._root / path):
                draft = work_tree.draft_file(self._folder / "drafts", content)
                mode = place.entry.mode if place.entry else None
                work_tree.place_file(self._root, path, draft, mode=mode, replace=False)
                draft.unlink(missing_ok=True)

    def _wait_for_open_commit(self) -> None:
        """Wait while a person's `git commit` is open in an editor; VaultBusyError if it stays so.

        It holds no lock meanwhile, and fails at its end if the branch has moved.
        """
        deadline = time.monotonic() + _RESTLESS_SECONDS
        while (commit := open_commit(self._root, *self._git.dirs())) is not None:
            if time.monotonic() >= deadline:
                raise VaultBusyError(
                    f"a `git commit` is open here since {clock(commit.since)} (process "
                    f"{commit.pid}) and would fail if the branch moved; what arrived waits in "
                    "inbox/ and is taken when it ends"
                )
            time.sleep(_PAUSE)

    @contextmanager
    def _lock_without_commit(self) -> Iterator[None]:
        """Hold index.lock while no `git commit` is open: one may begin while we wait for rest."""
        while True:
            self._wait_for_open_commit()
            reach("before-lock")
            with self._lock_at_rest():
                if open_commit(self._root, *self._git.dirs()) is None:
                    yield
                    return

    @contextmanager
    def _lock_at_rest(self) -> Iterator[None]:
        """Hold index.lock while no git is half-way; one that never rests is not waited for."""
        deadline = time.monotonic() + _RESTLESS_SECONDS
        while True:
            unrest = self._git.index_file.unrest()
            if unrest and time.monotonic() < deadline:
                time.sleep(unrest)
                continue
            with index_lock(self._root, self._git.dirs()[0], _LOCK_SECONDS):
                if self._git.index_file.unrest() and time.monotonic() < deadline:
                    continue
                yield
                return

    def _sync(self) -> None:
        if self._durable:
            all_synced(self._root, self._git.dirs()[1])

    def _base(self, group: _StagedChanges, parent: str | None, settings: Settings) -> _Base:
        """What to publish a group on; UncommittedEditError if a path of it is edited locally."""
        files, origins = group.files, group.origins
        ground = ground_of(self._git, parent, files, origins, modes=settings.modes)
        if edits := local_edits(self._root, ground, files, origins, growths=group.growths):
            path, why = min(edits.items())
            raise UncommittedEditError(f"{path}: {why}; commit or undo it, and run again")
        return _Base(parent, ground, settings)

    def _drafts(
        self, group: _StagedChanges, base: _Base
    ) -> tuple[list[CommitDraft], dict[str, Entry | None]]:
        """(the commits to be made, path -> index entry after them), nothing of it published."""
        objects, tree = self._git.objects, base.ground.tree
        root = objects.root(base.parent) if base.parent else None
        now: dict[str, Entry | None] = dict(tree)
        drafts: list[CommitDraft] = []
        for changes in group.by_commit:
            entries: dict[str, Entry | None] = {}
            last = {path: staged for staged in changes for path in staged.files}
            for staged in changes:  # a list of links is written once, as it is after all of them
                is_last = {path: last[path] is staged for path in staged.files}
                paths = [path for path in is_last if is_last[path] or not layout.links_owner(path)]
                entries |= {path: self._entry(path, staged, now) for path in paths}
                now |= entries
            root = objects.write_tree(root, entries)
            drafts.append(_draft(root, [staged.change for staged in changes], self._steps))
        return drafts, {path: now[path] for path in group.files if now[path] or path in tree}

    def _committed(
        self, group: _StagedChanges, drafts: Sequence[CommitDraft], base: _Base, at: datetime
    ) -> list[str]:
        """The commits of drafts; of a history that holds all of ours its own last one."""
        join = group.by_commit[-1][-1].change.joins
        if join is None or not join.forward:
            return self._git.committer.commits(drafts, base.parent, at, base.settings)
        if self._git.objects.root(join.commit) != drafts[-1].tree:
            raise GitError(f"{join.commit[:10]} cannot be taken over as it is; run `git pull`")
        return [join.commit]

    def _entry(
        self, path: str, staged: StagedChange, now: Mapping[str, Entry | None]
    ) -> Entry | None:
        """The index entry of a file; one that stays or moves, and is no program, keeps its mode."""
        content = staged.files[path]
        if content is None:
            return None
        before = now.get(staged.origins.get(path, path)) or now.get(path)
        modes = dict(staged.change.joins.modes) if staged.change.joins else {}
        mode = modes.get(path) or mode_of(content, before)
        return Entry(mode, self._git.objects.write_blob(content))

    def _intent(
        self,
        group: _StagedChanges,
        entries: Mapping[str, Entry | None],
        base: _Base,
        new: str,
    ) -> Intent:
        places, growths = {}, group.growths
        for path in group.files:
            entry, growth = entries.get(path), growths.get(path)
            before, after = blob_at(self._root, path), entry.id if entry else None
            if growth:
                before = blob_id(growth.before) if growth.before else None
            if base.ground.leaves_out(self._root, path):
                after = None  # as git does in a sparse checkout
            staged = base.ground.index.get(path)
            places[path] = Place(before, after, staged, entry, grows=growth is not None)
        return Intent(branch=self._branch, old=base.parent, new=new, places=places)

    def _place_files(self, prepared: _Prepared, intent: Intent) -> None:
        """Put the files into the work tree; what a person saves meanwhile is not replaced."""
        growths = prepared.group.growths
        # New files first, removals last: were we killed, no text is without a copy meanwhile.
        for path, place in sorted(intent.places.items(), key=lambda item: item[1].sort_key):
            if path in growths and place.after:
                content = prepared.group.files[path] or b""
                late = GrowingFile(self._root, path, self._folder).grow(growths[path], content)
                self._late += [late] if late else []
                continue
            entry, before = place.entry, prepared.base.ground.tree.get(path)
            # None: it is neither new nor of another mode, and keeps its own.
            mode = entry.mode if entry and (before is None or before.mode != entry.mode) else None
            if place.after == place.before and mode in (None, mode_at(self._root, path)):
                continue
            if blob_at(self._root, path) != place.before:
                raise UncommittedEditError(f"{path}: a file of yours appeared there; run again")
            if path not in prepared.drafts:
                work_tree.remove_file(self._root, path)
            else:
                draft, replace = prepared.drafts[path], place.before is not None
                work_tree.place_file(self._root, path, draft, mode=mode, replace=replace)


def _draft(root: str, changes: Sequence[Change], steps: frozenset[str]) -> CommitDraft:
    """The commit that changes become; the program's if these steps alone have a part in it."""
    joins = changes[0].joins
    by_program = steps.issuperset(change.step for change in changes)
    return CommitDraft(root, message_of(changes), joins.commit if joins else None, by_program)
