"""The question queue of a vault: hand out questions to agents, and accept their answers.

The commands `ask` and `answer` and `client_calls.py` use `QuestionQueue`. `questions.py` finds the
open questions; the step `answer` uses the answers.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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

DEFAULT_QUESTIONS = 5  # questions of one prompt, if the caller names no number
_MAX_TRIES = 5  # tries to commit answers while others write
_MAX_REPLY_BYTES = 64 * 1024


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """A question for an agent.

    `key` identifies the answer, `prompt` has the instructions and `record` the material, and
    `schema` describes the reply.
    """

    key: str
    kind: str
    about: str
    trust: str
    prompt: str
    record: str
    schema: dict[str, Any]


class AgentReply(Struct, frozen=True):
    """The reply to one question, as text, and its tokens if they are known.

    With `is_last`, unsupported parts of the reply are removed instead of refused, because nobody is
    asked again.
    """

    key: str
    text: str
    tokens: int | None = None
    is_last: bool = False


class QuestionQueue:
    """The questions of a vault for agents.

    `new_run` reads the vault as it is now. `commit` runs the step `answer` with new answers.
    `dropped_file` lists the dropped questions.
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
        self, n: int = DEFAULT_QUESTIONS, *, session: str | None = None, untrusted: bool = False
    ) -> list[AskedQuestion]:
        """Return up to `n` questions, the best first, within the limit of the `session`.

        Raise UsageError if the judge is not an agent.
        """
        session = redact.redact_value(session)
        run = self._new_run()
        limit = n
        if session is not None:
            answer_count = run.snapshot.answers.count_of_session(session)
            limit = min(n, run.policy.judge.asks_per_session - answer_count)
        batch: list[OpenQuestion] = []
        for question in self.open_questions(run, untrusted=untrusted):
            is_involved = session is not None and session in question.sessions
            if not is_involved and questions.is_independent(question, batch):
                batch.append(question)
        return [_asked_question(question) for question in batch[: max(limit, 0)]]

    def open_questions(
        self, run: "Run | None" = None, *, untrusted: bool = False
    ) -> "list[OpenQuestion]":
        """Return the unanswered questions that this clone did not drop, the best first."""
        file = self._dropped_file()
        keys = set(file.read_text(encoding="utf-8").split()) if file.exists() else set[str]()
        open_questions = self._open_questions(run or self._new_run(), untrusted=untrusted)
        return [question for question in open_questions if question.answer_key not in keys]

    def answer(
        self,
        answers: Sequence[AgentReply],
        *,
        session: str | None = None,
        now: datetime | None = None,
        on_refusal: Callable[[str, str], object] | None = None,
    ) -> "Report | None":
        """Commit the answers and their effects; return None if all were given before.

        Without `on_refusal`, one bad answer keeps all from being committed: raise BadInputError
        with every reason. With `on_refusal`, commit the good answers, and call it with the key and
        reason of each bad answer. If two agents answer one question at once, refuse the second.
        """
        session = redact.redact_value(session)
        report: Report | None = None
        reason = ""
        for _ in range(_MAX_TRIES):
            records, reasons = self._new_answers(answers, session)
            if reasons and on_refusal is None:
                texts = [f"{key}: {reason}" for key, reason in reasons.items()]
                raise BadInputError("; ".join(texts), code="bad-answer")
            if on_refusal is not None:
                for key, reason in reasons.items():
                    on_refusal(key, reason)
            if not records:
                return report
            earlier_results = report.done if report else []
            report = self._commit(list(records.values()), now)
            report.done[:0] = earlier_results
            # Another writer may have committed an answer to the same question first.
            stored = self._new_run().snapshot.answers.get_many(records)
            lost_keys = [key for key, record in records.items() if stored.get(key) != record]
            if not lost_keys:
                return report
            answers = [reply for reply in answers if reply.key in lost_keys]
            reason = "; ".join(f"{item.path}: {item.reason}" for item in report.waiting)
        raise _refusal(f"not kept, answer again ({reason})")

    def _new_answers(
        self, answers: Sequence[AgentReply], session: str | None
    ) -> tuple[dict[str, Answer], dict[str, str]]:
        run = self._new_run()
        open_questions = self._open_questions(run, untrusted=True)
        questions = {question.answer_key: question for question in open_questions}
        records: dict[str, Answer] = {}
        reasons: dict[str, str] = {}
        for reply in answers:
            try:
                record = self._new_answer(run, questions.get(reply.key), reply, session)
            except BadInputError as error:
                reasons[reply.key] = error.message
            else:
                records |= {reply.key: record} if record else {}
        return records, reasons

    def drop_question(self, key: str) -> None:
        """Do not ask a question again in this clone; the offline text stays."""
        open_questions = self._open_questions(self._new_run(), untrusted=True)
        if key not in {question.answer_key for question in open_questions}:
            raise UsageError(f"{key}: no such question is open; see `skillvault ask`")
        path = self._dropped_file()
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{key}\n")

    def _open_questions(self, run: "Run", *, untrusted: bool) -> "list[OpenQuestion]":
        return questions.find_open_questions(run, _agent_of(run), untrusted=untrusted)

    def _new_answer(
        self, run: "Run", question: "OpenQuestion | None", reply: AgentReply, session: str | None
    ) -> Answer | None:
        """Return the record of a reply, or None if the vault has it; raise for a bad reply."""
        old_answer = run.snapshot.answers.get(reply.key)
        if old_answer is not None:
            # The vault adds `unlike` to a reply.
            old_reply = {key: value for key, value in old_answer.reply.items() if key != "unlike"}
            with suppress(BadInputError):
                if strict_json.load(_without_fence(reply.text)) == old_reply:
                    return None
            raise _refusal(
                "answered already, so there is nothing to do; `skillvault why` shows the answer"
            )
        if question is None:
            raise _refusal("no such question is open, or what it is about has changed; ask again")
        if session is not None and session in question.sessions:
            raise _refusal(
                f"session {session} made the decision and may not judge it; leave it to another "
                "session, or to a helper that knows nothing of it"
            )
        accepted_reply = _accept_reply(question, reply)
        author = replace(_agent_of(run).author(), tokens=reply.tokens)
        answer = question.judge_question.as_answer(accepted_reply, author)
        return judge_replies.answer_record(answer, question.metadata, session)


