"""Store: read a vault, and the one function that turns Changes into commits.

`publish` makes them so that a person beside us loses nothing. What a kill left is mended here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from skillvault.model import codec, link_lists
from skillvault.model.change import LINK, Change, Edit, Rewrite, headline_of, parts_of
from skillvault.model.due import Agenda
from skillvault.model.errors import EditedError, OutrunError, PausedError, VaultBusyError
from skillvault.model.policy import Policy
from skillvault.model.records import Commit, Evaluation, Link, Record, Ref, Skill, ref_of, stamp
from skillvault.model.text import front_matter, hidden_characters
from skillvault.vault import spending
from skillvault.vault.commit import fence, growing, journal, locks, marks, publish
from skillvault.vault.commit import local_edits as edits
from skillvault.vault.commit.fence import index_lock, is_left_behind
from skillvault.vault.commit.journal import Journal
from skillvault.vault.disk import is_abandoned
from skillvault.vault.files import layout, redact
from skillvault.vault.files.inbox import TakenFiles
from skillvault.vault.files.work_tree import WorkTreeView, blob_id
from skillvault.vault.git.history import utc
from skillvault.vault.git.repository import Git
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.follow import (
    find_tip,
    first_contradiction,
    follow,
    keep_policy,
    refs_of,
)
from skillvault.vault.index.schema import index_parts
from skillvault.vault.index.snapshot import Snapshot, Staged, Topics

if TYPE_CHECKING:
    from skillvault.vault.commit.growing import Growth
    from skillvault.vault.commit.publish import StagedChange


def clear_up(root: Path, git: Git, branch: str) -> None:
    """Finish or undo half-made changes of killed writers; remove their drafts, pins and locks."""
    journal = Journal(root, git)
    own, common = git.dirs()
    for pattern in ("index-*", "lock-*", "drafts/*"):
        for path in (own / "skillvault").glob(pattern):
            if is_abandoned(path.name):
                path.unlink(missing_ok=True)
    growing.recover(root, own / "skillvault")
    if journal.has_abandoned() or is_left_behind(own):
        journal.unlock_killed()
        with index_lock(root, own, 0.0):
            journal.recover()
    git.unpin()
    if (own / "index.lock").exists() or (common / f"refs/heads/{branch}.lock").exists():
        journal.unlock()


def clear_taken(store: Store) -> None:
    """Let go of the inbox files whose commit is in the branch; the others return."""
    commits = store.taken.commits()
    if not commits or not os.access(store.git.dirs()[0], os.W_OK):
        return
    head = store.head()
    if store.git.pause_reason(head.policy.branch):
        return
    for commit in commits:
        if head.history.parts_of(commit):
            store.taken.forget(commit)
        else:
            store.taken.put_back(commit)


_TRIES = 5


class Store(threading.local):
    """A vault on disk: its root, its git, and the index of its branch.

    Each thread that uses one has its own connections, caches and staged changes, as if it were a
    process; what holds between processes holds between threads.

    `agenda` says what makes which step due. `apart`: what is staged is never seen by another
    process, and never published.
    """

    def __init__(
        self, root: Path, agenda: Agenda, index: str | None = None, *, apart: bool = False
    ) -> None:
        self.root = root
        self._agenda = agenda
        self.git = Git(root, index)
        self._apart = apart
        self._encoded: dict[int, tuple[Record, bytes]] = {}  # by identity, held while it counts

    @cached_property
    def taken(self) -> TakenFiles:
        """The inbox files of commits that are not seen in the branch yet."""
        return TakenFiles(self.root, self.git.dirs()[0] / "skillvault" / "taken")

    @cached_property
    def index(self) -> IndexDatabase:
        """What the files and the history of the branch say, in SQLite."""
        place = self.git.dirs()[0] / "skillvault" / "index.db"
        return IndexDatabase(
            place, self._rebuild, self._agenda, lambda pin: first_contradiction(pin, self.git)
        )

    @cached_property
    def ledger(self) -> spending.Ledger:
        """What a paid judge did and may still do; of all work trees together."""
        return spending.Ledger(self.git.dirs()[1] / "skillvault" / "judge.db")

    @cached_property
    def staged(self) -> Staged:
        """The vault with what is staged on it, as the index shows it now; see `follow`."""
        return Staged(self.index, self.git.blobs)

    def encoded(self, record: Record) -> bytes:
        """A new record's bytes; asked for more than once before they are committed."""
        known = self._encoded.get(id(record))
        if known is None:
            known = self._encoded[id(record)] = record, codec.encode(record)
        return known[1]

    def _rebuild(self) -> None:
        """Build the index anew, with what was staged on it."""
        files = self.staged.files_staged
        follow(self.index, self.git, self.tip)
        if files:
            self.index.begin()
            self.staged.stage(files)

    # ── reading ──────────────────────────────────────────────────────────────────────

    def head(self) -> Snapshot:
        """The committed vault as it is now; it stays so, whatever is committed later."""
        self.follow()
        return Snapshot(self.index.pin(), self.git.blobs)

    def follow(self) -> None:
        """Let the index show the branch's tip, unless something is staged on what it shows."""
        if not self.index.pending:
            follow(self.index, self.git, self.tip)
        if self._apart:
            self.index.detach()
            self._apart = False

    def tip(self) -> str | None:
        """The commit of the branch that learns, wherever HEAD stands; None without one."""
        return find_tip(self.index, self.git)

    def git_index(self) -> WorkTreeView:
        """What git's index holds, as the next commit would have it."""
        contents = {path: entry.id for path, entry in self.git.index_file.all_entries().items()}
        return WorkTreeView(contents, self.git.blobs, self.head().records.by_blob)

    def work_tree(self) -> WorkTreeView:
        """The files a person sees, committed or not."""
        data: dict[str, bytes] = {}
        contents: dict[str, str] = {}
        for path in _vault_files(self.root):
            try:
                content = (self.root / path).read_bytes()
            except FileNotFoundError:
                continue  # a writer's draft, gone since it was listed
            contents[path] = blob_id(content)
            data[contents[path]] = content
        for path, entry in self.git.index_file.entries(self.git.index_file.skipped()).items():
            contents.setdefault(path, entry.id)

        def read(keys: Iterable[str]) -> Mapping[str, bytes]:
            blobs = list(keys)
            return data | self.git.blobs(blob for blob in blobs if blob not in data)

        return WorkTreeView(contents, read, self.head().records.by_blob)

    # ── what a change does to files ──────────────────────────────────────────────────

    def files_of(self, change: Change, base: Topics) -> dict[str, bytes | None]:
        """path -> new bytes, or None for a file that goes away.

        EditedError where an edited file is gone or a moved one would replace another.
        """
        removes = (path for path in change.removes if not path.startswith(LINK))
        files: dict[str, bytes | None] = dict.fromkeys(removes) | dict(change.files)
        is_programs = change.step in self._agenda.steps
        records = [record for record in change.writes if not isinstance(record, Link)]
        for record in records:
            marked = is_programs and isinstance(record, Skill)
            encode = marks.encoded_with_marks if marked else self.encoded
            files[_place_of(record, change)] = encode(record)
        revisions: list[Edit | Rewrite] = [*change.edits, *change.rewrites]
        for edit in revisions:
            before = files.get(edit.path) or base.files.read([edit.path]).get(edit.path)
            if before is None:
                raise EditedError(f"{edit.path}: removed by a commit meanwhile; run again")
            files[edit.path] = _with_edit(before, edit)
        if is_programs and (texts := _rewritten_skills(change)):
            theirs = {rewrite.path: rewrite.theirs for rewrite in change.rewrites}
            before_it = base.files.read(texts) | dict(change.files)  # what is copied and rewritten
            files |= marks.remarked(files, before_it, texts, theirs)
        files |= _whole_files(change, base)
        origins = _origins(change, base)
        moved = base.files.read(origins.values())
        for target, path in origins.items():
            if target in base.files and target not in change.removes:
                raise EditedError(f"{target}: exists already; rename one of the two")
            if files.get(target) is None:  # what the change itself places there stands
                files[target] = files.get(path) or moved[path]
            files[path] = None
        files |= link_files(change, base)
        return marks.marked(files, origins, base.history, self.git)

    def stage(self, change: Change) -> StagedChange:
        """Lay a change, without secrets, on the vault; `staged` shows its files from now on."""
        change = _without_secrets(change, self._agenda)
        self.index.begin()
        origins, growths = _origins(change, self.staged), _growths(change, self.staged)
        files = self.files_of(change, self.staged)
        created = files.keys() - self.staged.files.existing(files)
        links = tuple(_links_changed(files, self.staged))
        self.staged.stage(files)
        return publish.StagedChange(change, files, origins, frozenset(created), growths, links)

    def roll_back(self) -> None:
        """Show the vault without what was staged and is not committed."""
        self.index.rollback()
        self.staged.forget()
        self._encoded = {}

    def save_index(self) -> None:
        """Keep what was derived of records; what is staged is kept by its commit."""
        self.index.save()

    def local_edits(self, files: Mapping[str, bytes | None]) -> dict[str, str]:
        """path -> why it is a person's now; empty when every path is ours to write."""
        return self._edits(files, {}, {}) if files else {}

    def check_free(self, staged: StagedChange) -> None:
        """EditedError if a path that a change touches is edited locally."""
        if edited := self._edits(staged.files, staged.origins, staged.growths):
            path, why = min(edited.items())
            raise EditedError(f"{path}: {why}; commit or undo it, and run again")

    def _edits(
        self,
        files: Mapping[str, bytes | None],
        origins: Mapping[str, str],
        growths: Mapping[str, Growth],
    ) -> dict[str, str]:
        modes = self.git.settings().modes
        commit = self.staged.commit
        ground = edits.ground_of(self.git, commit, files, origins, modes=modes)
        return edits.local_edits(self.root, ground, files, origins, growths=growths)

    # ── committing ───────────────────────────────────────────────────────────────────

    def paused(self, policy: Policy) -> str | None:
        """Why nothing may be committed now; None when all is normal."""
        reason = self.git.pause_reason(policy.branch)
        reason = reason or self.git.committer.nameless(self.git.settings())
        return reason or journal.Journal(self.root, self.git).unreadable()

    def apply(
        self,
        changes: Sequence[StagedChange],
        base: str | None,
        *,
        now: datetime,
        policy: Policy,
        first: bool = False,
    ) -> list[str]:
        """Commit what was staged, all at once; nothing else may be staged. The commit of each.

        `base` is the commit that the changes were thought of on; where the branch has moved
        since, they are staged on the new tip if none of their paths changed. Raises EditedError
        where a path is in a person's hand, PausedError in a repository in the middle of
        something, VaultBusyError where another writer holds it; then nothing is staged any more.
        """
        try:
            with self._writing():
                return self._applied(changes, base, now=now, policy=policy, first=first)
        finally:
            self.roll_back()

    def _applied(
        self,
        changes: Sequence[StagedChange],
        base: str | None,
        *,
        now: datetime,
        policy: Policy,
        first: bool,
    ) -> list[str]:
        def check_normal() -> None:
            if reason := self.git.pause_reason(policy.branch, founding=first):
                raise PausedError(f"paused: {reason}")

        check_normal()
        clear_up(self.root, self.git, policy.branch)
        durable = policy.durability == "full"
        by_program = policy.commit.author == "program"
        writer = publish.Writer(
            self.root,
            self.git,
            branch=policy.branch,
            durable=durable,
            check_normal=check_normal,
            steps=frozenset(self._agenda.steps if by_program else ()),
        )
        with fence.gc_lock(self.git.dirs()[1]):
            for _ in range(_TRIES):
                parent = self.git.tip(policy.branch)
                if parent is None and not first:
                    check_normal()
                    raise PausedError("paused: the branch moved away meanwhile; run again")
                if parent != self.staged.commit:
                    self.roll_back()
                    with self.index.without_waiting():
                        self.follow()
                        changes = [self.stage(staged.change) for staged in changes]
                if base != parent and any(staged.change.joins for staged in changes):
                    raise OutrunError("the branch moved while a merge was computed; run again")
                _refuse_stale(self.git, {p for one in changes for p in one.files}, base, parent)
                _refuse_misjudged(self, changes, parent)
                commits = writer.publish(changes, parent, now)
                if commits is None:
                    continue
                if changes[-1].change.joins:
                    self.roll_back()
                    self.follow()  # there is a history to be entered, not only our commit
                else:
                    _enter(self, commits, now)
                return [sha for sha, group in commits for _ in group]
        raise VaultBusyError("the branch moved during every attempt to commit; try again later")

    def recover(self, *, wait: bool = True) -> bool:
        """Undo or finish what a killed writer left half-made; False if there is nothing.

        What was taken from the inbox goes once its commit is seen, or returns. If paused without
        its lock, later. Without `wait` a living writer leaves it as it is.
        """
        own, common = self.git.dirs()
        if not os.access(own, os.W_OK):
            return False
        cleared = fence.clear_gc(common)
        locked = fence.is_left_behind(own)
        abandoned = journal.Journal(self.root, self.git).has_abandoned()
        left = locked or abandoned or growing.has_abandoned(own / "skillvault")
        if left:
            name = self.head().policy.branch
            with self._writing(wait=wait):
                # While its lock stands no git came after it: the state is what it left.
                if locked or self.git.pause_reason(name, founding=True) is None:
                    clear_up(self.root, self.git, name)
        clear_taken(self)
        return left or cleared

    def watched(self) -> AbstractContextManager[None]:
        """Be the one daemon of this vault; VaultBusyError where there is one."""
        return locks.daemon_lock(self.git.dirs()[1] / "skillvault")

    @contextmanager
    def _writing(self, *, wait: bool = True) -> Iterator[None]:
        """Hold the writer's lock; VaultBusyError if another one does."""
        folder, seconds = self.git.dirs()[1] / "skillvault", locks.WAIT_SECONDS if wait else 0.0
        with locks.writer_lock(folder, seconds) as lock, self.git.fenced(lock):
            yield


