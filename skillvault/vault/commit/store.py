"""Read a vault, stage changes in its index, and commit them: the `Store`.

This module decides what a commit contains (`publish` makes it) and cleans up after killed writers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from skillvault.model import codec, link_lists
from skillvault.model.change import LINK, Change, Edit, Rewrite, headline_of, parts_of
from skillvault.model.due import Agenda
from skillvault.model.errors import (
    BranchMovedError,
    GitError,
    PausedError,
    UncommittedEditError,
    VaultBusyError,
)
from skillvault.model.policy import Policy
from skillvault.model.records import Commit, Evaluation, Link, Record, Ref, Skill, ref_of, stamp
from skillvault.model.text import front_matter, hidden_characters
from skillvault.vault import spending
from skillvault.vault.commit import files as file_changes
from skillvault.vault.commit import local_edits, locks, marks, publish
from skillvault.vault.commit.journal import Journal
from skillvault.vault.commit.pack import pack
from skillvault.vault.disk import is_abandoned
from skillvault.vault.files import layout, redact
from skillvault.vault.files.inbox import TakenFiles
from skillvault.vault.files.work_tree import WorkTreeView, blob_id
from skillvault.vault.git.history import utc
from skillvault.vault.git.objects import release_packs
from skillvault.vault.git.repository import Git, check_normal
from skillvault.vault.index import follow
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.schema import IndexedCommit, index_parts
from skillvault.vault.index.snapshot import Snapshot, Staging

if TYPE_CHECKING:
    from skillvault.vault.commit.files import AppendedPrefix
    from skillvault.vault.commit.publish import StagedChange


def clear_up(root: Path, git: Git, branch: str) -> None:
    """Finish or undo the changes of killed writers, and remove their drafts, pins and locks."""
    journal = Journal(root, git)
    git_dir, common_dir = git.dirs()
    for pattern in ("index-*", "lock-*", "drafts/*"):
        for path in (git_dir / "skillvault").glob(pattern):
            if is_abandoned(path.name):
                path.unlink(missing_ok=True)
    file_changes.recover_appended(root, git_dir / "skillvault")
    release_packs(common_dir / "objects")
    if journal.has_abandoned() or locks.has_abandoned_lock(git_dir):
        journal.remove_killed_locks()
        with locks.index_lock(root, git_dir, 0.0):
            journal.recover()
    git.remove_pins()
    if (git_dir / "index.lock").exists() or (common_dir / f"refs/heads/{branch}.lock").exists():
        journal.remove_git_locks()


def clear_taken(store: Store) -> None:
    """Delete the taken inbox files whose commit is in the branch, and put the others back."""
    commits = store.taken.commits()
    if not commits or not os.access(store.git.dirs()[0], os.W_OK):
        return
    snapshot = store.snapshot()
    if store.git.pause_reason(snapshot.policy.branch):
        return
    for commit in commits:
        if snapshot.history.parts_of(commit):
            store.taken.forget(commit)
        else:
            store.taken.put_back(commit)


_TRIES = 5  # of a commit, while others move the branch


class Store(threading.local):
    """A vault on disk: its root, its git, and the index of its branch.

    Each thread has its own connections, caches and staged changes, as if it were a process.

    `agenda` says which records make a step due. A `detached` store never publishes its staged
    changes.
    """

    def __init__(
        self, root: Path, agenda: Agenda, index: str | None = None, *, detached: bool = False
    ) -> None:
        self.root = root
        self._agenda = agenda
        self.git = Git(root, index)
        self._must_detach = detached
        self._required_tips: list[str | None] = []
        self._encoded: dict[int, tuple[Record, bytes]] = {}  # by `id`, with the record alive

    @cached_property
    def taken(self) -> TakenFiles:
        """The inbox files that were taken, but whose commit is not in the branch yet."""
        return TakenFiles(self.root, self.git.dirs()[0] / "skillvault" / "taken")

    @cached_property
    def index(self) -> IndexDatabase:
        """The index database, which has the branch's files and history."""
        path = self.git.dirs()[0] / "skillvault" / "index.db"
        return IndexDatabase(
            path, self._rebuild, self._agenda, lambda pin: follow.first_contradiction(pin, self.git)
        )

    @cached_property
    def ledger(self) -> spending.Ledger:
        """The ledger of a paid judge, which all work trees share."""
        return spending.Ledger(self.git.dirs()[1] / "skillvault" / "judge.db")

    @cached_property
    def staging(self) -> Staging:
        """The vault with the staged changes, on top of the commit in the index."""
        return Staging(self.index, self.git.blobs)

    def encode_record(self, record: Record) -> bytes:
        """Encode a new record. The bytes are cached, because several callers need them."""
        if id(record) not in self._encoded:
            self._encoded[id(record)] = record, codec.encode(record)
        return self._encoded[id(record)][1]

    def _rebuild(self) -> None:
        files = self.staging.files_staged
        follow.follow_tip(self.index, self.git, self.tip)
        if files:
            self.index.begin()
            self.staging.stage(files)

    # ── reading ──────────────────────────────────────────────────────────────────────

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the committed vault. Later commits do not change the snapshot."""
        self.follow()
        return Snapshot(self.index.pin(), self.git.blobs)

    def follow(self) -> None:
        """Update the index to the tip of the branch, unless a change is staged."""
        if not self.index.pending:
            follow.follow_tip(self.index, self.git, self.tip)
        if self._must_detach:
            self.index.detach()
            self._must_detach = False

    def tip(self) -> str | None:
        """Return the last commit of the learning branch, or None without commits."""
        return follow.find_tip(self.index, self.git)

    def git_index(self) -> WorkTreeView:
        """Return a view of git's index, which has the files of the next commit."""
        contents = {path: entry.id for path, entry in self.git.index_file.all_entries().items()}
        return WorkTreeView(contents, self.git.blobs, self.snapshot().records.by_blob)

    def work_tree(self) -> WorkTreeView:
        """Return a view of the work tree, with committed and uncommitted files."""
        data: dict[str, bytes] = {}
        contents: dict[str, str] = {}
        for path in _list_vault_files(self.root):
            try:
                content = (self.root / path).read_bytes()
            except FileNotFoundError:
                continue  # a writer's draft that is already removed
            contents[path] = blob_id(content)
            data[contents[path]] = content
        if sparse_paths := self.git.index_file.sparse_paths():
            for path, entry in self.git.index_file.all_entries().items():
                if path in sparse_paths:
                    contents.setdefault(path, entry.id)

        def read_blobs(keys: Iterable[str]) -> Mapping[str, bytes]:
            blobs = list(keys)
            return data | self.git.blobs(blob for blob in blobs if blob not in data)

        return WorkTreeView(contents, read_blobs, self.snapshot().records.by_blob)

    # ── changes ──────────────────────────────────────────────────────────────────────

    def files_of(self, change: Change, base: Snapshot) -> dict[str, bytes | None]:
        """Return the new bytes of each path that a change touches, with None for a removed file.

        Raises UncommittedEditError if an edited file is gone or a move would replace a file.
        """
        removes = (path for path in change.removes if not path.startswith(LINK))
        files: dict[str, bytes | None] = dict.fromkeys(removes) | dict(change.files)
        by_program = change.step in self._agenda.steps
        for record in change.writes:
            if not isinstance(record, Link):
                is_marked = by_program and isinstance(record, Skill)
                encode = marks.encode_marked if is_marked else self.encode_record
                files[_new_path(record, change)] = encode(record)
        revisions: list[Edit | Rewrite] = [*change.edits, *change.rewrites]
        for edit in revisions:
            content = files.get(edit.path) or base.files.read([edit.path]).get(edit.path)
            if content is None:
                raise UncommittedEditError(f"{edit.path}: removed by a commit meanwhile; run again")
            files[edit.path] = _apply_edit(content, edit)
        rewritten_paths = [rewrite.path for rewrite in change.rewrites]
        rewritten_paths += [edit.path for edit in change.edits if edit.key == ("description",)]
        skills = [path for path in dict.fromkeys(rewritten_paths) if layout.is_skill(path)]
        if by_program and skills:
            foreign_sections = {rewrite.path: rewrite.theirs for rewrite in change.rewrites}
            old_files = base.files.read(skills) | dict(change.files)  # a copy may be rewritten
            files |= marks.mark_changed_sections(files, old_files, skills, foreign_sections)
        files |= _read_replacements(change, base)
        origins = _find_origins(change, base)
        moved_files = base.files.read(origins.values())
        for target, path in origins.items():
            if target in base.files and target not in change.removes:
                raise UncommittedEditError(f"{target}: exists already; rename one of the two")
            if files.get(target) is None:  # else the change itself writes the file
                files[target] = files.get(path) or moved_files[path]
            files[path] = None
        files |= edit_link_lists(change, base)
        return marks.mark_by_folder(files, origins, base.history, self.git)

    def stage(self, change: Change) -> StagedChange:
        """Remove secrets from a change and stage it, so that `staging` has its files."""
        change = _remove_secrets(change, self._agenda)
        self.index.begin()
        origins = _find_origins(change, self.staging)
        prefixes = _read_prefixes(change, self.staging)
        files = self.files_of(change, self.staging)
        new_paths = files.keys() - self.staging.files.existing(files)
        links = tuple(_find_changed_links(files, self.staging))
        self.staging.stage(files)
        return publish.StagedChange(change, files, origins, frozenset(new_paths), prefixes, links)

    def roll_back(self) -> None:
        """Drop the staged changes that are not committed."""
        self.index.rollback()
        self.staging.drop_staged()
        self._encoded = {}

    def save_index(self) -> None:
        """Save derived values in the index. If a change is staged, its commit saves them."""
        self.index.save()

    def local_edits(self, files: Mapping[str, bytes | None]) -> dict[str, str]:
        """Return the reason for each of these files that is edited locally."""
        if not files:
            return {}
        state = local_edits.read_git_state(self.git, self.staging.commit, files, {})
        return local_edits.local_edits(self.root, state, files, {}, prefixes={})

    def check_free(self, staged: StagedChange) -> None:
        """Raise UncommittedEditError if a path that a change touches is edited locally."""
        publish.check_edits(self.root, self.git, self.staging.commit, staged)

    # ── committing ───────────────────────────────────────────────────────────────────

    def pause_reason(self, policy: Policy) -> str | None:
        """Return the reason if nothing may be committed now, else None."""
        reason = self.git.pause_reason(policy.branch)
        reason = reason or self.git.committer.identity_problem()
        return reason or Journal(self.root, self.git).pause_reason()

    def apply(
        self,
        changes: Sequence[StagedChange],
        base: str | None,
        *,
        now: datetime,
        policy: Policy,
        first: bool = False,
    ) -> list[str]:
        """Commit the staged changes together, and return the commit of each.

        `base` is the commit that the changes are based on. If the branch has moved, they are staged
        again on the new tip, unless one of their paths changed. Afterwards nothing is staged.
        Raises UncommittedEditError if a path is edited by the user, PausedError in the middle of a
        git operation, VaultBusyError if another writer holds the lock.
        """
        commits = self._commit(changes, base, now, policy, first=first)
        clear_taken(self)  # else the command after a long run has all of them to delete
        with suppress(GitError):  # the next commit tries again
            pack(self.git)
        return commits

    def _commit(
        self,
        changes: Sequence[StagedChange],
        base: str | None,
        now: datetime,
        policy: Policy,
        *,
        first: bool,
    ) -> list[str]:
        ensure_normal = partial(check_normal, self.git, policy.branch, may_be_empty=first)
        by_program = policy.commit.author == "program"
        writer = publish.Writer(
            self.root,
            self.git,
            branch=policy.branch,
            durable=policy.durability == "full",
            check_normal=ensure_normal,
            steps=frozenset(self._agenda.steps if by_program else ()),
        )
        with ExitStack() as stack:
            stack.callback(self.roll_back)
            stack.enter_context(self.lock_writer())
            ensure_normal()
            clear_up(self.root, self.git, policy.branch)
            stack.enter_context(locks.gc_lock(self.git.dirs()[1]))
            for _ in range(_TRIES):
                parent = self.git.tip(policy.branch)
                if parent is None and not first:
                    ensure_normal()
                    raise PausedError("paused: the branch moved away meanwhile; run again")
                if any(tip != parent for tip in self._required_tips):
                    raise BranchMovedError("the branch moved meanwhile; nothing changed")
                if parent != self.staging.commit:
                    self.roll_back()
                    with self.index.without_waiting():
                        self.follow()
                        changes = [self.stage(staged.change) for staged in changes]
                if base != parent and any(staged.change.joins for staged in changes):
                    raise BranchMovedError("the branch moved while a merge was computed; run again")
                paths = {path for staged in changes for path in staged.files}
                _check_unchanged(self.git, paths, base, parent)
                _check_index(self, changes, parent)
                commits = writer.publish(changes, parent, now)
                if commits is None:
                    continue
                if changes[-1].change.joins:
                    self.roll_back()
                    self.follow()  # a merge brings more commits than ours
                else:
                    _index_commits(self, commits, now)
                return [sha for sha, group in commits for _ in group]
        raise VaultBusyError("the branch moved during every attempt to commit; try again later")

    @contextmanager
    def require_tip(self, commit: str | None) -> Iterator[None]:
        """Make `apply` of this thread raise BranchMovedError unless the tip is this commit."""
        self._required_tips.append(commit)
        try:
            yield
        finally:
            self._required_tips.pop()

    def recover(self, *, wait: bool = True) -> bool:
        """Undo or finish the changes of a killed writer. Return False if there are none.

        Taken inbox files are deleted if their commit is in the branch, and put back otherwise. A
        paused repository is left alone, unless a killed writer left its lock there. Without `wait`,
        VaultBusyError is raised if another writer is at work.
        """
        git_dir, common_dir = self.git.dirs()
        if not os.access(git_dir, os.W_OK):
            return False
        had_gc = locks.clear_gc(common_dir)
        has_lock = locks.has_abandoned_lock(git_dir)
        has_work = Journal(self.root, self.git).has_abandoned() or (
            file_changes.has_abandoned_files(git_dir / "skillvault")
        )
        if has_lock or has_work:
            branch = self.snapshot().policy.branch
            with self.lock_writer(wait=wait):
                # While the lock of a killed writer exists, no git has changed its state.
                if has_lock or self.git.pause_reason(branch, may_be_empty=True) is None:
                    clear_up(self.root, self.git, branch)
        clear_taken(self)
        return has_lock or has_work or had_gc

    def lock_daemon(self) -> AbstractContextManager[int]:
        """Hold the daemon's lock. Raise VaultBusyError if another daemon runs."""
        return locks.daemon_lock(self.git.dirs()[1] / "skillvault")

    @contextmanager
    def lock_writer(self, *, wait: bool = True) -> Iterator[None]:
        """Hold the writer's lock. Raise VaultBusyError if another process holds it for long."""
        folder, seconds = self.git.dirs()[1] / "skillvault", locks.WAIT_SECONDS if wait else 0.0
        with locks.writer_lock(folder, seconds) as lock, self.git.share_lock(lock):
            yield


