"""A run: one pass over the steps of the loop.

Each step finds its due work and yields changes. `Run` commits the changes; in a dry run it only
stages them, and a change whose files a person edits waits. Command line, daemon and git hook all
call `run_steps`. The steps and their order are in `registry`.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.judge import Judge
from skillvault.learning.answer import STEP as ANSWER
from skillvault.learning.gate import apply_gate
from skillvault.learning.generate import ExistingSkill
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
from skillvault.loop.judging.judge_replies import with_draft, write_draft
from skillvault.loop.learner import EVERY_CLONE, find_other_learner
from skillvault.loop.next_versions import (
    RunContext,
    gate_change,
    possible_version_names,
    program_commits,
    with_versions_removed,
)
from skillvault.loop.profiles import rules_of
from skillvault.loop.registry import RECOMPUTING, STEPS, WRITERS, Step
from skillvault.loop.rejected_skills import find_rejected_skills, find_rejection
from skillvault.model.brief import Brief, Draft, Findings
from skillvault.model.change import REVERT, Change, group_neighbours, headline_of
from skillvault.model.errors import (
    BadInputError,
    PausedError,
    UnavailableError,
    UncommittedEditError,
    UsageError,
)
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Answer,
    Commit,
    Evaluation,
    Link,
    Outcome,
    Problem,
    Recommendation,
    RecordKind,
    Ref,
    Session,
    Skill,
)
from skillvault.serving import shelf as shelves
from skillvault.vault.commit.skill_versions import skill_texts
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import ReceivedFile
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.quarantine import RefusedFile
from skillvault.vault.index.snapshot import Snapshot

if TYPE_CHECKING:
    from skillvault.loop.accounts import Accounts
    from skillvault.serving.shelf import Shelf
    from skillvault.vault.commit.publish import StagedChange
    from skillvault.vault.index.uses import SkillUse


_MAX_PENDING = 100  # changes that are published together
# Seconds that a change waits for others. Publishing reads and writes the whole git index, so the
# wait is a multiple of its last duration, within these bounds.
_MIN_PATIENCE, _PATIENCE_FACTOR, _MAX_PATIENCE = 0.2, 5, 2.0

_Task = TypeVar("_Task")
Tracker = Callable[[Sequence[Any], str], Iterable[Any]]


class WaitingWork(Struct, frozen=True, omit_defaults=True):
    """Work that this run leaves, and the reason. `tomorrow` is true if it cannot be done today."""

    path: str
    reason: str
    tomorrow: bool = False


class BrokenRule(Struct, frozen=True):
    """A rule that forbids something, and the `file:line` places where code breaks the rule."""

    rule: str
    places: tuple[str, ...]


class ChangeResult(Struct, frozen=True):
    """A change, its commit (None in a dry run), and all changes of that commit."""

    change: Change
    commit: str | None
    commit_changes: Sequence[Change] = ()

    @property
    def subject(self) -> str | None:
        """The subject of the commit for its first change, None for the others."""
        is_first = not self.commit_changes or self.commit_changes[0] is self.change
        return headline_of(self.commit_changes or [self.change]) if is_first else None


def results_of(changes: Sequence[Change], commits: Sequence[str]) -> list[ChangeResult]:
    """Return the result of each change; `commits` has the commit of each change."""
    pairs = list(zip(changes, commits, strict=True))
    changes_by_commit: dict[str, list[Change]] = {}
    for change, commit in pairs:
        changes_by_commit.setdefault(commit, []).append(change)
    return [ChangeResult(change, commit, changes_by_commit[commit]) for change, commit in pairs]


class Report(Struct):
    """The results of a run.

    `known` has the ids of records that the vault had already. `problems` are mistakes that delay no
    work. `unavailable` says why the judge could not be asked. `learner` is the clone that learns,
    if that is another clone. `reasons()` explains why the run made no skill and no fact. `uses()`
    returns the uses of skills in decisions that ended in this run.
    """

    done: list[ChangeResult] = field(default_factory=list)
    waiting: list[WaitingWork] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    quarantined: list[RefusedFile] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    broken: list[BrokenRule] = field(default_factory=list)
    unavailable: str | None = None
    learner: str | None = None
    reasons: Callable[[], Mapping[str, Sequence[str]]] = dict
    uses: Callable[[], Sequence["SkillUse"]] = tuple

    @property
    def is_fruitless(self) -> bool:
        """True if this clone learns and the run made neither a skill nor a fact."""
        kinds = {ref.kind for result in self.done for ref in result.change.targets}
        return not (self.learner or kinds & {"skill", "fact"})

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of written records by kind, and of refused files."""
        refs = {ref for result in self.done for ref in result.change.targets}
        kinds = Counter(ref.kind for ref in refs)
        counts = {f"{kind}s": kinds[kind] for kind in ("outcome", "evaluation", "fact", "skill")}
        return {**counts, "refused": len(self.quarantined)}

    def include(self, report: "Report") -> None:
        """Add the results of another report; drop the records of its changes to save memory."""
        self.done += [
            ChangeResult(replace(result.change, writes=()), result.commit) for result in report.done
        ]
        for key in ("waiting", "rejected", "quarantined", "known"):
            getattr(self, key).extend(getattr(report, key))


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options and the input of a run.

    - `dry`: publish nothing.
    - `is_question`: the run answers a question, so it stores nothing and counts everything.
    - `names`: the inbox files to take.
    - `received_files`: files that the caller passes in memory.
    - `answers`: new answers of an agent.
    - `steps`: the steps that the user named.
    - `code`: folders to use instead of the code bases of the policy.
    - `upgrades`: apply the current rules to evaluations of earlier versions.
    - `recounts`: strategies to rewrite even if they are not due.
    - `consolidates`: facts may become skills.
    - `on_done`: called with each finished change.
    - `between`: called between two commits; it may raise to stop the run.
    - `track`: shows the progress.
    """

    dry: bool = False
    is_question: bool = False
    names: Sequence[str] = ()
    received_files: Sequence[ReceivedFile] = ()
    answers: Sequence[Answer] = ()
    steps: Collection[str] = ()
    code: Sequence[Path] = ()
    upgrades: bool = False
    recounts: frozenset[str] = frozenset()
    consolidates: bool = True
    on_done: Callable[[ChangeResult], None] | None = None
    between: Callable[[], None] | None = None
    track: Tracker | None = None


class Run:
    """One pass over the steps: the state of the vault, and the results so far.

    `shelf` returns loaded skills that several runs share; without it the run loads its own.
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
        # The vault with the changes of this run; a question sees only committed records.
        self.snapshot: Snapshot = store.snapshot() if self.options.is_question else store.staging
        self.track: Tracker = self.options.track or (lambda items, _label: items)
        self._shelf = shelf
        self._base_commit = store.staging.commit
        self._queue: list[StagedChange] = []
        self._queued_since = 0.0
        self._publish_seconds = 0.0  # seconds that publishing took
        self.policy: Policy = self.snapshot.policy
        self.profile = rules_of(self.policy)
        self.report = Report()
        self.context = RunContext(
            snapshot=self.snapshot,
            git=store.git,
            policy=self.policy,
            profile=self.profile,
            now=now,
            subjects=None if self.options.is_question else store.staging.subjects,
            written_texts=self.written_texts,
            commits_of=self.commits_of,
            settle=self.settle,
            rejections=lambda: self.rejections,
            rejected=self.report.rejected,
        )
        self._run_commits: set[str] = set()
        # Name -> (old, new) skills that this run wrote; git may not have them yet.
        self._written_skills: dict[str, list[tuple[Skill | None, Skill]]] = {}

    @cached_property
    def shelf(self) -> "Shelf":
        """The skills of all layers, with the evidence of their use."""
        return self._shelf() if self._shelf else shelves.Shelf(self.store)

    @cached_property
    def accounts(self) -> "Accounts":
        """The outcomes of each action and subject, read once for all steps."""
        return accounts.Accounts(self.context)

    @cached_property
    def rejections(self) -> Rejections:
        """The records that persons removed before this run."""
        history = self.snapshot.history
        steps = (ANSWER, REVERT, *RECOMPUTING)
        withdrawn_refs = {str(ref) for step in steps for ref in history.withdrawals(step)}
        changes = [result.change for result in self.report.done]
        changes += [staged.change for staged in self._queue]
        withdrawn_refs |= {str(ref) for c in changes if c.step in steps for ref in c.sources}
        return Rejections(
            history.commits_of_removed(),
            self.snapshot.records,
            withdrawn_refs,
            find_rejected_skills(self.store.git, self.snapshot),
            versions=partial(possible_version_names, self.snapshot),
        )

    def products_of(self, step: str, kind: RecordKind, sources: Iterable[Ref]) -> dict[str, str]:
        """Map the id of each source to the record that a step made from it, if the record exists.

        Commits are searched, not links, so a step does not repeat its work if a person removes a
        link.
        """
        products: dict[str, str] = {}
        for source_id, product_id in self.snapshot.history.targets_of(step, kind, sources):
            if not (is_strategy(product_id) or is_general(product_id)):
                products.setdefault(source_id, product_id)
        return products

    def commits_of(self, ref: Ref, steps: Collection[str]) -> list[Commit]:
        """Return the commits of these steps on a record before this run, oldest first."""
        commits = reversed(self.snapshot.history.commits_changing(ref))
        return [c for c in commits if c.step in steps and c.sha not in self._run_commits]

    def written_texts(self, name: str) -> WrittenTexts:
        """Return all texts that skillvault wrote into a skill, to tell them from a person's."""
        commits = self.commits_of(Ref("skill", name), {*WRITERS, APPROVE, REVERT})
        shas = [
            commit.sha for commit in program_commits(self.store.git, self.snapshot, name, commits)
        ]
        texts = skill_texts(
            self.store.git,
            [(commit, name) for sha in shas for commit in (f"{sha}^", sha)],
            self.snapshot.history.former_names(),
        )
        pairs = [(texts.get((f"{sha}^", name)), texts.get((sha, name))) for sha in shas]
        versions = [(old[1:] if old else None, new[1:]) for old, new in pairs if new]
        for old_skill, new_skill in self._written_skills.get(name, []):
            old_texts = _editable_texts(old_skill) if old_skill else None
            versions.append((old_texts, _editable_texts(new_skill)))
        descriptions, bodies, expiries, labels = (
            [Version(old[index] if old else None, new[index]) for old, new in versions]
            for index in range(4)
        )
        skill = self.snapshot.skills.find(name)
        # If several clones write, a merge may have kept an older text than the latest commit.
        is_reverted = self.policy.learner != EVERY_CLONE and is_former_text(
            bodies, skill.body if skill else ""
        )
        if skill and skill.written and not is_reverted:
            return parse_written(skill, skill.written, expiries, labels)
        return WrittenTexts(bodies=bodies, descriptions=descriptions, ends=expiries, labels=labels)

    def leave_in_inbox(self, file_names: Iterable[str], reason: str) -> None:
        """Report that inbox files wait."""
        self.report.waiting += [WaitingWork(f"inbox/{name}", reason) for name in sorted(file_names)]

    def quarantine_file(self, name: str, error: BadInputError) -> None:
        """Quarantine a file that cannot be read; in a dry run only report it."""
        if self.options.dry:
            refusal = RefusedFile(name, error.code, error.message, error.line)
        else:
            refusal = self.inbox.refuse(name, error, self.now)
        self.report.quarantined.append(refusal)

    def drop_recorded_file(self, name: str) -> None:
        """Remove an inbox file whose content is recorded already."""
        if not self.options.dry and self.snapshot.commit:
            self.inbox.mark_done([name], self.store.taken, self.snapshot.commit)

    def reload_vault(self) -> None:
        """Read the vault again, because another run may have changed it."""
        self.flush()
        self.store.follow()
        self._base_commit = self.store.staging.commit

    def settle(self, step: str, keys: Iterable[str]) -> None:
        """Take keys out of the queue of a step until their records change again."""
        if not self.options.is_question:
            self.store.staging.due.mark_done(step, keys)

    def perform(self, change: Change) -> None:
        """Commit a change together with others that follow soon. In a dry run, only stage it.

        A change waits if a person edits one of its files, or if it needs another waiting change.
        """
        if self._must_publish() and _begins_commit([s.change for s in self._queue], change):
            self.flush()
        if not _are_needs_met(self.snapshot, change):
            return
        skill_names: list[str] = []
        if change.step in WRITERS:
            change = apply_gate(change, self.policy)
            skill_names = [ref.id for ref in change.targets if ref.kind == "skill"]
        if change.moves or change.step in WRITERS:
            change = with_versions_removed(self.snapshot, change)
        old_skills = {name: self.snapshot.skills.find(name) for name in skill_names}
        try:
            staged_change = self.store.stage(change)
            if self.options.dry:
                self.store.check_free(staged_change)
        except UncommittedEditError as error:
            self.report.waiting.append(_waiting_work_of(error))
            return
        for name, old_skill in old_skills.items():
            if new_skill := self.snapshot.skills.find(name):
                self._written_skills.setdefault(name, []).append((old_skill, new_skill))
        self._enqueue(staged_change)

    def _enqueue(self, staged_change: "StagedChange") -> None:
        if not self._queue:
            self._queued_since = time.monotonic()
        self._queue.append(staged_change)
        if self.options.dry or (not staged_change.change.commit_with and self._must_publish()):
            self.flush()

    def _must_publish(self) -> bool:
        """Return True if many changes are pending, or if the first has waited long enough."""
        patience = min(max(_MIN_PATIENCE, _PATIENCE_FACTOR * self._publish_seconds), _MAX_PATIENCE)
        waited_seconds = time.monotonic() - self._queued_since
        return waited_seconds >= patience or len(self._queue) >= _MAX_PENDING

    def defer(self, path: str, reason: str, *, tomorrow: bool = False) -> None:
        """Report work that could not be done now."""
        self.report.waiting.append(WaitingWork(path, reason, tomorrow))

    def defer_for_judge(self, path: str, reason: str) -> None:
        """Report work that waits for the judge."""
        self.report.unavailable = reason
        self.defer(path, reason)

    def write_skill(
        self, name: str, brief: Brief, make_change: Callable[[Draft], Change | None]
    ) -> Iterator[Change]:
        """Ask the judge for a text, and yield the change that `make_change` makes from it.

        If the judge cannot be asked, report that the skill waits. Yield nothing if the judge writes
        no text, or if a person rejected such a skill.
        """
        flush_for_judge(self)
        try:
            draft = write_draft(self.judge, brief)
        except UnavailableError as error:
            self.defer_for_judge(f"skills/{name}", f"not written: {error}")
            return
        change = make_change(draft) if draft else None
        if draft and change:
            yield from self.admit_change(with_draft(change, draft, self.snapshot))

    def admit_change(self, change: Change) -> Iterator[Change]:
        """Yield a change unless a person rejected it; the gate may make it a proposal."""
        gated_change = gate_change(self.context, change)
        rejection = find_rejection(gated_change, self.rejections) if gated_change else None
        if rejection:
            self.report.rejected.append(rejection)
        elif gated_change:
            yield gated_change

    def flush(self) -> None:
        """Publish the pending changes together, or one by one if a person edits a file."""
        queue, self._queue = self._queue, []
        if self.options.dry:
            for staged_change in queue:
                self._add_result(ChangeResult(staged_change.change, None))
        elif queue:
            start = time.monotonic()
            self._publish(queue)
            self._publish_seconds = time.monotonic() - start
            if self.options.between:
                self.options.between()
        else:
            self.store.save_index()

    def _publish(self, queue: Sequence["StagedChange"]) -> None:
        try:
            self._commit(queue)
        except UncommittedEditError as error:
            if len(queue) == 1:
                self.report.waiting.append(_waiting_work_of(error))
                return
            for staged_change in queue:
                self._publish_alone(staged_change.change)

    def _publish_alone(self, change: Change) -> None:
        self.store.follow()
        if not _are_needs_met(self.snapshot, change):
            return
        try:
            self._commit([self.store.stage(change)])
        except UncommittedEditError as error:
            self.store.roll_back()
            self.report.waiting.append(_waiting_work_of(error))

    def _commit(self, queue: Sequence["StagedChange"]) -> None:
        commits = self.store.apply(queue, self._base_commit, now=self.now, policy=self.policy)
        self._base_commit = commits[-1]
        self._run_commits.update(commits)
        file_names = [name for staged in queue for name in staged.change.takes]
        self.inbox.mark_done(file_names, self.store.taken, commits[-1])
        for result in results_of([staged.change for staged in queue], commits):
            self._add_result(result)

    def _add_result(self, result: ChangeResult) -> None:
        self.report.done.append(result)
        if self.options.on_done:
            self.options.on_done(result)

    def find_writable(
        self, records: Iterable[Outcome | Evaluation | Recommendation | Session]
    ) -> set[str]:
        """Return the paths of records that may be written; report the others as waiting."""
        contents: dict[str, bytes | None] = {
            layout.path_of(record): self.store.encode_record(record) for record in records
        }
        reasons = self.store.local_edits(contents)
        for path, reason in sorted(reasons.items()):
            self.defer(path, reason)
        return contents.keys() - reasons


