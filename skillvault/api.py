"""The Python interface `Vault`: open a vault, record outcomes, run the loop, ask why.

It offers everything that the command line does, as typed calls. Only here do times default to the
wall clock. A question loads only the modules that answer it, see `model.lazy`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from skillvault.clients import agents
from skillvault.exchange import formats
from skillvault.inspect import check, logbook, lookup
from skillvault.inspect import doctor as diagnosis
from skillvault.inspect import page as pages
from skillvault.inspect import status as overview
from skillvault.inspect import why_not as reasons
from skillvault.learning.recommend import recommend as selecting
from skillvault.learning.recommend import render
from skillvault.loop import record as recording
from skillvault.loop import registry
from skillvault.loop import run as runs
from skillvault.loop.judging import judges
from skillvault.loop.judging.question_queue import QuestionQueue
from skillvault.model.errors import BadInputError, PausedError, VaultBusyError
from skillvault.model.records import Answer, Commit, Outcome, Scalar, Skill, Trust
from skillvault.model.text import html_table
from skillvault.review import branches, commits, memory, proposal
from skillvault.review import curate as curating
from skillvault.review import retract as retracting
from skillvault.review import undo as undoing
from skillvault.serving import shelf as shelves
from skillvault.serving.exporting import Exporter
from skillvault.serving.inquiry import Inquiry, Notebook, judge_decision
from skillvault.sessions import closing as closings
from skillvault.sessions import decision as decisions
from skillvault.sessions import session_sources, transcripts
from skillvault.team import sync as clone_sync
from skillvault.vault import setup
from skillvault.vault.arguments import one_text, path_list, text_list
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import UNSAVED, pause_on_disk_errors
from skillvault.vault.files import arrival, layout
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.quarantine import RefusedFile
from skillvault.vault.git.config import obey_sharing

if TYPE_CHECKING:
    from skillvault.inspect.check import CheckReport
    from skillvault.inspect.doctor import Row
    from skillvault.inspect.lookup import ListedSkill
    from skillvault.inspect.page import Page
    from skillvault.inspect.status import Status
    from skillvault.judge import Judge
    from skillvault.judge.claude.questions import JudgeRequest
    from skillvault.learning import why_not as account
    from skillvault.learning.advise import Advice
    from skillvault.learning.recommend.shelf import Strategy
    from skillvault.loop.run import ChangeResult, Report, Run, RunOptions, Tracker
    from skillvault.serving.shelf import Shelf
    from skillvault.sessions.closing import Closing
    from skillvault.sessions.decision import OpenDecision
    from skillvault.team.sync import SyncReport

_WEEK = timedelta(days=7)


class Vault:
    """A vault on disk. Holds no lock and no process between calls.

    Any number of threads may use one at once: each has its own connections, writers commit one
    after the other, and only `run` waits until another thread's has ended.
    """

    def __init__(self, root: Path | str, judge: Judge | None = None) -> None:
        self.root = root = Path(root)
        self.store = Store(root, registry.AGENDA)
        self.inbox = Inbox(root)
        self.quarantine = self.inbox.quarantine
        self.exporter = Exporter(self.store, lambda: self.shelf)
        self.notebook = Notebook(self.store)
        self.learn, self.learned = self.notebook.learn, self.notebook.learned
        self.inquiry = Inquiry(lambda: self.shelf, _clock)
        self.search, self.stats = self.inquiry.search, self.inquiry.stats
        self.memory = memory.FactMemory(self.store, _clock)
        self.queue = QuestionQueue(
            lambda: question(self),
            lambda answers, now: _commit_answers(self, answers, now),
            lambda: self.store.git.dirs()[0] / "skillvault" / "dropped-questions",
        )
        self.distill, self.update_stats = partial(distill, self), partial(_update_stats, self)
        self._judge = judge
        self._run_lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Vault({str(self.root)!r})"

    def _repr_html_(self) -> str:
        """Return the status as a table for notebooks."""
        status = self.status()
        keys = ("outcomes", "evaluations", "facts", "skills", "proposed", "inbox", "paused")
        rows = [(key, getattr(status, key)) for key in keys]
        return html_table.html_table(str(self.root), (), rows)

    @cached_property
    def curate(self) -> curating.Curator:
        """The decisions of a user about skills."""
        return curating.Curator(self.store, _clock, self.shelf.layer_skill)

    @property
    def judge(self) -> Judge:
        """The judge that evaluates and writes: the argument of `Vault`, or else the policy's."""
        if self._judge is not None:
            return self._judge
        return judges.policy_judge(self.store)

    @classmethod
    def open(cls, path: Path | str | None = None, judge: Judge | None = None) -> Vault:
        """Open the vault in the folder `path`, by default the nearest at or above this folder.

        Raises NotAVaultError if there is none. The parents of a given `path` are not searched.
        """
        root = layout.find_root(Path()) if path is None else layout.named_root(Path(path))
        vault = cls(root, judge)
        obey_sharing(vault.store.git.dirs()[1])
        return vault

    @classmethod
    def init(
        cls,
        path: Path | str,
        domains: Sequence[str] | str = (),
        *,
        post_merge: bool = False,
        nested: bool = False,
        now: datetime | None = None,
    ) -> tuple[Vault, setup.SetupReport]:
        """Make a vault or repair a clone of one, and return (vault, what was done).

        With `nested`, the vault may be inside another repository.
        """
        root = layout.real_path(Path(path))
        domains = text_list("domains", domains)
        setup.check_root(root, domains, nested=nested)
        with setup.undo_on_failure(root):
            git, branch = setup.open_repository(root)
            obey_sharing(git.dirs()[1])
            vault = cls(root)
            report = setup.commit_first(vault.store, branch, domains, now or _clock())
            setup.add_local_files(root, git, report, post_merge=post_merge)
        return vault, report

    # ── the loop ─────────────────────────────────────────────────────────────────────

    def run(  # noqa: PLR0913 (each keyword is a wish of the caller's)
        self,
        wanted: Sequence[str] | str = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        on_done: Callable[[ChangeResult], None] | None = None,
        track: Tracker | None = None,
        patience: float | None = None,
        consolidate: bool = True,
        batch: bool = False,
        between: Callable[[], None] | None = None,
        code: Sequence[Path | str] | Path | str = (),
    ) -> Report:
        """Do what is due in these steps, by default in all; see `loop.run`.

        Wait at most `patience` seconds for a file that is being written. With `consolidate`, make
        skills from facts that recur. With `batch`, send the questions for a model as a batch; they
        are due again when it has ended. `between` is called between two changes and may raise.
        `code` are folders of code that may support rules, instead of the policy's.
        """
        now = now or _clock()
        wanted, code = text_list("wanted", wanted), path_list("code", code)
        requests: dict[str, JudgeRequest] = {}
        with pause_on_disk_errors(), self._run_lock, _recovered_store(self, dry=dry) as store:
            judge = judges.collecting_judge(store, requests) if batch else None
            selection = recording.InboxSelection()
            if "record" in (wanted or registry.STEPS):
                selection = recording.choose_inbox_files(
                    self.inbox, store.snapshot(), patience, now, dry=dry
                )
            options = runs.RunOptions(
                dry=dry,
                names=selection.names,
                received_files=selection.received_files,
                steps=wanted,
                code=code,
                consolidates=consolidate,
                on_done=on_done,
                between=between,
                track=track,
            )
            state = _new_run(self, store, options, now, judge)
            recording.report_left_files(state, selection)
            with judges.batch_questions(state, requests):
                report = runs.run_steps(state, wanted)
                if report.waiting:
                    state.reload_vault()  # another run may have seen what waits
                report.reasons = partial(reasons.reasons, state)
        if not dry:
            records = [record for result in report.done for record in result.change.writes]
            report.uses = partial(self.shelf.find_uses, records)
        return report

    def record(
        self,
        outcomes: Mapping[str, Any] | Outcome | Iterable[tuple[str, bytes]],
        *,
        now: datetime | None = None,
        dry: bool = False,
        track: Tracker | None = None,
        by_agent: bool = False,
    ) -> Report:
        """Record outcomes through the inbox: one outcome, or files as (name, bytes).

        The report lists refused files. If a single outcome is refused, BadInputError is raised and
        nothing is kept. With `by_agent`, and always in an agent's session, the agent is the
        observer, whatever the outcomes say.
        """
        now = now or _clock()
        take = partial(_take_files, self, is_attested=not (by_agent or agents.find_agent()))
        options = runs.RunOptions(dry=dry, track=track)
        if not isinstance(outcomes, Mapping | Outcome):
            return take(outcomes, options, now)
        files = [decisions.outcome_file(outcomes)]
        report = _check_accepted(take(files, replace(options, dry=True), now))
        return report if dry else _check_accepted(take(files, options, now))

    def close(
        self,
        decision: str,
        closing: Closing | None = None,
        *,
        now: datetime | None = None,
        dry: bool = False,
        **end: Any,
    ) -> Report:
        """Record how a decision ended, as somebody saw it.

        `end` has keys of a `sessions.closing.Closing`; a `score` gives the status, too. The end is
        joined with the recommendation and the outcome of the decision, in any order of arrival, and
        the strongest observer counts. Without a domain, in a vault with several, it waits in the
        inbox until the decision is known. Raises UsageError for an empty id.
        """
        if closing is None:
            closing = closings.make_closing(**end)
        setup.check_domains([closing.domain] if closing.domain is not None else [])
        at = now or _clock()
        return self.record([closings.closing_file(decision, closing, at)], now=at, dry=dry)

    def import_files(
        self,
        format_name: str,
        paths: Sequence[Path | str] | Path | str,
        *,
        domain: str | None = None,
        decision: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
        track: Tracker | None = None,
    ) -> Report:
        """Import results of other programs. A bad file or record is refused, the rest is imported.

        With a `decision`, the test reports are its end.
        """
        setup.check_domains([domain] if domain is not None else [])
        now, refused_files = now or _clock(), list[RefusedFile]()
        results: list[tuple[str, dict[str, Any]]] = []
        default = domain or (None if decision else self.store.snapshot().only_domain)
        for label, item in formats.read_files(format_name, path_list("paths", paths), default):
            if isinstance(item, BadInputError):
                refused_files.append(RefusedFile(label, item.code, item.message, item.line))
            else:
                results.append((label, item))
        files = closings.files_of_results(results, decision, domain, now)
        report = self.record(files, now=now, dry=dry, track=track) if files else runs.Report()
        report.quarantined = refused_files + report.quarantined
        return report

    def import_transcripts(
        self,
        client: str,
        paths: Sequence[Path | str] | Path | str,
        *,
        domain: str | None = None,
        trust: Trust = "local",
        now: datetime | None = None,
        dry: bool = False,
        advance: Callable[[int], object] = int,
        on_outcomes: Callable[[list[dict[str, Any]]], None] | None = None,
    ) -> tuple[Report, transcripts.ImportTally]:
        """Import a client's transcripts in parts, with one outcome for each prompt.

        Return (report, what was read). A second import adds only what is new. `advance` is called
        with the number of bytes that were read, `on_outcomes` with the outcomes of each part.
        """
        setup.check_domains([domain] if domain is not None else [])
        snapshot = self.store.snapshot()
        options = transcripts.ImportOptions(
            client=client,
            domain=domain or snapshot.only_domain,
            trust=trust,
            rules=snapshot.policy.transcripts,
            person=self.store.git.settings().email,
            recorded=lambda: self.store.snapshot().outcomes,
            advance=advance,
        )
        tally, files = (
            transcripts.ImportTally(),
            transcripts.transcript_files(path_list("paths", paths)),
        )
        take = partial(self.record, now=now, dry=dry)
        return transcripts.record_parts(options, files, tally, take, on_outcomes), tally

    # ── serving ──────────────────────────────────────────────────────────────────────

    @cached_property
    def shelf(self) -> Shelf:
        """The skills that may be served, with all their layers."""
        return shelves.Shelf(self.store)

    def recommend(  # noqa: PLR0913 (each keyword is a question of the caller's)
        self,
        domain: str | None = None,
        task: str = "",
        *,
        context: Mapping[str, Scalar] | None = None,
        role: str | None = None,
        stage: str | None = None,
        pins: Sequence[str] | str = (),
        seen: Sequence[str] | str = (),
        k: int | None = None,
        budget: int | None = None,
        strategy: Strategy | None = None,
        decision: str | None = None,
        agent: str | None = None,
        action: str | None = None,
        explain: bool = False,
        now: datetime | None = None,
    ) -> selecting.Selection:
        """Return the skills and facts that an agent should read before a task.

        `k` and `budget` (tokens of the whole answer) default to the policy's. The `strategy`
        defaults to `hybrid` with a task, else to `tag`. Skills about the `action` come first. For a
        misspelt domain the answer is empty and not recorded; see `choose_domain` for no domain.

        With a `decision` the answer is recorded through the inbox, and skills may be held out.
        Without one nothing is written. `agent` is the `source.agent` of the outcomes that are
        joined with the answer. Skills that it has `seen` are not held out. Raises UsageError for a
        domain that is no slug, an empty decision, an agent without a decision, and unrecordable
        values.
        """
        one_text("task", task, ", and what is known as context={...}")
        if domain is None:
            must_fit = decision is not None or not task.strip()
            domain = shelves.choose_domain(self.shelf, Path.cwd(), task, must_fit=must_fit)
        setup.check_domains([one_text("domain", domain)])
        query = selecting.Query(
            domain=domain,
            context=dict(context or {}),
            role=role,
            stage=stage,
            pins=text_list("pins", pins),
            seen=text_list("seen", seen),
            limit=k,
            budget=budget,
            strategy=strategy or ("hybrid" if task.strip() else "tag"),
            decision=decision,
            agent=agent,
            action=action,
            explain=explain,
            day=f"{now or _clock():%Y-%m-%d}",
        )
        render.check_recordable(query, task)
        answer = self.shelf.recommend(query, task)
        if decision is not None and answer.near_domain is None:  # else it would be refused
            record = render.record(answer, query, now or _clock(), task)
            receipt = json.dumps(record, ensure_ascii=False)
            with pause_on_disk_errors(UNSAVED):
                list(self.inbox.drop([(f"recommendation-{decision}.json", receipt.encode())]))
        return answer

    def decision(
        self,
        domain: str,
        task: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        **about: Any,
    ) -> AbstractContextManager[OpenDecision]:
        """Carry out a decision in a `with` block: skills before it, its outcome after it.

        `about` has keys of a `sessions.decision.DecisionSubject`; `k` and `budget` are as in
        `recommend`. Raises UsageError for an unknown domain whose name resembles a known one.
        """
        subject = decisions.subject_of(domain, task, **about)
        answer = self.recommend(
            domain,
            task,
            context=subject.context,
            k=k,
            budget=budget,
            decision=subject.id,
            agent=subject.agent,
            action=subject.action,
            now=now,
        )
        clock = _clock if now is None else partial(datetime.fromtimestamp, now.timestamp(), UTC)
        open_decision = decisions.OpenDecision(subject, answer, clock())
        return decisions.carry_out(open_decision, lambda raw, at: self.record(raw, now=at), clock)

    def advise(self, name: str, data: bytes, *, now: datetime | None = None) -> Advice:
        """Ask the judge about a decision in a file.

        The file is an outcome without a result. If the judge says no, the decision goes through the
        inbox as a neutral outcome. If no judge can be asked, the answer is yes with a warning.
        """
        with pause_on_disk_errors():
            return judge_decision(self.store, self.shelf, (name, data), now or _clock())

    # ── reading ──────────────────────────────────────────────────────────────────────

    def status(self) -> Status:
        """Return the state of the vault in short."""
        _recover_if_free(self.store)
        return overview.status(question(self))

    def log(self, limit: int | None = None, asks: logbook.LogFilter | None = None) -> list[Commit]:
        """Return the program's commits, newest first: all of them, or those that match `asks`."""
        snapshot = self.store.snapshot()
        if asks is None:
            return snapshot.history.log(limit)
        return logbook.find_commits(snapshot, asks, limit)

    def why(self, text: str) -> dict[str, Any]:
        """Trace a record back to its sources, as `{ref, commits, sources, against, rules}`.

        `against` are the evaluations that contradict a fact or a skill, `rules` the rules of a
        skill with their tests, and `answers` the answers of a judge about it, if any.
        """
        return lookup.why(question(self), text)

    def impact(self, text: str) -> dict[str, Any]:
        """Trace a record forward to its results, as `{ref, commits, targets}`."""
        return lookup.impact(question(self), text)

    def why_not(self, text: str) -> tuple[tuple[str, str], list[account.StepAnswer]]:
        """Explain what each step did with an outcome, fact, session, domain or rule, and why.

        Return ((kind of the record, its id), answers in the order of the loop).
        """
        return reasons.find_answers(question(self), text)

    def check(
        self, *, index: str | None = None, staged: bool = False, against: str | None = None
    ) -> CheckReport:
        """Check the vault's rules in the work tree, or with `staged` in git's index.

        In git's index, only files that differ from HEAD are reported. Otherwise the index database
        is compared with git first. Commits since `against` are checked by the roles of their time.
        """
        if not index:  # else git is running, and waits for us
            _recover_if_free(self.store)
        return check.check_vault(self.store, self.shelf, index, staged=staged, against=against)

    # ── skills ───────────────────────────────────────────────────────────────────────

    def skills(self, folder: str = "skills") -> list[ListedSkill]:
        """Return the unarchived skills by name, or the skills in `proposed` or `archive`."""
        return lookup.list_skills(self.store.snapshot(), folder)

    def skill(self, name: str) -> tuple[Skill, str]:
        """Return (skill, path) from any folder or layer. Raise UsageError if there is none."""
        if (layer_skill := self.shelf.layer_skill(name)) is not None:
            return layer_skill.skill, layer_skill.path
        return lookup.read_skill(self.store, name)