def _remove_secrets(change: Change, agenda: Agenda) -> Change:
    """Return a change without secrets in its texts and its records.

    Records of a step are not checked, because they are derived from clean records.
    """
    records = change.writes
    if change.step not in agenda.steps:
        records = tuple(map(_clean_record, records))
    subject, reason, why = map(_clean_text, (change.subject, change.reason, change.why))
    return replace(change, subject=subject, reason=reason, why=why, writes=records)


def _clean_record(record: Record) -> Record:
    values = msgspec.to_builtins(record)
    clean_values = redact.redact_value(values)
    return record if clean_values == values else msgspec.convert(clean_values, type(record))


def _clean_text(text: str) -> str:
    """Remove secrets from a text. Hidden characters stay; `message_of` makes them visible."""
    visible_text = hidden_characters.remove_hidden(text)
    redacted_text = redact.redact_text(visible_text)
    return text if redacted_text == visible_text else redacted_text


def _apply_edit(content: bytes, edit: Edit | Rewrite) -> bytes:
    if isinstance(edit, Rewrite):
        return front_matter.with_body(content, edit.body)
    if edit.value is None:
        return front_matter.without_key(content, edit.key)
    in_policy = edit.path == layout.VAULT_FILE
    return front_matter.with_key(content, edit.key, edit.value, is_yaml=in_policy)