def _begins_commit(pending: Sequence[Change], change: Change) -> bool:
    if not pending or not pending[-1].commit_with:
        return False
    *_, last_commit = group_neighbours([*pending, change])
    return len(last_commit) == 1


def _are_needs_met(snapshot: Snapshot, change: Change) -> bool:
    return len(snapshot.records.existing(change.needs)) == len(change.needs)


def _editable_texts(skill: Skill) -> tuple[str, str, str, str]:
    return skill.description, skill.body, skill.expires or "", labels_of(skill)


def _waiting_work_of(error: UncommittedEditError) -> WaitingWork:
    path, _, reason = str(error).partition(": ")
    return WaitingWork(path, reason)


def perform_due_tasks(
    run: Run,
    step: str,
    decide: Callable[[Findings, ExistingSkill], _Task | None],
    carry_out: Callable[[_Task], Iterator[Change]],
) -> Iterator[Change]:
    """Decide on the due findings of a step, and yield the changes of the resulting tasks.

    A task without a change would repeat a rejected skill. It is settled, so that its text is not
    written again in each run.
    """
    changed_keys: set[str] = set()
    unchanged_keys: set[str] = set()
    for task, keys in list(run.accounts.find_due(step, decide)):
        changes = list(carry_out(task))
        (changed_keys if changes else unchanged_keys).update(keys)
        yield from changes
    if not run.report.unavailable:
        run.settle(step, unchanged_keys - changed_keys)