def _without_secrets(change: Change, agenda: Agenda) -> Change:
    """Return a change whose words, and what a person writes with it, hold no secret.

    What the steps write is made of records that came in without secrets.
    """
    writes = change.writes
    if change.step not in agenda.steps:
        writes = tuple(map(_redacted_record, writes))
    subject, reason, why = map(_redacted_words, (change.subject, change.reason, change.why))
    return replace(change, subject=subject, reason=reason, why=why, writes=writes)


def _redacted_record(record: Record) -> Record:
    values = msgspec.to_builtins(record)
    clean = redact.redact_value(values)
    return record if clean == values else msgspec.convert(clean, type(record))


def _redacted_words(text: str) -> str:
    """Return words without secrets; what hides in them stays, as `message_of` shows it."""
    visible = hidden_characters.cleaned(text)
    redacted = redact.redact_text(visible)
    return text if redacted == visible else redacted


def _with_edit(before: bytes, edit: Edit | Rewrite) -> bytes:
    if isinstance(edit, Rewrite):
        return front_matter.with_body(before, edit.body)
    if edit.value is None:
        return front_matter.without_key(before, edit.key)
    return front_matter.with_key(before, edit.key, edit.value, bare=edit.path == layout.MARK)


def _place_of(record: Record, change: Change) -> str:
    """Where a new record goes; EditedError if it can go nowhere."""
    try:
        return layout.path_of(record)
    except ValueError as error:  # a person gave a folder a name that none can refer to
        raise EditedError(f"{change.subject}: {error}; rename its folder") from None