@contextmanager
def _recovered_store(vault: Vault, *, dry: bool) -> Iterator[Store]:
    """Undo the half-made changes of a killed run, and yield the vault's store."""
    if not dry:
        vault.store.recover()
    store = Store(vault.root, registry.AGENDA, detached=True) if dry else vault.store
    try:
        yield store
    finally:
        store.roll_back()


def _recover_if_free(store: Store) -> None:
    """Complete or undo what a killed writer left, if no other writes and the policy is valid."""
    with suppress(VaultBusyError, PausedError, BadInputError):
        store.recover(wait=False)


def _check_accepted(report: Report) -> Report:
    """Return the report. Raise BadInputError if anything was refused."""
    for file in report.quarantined:
        raise BadInputError(file.message, code=file.code, line=file.line)
    return report


def _new_run(
    vault: Vault, store: Store, options: RunOptions, now: datetime, judge: Judge | None = None
) -> Run:
    shelf = None if options.dry and not options.is_question else lambda: vault.shelf
    return runs.Run(store, judge=judge or vault.judge, now=now, options=options, shelf=shelf)


def _take_files(
    vault: Vault,
    files: Iterable[tuple[str, bytes]],
    options: RunOptions,
    now: datetime,
    *,
    steps: Sequence[str] = ("record",),
    is_attested: bool = False,
) -> Report:
    """Record files through the inbox, and run these steps.

    With `is_attested`, the observers that the files name are trusted.
    """
    with pause_on_disk_errors():
        if options.dry:
            received_files = (
                arrival.ReceivedFile(*file, is_attested=is_attested) for file in files
            )
            return _run_steps(
                vault, replace(options, received_files=tuple(received_files)), now, steps
            )
        with ExitStack() as stack:
            with pause_on_disk_errors(UNSAVED):
                if is_attested:
                    files = arrival.attest_files(vault.store.git.dirs()[0], files)
                names = stack.enter_context(vault.inbox.drop_reserved(files))
            try:
                return _run_steps(vault, replace(options, names=names), now, steps)
            except PausedError as error:
                raise PausedError(
                    f"{error}. {len(names)} outcome(s) wait in inbox/ and are taken afterwards"
                ) from None