def flush_for_judge(run: Run) -> None:
    """Publish the pending changes before a slow judge is asked, because others need the lock."""
    if run.judge.info.name != "offline":
        run.flush()


def run_steps(run: Run, step_names: Sequence[str] = ()) -> Report:
    """Do the due work of the named steps (default: all steps), in the order of the loop."""
    for name in step_names:
        if name not in STEPS:
            raise UsageError(f"{name}: no such step; there are {', '.join(STEPS)}")
    pause_reason = run.store.pause_reason(run.policy)
    if pause_reason and not run.options.dry:
        raise PausedError(f"paused: {pause_reason}")
    run.report.learner = find_other_learner(run.store.git, run.policy)
    steps = [
        step
        for name, step in run.profile.steps.items()
        if name in (step_names or STEPS) and (step.runs_everywhere or not run.report.learner)
    ]
    for step in steps:
        has_changed = _run_step(run, step)
        for name in step.woken_steps if has_changed else ():
            if (woken_step := run.profile.steps[name]) in steps:
                _run_step(run, woken_step)
    run.flush()
    run.report.rejected = sorted(set(run.report.rejected))
    return run.report


def _run_step(run: Run, step: Step) -> bool:
    has_changed = False
    for change in step.run(run):
        run.perform(change)
        has_changed = True
    return has_changed


def count_results(report: Report) -> dict[str, int]:
    """Count the records of each kind that a run wrote, for the output of `run --json`."""
    writes = [record for result in report.done for record in result.change.writes]
    links = [record for record in writes if isinstance(record, Link)]
    uses = report.uses()
    link_types = [link.type for link in links]
    return {
        "insights_to_memory": link_types.count("promoted"),
        "patterns_to_skills": len({link.target for link in links if link.type == "derived"}),
        "links_created": len(links),
        "recommendations_created": sum(isinstance(record, Recommendation) for record in writes),
        "detections": sum(use.match != "none" for use in uses),
        "skills_updated": sum(bool(use.offer) for use in uses),
        "effectiveness_recalculated": len({use.skill for use in uses}),
    }