def link_files(change: Change, base: Topics) -> dict[str, bytes | None]:
    """path -> bytes of the lists of links that a change alters; every other line of them stays.

    An evaluation has an empty list from the start: git cannot revert the commit that makes a file
    once another one has changed it.
    """
    writes = [record for record in change.writes if not isinstance(record, Link)]
    own = {ref_of(record): _place_of(record, change) for record in writes}
    added: dict[str, list[Link]] = {}
    places: dict[Ref, str] = {}
    for link in change.writes:
        if isinstance(link, Evaluation):
            added.setdefault(layout.links_path(own[ref_of(link)]), [])
        if isinstance(link, Link):
            owner = link_lists.owner_of(link)
            place = places.get(owner) or _list_place(owner, own, base)
            places[owner] = place
            added.setdefault(place, []).append(link)
    gone = (name.removeprefix(LINK) for name in change.removes if name.startswith(LINK))
    removed = base.links.lists_of(gone)
    paths = list(dict.fromkeys([*added, *removed]))
    before = (base.files.read(paths) | dict(change.files)) if paths else {}
    files: dict[str, bytes | None] = {}
    for path in paths:
        owner = layout.links_owner(path) or Ref("skill", "")
        new, old = added.get(path, ()), removed.get(path, ())
        files[path] = link_lists.edited_links(before.get(path, b""), owner, new, old)
        if files[path] is None and owner.kind == "evaluation":
            files[path] = b""
    return files


