"""The desk of a vault: what an agent is asked next, what it answers, what is dropped here.

Which questions are open is said in `questions`, what an answer changes
in `answer`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.judge import agent
from skillvault.judge.claude import replies, retries
from skillvault.loop.judging import judge_replies, questions
from skillvault.model.brief import Spent
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Answer
from skillvault.model.text import strict_json

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


class Desk:
    """What agents are asked in a vault; `look` is the vault as a question finds it.

    `commit` does the step `answer` with these answers. `place` is the file of what was dropped.
    """

    def __init__(
        self,
        look: "Callable[[], Run]",
        commit: "Callable[[Sequence[Answer], datetime | None], Report]",
        place: Callable[[], Path],
    ) -> None:
        self._look = look
        self._commit = commit
        self._place = place

    def next_questions(
        self, n: int = MOST, *, session: str | None = None, untrusted: bool = False
    ) -> list[AskedQuestion]:
        """The next questions, the best first; of a `session` no more than it may still answer.

        UsageError where the judge is no agent.
        """
        run = self._look()
        room = n if session is None else min(n, self._room(run, session))
        dropped = self._dropped()
        seen: set[str] = set()
        chosen: list[OpenQuestion] = []
        for question in self._unanswered(run, untrusted=untrusted):
            is_own = session is not None and session in question.sessions
            if question.matter_key in dropped or is_own or question.about in seen:
                continue  # the end of a decision would tell what its verdict must not know
            chosen.append(question)
            seen.add(question.about)
        return [_shown(question) for question in chosen[: max(room, 0)]]

    def answer(
        self,
        answers: Sequence[AgentReply],
        *,
        session: str | None = None,
        now: datetime | None = None,
    ) -> "Report | None":
        """Commit what was answered, and what follows from it; None if all was answered before.

        Nothing is committed unless all can be: BadInputError has every reason. Of two that answer
        one question at once the second is refused, and what it is told of is looked at anew.
        """
        report: Report | None = None
        reason = ""
        for _ in range(_TRIES):
            records = self._records(answers, session)
            if not records:
                return report
            earlier = report.done if report else []
            report = self._commit(list(records.values()), now)
            report.done[:0] = earlier
            lost = self._lost(records)
            if not lost:
                return report
            answers = [reply for reply in answers if reply.key in lost]
            reason = "; ".join(f"{waiting.path}: {waiting.reason}" for waiting in report.waiting)
        raise _useless(f"not kept, answer again ({reason})")

    def _records(self, answers: Sequence[AgentReply], session: str | None) -> dict[str, Answer]:
        """key -> answer to be kept, of those that are not; BadInputError with every reason."""
        run = self._look()
        open_now = self._unanswered(run, untrusted=True)
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

    def _lost(self, records: Mapping[str, Answer]) -> list[str]:
        """The keys of those that another writer kept from the branch."""
        kept = self._look().view.answers.get_many(records)
        return [key for key, record in records.items() if kept.get(key) != record]

    def drop_question(self, key: str) -> None:
        """Keep the offline words of what a question is about: this clone asks it no more."""
        if key not in {
            question.matter_key for question in self._unanswered(self._look(), untrusted=True)
        }:
            raise UsageError(f"{key}: no such question is open; see `skillvault ask`")
        place = self._place()
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            file.write(f"{key}\n")

    def _unanswered(self, run: "Run", *, untrusted: bool) -> "list[OpenQuestion]":
        return questions.open_questions(run, _agent_of(run), untrusted=untrusted)

    def _room(self, run: "Run", session: str) -> int:
        return run.policy.judge.asks_per_session - run.view.answers.count_of_session(session)

    def _dropped(self) -> set[str]:
        place = self._place()
        return set(place.read_text(encoding="utf-8").split()) if place.exists() else set()

    def _record(
        self, run: "Run", question: "OpenQuestion | None", reply: AgentReply, session: str | None
    ) -> Answer | None:
        """The answer to be kept; None for one that the vault has, BadInputError for a bad one."""
        before = run.view.answers.get(reply.key)
        if before is not None:
            if _reply_value(reply.text) == before.reply:
                return None
            raise _useless("answered already; `skillvault why` shows what, nothing is to be done")
        if question is None:
            raise _useless("no such question is open, or what it is about has changed; ask again")
        if session is not None and session in question.sessions:
            raise _useless(
                f"session {session} made the decision and may not judge it; leave it to another "
                "session, or to a helper that knows nothing of it"
            )
        accepted = _accepted(question, reply.text)
        answer = question.asked.given(accepted, _agent_of(run).author())
        return judge_replies.answer_record(answer, question.standing, session)


def _agent_of(run: "Run") -> "agent.AgentJudge":
    if isinstance(run.judge, agent.AgentJudge):
        return run.judge
    raise UsageError(
        f"the judge of this vault is {run.policy.judge.provider}, which no agent answers for; set "
        "`judge: {provider: agent}` in vault.yaml and commit it"
    )


def _accepted(question: "OpenQuestion", text: str) -> dict[str, Any]:
    """What of a reply is kept; BadInputError with every reason."""
    if len(text.encode(errors="replace")) > _LONGEST:
        raise _useless(f"longer than {_LONGEST // 1024} KiB; answer in the shape of its schema")
    kept = retries.Kept(text=_bare(text), stop="end_turn", spent=Spent())
    try:
        accepted: dict[str, Any] = question.asked.accepted(kept)
    except replies.UnusableError as error:
        raise _useless(str(error)) from None
    return accepted


def _bare(text: str) -> str:
    """A reply without the fence that some put around JSON."""
    lines = text.strip().splitlines()
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else text.strip()


def _reply_value(text: str) -> object:
    try:
        return strict_json.load(_bare(text))
    except BadInputError:
        return None


def _useless(reason: str) -> BadInputError:
    return BadInputError(reason, code="bad-answer")


def _shown(question: "OpenQuestion") -> AskedQuestion:
    sent = question.asked.sent
    return AskedQuestion(
        key=question.matter_key,
        kind=question.asked.matter.kind,
        about=question.about,
        trust=question.standing.trust,
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