def _run_steps(vault: Vault, options: RunOptions, now: datetime, steps: Sequence[str]) -> Report:
    with _recovered_store(vault, dry=options.dry) as store:
        return runs.run_steps(_new_run(vault, store, options, now), steps)


def _commit_answers(vault: Vault, answers: Sequence[Answer], now: datetime | None) -> Report:
    options = runs.RunOptions(answers=answers)
    steps = ("answer", "promote", "generate", "refresh", "merge")
    with pause_on_disk_errors(), vault._run_lock:  # noqa: SLF001 (its own)
        return _run_steps(vault, options, now or _clock(), steps)


def sync(vault: Vault, *, take_over: bool = False, now: datetime | None = None) -> SyncReport:
    """Synchronize this clone with the remote's branch; see `team.sync`.

    With `take_over`, make this clone the learner.
    """
    with pause_on_disk_errors(), vault._run_lock, _recovered_store(vault, dry=False) as store:  # noqa: SLF001 (its own)
        return clone_sync.sync_clones(store, now or _clock(), take_over=take_over)


def distill(
    vault: Vault,
    session: str | Path,
    *,
    domain: str | None = None,
    now: datetime | None = None,
    dry: bool = False,
    on_done: Callable[[ChangeResult], None] | None = None,
) -> tuple[str, Mapping[str, int], Report]:
    """Make a skill from a session, given as a file, a transcript or an id.

    Return (session id, counts of unknown lines in a transcript by kind, report). Raises UsageError
    if there is no such session, BadInputError for a transcript without one.
    """
    setup.check_domains([domain] if domain is not None else [])
    source = session_sources.find_session(vault.store.snapshot(), str(session), domain)
    files = [source.file] if source.file else []
    options = runs.RunOptions(dry=dry, on_done=on_done)
    with vault._run_lock:  # noqa: SLF001 (its own)
        report = _take_files(vault, files, options, now or _clock(), steps=("record", "distill"))
    return source.session, source.unread, report