def _list_place(owner: Ref, own: Mapping[Ref, str], base: Topics) -> str:
    """Where the list of a record's links stands; EditedError if the record is nowhere."""
    if owner.kind == "skill":
        return layout.links_path(layout.skill_path(owner.id))
    if path := own.get(owner) or base.records.path_of(owner):
        return layout.links_path(path)
    if path := base.links.path_of_list(owner):
        return path
    raise EditedError(f"{owner}: removed by a commit meanwhile; run again")


def _links_changed(files: Mapping[str, bytes | None], base: Topics) -> Iterator[Link]:
    """The links that files change in the lists that stand there."""
    owners = {path: owner for path in files if (owner := layout.links_owner(path))}
    before = base.files.read(owners)
    for path, owner in owners.items():
        yield from link_lists.changed_links(owner, before.get(path, b""), files[path] or b"")


def _rewritten_skills(change: Change) -> list[str]:
    """The skills of which a change alters what they say."""
    texts = [rewrite.path for rewrite in change.rewrites]
    texts += [edit.path for edit in change.edits if edit.key == ("description",)]
    return [path for path in dict.fromkeys(texts) if layout.is_skill(path)]


def _origins(change: Change, base: Topics) -> dict[str, str]:
    """Where each file that a change moves stood before."""
    return {
        move.target + path.removeprefix(move.source): path
        for move in change.moves
        for path in base.files.below(move.source)
    }