def _new_path(record: Record, change: Change) -> str:
    """Return the path for a new record. Raise UncommittedEditError for an impossible name."""
    try:
        return layout.path_of(record)
    except ValueError as error:  # a person's folder has a name that no record can have
        raise UncommittedEditError(f"{change.subject}: {error}; rename its folder") from None


def edit_link_lists(change: Change, base: Snapshot) -> dict[str, bytes | None]:
    """Return the new bytes of each list of links that a change alters.

    An evaluation gets an empty list at once, because git cannot revert the commit that created a
    file after another commit has changed the file.
    """
    new_paths = {
        ref_of(record): _new_path(record, change)
        for record in change.writes
        if not isinstance(record, Link)
    }
    added_links: dict[str, list[Link]] = {}
    list_paths: dict[Ref, str] = {}
    for record in change.writes:
        if isinstance(record, Evaluation):
            added_links.setdefault(layout.links_path(new_paths[ref_of(record)]), [])
        if isinstance(record, Link):
            owner = link_lists.owner_of(record)
            if owner not in list_paths:
                list_paths[owner] = _find_list_path(owner, new_paths, base)
            added_links.setdefault(list_paths[owner], []).append(record)
    ids = (name.removeprefix(LINK) for name in change.removes if name.startswith(LINK))
    removed_ids = base.links.lists_of(ids)
    paths = list(dict.fromkeys([*added_links, *removed_ids]))
    contents = (base.files.read(paths) | dict(change.files)) if paths else {}
    files: dict[str, bytes | None] = {}
    for path in paths:
        owner = layout.links_owner(path) or Ref("skill", "")
        files[path] = link_lists.edit_links(
            contents.get(path, b""), owner, added_links.get(path, ()), removed_ids.get(path, ())
        )
        if files[path] is None and owner.kind == "evaluation":
            files[path] = b""
    return files