def _agent_of(run: "Run") -> "agent.AgentJudge":
    if isinstance(run.judge, agent.AgentJudge):
        return run.judge
    raise UsageError(
        f"the judge of this vault is {run.policy.judge.provider}, which no agent answers for; set "
        "`judge: {provider: agent}` or `{provider: client}` in vault.yaml and commit it"
    )


def _accept_reply(question: "OpenQuestion", reply: AgentReply) -> dict[str, Any]:
    text = reply.text
    if len(text.encode(errors="replace")) > _MAX_REPLY_BYTES:
        raise _refusal(
            f"longer than {_MAX_REPLY_BYTES // 1024} KiB; answer in the shape of its schema"
        )
    candidate = replies.PricedReply(text=_without_fence(text), stop="end_turn", spent=AnswerCost())
    try:
        values: dict[str, Any] = question.judge_question.accept(candidate, final=reply.is_last)
    except replies.UnusableError as error:
        raise _refusal(str(error)) from None
    return values


def _without_fence(text: str) -> str:
    lines = text.strip().splitlines()
    is_fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text.strip()


def _refusal(reason: str) -> BadInputError:
    return BadInputError(reason, code="bad-answer")


def _asked_question(question: "OpenQuestion") -> AskedQuestion:
    request = question.request
    return AskedQuestion(
        key=question.answer_key,
        kind=question.judge_question.topic.kind,
        about=question.about,
        trust=question.metadata.trust,
        prompt=request.system.strip(),
        record=request.user,
        schema=request.schema,
    )


def parse_replies(data: bytes) -> list[AgentReply]:
    """Parse a file that has `{"key": …, "reply": {…}}` on each line."""
    agent_replies: list[AgentReply] = []
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        value = strict_json.load(line)
        if not isinstance(value, dict) or not isinstance(value.get("key"), str):
            raise BadInputError(
                f'line {number}: write {{"key": "KEY", "reply": {{…}}}}', code="bad-answer"
            )
        agent_replies.append(
            AgentReply(value["key"], msgspec.json.encode(value.get("reply")).decode())
        )
    return agent_replies
