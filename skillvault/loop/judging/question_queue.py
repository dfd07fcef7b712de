"""The question queue of a vault: what an agent is asked next, what it answers, what is dropped.

`questions` says which questions are open, `answer` what an answer changes.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.judge import agent
from skillvault.judge.claude import replies
from skillvault.loop.judging import judge_replies, questions
from skillvault.model.brief import AnswerCost
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Answer
from skillvault.model.text import strict_json
from skillvault.vault.files import redact

if TYPE_CHECKING:
    from skillvault.loop.judging.questions import OpenQuestion
    from skillvault.loop.run import Report, Run

MOST = 5  # questions of one prompt, if nobody says how many
_TRIES = 5  # to commit answers while others write
_LONGEST = 64 * 1024  # bytes of a reply


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """A question as an agent gets it: by which key it answers, what it reads, in which shape."""

    key: str
    kind: str
    about: str
    trust: str
    prompt: str
    record: str
    schema: dict[str, Any]


class AgentReply(Struct, frozen=True):
    """What an agent says to one question, as text."""

    key: str
    text: str


class QuestionQueue:
    """The questions of a vault for agents; `new_run` reads the vault as it is now.

    `commit` does the step `answer` with these answers. `dropped_file` lists the dropped questions.
    """

    def __init__(
        self,
        new_run: "Callable[[], Run]",
        commit: "Callable[[Sequence[Answer], datetime | None], Report]",
        dropped_file: Callable[[], Path],
    ) -> None:
        self._new_run = new_run
        self._commit = commit
        self._dropped_file = dropped_file

    def next_questions(
        self, n: int = MOST, *, session: str | None = None, untrusted: bool = False
    ) -> list[AskedQuestion]:
        """Return the next questions, the best first; a `session` gets as many as it may answer.

        UsageError where the judge is no agent.
        """
        session = redact.redact_value(session)
        run = self._new_run()
        limit = n if session is None else min(n, self._answers_left(run, session))
        file = self._dropped_file()
        dropped = set(file.read_text(encoding="utf-8").split()) if file.exists() else set[str]()
        seen: set[str] = set()
        chosen: list[OpenQuestion] = []
        for question in self._open_questions(run, untrusted=untrusted):
            is_decider = session is not None and session in question.sessions
            if question.matter_key in dropped or is_decider or question.about in seen:
                continue  # the end of a decision would tell what its verdict must not know
            if not question.told.isdisjoint(seen):
                continue  # another answer of this batch would change what the text is written from
            chosen.append(question)
            seen.add(question.about)
        return [_as_asked(question) for question in chosen[: max(limit, 0)]]

    def answer(
        self,
        answers: Sequence[AgentReply],
        *,
        session: str | None = None,
        now: datetime | None = None,
    ) -> "Report | None":
        """Commit what was answered, and what follows from it; None if all was answered before.

        Nothing is committed unless all can be: BadInputError has every reason. If two answer one
        question at once, the second is refused.
        """
        session = redact.redact_value(session)
        report: Report | None = None
        reason = ""
        for _ in range(_TRIES):
            records = self._records(answers, session)
            if not records:
                return report
            earlier = report.done if report else []
            report = self._commit(list(records.values()), now)
            report.done[:0] = earlier
            # Another writer may have kept some of them from the branch.
            kept = self._new_run().view.answers.get_many(records)
            lost_keys = [key for key, record in records.items() if kept.get(key) != record]
            if not lost_keys:
                return report
            answers = [reply for reply in answers if reply.key in lost_keys]
            reason = "; ".join(f"{waiting.path}: {waiting.reason}" for waiting in report.waiting)
        raise _refusal(f"not kept, answer again ({reason})")

    def _records(self, answers: Sequence[AgentReply], session: str | None) -> dict[str, Answer]:
        """Key -> new answer to be kept; BadInputError with every reason."""
        run = self._new_run()
        open_now = self._open_questions(run, untrusted=True)
        by_key = {question.matter_key: question for question in open_now}
        records: dict[str, Answer] = {}
        reasons: list[str] = []
        for reply in answers:
            try:
                record = self._record(run, by_key.get(reply.key), reply, session)
            except BadInputError as error:
                reasons.append(f"{reply.key}: {error.message}")
            else:
                records |= {reply.key: record} if record else {}
        if reasons:
            raise BadInputError("; ".join(reasons), code="bad-answer")
        return records

    def drop_question(self, key: str) -> None:
        """Keep the offline words of what a question is about: this clone asks it no more."""
        open_now = self._open_questions(self._new_run(), untrusted=True)
        if key not in {question.matter_key for question in open_now}:
            raise UsageError(f"{key}: no such question is open; see `skillvault ask`")
        path = self._dropped_file()
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{key}\n")

    def _open_questions(self, run: "Run", *, untrusted: bool) -> "list[OpenQuestion]":
        return questions.open_questions(run, _agent_of(run), untrusted=untrusted)

    def _answers_left(self, run: "Run", session: str) -> int:
        return run.policy.judge.asks_per_session - run.view.answers.count_of_session(session)

    def _record(
        self, run: "Run", question: "OpenQuestion | None", reply: AgentReply, session: str | None
    ) -> Answer | None:
        """The answer to be kept; None for one that the vault has, BadInputError for a bad one."""
        old_answer = run.view.answers.get(reply.key)
        if old_answer is not None:
            # `unlike` is kept beside what was answered.
            given = {k: v for k, v in old_answer.reply.items() if k != "unlike"}
            if _reply_value(reply.text) == given:
                return None
            raise _refusal("answered already; `skillvault why` shows what, nothing is to be done")
        if question is None:
            raise _refusal("no such question is open, or what it is about has changed; ask again")
        if session is not None and session in question.sessions:
            raise _refusal(
                f"session {session} made the decision and may not judge it; leave it to another "
                "session, or to a helper that knows nothing of it"
            )
        accepted = _accept(question, reply.text)
        answer = question.asked.as_answer(accepted, _agent_of(run).author())
        return judge_replies.answer_record(answer, question.place, session)


def _agent_of(run: "Run") -> "agent.AgentJudge":
    if isinstance(run.judge, agent.AgentJudge):
        return run.judge
    raise UsageError(
        f"the judge of this vault is {run.policy.judge.provider}, which no agent answers for; set "
        "`judge: {provider: agent}` in vault.yaml and commit it"
    )


def _accept(question: "OpenQuestion", text: str) -> dict[str, Any]:
    """Return what of a reply is kept; BadInputError with every reason."""
    if len(text.encode(errors="replace")) > _LONGEST:
        raise _refusal(f"longer than {_LONGEST // 1024} KiB; answer in the shape of its schema")
    candidate = replies.KeptReply(text=_without_fence(text), stop="end_turn", spent=AnswerCost())
    try:
        accepted: dict[str, Any] = question.asked.accept(candidate)
    except replies.UnusableError as error:
        raise _refusal(str(error)) from None
    return accepted


def _without_fence(text: str) -> str:
    """A reply without the code fence that some put around JSON."""
    lines = text.strip().splitlines()
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else text.strip()


def _reply_value(text: str) -> object:
    try:
        return strict_json.load(_without_fence(text))
    except BadInputError:
        return None


def _refusal(reason: str) -> BadInputError:
    return BadInputError(reason, code="bad-answer")


def _as_asked(question: "OpenQuestion") -> AskedQuestion:
    sent = question.asked.request
    return AskedQuestion(
        key=question.matter_key,
        kind=question.asked.matter.kind,
        about=question.about,
        trust=question.place.trust,
        prompt=sent.system.strip(),
        record=sent.user,
        schema=sent.schema,
    )


def replies_in(data: bytes) -> list[AgentReply]:
    """The replies of a file with `{"key": …, "reply": {…}}` a line; BadInputError for others."""
    replies_read: list[AgentReply] = []
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        value = strict_json.load(line)
        if not isinstance(value, dict) or not isinstance(value.get("key"), str):
            raise BadInputError(
                f'line {number}: write {{"key": "KEY", "reply": {{…}}}}', code="bad-answer"
            )
        replies_read.append(
            AgentReply(value["key"], msgspec.json.encode(value.get("reply")).decode())
        )
    return replies_read