def _find_list_path(owner: Ref, new_paths: Mapping[Ref, str], base: Snapshot) -> str:
    """Return the path of a record's list of links.

    Raises UncommittedEditError if the record does not exist.
    """
    if owner.kind == "skill":
        return layout.links_path(layout.skill_path(owner.id))
    if path := new_paths.get(owner) or base.records.path_of(owner):
        return layout.links_path(path)
    if path := base.links.path_of_list(owner):
        return path
    raise UncommittedEditError(f"{owner}: removed by a commit meanwhile; run again")


def _find_changed_links(files: Mapping[str, bytes | None], base: Snapshot) -> Iterator[Link]:
    owners = {path: owner for path in files if (owner := layout.links_owner(path))}
    contents = base.files.read(owners)
    for path, owner in owners.items():
        yield from link_lists.diff_links(owner, contents.get(path, b""), files[path] or b"")


def _find_origins(change: Change, base: Snapshot) -> dict[str, str]:
    return {
        move.target + path.removeprefix(move.source): path
        for move in change.moves
        for path in base.files.below(move.source)
    }


def _read_replacements(change: Change, base: Snapshot) -> dict[str, bytes]:
    expected_blobs = [(adoption.path, adoption.blob) for adoption in change.adopts]
    expected_blobs += [(replacement.path, replacement.blob) for replacement in change.replaces]
    for path, blob in expected_blobs:
        if base.files.get(path) != blob:
            raise UncommittedEditError(f"{path}: changed by a commit meanwhile; run again")
    files = {a.path: _read_committed(base, a.path) + a.content for a in change.adopts}
    return files | {replacement.path: replacement.content for replacement in change.replaces}


