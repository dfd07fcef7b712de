"""Let a client (Claude Code or Codex) answer the open questions, in the background.

`ClientCalls` chooses the questions within a budget, runs the client as a child process, and commits
the replies. The child holds the lock and writes to files under the git dir, so a killed parent
loses no answer and nobody asks twice. `judge/client/` has the command lines of the clients.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from skillvault.clients.hook_client import ASKING
from skillvault.judge.claude.replies import PricedReply
from skillvault.judge.client import (
    HOUR,
    MAX_OUTPUT,
    ClientCall,
    ClientFault,
    QuestionBatch,
    build_batch,
)
from skillvault.loop.judging import questions
from skillvault.loop.judging.judges import CLIENTS
from skillvault.loop.judging.question_queue import AgentReply, QuestionQueue
from skillvault.model.brief import AnswerCost
from skillvault.model.errors import BadInputError, UnavailableError, VaultBusyError
from skillvault.model.policy import JudgePolicy
from skillvault.vault.commit.locks import client_lock
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import is_alive, write_whole
from skillvault.vault.failpoint import reach
from skillvault.vault.spending import Ledger

if TYPE_CHECKING:
    from skillvault.loop.judging.questions import OpenQuestion

_MAX_CALLS = 50  # calls of one process
_BATCH_TOKENS = 12_000  # tokens of the questions of one call
_MAX_QUESTIONS = 20  # questions of one call
# Calls that sessions may cause in a week: a base, and a part of a call for each outcome.
_FIRST_CALLS, _CALLS_PER_OUTCOME, _WEEK = 2, 0.25, timedelta(days=7)
_CALLS_FOR_ALL_QUESTIONS = 4  # calls for lessons, verdicts and texts, and a spare one
_MAX_ATTEMPTS = 2  # a question is not asked again after so many useless replies
_PRIORITY = 10  # niceness of a child
_CHECK_SECONDS = 0.05  # seconds between two checks of a child
_LOGIN_SECONDS = 30.0
_GRACE_SECONDS = 10.0  # another process may kill an abandoned child so long after its deadline
# Variables of a surrounding session, which would mislead the child.
_SESSION_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR")
_SESSION_PREFIXES = ("CLAUDE_CODE_SESSION_", "CLAUDE_CODE_MESSAGING_", "SKILLVAULT_")
_CLIENT_VARIABLES = {
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "MAX_STRUCTURED_OUTPUT_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    ASKING: "1",
}


class ClientCallNote(Struct, frozen=True, kw_only=True):
    """A running call, noted for the next process in case this process is killed.

    `keys` maps the name of each question to its key. `folder` is the working folder of the child.
    `asker` and `child` are process ids.
    """

    call: int
    client: str
    keys: dict[str, str]
    folder: str
    started: float
    asker: int
    child: int = 0


class ClientReport(Struct):
    """The work of one process. `stopped` says why it stopped asking, or is ""."""

    calls: int = 0
    questions: int = 0
    answers: int = 0
    tokens: int = 0
    refused: list[str] = []
    stopped: str = ""


class ClientCalls:
    """The calls of a vault's client. `clock` returns Unix time."""

    def __init__(
        self, store: Store, queue: QuestionQueue, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._queue, self._clock = store, queue, clock
        self._ledger = Ledger(store.ledger.path, clock)
        self._policy: JudgePolicy = store.snapshot().policy.judge
        self._client = CLIENTS[self._policy.client]
        self._state_folder = store.git.dirs()[1] / "skillvault"
        self._call_folder = self._state_folder / "client"

    def batches(self) -> list[tuple[ClientCall, QuestionBatch]]:
        """Return the calls that would be sent now. Their replies may cause further calls."""
        calls: list[tuple[ClientCall, QuestionBatch]] = []
        open_questions = self._unanswered()
        while open_questions:
            chosen = self._select_batch(open_questions)
            batch = build_batch([question.request for question in chosen])
            calls.append((self._build_call(batch), batch))
            open_questions = [question for question in open_questions if question not in chosen]
        return calls

    def ask_open_questions(self, *, wait: float = 0.0, when_due: bool = False) -> ClientReport:
        """Ask the waiting questions and commit the answers; with `when_due` only if due.

        Raise VaultBusyError if another process asks for more than `wait` seconds.
        """
        report = ClientReport()
        self._end_abandoned()
        with client_lock(self._state_folder, wait) as lock:
            try:
                self._take_replies(report)
                self._commit_replies([q.answer_key for q in self._queue.open_questions()], report)
                due_kinds = set() if when_due else {True, False}
                while report.calls < _MAX_CALLS:
                    open_questions = self._unanswered()
                    due_kinds |= self._due_kinds(open_questions)
                    due_questions = [q for q in open_questions if q.is_verdict in due_kinds]
                    if not report.calls and len(due_kinds) < 2:
                        due_questions = self._select_after_session(open_questions) or due_questions
                    if not due_questions:
                        break
                    if not report.calls:
                        self._check_login()
                    keys = self._ask(self._select_batch(due_questions), lock, report)
                    self._commit_replies(keys, report)
            except UnavailableError as error:
                report.stopped = str(error)
        return report

    # ── choosing questions ───────────────────────────────────────────────────────────

    def _unanswered(self) -> "list[OpenQuestion]":
        """Return the open questions, without those whose replies were useless too often."""
        failed_items = self._ledger.failed_items(_MAX_ATTEMPTS)
        open_questions = self._queue.open_questions()
        return [question for question in open_questions if question.answer_key not in failed_items]

    def _due_kinds(self, questions: "Sequence[OpenQuestion]") -> set[bool]:
        """Return the kinds of questions to ask now: verdicts (True), other questions (False).

        A client with `min_questions` gets both kinds if so many questions wait. Another client gets
        both if enough calls of the week are left. Otherwise a kind is due if one of its questions
        has waited for `max_wait_days`.
        """
        if self._client.min_questions is None:
            are_all_due = self._spare_calls() >= _CALLS_FOR_ALL_QUESTIONS
        else:
            are_all_due = len(questions) >= self._client.min_questions
        if are_all_due:
            return {True, False}
        latest_time = self._now() - timedelta(days=self._client.max_wait_days)
        return {q.is_verdict for q in questions if q.metadata.at <= latest_time}

    def _select_after_session(self, questions: "Sequence[OpenQuestion]") -> "list[OpenQuestion]":
        """Return the questions of one call right after a session: lessons, and changed guides.

        Without an urgent question, one call must be left for later sessions. Lessons wait if an
        urgent question shows their outcomes in full.
        """
        shown = frozenset[str]().union(*(q.source_ids for q in questions if q.is_urgent))
        calls = 1 if any(question.is_urgent for question in questions) else 2
        if self._client.min_questions is not None or self._spare_calls() < calls:
            return []
        return [
            q for q in questions if q.changed_share > 0.0 or (q.is_lesson and q.about not in shown)
        ]

    def _spare_calls(self) -> float:
        """Return the calls that the trusted outcomes of a week allow, less the calls made."""
        snapshot, start = self._store.snapshot(), self._now() - _WEEK
        outcomes = [
            snapshot.outcomes.since(name, start) for name in snapshot.outcomes.domains("local")
        ]
        allowance = _FIRST_CALLS + _CALLS_PER_OUTCOME * sum(map(len, outcomes))
        return allowance - self._ledger.count_calls(_WEEK.total_seconds())

    def _select_batch(self, waiting: "Sequence[OpenQuestion]") -> "list[OpenQuestion]":
        """Return the questions of the next call.

        Verdicts get their own call, because other questions show results. If the day's budget is
        enough for all questions, texts come last: answers about outcomes change the material of a
        text, and no text should be written twice. Otherwise urgent questions come first.
        """
        if self._fits_budget(waiting):
            waiting = sorted(waiting, key=lambda q: (q.text is not None, q.is_verdict))
        else:
            waiting = sorted(waiting, key=lambda q: not q.is_urgent)
        selection: list[OpenQuestion] = []
        for question in waiting:
            if selection and question.is_verdict != selection[0].is_verdict:
                continue
            if not questions.is_independent(question, selection):
                continue
            candidates = [*selection, question]
            batch = build_batch([candidate.request for candidate in candidates])
            if selection and batch.tokens > _BATCH_TOKENS:
                continue
            selection = candidates
            if len(selection) == _MAX_QUESTIONS:
                break
        return selection

    def _fits_budget(self, questions: "Sequence[OpenQuestion]") -> bool:
        spending = self._ledger.spent_today()
        tokens = sum(question.request.size for question in questions) // 4
        calls = 2 + tokens // _BATCH_TOKENS
        return (
            spending.calls + calls <= self._policy.client_calls_per_day
            and spending.tokens + tokens <= self._policy.client_tokens_per_day
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    # ── one call ─────────────────────────────────────────────────────────────────────

    def _check_login(self) -> None:
        closed_reason = self._ledger.closed_reason()
        if closed_reason is not None:
            raise UnavailableError(closed_reason)
        program = self._client.program
        if shutil.which(program) is None:
            self._close_circuit(f"{program} is not on the PATH of this process")
        command = self._client.login_command()
        if not command:
            return
        with _empty_folder() as folder:
            try:
                result = subprocess.run(
                    command,
                    cwd=folder,
                    env=_environment(),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_LOGIN_SECONDS,
                    start_new_session=True,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                self._close_circuit(f"`{' '.join(command)}` failed: {error}")
        if result.returncode:
            self._close_circuit(f"nobody is logged in to {program}; `{program}` logs you in")

    def _close_circuit(self, reason: str) -> None:
        self._ledger.close_circuit(reason, HOUR / 6)
        raise UnavailableError(reason)

    def _build_call(self, batch: QuestionBatch) -> ClientCall:
        return self._client.build_call(batch, self._policy.client_model, self._call_folder)

    def _ask(self, chosen: "Sequence[OpenQuestion]", lock: int, report: ClientReport) -> list[str]:
        """Send one call, store its replies and return the keys of its questions."""
        batch = build_batch([question.request for question in chosen])
        tokens = batch.tokens + self._client.call_tokens
        number = self._ledger.reserve(0.0, self._policy, tokens)
        if number is None:
            raise UnavailableError("the client did not answer earlier calls")
        report.calls += 1
        report.questions += len(chosen)
        reach("client-reserved")
        with _empty_folder() as folder:
            note = ClientCallNote(
                call=number,
                client=self._policy.client,
                keys=batch.keys,
                folder=folder,
                started=time.time(),
                asker=os.getpid(),
            )
            is_late = self._run_child(self._build_call(batch), note, lock)
        self._take_replies(report, is_late=is_late)
        return list(batch.keys.values())

    def _run_child(self, call: ClientCall, note: ClientCallNote, lock: int) -> bool:
        """Run the child to its end; return True if it was killed because it took too long."""
        self._call_folder.mkdir(mode=0o700, exist_ok=True)
        for name, text in {**call.files, "stdin": call.stdin}.items():
            (self._call_folder / name).write_text(text, encoding="utf-8", errors="replace")
        for name in ("stdout", "stderr"):
            (self._call_folder / name).write_bytes(b"")
        self._write_note(note)
        reach("client-noted")
        with (
            (self._call_folder / "stdin").open("rb") as stdin,
            (self._call_folder / "stdout").open("wb") as stdout,
            (self._call_folder / "stderr").open("wb") as stderr,
        ):
            try:
                child = subprocess.Popen(
                    call.command,
                    cwd=note.folder,
                    env=_environment(),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=(lock,),
                )
            except OSError as error:
                (self._call_folder / "stderr").write_text(str(error))
                return False
        self._write_note(msgspec.structs.replace(note, child=child.pid))
        with suppress(OSError):  # the child may have ended
            os.setpriority(os.PRIO_PROCESS, child.pid, _PRIORITY)
        reach("client-started")
        deadline = time.monotonic() + self._policy.client_seconds
        while child.poll() is None and time.monotonic() < deadline:
            if (self._call_folder / "stdout").stat().st_size > MAX_OUTPUT:
                break
            time.sleep(_CHECK_SECONDS)
        is_late = child.poll() is None and time.monotonic() >= deadline
        _kill_group(child.pid)
        child.wait()
        reach("client-ended")
        return is_late

    def _write_note(self, note: ClientCallNote) -> None:
        write_whole(self._call_folder / "call.json", msgspec.json.encode(note))

    def _read_note(self) -> ClientCallNote | None:
        try:
            data = (self._call_folder / "call.json").read_bytes()
            return msgspec.json.decode(data, type=ClientCallNote)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _end_abandoned(self) -> None:
        """Kill a child that is late and whose parent process is gone."""
        note = self._read_note()
        if note is None or not note.child or is_alive(note.asker):
            return
        is_late = time.time() - note.started > self._policy.client_seconds + _GRACE_SECONDS
        if is_late and _is_running(note.child):
            with suppress(VaultBusyError), client_lock(self._state_folder, 0.0):
                return  # a child of this vault would hold the lock
            _kill_group(note.child)

    # ── replies ──────────────────────────────────────────────────────────────────────

    def _take_replies(self, report: ClientReport, *, is_late: bool = False) -> None:
        """Store the replies of the last noted call; raise UnavailableError if it failed."""
        note = self._read_note()
        if note is None:
            return
        if _is_running(note.child):  # without the lock, if somebody removed the lock file
            raise UnavailableError("another process asks the client")
        reason = ""
        try:
            self._keep_output(note, report)
        except ClientFault as fault:
            if note.asker == os.getpid() or fault.is_answer:
                reason = self._keep_fault(note, fault, is_late=is_late)
            else:  # a kill may have caused the fault; otherwise the next call has it again
                self._ledger.record_refusal(note.call)
        # After all is stored: until here another process can repeat everything.
        shutil.rmtree(note.folder, ignore_errors=True)
        shutil.rmtree(self._call_folder)
        if reason:
            raise UnavailableError(reason, tried=True)

    def _keep_output(self, note: ClientCallNote, report: ClientReport) -> None:
        client = CLIENTS[note.client]
        stdout, stderr = (self._read_start(name) for name in ("stdout", "stderr"))
        if len(stdout) > MAX_OUTPUT:
            raise ClientFault(f"{client.program} printed more than {MAX_OUTPUT} bytes")
        reply = client.read_output(stdout, stderr.decode(errors="replace"), self._now())
        report.tokens += reply.tokens
        share = AnswerCost(reply.tokens // max(len(note.keys), 1), 0.0)
        texts: dict[str, str] = {}
        for name, key in note.keys.items():
            if name in reply.answers:
                text = msgspec.json.encode(reply.answers[name]).decode()
                kept_reply = PricedReply(text=text, stop="end_turn", spent=share)
                texts[key] = msgspec.json.encode(kept_reply).decode()
            else:
                self._ledger.count_failure(key, "it was not answered", service=False)
        self._ledger.record_replies(note.call, texts, AnswerCost(reply.tokens, 0.0))

    def _read_start(self, name: str) -> bytes:
        with (self._call_folder / name).open("rb") as file:
            return file.read(MAX_OUTPUT + 1)

    def _keep_fault(self, note: ClientCallNote, fault: ClientFault, *, is_late: bool) -> str:
        seconds = f"{self._policy.client_seconds:g} s (judge.client_seconds)"
        late_reason = f"{CLIENTS[note.client].program} did not answer in {seconds}"
        reason = late_reason if is_late else str(fault)
        self._ledger.record_failure(
            note.call, reason, billed=False, pause=fault.pause, tokens=fault.tokens
        )
        for key in note.keys.values() if fault.is_answer else ():
            self._ledger.count_failure(key, reason, service=False)
        return reason

    def _commit_replies(self, keys: Sequence[str], report: ClientReport) -> None:
        replies: list[AgentReply] = []
        for key, reply_text in self._ledger.replies(keys).items():
            reply = msgspec.json.decode(reply_text, type=PricedReply)
            replies.append(AgentReply(key, reply.text, reply.spent.tokens, is_last=True))
        if not replies:
            return

        def refuse(key: str, reason: str) -> None:
            report.refused.append(f"{key}: {reason}")
            self._ledger.forget_reply(key)
            self._ledger.count_failure(key, reason, service=False)

        refusals = len(report.refused)
        try:
            now = self._now().replace(microsecond=0)
            self._queue.answer(replies, now=now, on_refusal=refuse)
        except BadInputError as error:  # another process writes; the replies stay stored
            raise UnavailableError(str(error)) from None
        report.answers += len(replies) - (len(report.refused) - refusals)


def _environment() -> dict[str, str]:
    """Return the environment of a child, without variables of the surrounding session."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in _SESSION_VARIABLES and not name.startswith(_SESSION_PREFIXES)
    }
    return variables | _CLIENT_VARIABLES


@contextmanager
def _empty_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="skillvault-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_running(child: int) -> bool:
    """Return True if a child runs. It leads its session, unlike another process with its id."""
    try:
        is_leader = child > 0 and os.getpgid(child) == os.getsid(child) == child
    except ProcessLookupError:
        return False
    return is_leader and is_alive(child)


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
