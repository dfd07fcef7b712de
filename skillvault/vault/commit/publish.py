"""Publish a group of changes as commits, so that a person's git sees all of them or none.

The slow work comes first and is invisible: objects, drafts of the files and the index, the journal,
one sync. Then the writer locks index, branch and HEAD, checks everything again, and replaces the
files, the index and the branch.
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
from skillvault.vault.commit.files import AppendedFile, AppendedPrefix, ReplacedFile
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
from skillvault.vault.git.objects import Entry, mode_of
from skillvault.vault.git.process import OTHER_GIT
from skillvault.vault.git.refs import ABSENT, RefSession, RefUpdate
from skillvault.vault.git.repository import Git

_GIT_SECONDS = 5.0  # the longest wait for a person's git that is always at work
_LOCK_SECONDS = 5.0  # the longest wait for the index; then outcomes stay in the inbox
_CLEAN_SECONDS = 1.0  # the longest wait for a `git clean` that began before us
_PAUSE = 0.01


class StagedChange(Struct, frozen=True):
    """A change with the new bytes of its files by path (None for a removed file).

    `origins` maps moved files to their old paths. `created` are new files. `prefixes` belong to
    files that agents append to. `links` are the links that the change adds, removes or alters.
    """

    change: Change
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    created: frozenset[str]
    prefixes: Mapping[str, AppendedPrefix] = {}
    links: tuple[Link, ...] = ()


class _Group(Struct, frozen=True):
    """Staged changes, grouped by commit, with the last version of each path.

    `origins` maps moved files to their paths before the first change. `prefixes` has the first
    prefix of each file that agents append to.
    """

    by_commit: Sequence[Sequence[StagedChange]]
    files: Mapping[str, bytes | None]
    origins: Mapping[str, str]
    prefixes: Mapping[str, AppendedPrefix]


def check_edits(
    root: Path, git: Git, commit: str | None, staged: StagedChange | _Group
) -> GitState:
    """Read HEAD and the index at the paths of a change.

    Raises UncommittedEditError if one of the paths is edited locally.
    """
    state = read_git_state(git, commit, staged.files, staged.origins)
    if edits := local_edits(root, state, staged.files, staged.origins, prefixes=staged.prefixes):
        path, reason = min(edits.items())
        raise UncommittedEditError(f"{path}: {reason}; commit or undo it, and run again")
    return state


class _Publication(Struct, frozen=True):
    """The drafts of a publication, before any part is visible.

    `state` is the state of the paths beforehand. `index` is the draft of a new index, made from the
    index with this `checksum`.
    """

    group: _Group
    state: GitState
    entries: Mapping[str, Entry | None]
    drafts: Mapping[str, Path]
    intent: Intent
    index: Path
    checksum: str | None


class Writer:
    """A writer that publishes changes in one work tree. The caller holds the writer's lock.

    `check_normal` raises PausedError in the middle of a git operation, such as a rebase. A commit
    has the program as author if all of its changes come from `steps`.
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
        self._parent: str | None = None  # of the commits that are published
        self._is_visible = False  # True once somebody may see a part of a publication
        self._replaced_files: list[ReplacedFile] = []

    def publish(
        self, changes: Sequence[StagedChange], parent: str | None, at: datetime
    ) -> list[tuple[str, Sequence[StagedChange]]] | None:
        """Publish changes, and return each commit with its changes, oldest first.

        Return None if the branch moved. Raises UncommittedEditError if a path is edited locally,
        VaultBusyError while another git is at work.
        """
        with self._git.objects.gathering.hold():
            return self._publish_group(_group_changes(changes), parent, at)

    def _publish_group(
        self, group: _Group, parent: str | None, at: datetime
    ) -> list[tuple[str, Sequence[StagedChange]]] | None:
        self._parent = parent
        # Check before signing, so that nobody types a passphrase in vain.
        state = self._read_state(group)
        self._check_unopened(group)
        drafts, entries = self._draft_commits(group, state)
        commits = self._make_commits(group, drafts, at)
        self._git.objects.gathering.store()
        new_tip = commits[-1]
        extend_cone(self._git, [path for path, entry in entries.items() if entry], at.date())
        headline, _, _ = drafts[-1].message.partition("\n")
        with (
            self._git.ref_session(f"skillvault: {headline}", durable=self._durable) as refs,
            self._git.pin_commit(new_tip, refs) as pin,
        ):
            reach("objects-written")
            files = {path: data for path, data in group.files.items() if path not in group.prefixes}
            with work_files.draft_files(self._folder / "drafts", files) as new_files:
                intent = self._make_intent(group, entries, state, new_tip)
                checksum = self._git.index_file.checksum()
                index = self._git.index_file.draft(entries)
                inputs = (group, state, entries)
                publication = _Publication(*inputs, new_files, intent, index, checksum)
                branch = f"refs/heads/{self._branch}"
                branch_update = RefUpdate(branch, new_tip, parent or ABSENT)
                refs.begin([branch_update, RefUpdate(pin, ABSENT, new_tip)])
                is_published = self._publish(publication, refs)
        return list(zip(commits, group.by_commit, strict=True)) if is_published else None

    def _publish(self, publication: _Publication, refs: RefSession) -> bool:
        """Write the intent, take git's locks, and publish. Return False if the branch moved."""
        self._is_visible = False
        try:
            self._journal.write_intent(publication.intent)
            self._sync()  # slow, so it comes before the locks that others wait for
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
                self._journal.remove()  # there is nothing to undo
            raise
        finally:
            self._settle_replaced()
            self._journal.release()
            publication.index.unlink(missing_ok=True)
        return is_published

    def _check_unopened(self, group: _Group) -> None:
        for path, prefix in group.prefixes.items():
            is_unchanged = group.files[path] == prefix.start and not prefix.left
            process = None if is_unchanged else work_files.find_open_writer(self._root, path)
            if process:
                message = f"{path}: process {process} holds it open; let it close it"
                raise UncommittedEditError(message)

    def _settle_replaced(self) -> None:
        while self._replaced_files:
            self._replaced_files.pop().settle()

    def _publish_locked(self, publication: _Publication, refs: RefSession) -> bool:
        """Check again, lock the branch and HEAD, and publish. Return False if the branch moved."""
        self._check_normal()
        state = self._read_state(publication.group)
        index_file = self._git.index_file
        if publication.checksum is None or index_file.checksum() != publication.checksum:
            index_file.draft(publication.entries, publication.index)
        if not refs.prepare():
            refs.end()
            if self._git.tip(self._branch) != self._parent:
                return False
            raise (VaultBusyError if OTHER_GIT in refs.error else GitError)(refs.error)
        self._check_normal()
        new_tip = publication.intent.new
        intent = self._make_intent(publication.group, publication.entries, state, new_tip)
        if intent != publication.intent:
            self._journal.rewrite(intent)
        self._is_visible = True
        try:
            return self._replace_state(publication, intent, refs)
        except BaseException as error:
            refs.end()
            try:
                self._journal.roll_back(intent)
            except (OSError, GitError) as undo_error:  # the next writer has the journal
                note = f"the next command that writes undoes the unfinished change ({undo_error})"
                error.add_note(note)
            raise

    def _replace_state(self, publication: _Publication, intent: Intent, refs: RefSession) -> bool:
        """Replace the files, the index and the branch.

        If git does not move the branch, undo the changes and return False.
        """
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
        self._restore_cleaned(publication.group.files, intent)
        return True

    def _restage(self, publication: _Publication) -> bool:
        """Restore index entries that a person's git overwrote, unless it is still at work.

        Git reads the index before it locks it. If git wrote an old index back, the person's next
        commit would undo the change. If this returns False, the next writer restores the entries.
        """
        index_file = self._git.index_file
        if index_file.is_last_written():
            return True
        try:
            with self._lock_quiet_index():
                old_index = publication.state.index
                index = index_file.entries(sorted(publication.entries))
                lost_entries = {
                    path: entry
                    for path, entry in publication.entries.items()
                    if index.get(path) == old_index.get(path) != entry
                }
                if lost_entries:
                    index_file.install(index_file.draft(lost_entries))
        except VaultBusyError:
            return False
        return True

    def _restore_cleaned(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        """Restore files that a `git clean` removed because it had read the old index."""
        self._restore_missing(files, intent)
        deadline = time.monotonic() + _CLEAN_SECONDS
        while self._is_cleaning() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        self._restore_missing(files, intent)

    def _is_cleaning(self) -> bool:
        processes = git_processes(self._root, *self._git.dirs())
        return any(process.command == "clean" for process in processes)

    def _restore_missing(self, files: Mapping[str, bytes | None], intent: Intent) -> None:
        drafts = self._folder / "drafts"
        for path, change in intent.changes.items():
            content = files[path] if change.new_blob else None
            if content is not None and not os.path.lexists(self._root / path):
                mode = change.new_entry.mode if change.new_entry else None
                work_files.write_file(self._root, path, content, drafts, mode=mode, replace=False)

    def _wait_for_open_commit(self) -> None:
        """Wait while a `git commit` is open in an editor. Raise VaultBusyError after a while.

        Such a commit holds no lock, and fails at its end if the branch has moved.
        """
        deadline = time.monotonic() + _GIT_SECONDS
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
        while True:
            self._wait_for_open_commit()
            reach("before-lock")
            with self._lock_quiet_index():
                if open_commit(self._root, *self._git.dirs()) is None:
                    yield
                    return

    @contextmanager
    def _lock_quiet_index(self) -> Iterator[None]:
        """Hold index.lock at a time when no git is at work, or after a limited wait."""
        deadline = time.monotonic() + _GIT_SECONDS
        while True:
            seconds = self._git.index_file.seconds_until_quiet()
            if seconds and time.monotonic() < deadline:
                time.sleep(seconds)
                continue
            with index_lock(self._root, self._git.dirs()[0], _LOCK_SECONDS):
                if self._git.index_file.seconds_until_quiet() and time.monotonic() < deadline:
                    continue
                yield
                return

    def _sync(self) -> None:
        if self._durable:
            sync_disks(self._root, self._git.dirs()[1])

    def _read_state(self, group: _Group) -> GitState:
        return check_edits(self._root, self._git, self._parent, group)

    def _draft_commits(
        self, group: _Group, state: GitState
    ) -> tuple[list[CommitDraft], dict[str, Entry | None]]:
        """Draft the commits, and return them with the new index entry of each path."""
        objects = self._git.objects
        root = objects.root(self._parent) if self._parent else None
        current: dict[str, Entry | None] = dict(state.tree)
        drafts: list[CommitDraft] = []
        for changes in group.by_commit:
            entries: dict[str, Entry | None] = {}
            last_change = {path: staged for staged in changes for path in staged.files}
            for staged in changes:  # a list of links is written once, in its last state
                for path in staged.files:
                    if last_change[path] is staged or not layout.links_owner(path):
                        entries[path] = self._write_entry(path, staged, current)
                current |= entries
            root = objects.write_tree(root, entries)
            values = [staged.change for staged in changes]
            join = values[0].joins
            by_program = self._steps.issuperset(change.step for change in values)
            merged_commit = join.commit if join else None
            drafts.append(CommitDraft(root, message_of(values), merged_commit, by_program))
        paths = [path for path in group.files if current[path] or path in state.tree]
        return drafts, {path: current[path] for path in paths}

    def _make_commits(
        self, group: _Group, drafts: Sequence[CommitDraft], at: datetime
    ) -> list[str]:
        """Make the drafted commits and return their ids.

        If a remote has all of them, return the remote's last commit.
        """
        join = group.by_commit[-1][-1].change.joins
        if join is None or not join.forward:
            return self._git.committer.make_commits(drafts, self._parent, at)
        if self._git.objects.root(join.commit) != drafts[-1].tree:
            raise GitError(f"{join.commit[:10]} cannot be taken over as it is; run `git pull`")
        return [join.commit]

    def _write_entry(
        self, path: str, staged: StagedChange, current: Mapping[str, Entry | None]
    ) -> Entry | None:
        """Write a file's blob and return its index entry. The file keeps its mode if it had one."""
        content = staged.files[path]
        if content is None:
            return None
        old_entry = current.get(staged.origins.get(path, path)) or current.get(path)
        modes = dict(staged.change.joins.modes) if staged.change.joins else {}
        mode = modes.get(path) or mode_of(content, old_entry)
        return Entry(mode, self._git.objects.write_blob(content))

    def _make_intent(
        self, group: _Group, entries: Mapping[str, Entry | None], state: GitState, new_tip: str
    ) -> Intent:
        changes = {}
        for path in group.files:
            new_entry, prefix = entries.get(path), group.prefixes.get(path)
            old_blob, new_blob = read_blob_id(self._root, path), new_entry.id if new_entry else None
            if prefix:
                old_blob = blob_id(prefix.base) if prefix.base else None
            if state.is_sparse(self._root, path):
                new_blob = None  # as git does in a sparse checkout
            old_entry, grows = state.index.get(path), prefix is not None
            changes[path] = PathChange(old_blob, new_blob, old_entry, new_entry, grows=grows)
        return Intent(branch=self._branch, old=self._parent, new=new_tip, changes=changes)

    def _place_files(self, publication: _Publication, intent: Intent) -> None:
        """Write the files. Raise UncommittedEditError for a file that was saved meanwhile."""
        prefixes = publication.group.prefixes
        # New files first, removals last: if we are killed, each text still has a copy.
        for path, change in sorted(intent.changes.items(), key=lambda item: item[1].sort_key):
            if path in prefixes and change.new_blob:
                content = publication.group.files[path] or b""
                file = AppendedFile(self._root, path, self._folder)
                if replaced_file := file.replace_prefix(prefixes[path], content):
                    self._replaced_files.append(replaced_file)
                continue
            entry, old_entry = change.new_entry, publication.state.tree.get(path)
            # None: the file keeps its mode.
            has_mode = entry and (old_entry is None or old_entry.mode != entry.mode)
            mode = entry.mode if entry and has_mode else None
            is_same_mode = change.new_blob is None or mode in (None, read_mode(self._root, path))
            if change.new_blob == change.old_blob and is_same_mode:
                continue
            if read_blob_id(self._root, path) != change.old_blob:
                raise UncommittedEditError(f"{path}: a file of yours appeared there; run again")
            if path not in publication.drafts:
                work_files.remove_file(self._root, path)
            else:
                draft, replace = publication.drafts[path], change.old_blob is not None
                work_files.place_file(self._root, path, draft, mode=mode, replace=replace)


def _group_changes(changes: Sequence[StagedChange]) -> _Group:
    iterator = iter(changes)
    groups = group_by_commit([change.change for change in changes])
    files: dict[str, bytes | None] = {}
    origins: dict[str, str] = {}
    prefixes: dict[str, AppendedPrefix] = {}
    for change in changes:
        files |= change.files
        origins |= {path: origins.get(source, source) for path, source in change.origins.items()}
        prefixes = {**change.prefixes, **prefixes}
    created_paths = frozenset().union(*(change.created for change in changes))
    return _Group(
        [list(islice(iterator, len(group))) for group in groups],
        files,
        {path: source for path, source in origins.items() if source not in created_paths},
        prefixes,
    )
