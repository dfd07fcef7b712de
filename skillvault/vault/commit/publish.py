"""The commit protocol: a group of changes becomes commits, all published at once.

Slow work comes first and is invisible: objects, drafts of the files and the index, the journal, one
sync. Then the writer takes git's locks of the index, the branch and HEAD, checks everything again,
and places files, index and branch. A person's git sees either nothing of a publication or all.
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
from skillvault.vault.commit import files as work_files
from skillvault.vault.commit.cone import extend_cone
from skillvault.vault.commit.files import (
    AppendedFile,
    AppendedPrefix,
    ReplacedFile,
    find_open_writer,
)
from skillvault.vault.commit.git_activity import clock, git_processes, open_commit
from skillvault.vault.commit.journal import Intent, Journal, PathChange
from skillvault.vault.commit.local_edits import (
    GitState,
    local_edits,
    read_blob_id,
    read_git_state,
    read_mode,
)
from skillvault.vault.commit.locks import index_lock
from skillvault.vault.disk import sync_disks
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.config import Settings
from skillvault.vault.git.objects import Entry, mode_of
from skillvault.vault.git.refs import ABSENT, RefSession, RefUpdate
from skillvault.vault.git.repository import Git

_RESTLESS_SECONDS = 5.0  # a person's git that never rests is not waited for any longer
_LOCK_SECONDS = 5.0  # that another git may hold the index before outcomes wait in the inbox
_CLEAN_SECONDS = 1.0  # that a `git clean` which began before us may still remove files
_PAUSE = 0.01


class StagedChange(Struct, frozen=True):
    """A change and the new bytes of its files by path (None for a removed file).

    `origins` maps moved files to their old paths, `created` are new files, `prefixes` belong to
    files that agents append to, `links` are the new, removed or changed links.
    """

    change: Change
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    created: frozenset[str]
    prefixes: Mapping[str, AppendedPrefix] = {}
    links: tuple[Link, ...] = ()


class _Group(Struct, frozen=True):
    """Staged changes, by commit, and the last version of each path.

    `origins` maps moved files to their paths before the first change. `prefixes` are those of the
    first change of each file that agents append to.
    """

    by_commit: Sequence[Sequence[StagedChange]]
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    prefixes: Mapping[str, AppendedPrefix]


def _combine(changes: Sequence[StagedChange]) -> _Group:
    iterator = iter(changes)
    groups = group_by_commit([staged.change for staged in changes])
    files: dict[str, bytes | None] = {}
    origins: dict[str, str] = {}
    prefixes: dict[str, AppendedPrefix] = {}
    for staged in changes:
        files |= staged.files
        origins |= {path: origins.get(source, source) for path, source in staged.origins.items()}
        prefixes = {**staged.prefixes, **prefixes}
    created = frozenset().union(*(staged.created for staged in changes))
    return _Group(
        [list(islice(iterator, len(group))) for group in groups],
        files,
        {path: source for path, source in origins.items() if source not in created},
        prefixes,
    )


def check_edits(
    root: Path, git: Git, commit: str | None, staged: StagedChange | _Group, *, has_modes: bool
) -> GitState:
    """Read the state of the paths of a change; UncommittedEditError for a locally edited path."""
    state = read_git_state(git, commit, staged.files, staged.origins, has_modes=has_modes)
    if edits := local_edits(root, state, staged.files, staged.origins, prefixes=staged.prefixes):
        path, reason = min(edits.items())
        raise UncommittedEditError(f"{path}: {reason}; commit or undo it, and run again")
    return state


class _Base(Struct, frozen=True):
    """The base of a publication: the branch's commit, the state of its paths, git's settings."""

    parent: str | None
    state: GitState
    settings: Settings


class _Publication(Struct, frozen=True):
    """A publication of which all parts are drafted and none is visible yet.

    `checksum` belongs to the index from which the draft `index` was copied.
    """

    group: _Group
    base: _Base
    entries: Mapping[str, Entry | None]
    drafts: Mapping[str, Path]
    intent: Intent
    index: Path
    checksum: str | None


class Writer:
    """Publishes groups of changes in one work tree, under the writer's lock.

    `check_normal` raises PausedError in a repository that is in the middle of something. The
    program is the author of a commit that only these `steps` made.
    """

    def __init__(
        self,
        root: Path,
        git: Git,
        *,
        branch: str,
        durable: bool,
        check_normal: Callable[[], None],
        steps: frozenset[str],
    ) -> None:
        self._root = root
        self._git = git
        self._branch = branch
        self._durable = durable
        self._check_normal = check_normal
        self._steps = steps
        self._folder = git.dirs()[0] / "skillvault"
        self._journal = Journal(root, git)
        self._is_visible = False  # True once somebody may see a part of a publication
        self._replaced_files: list[ReplacedFile] = []

    def publish(
        self, changes: Sequence[StagedChange], parent: str | None, at: datetime
    ) -> list[tuple[str, Sequence[StagedChange]]] | None:
        """Return each commit and its changes, oldest first; None if the branch moved meanwhile.

        Raises UncommittedEditError if a path is edited locally, VaultBusyError while another git is
        at work; nothing is published then.
        """
        group = _combine(changes)
        # Before anything is signed, so that nobody is asked for a key in vain.
        base = self._read_base(group, parent, self._git.settings())
        self._check_closed(group)
        drafts, entries = self._draft_commits(group, base)
        commits = self._make_commits(group, drafts, base, at)
        new_tip = commits[-1]
        extend_cone(self._git, [path for path, entry in entries.items() if entry], at.date())
        headline, _, _ = drafts[-1].message.partition("\n")
        with (
            self._git.ref_session(f"skillvault: {headline}", durable=self._durable) as refs,
            self._git.pin_commit(new_tip, refs) as pin,
        ):
            reach("objects-written")
            plain = {p: data for p, data in group.files.items() if p not in group.prefixes}
            with work_files.draft_files(self._folder / "drafts", plain) as places:
                intent = self._intent(group, entries, base, new_tip)
                checksum = self._git.index_file.checksum()
                index = self._git.index_file.draft(entries, base.settings.staging)
                publication = _Publication(group, base, entries, places, intent, index, checksum)
                branch = f"refs/heads/{self._branch}"
                refs.begin(
                    [RefUpdate(branch, new_tip, parent or ABSENT), RefUpdate(pin, ABSENT, new_tip)]
                )
                is_published = self._publish(publication, refs)
        return list(zip(commits, group.by_commit, strict=True)) if is_published else None

    def _publish(self, publication: _Publication, refs: RefSession) -> bool:
        """Write the intent, take git's locks, and publish; False if the branch moved meanwhile."""
        self._is_visible = False
        try:
            self._journal.write_intent(publication.intent)
            self._sync()  # all slow work is done before anybody has to wait for us
            reach("intent-written")
            with self._lock_without_commit():
                is_published = self._publish_locked(publication, refs)
            reach("index-unlocked")
            self._settle_replaced()
            is_complete = not is_published or self._restage(publication)
            self._sync()
            if is_complete:
                self._journal.remove()
        except BaseException:
            if not self._is_visible:
                self._journal.remove()  # nothing is to be undone, and nothing may be
            raise
        finally:
            self._settle_replaced()
            self._journal.release()
            publication.index.unlink(missing_ok=True)
        return is_published

    def _check_closed(self, group: _Group) -> None:
        """Raise UncommittedEditError if a process may still append to a file to be replaced."""
        for path, prefix in group.prefixes.items():
            is_unchanged = group.files[path] == prefix.start and not prefix.left
            process = None if is_unchanged else find_open_writer(self._root, path)
            if process:
                raise UncommittedEditError(
                    f"{path}: process {process} holds it open; let it close it"
                )

    def _settle_replaced(self) -> None:
        while self._replaced_files:
            self._replaced_files.pop().settle()

    def _publish_locked(self, publication: _Publication, refs: RefSession) -> bool:
        """Check again, lock the branch and HEAD, and publish; False if the branch moved."""
        self._check_normal()
        parent, settings = publication.base.parent, publication.base.settings
        base = self._read_base(publication.group, parent, settings)
        index_file = self._git.index_file
        if publication.checksum is None or index_file.checksum() != publication.checksum:
            index_file.draft(publication.entries, settings.staging, publication.index)
        if not refs.prepare():
            refs.end()
            if self._git.tip(self._branch) != parent:
                return False
            if "File exists" not in refs.error:
                raise GitError(f"git update-ref: {refs.error}")
            raise VaultBusyError(
                f"another git has locked the branch ({refs.error[:300]}); try again when it ends"
            )
        self._check_normal()
        intent = self._intent(publication.group, publication.entries, base, publication.intent.new)
        if intent != publication.intent:
            self._journal.rewrite(intent)
        self._is_visible = True
        try:
            return self._carry_out(publication, intent, refs)
        except BaseException as error:
            refs.end()
            try:
                self._journal.roll_back(intent)
            except (OSError, GitError) as second_error:  # the journal is there for the next writer
                error.add_note(
                    f"the next command that writes undoes the unfinished change ({second_error})"
                )
            raise

    def _carry_out(self, publication: _Publication, intent: Intent, refs: RefSession) -> bool:
        """Place files, index and branch; if git refuses the branch, undo all and return False."""
        # The files first: were we killed here and the lock removed by hand, a person's commit of
        # the index would hold files that the work tree lacks, and `commit -a` would delete them.
        self._place_files(publication, intent)
        reach("before-index")
        self._git.index_file.install(publication.index, intent.new, publication.entries)
        reach("index-written")
        reach("before-swap")
        if not refs.commit():
            self._journal.undo(intent)
            return False
        reach("branch-moved")
        self._put_back_cleaned(publication.group.files, intent)
        return True

    def _restage(self, publication: _Publication) -> bool:
        """Put back index entries that a person's git overwrote with an index it read earlier.

        Git reads the index before it locks the index, so the person's next commit would remove our
        files. False if that git still holds the index; the next writer puts the entries back.
        """
        index_file = self._git.index_file
        if index_file.is_own():
            return True
        try:
            with self._lock_at_rest():
                old_index = publication.base.state.index
                index = index_file.entries(sorted(publication.entries))
                lost_entries = {
                    path: entry
                    for path, entry in publication.entries.items()
                    if index.get(path) == old_index.get(path) != entry
                }
                if lost_entries:
                    staging = publication.base.settings.staging
                    index_file.install(index_file.draft(lost_entries, staging))
        except VaultBusyError:
            return False
        return True

    def _put_back_cleaned(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Put back files that a `git clean` removed because it had read the index too early."""
        self._put_back_missing(files, intent)
        if not self._is_cleaning():
            return
        deadline = time.monotonic() + _CLEAN_SECONDS
        while self._is_cleaning() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        self._put_back_missing(files, intent)

    def _is_cleaning(self) -> bool:
        processes = git_processes(self._root, *self._git.dirs())
        return any(process.command == "clean" for process in processes)

    def _put_back_missing(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        drafts = self._folder / "drafts"
        for path, place in intent.places.items():
            content = files[path] if place.after else None
            if content is not None and not os.path.lexists(self._root / path):
                mode = place.entry.mode if place.entry else None
                work_files.write_file(self._root, path, content, drafts, mode=mode, replace=False)

    def _wait_for_open_commit(self) -> None:
        """Wait while a person's `git commit` is open in an editor; VaultBusyError after a while.

        Such a commit holds no lock, and fails at its end if the branch has moved.
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
        """Hold index.lock while no `git commit` is open, also none that began meanwhile."""
        while True:
            self._wait_for_open_commit()
            reach("before-lock")
            with self._lock_at_rest():
                if open_commit(self._root, *self._git.dirs()) is None:
                    yield
                    return

    @contextmanager
    def _lock_at_rest(self) -> Iterator[None]:
        """Hold index.lock while no git is half-way; do not wait for a git that never ends."""
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
            sync_disks(self._root, self._git.dirs()[1])

    def _read_base(self, group: _Group, parent: str | None, settings: Settings) -> _Base:
        has_modes = settings.modes
        state = check_edits(self._root, self._git, parent, group, has_modes=has_modes)
        return _Base(parent, state, settings)

    def _draft_commits(
        self, group: _Group, base: _Base
    ) -> tuple[list[CommitDraft], dict[str, Entry | None]]:
        """Return the commits to be made, and the index entry of each path after them."""
        objects, tree = self._git.objects, base.state.tree
        root = objects.root(base.parent) if base.parent else None
        current: dict[str, Entry | None] = dict(tree)
        drafts: list[CommitDraft] = []
        for changes in group.by_commit:
            entries: dict[str, Entry | None] = {}
            last_change = {path: staged for staged in changes for path in staged.files}
            for staged in changes:  # a list of links is written once, as it is after all of them
                for path in staged.files:
                    if last_change[path] is staged or not layout.links_owner(path):
                        entries[path] = self._entry(path, staged, current)
                current |= entries
            root = objects.write_tree(root, entries)
            values = [staged.change for staged in changes]
            join = values[0].joins
            by_program = self._steps.issuperset(change.step for change in values)
            merged_commit = join.commit if join else None
            drafts.append(CommitDraft(root, message_of(values), merged_commit, by_program))
        paths = [path for path in group.files if current[path] or path in tree]
        return drafts, {path: current[path] for path in paths}

    def _make_commits(
        self, group: _Group, drafts: Sequence[CommitDraft], base: _Base, at: datetime
    ) -> list[str]:
        """Make the commits of drafts; if a remote has all of them, return its last commit."""
        join = group.by_commit[-1][-1].change.joins
        if join is None or not join.forward:
            return self._git.committer.make_commits(drafts, base.parent, at, base.settings)
        if self._git.objects.root(join.commit) != drafts[-1].tree:
            raise GitError(f"{join.commit[:10]} cannot be taken over as it is; run `git pull`")
        return [join.commit]

    def _entry(
        self, path: str, staged: StagedChange, current: Mapping[str, Entry | None]
    ) -> Entry | None:
        """Return the index entry of a file; a file that stays or moves keeps its mode."""
        content = staged.files[path]
        if content is None:
            return None
        old_entry = current.get(staged.origins.get(path, path)) or current.get(path)
        modes = dict(staged.change.joins.modes) if staged.change.joins else {}
        mode = modes.get(path) or mode_of(content, old_entry)
        return Entry(mode, self._git.objects.write_blob(content))

    def _intent(
        self, group: _Group, entries: Mapping[str, Entry | None], base: _Base, new_tip: str
    ) -> Intent:
        places = {}
        for path in group.files:
            entry, prefix = entries.get(path), group.prefixes.get(path)
            old_blob, new_blob = read_blob_id(self._root, path), entry.id if entry else None
            if prefix:
                old_blob = blob_id(prefix.before) if prefix.before else None
            if base.state.is_sparse(self._root, path):
                new_blob = None  # as git does in a sparse checkout
            staged = base.state.index.get(path)
            places[path] = PathChange(old_blob, new_blob, staged, entry, grows=prefix is not None)
        return Intent(branch=self._branch, old=base.parent, new=new_tip, places=places)

    def _place_files(self, publication: _Publication, intent: Intent) -> None:
        """Put the files into the work tree, except over a file that a person saves meanwhile."""
        prefixes = publication.group.prefixes
        # New files first, removals last: if we are killed, each text still has a copy.
        for path, place in sorted(intent.places.items(), key=lambda item: item[1].sort_key):
            if path in prefixes and place.after:
                content = publication.group.files[path] or b""
                file = AppendedFile(self._root, path, self._folder)
                if replaced := file.replace_prefix(prefixes[path], content):
                    self._replaced_files.append(replaced)
                continue
            entry, old_entry = place.entry, publication.base.state.tree.get(path)
            # None: it is neither new nor of another mode, and keeps its own.
            has_mode = entry and (old_entry is None or old_entry.mode != entry.mode)
            mode = entry.mode if entry and has_mode else None
            is_same_mode = place.after is None or mode in (None, read_mode(self._root, path))
            if place.after == place.before and is_same_mode:
                continue
            if read_blob_id(self._root, path) != place.before:
                raise UncommittedEditError(f"{path}: a file of yours appeared there; run again")
            if path not in publication.drafts:
                work_files.remove_file(self._root, path)
            else:
                draft, replace = publication.drafts[path], place.before is not None
                work_files.place_file(self._root, path, draft, mode=mode, replace=replace)
