"""One pass over the steps: the vault as it stands, and what happened so far.

Floor 3, beside `steps`, which say what is due; here it is committed, laid or left waiting.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, get_args

from msgspec import Struct, field

from skillvault.change import Change
from skillvault.errors import BadInputError, EditedError
from skillvault.judge import Judge
from skillvault.learning import record
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.sections import Version
from skillvault.policy import Policy
from skillvault.records import Commit, Evaluation, Outcome, Ref, Skill, Trust
from skillvault.vault import codec, layout
from skillvault.vault.inbox import Inbox, Received, Refused
from skillvault.vault.snapshot import Snapshot
from skillvault.vault.store import Store

# The steps that write the text of skills.
WRITERS = frozenset({"promote", "generate", "merge"})

_GROUP = 100  # so many changes are published at once at most
_SECONDS = 0.2  # a change waits so long for others, while its step goes on

Tracker = Callable[[Sequence[Any], str], Iterable[Any]]


class Waiting(Struct, frozen=True):
    """Something that could not be done now, and why."""

    path: str
    reason: str


class Done(Struct, frozen=True):
    """A change and the commit it became; None in a dry run."""

    change: Change
    commit: str | None


class Report(Struct):
    """What a run did; `reasons()` says for `skill` and `fact` why it made none."""

    done: list[Done] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    quarantined: list[Refused] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    reasons: Callable[[], Mapping[str, Sequence[str]]] = dict


class Run:
    """One pass over the steps: the vault as it stands, and what happened so far."""

    def __init__(
        self,
        store: Store,
        *,
        judge: Judge,
        now: datetime,
        dry: bool = False,
        names: Sequence[str] = (),
        arrived: Sequence[Received] = (),
        on_done: Callable[[Done], None] | None = None,
        track: Tracker | None = None,
    ) -> None:
        self.store = store
        self.judge = judge
        self.now = now
        self.dry = dry
        self.names = names
        self.arrived = arrived
        self.consolidates = True  # whether facts may become skills in this run
        self.inbox = Inbox(store.root)
        # The vault as it is committed, and as the changes leave it that are not yet.
        self._head = self._view = store.head()
        self._pending: list[tuple[Change, Snapshot]] = []
        self._since = 0.0
        self.policy: Policy = self._head.policy
        self.report = Report()
        self.track: Tracker = track or (lambda items, _what: items)
        self._on_done = on_done
        self.between: Callable[[], None] | None = None  # called where nothing is half done
        self._history = store.history(self._head.commit)
        self._written: dict[str, list[tuple[Skill | None, Skill]]] = {}

    @cached_property
    def rejections(self) -> Rejections:
        """What a person took away before this run."""
        return Rejections(self._history, self._head.paths)

    def names_taken(self) -> set[str]:
        """The names that no new skill may have.

        One that was ever used would inherit another skill's links and rejections.
        """
        past = (ref.partition(":") for ref in self.rejections.past)
        linked = {link.target.id for link in self.snapshot.links.values()}
        return {*self.snapshot.names, *linked, *(name for kind, _, name in past if kind == "skill")}

    def commits_on(self, ref: Ref, steps: Collection[str]) -> list[Commit]:
        """The commits before this run by which these steps made or changed a record.

        Oldest first.
        """
        found = self._targeted.get(str(ref), ())
        return [commit for commit in found if commit.step in steps]

    @cached_property
    def _targeted(self) -> dict[str, list[Commit]]:
        found: dict[str, list[Commit]] = {}
        for commit in reversed(self._history):
            for target in commit.targets:
                if target.startswith(("skill:", "fact:")):
                    found.setdefault(target, []).append(commit)
        return found

    def versions(self, name: str) -> tuple[list[Version], list[Version]]:
        """(the descriptions, the bodies) that the program itself wrote of a skill, oldest first."""
        shas = [commit.sha for commit in self.commits_on(Ref("skill", name), WRITERS)]
        found = self.store.skill_texts(name, [*(f"{sha}^" for sha in shas), *shas])
        texts = [(found.get(f"{sha}^"), found[sha]) for sha in shas if sha in found]
        for old, new in self._written.get(name, []):
            before = (old.description, old.body) if old else None
            texts.append((before, (new.description, new.body)))
        descriptions, bodies = (
            [Version(old[part] if old else None, new[part]) for old, new in texts]
            for part in (0, 1)
        )
        return descriptions, bodies

    @cached_property
    def domains_seen(self) -> dict[Trust, frozenset[str]]:
        """Per trust, the domains that there were when the run began."""
        outcomes = self.snapshot.outcomes.values()
        return {trust: record.domains_of(outcomes, trust) for trust in get_args(Trust)}

    def leave(self, names: Iterable[str], reason: str) -> None:
        """Say why inbox entries are not taken in this run."""
        self.report.waiting += [Waiting(f"inbox/{name}", reason) for name in sorted(names)]

    def refuse(self, name: str, error: BadInputError) -> None:
        """Quarantine a file that cannot be taken; only say so where nothing may change."""
        if self.dry:
            refused = Refused(name, error.code, error.message, error.line)
        else:
            refused = self.inbox.refuse(name, error, self.now)
        self.report.quarantined.append(refused)

    def forget(self, name: str) -> None:
        """Drop an inbox file that has nothing new."""
        if not self.dry:
            self.inbox.done([name])

    @property
    def snapshot(self) -> Snapshot:
        """The vault as it stands now, every change so far committed."""
        self.flush()
        return self._view

    def renew(self) -> None:
        """Look at the vault again: another run may have met it."""
        self._head = self._view = self.store.head()

    def perform(self, change: Change) -> None:
        """Commit one change, with others if they come quickly; lay it in a dry run.

        One that is held by a person waits.
        """
        before = self._view
        try:
            laid, after = self.store.lay(change, before)
            if self.dry:
                self.store.check_free(laid, before)
        except EditedError as error:
            self._held(error)
            return
        self._view = after
        if self.dry:
            self._finish(change, before, after, None)
            return
        self._since = self._since if self._pending else time.monotonic()
        self._pending.append((change, before))
        if len(self._pending) >= _GROUP or time.monotonic() - self._since >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Publish what is pending: all at once, or where a person holds a path one by one."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        last, self._view = self._view, self._head
        try:
            self._publish(pending, last)
        except EditedError as error:
            if len(pending) == 1:
                self._held(error)
            else:
                self._singly([change for change, _ in pending])
        self._view = self._head
        if self.between:
            self.between()

    def _singly(self, changes: Iterable[Change]) -> None:
        for change in changes:
            try:
                _, after = self.store.lay(change, self._head)
                self._publish([(change, self._head)], after)
            except EditedError as error:
                self._held(error)

    def _publish(self, pending: Sequence[tuple[Change, Snapshot]], last: Snapshot) -> None:
        """Commit changes that were laid on the head, `last` being the vault after them."""
        changes = [change for change, _ in pending]
        commits, head = self.store.apply(changes, self._head, now=self.now, policy=self.policy)
        self._head = head
        self.inbox.done(name for change in changes for name in change.takes)
        views = [*(before for _, before in pending[1:]), last]
        for (change, before), after, commit in zip(pending, views, commits, strict=True):
            self._finish(change, before, after, commit)

    def _held(self, error: EditedError) -> None:
        path, _, reason = str(error).partition(": ")
        self.report.waiting.append(Waiting(path, reason))

    def _finish(
        self, change: Change, before: Snapshot, after: Snapshot, commit: str | None
    ) -> None:
        """Report a change that is made, and keep the bodies that it wrote: a dry run has no git."""
        for ref in change.targets if change.step in WRITERS else ():
            if ref.kind == "skill" and (skill := after.any_skill(ref.id)):
                self._written.setdefault(ref.id, []).append((before.any_skill(ref.id), skill))
        done = Done(change, commit)
        self.report.done.append(done)
        if self._on_done:
            self._on_done(done)

    def free(self, records: Iterable[Outcome | Evaluation]) -> dict[str, bool]:
        """Record id -> whether its path is ours to write; the others are reported waiting."""
        files: dict[str, bytes | None] = {layout.path_of(r): codec.encode(r) for r in records}
        held = self.store.in_hand(files, self.snapshot)
        self.report.waiting += [Waiting(path, reason) for path, reason in sorted(held.items())]
        return {path: path not in held for path in files}