def _read_committed(base: Snapshot, path: str) -> bytes:
    return base.files.read([path]).get(path, b"")


def _read_prefixes(change: Change, base: Snapshot) -> dict[str, AppendedPrefix]:
    """Return the prefix of each file that agents append to and the change replaces."""
    prefixes: dict[str, AppendedPrefix] = {}
    for adoption in change.adopts:
        start = _read_committed(base, adoption.path)
        prefixes[adoption.path] = file_changes.AppendedPrefix(
            start + adoption.appended, start + adoption.content, adoption.left
        )
    for replacement in change.replaces:
        if replacement.grows:
            start = _read_committed(base, replacement.path)
            prefix = file_changes.AppendedPrefix(start, start)
            prefixes.setdefault(replacement.path, prefix)
    return prefixes


def _list_vault_files(root: Path) -> Iterator[str]:
    yield from (name for name in (layout.VAULT_FILE, layout.LEARNINGS) if (root / name).is_file())
    for top in layout.FOLDERS:
        is_link = (root / top).is_symlink()  # it may lead out of the vault
        for folder, _, names in () if is_link else os.walk(root / top):
            for name in names:
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(root).as_posix()


def _index_commits(
    store: Store, commits: Sequence[tuple[str, Sequence[StagedChange]]], now: datetime
) -> None:
    """Add the commits of this process to the index, which has their files already."""
    date = utc(stamp(now))
    rows: list[IndexedCommit] = []
    for number, (sha, staged_changes) in enumerate(commits, store.index.depth + 1):
        changes = [change.change for change in staged_changes]
        subject = headline_of(changes)
        parts = [
            Commit(sha, part.step, subject, date, part.sources, part.targets)
            for part in parts_of(changes)
        ]
        refs = follow.refs_of(
            (path for change in staged_changes for path in change.files),
            (link for change in staged_changes for link in change.links),
        )
        rows += index_parts(parts, number, refs)
    store.index.add_commits(rows)
    if any(layout.VAULT_FILE in change.files for _, changes in commits for change in changes):
        follow.keep_policy(store.index, store.git)
    store.index.keep_commit(commits[-1][0])
    store.index.save()


def _check_unchanged(git: Git, paths: Iterable[str], base: str | None, tip: str | None) -> None:
    if base != tip and base is not None and tip is not None:
        changes = git.history.diff_trees(base, tip)
        if path := min(changes.keys() & set(paths), default=None):
            raise UncommittedEditError(f"{path}: changed by a commit meanwhile; run again")


def _check_index(store: Store, changes: Sequence[StagedChange], tip: str | None) -> None:
    """Raise UncommittedEditError if the index and the tip disagree about existing files."""
    objects = store.git.objects
    root = objects.root(tip) if tip else None
    paths = {path for change in changes for path in change.files}
    clashes, _ = objects.clashes(root, paths)  # `check_edits` reports these as local edits
    entries = objects.entries(root, sorted(paths - clashes.keys()))
    checked_paths = set(clashes)
    for change in changes:
        for path in sorted(change.files.keys() - checked_paths):
            if (path in change.created) == (path in entries):
                store.roll_back()
                store.index.verify()
                raise UncommittedEditError(f"{path}: changed in git meanwhile; run again")
        checked_paths |= change.files.keys()