def retract(
    vault: Vault, outcome: str, reason: str, *, now: datetime | None = None, dry: bool = False
) -> Report:
    """Retract an outcome and recompute what is based on it, in one commit."""
    return _decide(
        vault, retracting.retraction_changes, outcome, reason, at=now or _clock(), dry=dry
    )


def undo(
    vault: Vault, text: str, reason: str = "", *, now: datetime | None = None, dry: bool = False
) -> Report:
    """Undo a commit of the program, or the commit that made a skill. UsageError without one."""
    return _decide(vault, undoing.undo_changes, text, reason, at=now or _clock(), dry=dry)


def doctor(path: Path | str | None = None, *, now: datetime | None = None) -> list[Row]:
    """Find what keeps a vault from working, even if it cannot be opened."""
    return diagnosis.examine(None if path is None else Path(path), now or _clock())


def upgrade(vault: Vault, *, now: datetime | None = None, dry: bool = False) -> Report:
    """Learn again, by the current rules, from the records of earlier versions, in one commit."""
    return _decide(vault, commits.upgrade_changes, at=now or _clock(), dry=dry)


def _decide(vault: Vault, make: Callable[..., Any], *texts: str, at: datetime, dry: bool) -> Report:
    """Publish changes. Raise UncommittedEditError if a person is editing a file."""
    with vault._run_lock, _recovered_store(vault, dry=False) as store:  # noqa: SLF001 (its own)
        return commits.publish(
            store, lambda preview: make(preview, vault.judge, *texts, now=at), at, dry=dry
        )


