"""One pass over the steps: the vault as it stands, and what happened so far.

The steps say what is due; here it is committed, staged or left waiting.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.judge import Judge
from skillvault.learning.answer import STEP as ANSWER
from skillvault.learning.gate import apply_gate
from skillvault.learning.naming import is_general, is_strategy
from skillvault.learning.next_version import APPROVE
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.sections import (
    Version,
    WrittenTexts,
    is_former_text,
    labels_of,
    parse_written,
)
from skillvault.loop import accounts
from skillvault.loop.learner import ALL
from skillvault.loop.next_versions import (
    GateMaterial,
    VersionGate,
    names_of_versions,
    programs_words,
    with_versions_removed,
)
from skillvault.loop.profiles import rules_of
from skillvault.loop.refusals import refusals, refused
from skillvault.loop.registry import RECOMPUTING, WRITERS
from skillvault.model.change import Change, group_neighbours, headline_of
from skillvault.model.errors import BadInputError, UnavailableError, UncommittedEditError
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Answer,
    Commit,
    Evaluation,
    Outcome,
    Problem,
    Recommendation,
    RecordKind,
    Ref,
    Session,
    Skill,
    Trust,
)
from skillvault.serving import shelf as shelves
from skillvault.vault.commit.skill_versions import skill_texts
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import ReceivedFile
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.quarantine import RefusedFile
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.loop.accounts import Accounts
    from skillvault.serving.shelf import Shelf
    from skillvault.vault.commit.publish import StagedChange
    from skillvault.vault.index.uses import SkillUse


_GROUP = 100  # so many changes are published at once at most
# A change waits so long for others, while its step goes on: some seconds, and where publishing
# takes long (it reads and writes the whole index), a multiple of what it took the last time.
_SECONDS, _TIMES, _LONGEST = 0.2, 5, 2.0

Tracker = Callable[[Sequence[Any], str], Iterable[Any]]


class Waiting(Struct, frozen=True, omit_defaults=True):
    """Something that could not be done now, and why; `tomorrow`: it need not be tried before."""

    path: str
    reason: str
    tomorrow: bool = False


class Broken(Struct, frozen=True):
    """A rule that forbids something, and the `file:line` at which code does it."""

    rule: str
    places: tuple[str, ...]


class Done(Struct, frozen=True):
    """A change and the commit it became, None in a dry run; with whom it shares that if it does."""

    change: Change
    commit: str | None
    sharing: Sequence[Change] = ()

    @property
    def subject(self) -> str | None:
        """The subject of the commit; None if it was said at an earlier change of it."""
        first = not self.sharing or self.sharing[0] is self.change
        return headline_of(self.sharing or [self.change]) if first else None


class Report(Struct):
    """What a run did; `reasons()` works out for `skill` and `fact` why it made none.

    `uses()` are those of skills by the decisions whose ends, or receipts, it recorded. `problems`
    are mistakes that nothing waits for; `broken` the rules that code breaks, and where; `learner`
    the clone that learns, if it is another one.
    """

    done: list[Done] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    quarantined: list[RefusedFile] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    unavailable: str | None = None  # why the judge could not be asked
    learner: str | None = None
    reasons: Callable[[], Mapping[str, Sequence[str]]] = dict
    uses: Callable[[], Sequence["SkillUse"]] = tuple

    @property
    def is_fruitless(self) -> bool:
        """Whether the clone that learns made no skill and no fact."""
        kinds = {ref.kind for done in self.done for ref in done.change.targets}
        return not (self.learner or kinds & {"skill", "fact"})

    def include(self, part: "Report") -> None:
        """Hold what another report says, too, without what was written: that is in the vault."""
        self.done += [Done(replace(done.change, writes=()), done.commit) for done in part.done]
        for key in ("waiting", "rejected", "quarantined", "known"):
            getattr(self, key).extend(getattr(part, key))


class RunOptions(Struct, frozen=True, kw_only=True):
    """How a run goes, and what it takes in.

    `dry`: nothing is published. `asks`: it is a question: nothing is noted, and all is counted.
    `names` are the files of the inbox that it takes, `arrived` others that are handed over,
    `answers` what an agent answered just now.
    `steps` are those that were asked for by name, `code` the code bases in place of the policy's.
    `withdrawn` are the `<kind>:<id>` of what goes by a decision and is no rejection, `recounts` the
    strategies that are written anew whether they are due or not.
    `consolidates`: facts may become skills. `on_done` is called with each change that is made,
    `between` where nothing is half done; it may raise. `track` shows how far a list of items is.
    """

    dry: bool = False
    asks: bool = False
    names: Sequence[str] = ()
    arrived: Sequence[ReceivedFile] = ()
    answers: Sequence[Answer] = ()
    steps: Collection[str] = ()
    code: Sequence[Path] = ()
    withdrawn: frozenset[str] = frozenset()
    recounts: frozenset[str] = frozenset()
    consolidates: bool = True
    on_done: Callable[[Done], None] | None = None
    between: Callable[[], None] | None = None
    track: Tracker | None = None


def _locally_edited(error: UncommittedEditError) -> Waiting:
    """What waits because a person edits it locally."""
    path, _, reason = str(error).partition(": ")
    return Waiting(path, reason)


def _personal_parts(skill: Skill) -> tuple[str, str, str, str]:
    """What of a skill a person may have changed since the program wrote it."""
    return skill.description, skill.body, skill.expires or "", labels_of(skill)


def _is_closed(pending: Sequence[Change], following: Change) -> bool:
    """Whether pending changes share a commit, in which the following one has no part.

    What shares a commit is published together: it may not depend on the time.
    """
    if not pending or not pending[-1].commit_with:
        return False
    return len(list(group_neighbours([*pending, following]))) > len(list(group_neighbours(pending)))


def _is_late(count: int, since: float, took: float) -> bool:
    """Whether so many pending changes have gathered long enough; `took`: to publish the last."""
    patience = min(max(_SECONDS, _TIMES * took), _LONGEST)
    return time.monotonic() - since >= patience or count >= _GROUP


class Run:
    """One pass over the steps: the vault as it stands, and what happened so far.

    `shelf` serves more than one run; a run without it makes its own when a step asks for it.
    """

    def __init__(
        self,
        store: Store,
        *,
        judge: Judge,
        now: datetime,
        options: RunOptions | None = None,
        shelf: "Callable[[], Shelf] | None" = None,
    ) -> None:
        self.store = store
        self.judge = judge
        self.now = now
        self.options = options or RunOptions()
        self.inbox = Inbox(store.root)
        store.follow()
        # The vault with all that was done so far; a question sees what is committed.
        self.view: Topics = store.head() if self.options.asks else store.staging
        self.track: Tracker = self.options.track or (lambda items, _what: items)
        self._shelf = shelf
        self._base = store.staging.commit
        self._pending: list[StagedChange] = []
        self._since = 0.0
        self._took = 0.0  # seconds, to publish the last group
        self.policy: Policy = self.view.policy
        self.rules = rules_of(self.policy)
        self.report = Report()
        self.gate = VersionGate(
            GateMaterial(
                view=self.view,
                git=store.git,
                policy=self.policy,
                written=self.versions,
                commits=self.commits_on,
                rejections=lambda: self.rejections,
                rejected=self.report.rejected,
            )
        )
        self._own: set[str] = set()  # the commits of this run
        # What this run wrote of each skill, which git need not have yet.
        self._written: dict[str, list[tuple[Skill | None, Skill]]] = {}

    @cached_property
    def shelf(self) -> "Shelf":
        """The skills with all their layers, and what is known of their use."""
        return self._shelf() if self._shelf else shelves.Shelf(self.store)

    @cached_property
    def accounts(self) -> "Accounts":
        """What the subjects' outcomes say, read once for all steps."""
        return accounts.Accounts(
            accounts.Surroundings(
                view=self.view,
                policy=self.policy,
                rules=self.rules,
                now=self.now,
                writes=None if self.options.asks else self.store.staging.subjects,
                rejections=lambda: self.rejections,
                rejected=self.report.rejected,
            )
        )

    @cached_property
    def rejections(self) -> Rejections:
        """What a person took away before this run."""
        history = self.view.history
        steps = (ANSWER, *RECOMPUTING)
        withdrawn = {str(ref) for step in steps for ref in history.withdrawals(step)}
        withdrawn |= self.options.withdrawn
        changes = [done.change for done in self.report.done]
        changes += [staged.change for staged in self._pending]
        taking = (change for change in changes if change.step in steps)
        withdrawn |= {str(ref) for change in taking for ref in change.sources}
        said = refusals(self.store.git, self.view)
        versions = partial(names_of_versions, self.view)
        return Rejections(
            history.commits_of_removed(), self.view.records, withdrawn, said, versions=versions
        )

    def made(self, step: str, kind: RecordKind, sources: Iterable[Ref]) -> dict[str, str]:
        """Source id -> id of what a step made of it and that is there still.

        As its commits say, so that a link removed by hand does not make it again.
        """
        found: dict[str, str] = {}
        for source, target in self.view.history.targets_of(step, kind, sources):
            if not (is_strategy(target) or is_general(target)):
                found.setdefault(source, target)
        return found

    def commits_on(self, ref: Ref, steps: Collection[str]) -> list[Commit]:
        """The commits before this run by which these steps made or changed a record.

        Oldest first.
        """
        found = reversed(self.view.history.commits_changing(ref))
        return [c for c in found if c.step in steps and c.sha not in self._own]

    def versions(self, name: str) -> WrittenTexts:
        """What the program itself wrote of a skill."""
        commits = self.commits_on(Ref("skill", name), {*WRITERS, APPROVE})
        words = programs_words(self.store.git, self.view, name, commits)
        shas = [commit.sha for commit in words]
        places = [(commit, name) for sha in shas for commit in (f"{sha}^", sha)]
        found = skill_texts(self.store.git, places)
        both = [(found.get((f"{sha}^", name)), found.get((sha, name))) for sha in shas]
        texts = [(old[1:] if old else None, new[1:]) for old, new in both if new]
        for old, new in self._written.get(name, []):
            texts.append((_personal_parts(old) if old else None, _personal_parts(new)))
        descriptions, bodies, ends, labels = (
            [Version(old[part] if old else None, new[part]) for old, new in texts]
            for part in range(4)
        )
        skill = self.view.skills.find(name)
        # Where several clones write, the latest commit need not be the one that was kept.
        is_back = self.policy.learner != ALL and is_former_text(bodies, skill.body if skill else "")
        if skill and skill.written and not is_back:
            return parse_written(skill, skill.written, ends, labels)
        return WrittenTexts(bodies=bodies, descriptions=descriptions, ends=ends, labels=labels)

    @cached_property
    def domains_seen(self) -> dict[Trust, frozenset[str]]:
        """Per trust, the domains that there were when the run began."""
        view = self.view
        return {
            trust: view.outcomes.domains(trust) | view.sessions.domains_of(trust)
            for trust in get_args(Trust)
        }

    def leave(self, names: Iterable[str], reason: str) -> None:
        """Say why inbox entries are not taken in this run."""
        self.report.waiting += [Waiting(f"inbox/{name}", reason) for name in sorted(names)]

    def refuse(self, name: str, error: BadInputError) -> None:
        """Quarantine a file that cannot be taken; only say so where nothing may change."""
        if self.options.dry:
            refused = RefusedFile(name, error.code, error.message, error.line)
        else:
            refused = self.inbox.refuse(name, error, self.now)
        self.report.quarantined.append(refused)

    def forget(self, name: str) -> None:
        """Drop an inbox file that has nothing new."""
        if not self.options.dry and self.view.commit:
            self.inbox.mark_done([name], self.store.taken, self.view.commit)

    def renew(self) -> None:
        """Look at the vault again: another run may have met it."""
        self.flush()
        self.store.follow()
        self._base = self.store.staging.commit

    def settle(self, step: str, keys: Iterable[str]) -> None:
        """Let a step look at these no more until something of theirs changes."""
        if not self.options.asks:
            self.store.staging.due.mark_done(step, keys)

    def perform(self, change: Change) -> None:
        """Commit one change, with others if they come quickly; lay it in a dry run.

        One that is held by a person waits; one whose ends had to wait is due in the next run.
        """
        changes = [staged.change for staged in self._pending]
        if _is_closed(changes, change) and _is_late(len(changes), self._since, self._took):
            self.flush()
        if not self._rests(change):
            return
        change = apply_gate(change, self.policy) if change.step in WRITERS else change
        if change.moves or change.step in WRITERS:
            change = with_versions_removed(self.view, change)
        before = self._texts(change)
        try:
            laid = self.store.stage(change)
            if self.options.dry:
                self.store.check_free(laid)
        except UncommittedEditError as error:
            self.report.waiting.append(_locally_edited(error))
            return
        for name, old in before.items():
            if new := self.view.skills.find(name):
                self._written.setdefault(name, []).append((old, new))
        self._since = self._since if self._pending else time.monotonic()
        self._pending.append(laid)
        late = _is_late(len(self._pending), self._since, self._took)
        if self.options.dry or (late and not change.commit_with):
            self.flush()

    def wait(self, path: str, reason: str, *, tomorrow: bool = False) -> None:
        """Say that something could not be done now."""
        self.report.waiting.append(Waiting(path, reason, tomorrow))

    def unavailable(self, path: str, reason: str) -> None:
        """Say that something waits for the judge."""
        self.report.unavailable = reason
        self.wait(path, reason)

    def written(self, make: Callable[[], Change | None], name: str) -> Iterator[Change]:
        """The change that needs a text of the judge's; it waits where nobody can be asked.

        None for what says the same as something that a person rejected.
        """
        flush_for_judge(self)
        try:
            change = make()
        except UnavailableError as error:
            self.unavailable(f"skills/{name}", f"not written: {error}")
            return
        change = self.gate.passed(change) if change is not None else None
        if change is not None and not refused(change, self.rejections, self.report.rejected):
            yield change

    def flush(self) -> None:
        """Publish what is pending: all at once, or where a person holds a path one by one."""
        pending, self._pending = self._pending, []
        if self.options.dry:
            for laid in pending:
                self._finish(Done(laid.change, None))
        elif pending:
            began = time.monotonic()
            self._publish(pending)
            self._took = time.monotonic() - began
            if self.options.between:
                self.options.between()
        else:
            self.store.save_index()

    def _publish(self, pending: Sequence["StagedChange"]) -> None:
        try:
            self._commit(pending)
        except UncommittedEditError as error:
            if len(pending) == 1:
                self.report.waiting.append(_locally_edited(error))
                return
            for laid in pending:
                self._singly(laid.change)

    def _singly(self, change: Change) -> None:
        """Commit one change alone, unless what it is made of had to wait."""
        self.store.follow()
        if not self._rests(change):
            return
        try:
            self._commit([self.store.stage(change)])
        except UncommittedEditError as error:
            self.store.roll_back()
            self.report.waiting.append(_locally_edited(error))

    def _rests(self, change: Change) -> bool:
        """Whether all is there that a change is made of and links to."""
        return len(self.view.records.existing(change.needs)) == len(change.needs)

    def _commit(self, laid: Sequence["StagedChange"]) -> None:
        commits = self.store.apply(laid, self._base, now=self.now, policy=self.policy)
        self._base = commits[-1]
        self._own.update(commits)
        names = [name for one in laid for name in one.change.takes]
        self.inbox.mark_done(names, self.store.taken, commits[-1])
        sharing: dict[str, list[Change]] = {}
        for one, commit in zip(laid, commits, strict=True):
            sharing.setdefault(commit, []).append(one.change)
        for one, commit in zip(laid, commits, strict=True):
            self._finish(Done(one.change, commit, sharing[commit]))

    def _texts(self, change: Change) -> dict[str, Skill | None]:
        """The skills that a change is about, as they are now."""
        named = (ref.id for ref in change.targets if ref.kind == "skill")
        names = named if change.step in WRITERS else ()
        return {name: self.view.skills.find(name) for name in names}

    def _finish(self, done: Done) -> None:
        """Report a change that is made."""
        self.report.done.append(done)
        if self.options.on_done:
            self.options.on_done(done)

    def free(
        self, records: Iterable[Outcome | Evaluation | Recommendation | Session]
    ) -> dict[str, bool]:
        """Record id -> whether its path is ours to write; the others are reported waiting."""
        files = {layout.path_of(r): self.store.encode_record(r) for r in records}
        held = self.store.local_edits(files)
        self.report.waiting += [Waiting(path, reason) for path, reason in sorted(held.items())]
        return {path: path not in held for path in files}


def flush_for_judge(run: Run) -> None:
    """Publish what is pending before a service is asked: nobody is to wait until it answers."""
    if run.judge.info.name != "offline":
        run.flush()