def _whole_files(change: Change, base: Topics) -> dict[str, bytes]:
    """path -> bytes of the files that a change adopts and replaces as a whole."""
    versions = [(one.path, one.blob) for one in change.adopts]
    versions += [(one.path, one.blob) for one in change.replaces]
    for path, blob in versions:
        if base.files.get(path) != blob:
            raise EditedError(f"{path}: changed by a commit meanwhile; run again")
    adopted = {one.path: _committed(base, one.path) + one.content for one in change.adopts}
    return adopted | {one.path: one.content for one in change.replaces}


def _committed(base: Topics, path: str) -> bytes:
    return base.files.read([path]).get(path, b"")


def _growths(change: Change, base: Topics) -> dict[str, Growth]:
    """What of each file in the work tree that agents append to a change stands for."""
    growths: dict[str, Growth] = {}
    for adoption in change.adopts:
        start = _committed(base, adoption.path)
        growths[adoption.path] = growing.Growth(
            start + adoption.appended, start + adoption.content, adoption.left
        )
    for replacement in change.replaces:
        if replacement.grows:
            start = _committed(base, replacement.path)
            growths.setdefault(replacement.path, growing.Growth(start, start))
    return growths


def _vault_files(root: Path) -> Iterator[str]:
    """The paths of the vault's files in the work tree."""
    yield from (name for name in (layout.MARK, layout.LEARNINGS) if (root / name).is_file())
    for top in layout.FOLDERS:
        for folder, _, names in os.walk(root / top):
            for name in names:
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(root).as_posix()


def _enter(
    store: Store, commits: Sequence[tuple[str, Sequence[StagedChange]]], now: datetime
) -> None:
    """Let the index show our own commits, whose files it shows already."""
    store.index.add_commits(
        part
        for number, (sha, changes) in enumerate(commits, store.index.depth + 1)
        for part in index_parts(
            _parts(sha, [staged.change for staged in changes], utc(stamp(now))),
            number,
            refs_of(
                (path for staged in changes for path in staged.files),
                (link for staged in changes for link in staged.links),
            ),
        )
    )
    if any(layout.MARK in staged.files for _, changes in commits for staged in changes):
        keep_policy(store.index, store.git)
    store.index.show(commits[-1][0])
    store.index.save()


def _parts(sha: str, changes: Sequence[Change], date: str) -> list[Commit]:
    """What each step did in a commit of ours."""
    subject, parts = headline_of(changes), parts_of(changes)
    return [Commit(sha, part.step, subject, date, part.sources, part.targets) for part in parts]


def _refuse_stale(git: Git, files: Iterable[str], base: str | None, tip: str | None) -> None:
    """A change thought of on an older tip may not undo what a newer commit did to its paths."""
    if base == tip or base is None or tip is None:
        return
    changed = git.history.changed(base, tip)
    for path in sorted(files):
        if path in changed:
            raise EditedError(f"{path}: changed by a commit meanwhile; run again")


def _refuse_misjudged(store: Store, changes: Sequence[StagedChange], tip: str | None) -> None:
    """A change thought of by an index that does not know what stands in git may not be made."""
    objects = store.git.objects
    root, paths = objects.root(tip) if tip else None, {p for one in changes for p in one.files}
    clashes, _ = objects.clashes(root, paths)  # which a local edit is: it waits, and says so
    standing = objects.entries(root, sorted(paths - clashes.keys()))
    seen = set(clashes)
    for staged in changes:
        for path in sorted(staged.files.keys() - seen):
            if (path in staged.created) == (path in standing):
                store.roll_back()
                store.index.verify()
                raise EditedError(f"{path}: stands otherwise in git than was known; run again")
        seen |= staged.files.keys()