def proposals(vault: Vault) -> list[proposal.WaitingSkill]:
    """Return the skills that wait for a review, by name, with text, diff and evidence."""
    vault.shelf.ready()
    return list(proposal.proposals(question(vault)))


def proposal_branches(
    vault: Vault, *, push: bool = False, now: datetime | None = None
) -> branches.BranchReport:
    """Make a branch `proposal/<name>` for each waiting skill; see `review.branches`."""
    preview, approve = Store(vault.root, registry.AGENDA, detached=True), vault.curate.approval
    return branches.make_branches(preview, proposals(vault), approve, now or _clock(), push=push)


def page(
    vault: Vault,
    *,
    since: datetime | None = None,
    domain: str | None = None,
    now: datetime | None = None,
) -> Page:
    """Return the page of the vault for the last seven days, or `since`; see `inspect.page`.

    Raises UsageError for a domain that the vault does not know.
    """
    page_end = now or _clock()
    effects = vault.stats(domain=domain)  # brings the uses up to date
    status = vault.status()
    asks = status.judge.provider == "agent"
    questions = len(vault.queue.next_questions(sys.maxsize)) if asks else None
    return pages.page_of(
        question(vault), (status, effects), (since or page_end - _WEEK, page_end), domain, questions
    )


def question(vault: Vault) -> Run:
    """Return a run for questions, which changes nothing."""
    return _new_run(vault, vault.store, runs.RunOptions(dry=True, is_question=True), _clock())


def _clock() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _update_stats(
    vault: Vault,
    name: str,
    success: bool,
    *,
    domain: str | None = None,
    now: datetime | None = None,
) -> Report:
    """Record the success or failure of a task that applied a skill."""
    now, (skill, _) = now or _clock(), vault.skill(one_text("name", name))
    domain = domain or skill.domain
    domain = domain or shelves.choose_domain(vault.shelf, Path.cwd(), skill.description)
    return vault.record(decisions.outcome_of_use(skill.name, domain, now, success=success), now=now)
