"""Claude as the judge: the Anthropic SDK has its one home here, loaded when first used.

The key comes from the environment alone, as ANTHROPIC_BASE_URL does. What is asked stands in
`asking`, what of a reply is believed in `answering` and `writing`, retries and caps in `calling`.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import Brief, Case, Draft, Insight, Opinion, Spent, Verdict, billed
from skillvault.errors import UnansweredError, UnavailableError
from skillvault.judge import asking
from skillvault.judge.answering import (
    InsightSaid,
    OpinionSaid,
    UnusableError,
    VerdictSaid,
    insight_of,
    opinion_of,
    schema,
    shaped,
    verdict_of,
)
from skillvault.judge.calling import Caller, Fault, Kept, Question, Reply
from skillvault.judge.offline import OfflineJudge
from skillvault.judge.writing import Unfit, Writing, writing
from skillvault.models import Usage
from skillvault.policy import JudgePolicy
from skillvault.records import Decision, JudgeInfo, Outcome, Scalar, Skill

if TYPE_CHECKING:
    import anthropic

KEY = "ANTHROPIC_API_KEY"
_OFFLINE = "or set `judge: {provider: offline}` in vault.yaml"
_BATCH_SECONDS = 300.0  # for the requests and replies of a whole batch
_BUSY = {408, 409, 429}  # and all from 500 on
_CLOSED = {401, 402, 403, 404}  # 404: no such model, for this key
# How a 400 or 429 says that money is the trouble; the codes that the SDK knows all hold one.
_MONEY = ("spend limit", "spend_limit", "credit balance", "billing", "usage limit", "usage_limit")
_Value = TypeVar("_Value")
_Shape = TypeVar("_Shape", bound=Struct)


class _Block(Struct, frozen=True):
    """A part of a reply; thinking and the like have no text for us."""

    type: str
    text: str = ""


class _Batch(Struct, frozen=True):
    """A batch, as far as we read it."""

    id: str
    processing_status: str


class _Message(Struct, frozen=True, tag_field="type", tag="message"):
    """What the Messages API answers, as far as we read it."""

    content: list[_Block]
    stop_reason: str
    usage: Usage


@dataclass(frozen=True)
class ClaudeJudge:
    """Asks for a verdict before the result is shown, then for what it teaches; writes skills.

    `unfit` says what keeps a merged text from standing for its sources.
    """

    rules: JudgePolicy
    prompts: asking.Prompts
    caller: Caller
    unfit: Unfit

    @property
    def info(self) -> JudgeInfo:
        """Claude, by its model and the prompts of both questions."""
        prompt = self.prompts.digest("verdict", "insight")
        return JudgeInfo(name="claude", version="1", model=self.rules.model, prompt=prompt)

    @property
    def at_once(self) -> int:
        """As many questions as the policy allows."""
        return self.rules.concurrency

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was; the request holds nothing of how it ended."""
        made = asking.decided(domain, decision, context, applied, entry_value)
        question = self._question("verdict", made, VerdictSaid)
        said, spent = self._answered(question, lambda reply: shaped(reply, VerdictSaid))
        return msgspec.structs.replace(verdict_of(said), spent=spent)

    def insight(self, case: Case, verdict: Verdict) -> Insight | None:
        """What the outcome teaches; nobody is asked where it supports no statement."""
        if OfflineJudge().insight(case, verdict) is None:
            return None
        told = asking.ended(case.outcome) | {"verdict": asking.judged(verdict)}
        # The peers change as others arrive: the reply to this outcome is kept without them.
        about = asking.digest(case.outcome.received, str(told["verdict"]))
        data = told | {"compared": asking.compared(case)}
        question = self._question("insight", data, InsightSaid, about=about)

        def read(reply: Kept) -> Insight:
            return insight_of(shaped(reply, InsightSaid), question.user)

        found, spent = self._answered(question, read)
        return msgspec.structs.replace(found, spent=spent)

    def write(self, brief: Brief) -> Draft | None:
        """The text of a skill; the offline one, which says so, where Claude's is of no use."""
        plain = OfflineJudge().write(brief)
        if plain is None:
            return None
        task = writing(brief, plain, self.unfit)
        question = self._question(task.prompt, task.material, Writing)
        try:
            draft, _ = self._answered(question, lambda r: task.draft(shaped(r, Writing), question))
        except UnansweredError as error:
            note = f"Written by the offline judge, as Claude's text was of no use: {error}."
            return msgspec.structs.replace(plain, note=note)
        return draft

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """What speaks for and against a decision that is about to be carried out."""
        o, size = outcome, outcome.result.entry_value
        made = asking.decided(o.domain, o.decision, o.context, o.applied, size)
        data = {"decision": made, "skills": {skill.name: skill.body for skill in skills}}
        model = self.rules.model if thorough else self.rules.fast_model
        question = self._question("advice", data, OpinionSaid, model=model)

        def read(reply: Kept) -> Opinion:
            return opinion_of(shaped(reply, OpinionSaid), question.user)

        opinion, spent = self._answered(question, read)
        prompt = self.prompts.digest("advice")
        info = JudgeInfo(name="claude", version="1", model=model, prompt=prompt)
        return opinion, billed(info, spent)

    def _question(
        self,
        prompt: str,
        data: Mapping[str, Any],
        shape: type[Struct],
        *,
        about: str = "",
        model: str | None = None,
    ) -> Question:
        system, user = self.prompts.text(prompt), self.prompts.fenced(data)
        asked = model or self.rules.model
        key = asking.digest(prompt, asked, system, about or user)
        return Question(
            key=f"{prompt}-{key}",
            model=asked,
            system=system,
            user=user,
            schema=schema(shape),
        )

    def _answered(self, question: Question, read: Callable[[Kept], _Value]) -> tuple[_Value, Spent]:
        """What a reply says and took; asked once more with the reason where it is of no use."""
        first = self.caller.ask(question)
        try:
            return read(first), first.spent
        except UnusableError as error:
            again = _again(question, str(error))
        second = self.caller.ask(again)
        try:
            return read(second), first.spent + second.spent
        except UnusableError as error:
            self.caller.forget(question)
            self.caller.forget(again)
            raise UnansweredError(str(error)) from None


def _again(question: Question, reason: str) -> Question:
    told = f"{question.user}\n\nYour last reply was of no use: {reason}. Reply again, whole."
    return msgspec.structs.replace(question, key=f"{question.key}-again", user=told)


# ── the wire ─────────────────────────────────────────────────────────────────────────


class Api:
    """The Anthropic API, through the SDK."""

    def check(self) -> None:
        """UnavailableError without a key or the SDK."""
        _connected()

    def send(self, question: Question, rules: JudgePolicy, seconds: float) -> Reply:
        """One request, done within these seconds; Fault where there is no reply."""
        return _awaited(_sent(_connected(), question, rules, seconds))

    def begin(self, questions: Sequence[Question], rules: JudgePolicy) -> str:
        """Send a batch; its id."""
        return _awaited(_begun(_connected(), questions, rules))

    def ended(self, batch: str) -> dict[str, Reply] | None:
        """The replies of a batch by key; None while it is under way."""
        return _awaited(_ended(_connected(), batch))


def _connected() -> "anthropic.AsyncAnthropic":
    """The SDK's client for the key and address that the environment names now."""
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise UnavailableError(f"the judge is Claude and {KEY} is not set; export it, {_OFFLINE}")
    return _client(key, os.environ.get("ANTHROPIC_BASE_URL"))


@cache
def _client(key: str, address: str | None) -> "anthropic.AsyncAnthropic":
    try:
        import anthropic  # noqa: PLC0415 (most of a second, and only who asks Claude pays it)
    except ImportError:
        raise UnavailableError(
            f"the judge is Claude and its package is missing; `pip install 'skillvault[claude]'`, "
            f"{_OFFLINE}"
        ) from None
    return anthropic.AsyncAnthropic(
        api_key=key, base_url=address, max_retries=0, open_telemetry=False
    )


async def _sent(
    client: "anthropic.AsyncAnthropic", question: Question, rules: JudgePolicy, seconds: float
) -> Reply:
    async with _within(seconds):
        body = params(question, rules)
        # A parameter of older models, which the SDK does not know any more.
        extra = {key: body.pop(key) for key in ("temperature",) if key in body}
        raw = await client.messages.with_raw_response.create(
            **body, extra_body=extra, timeout=seconds
        )
        said = await raw.http_response.aread()
    return read(said)


async def _begun(
    client: "anthropic.AsyncAnthropic", questions: Sequence[Question], rules: JudgePolicy
) -> str:
    requests: list[Any] = [
        {"custom_id": question.key, "params": params(question, rules)} for question in questions
    ]
    async with _within(_BATCH_SECONDS):
        api = client.messages.batches.with_raw_response
        raw = await api.create(requests=requests, timeout=_BATCH_SECONDS)
        said = await raw.http_response.aread()
    return _decoded(said, _Batch).id


async def _ended(client: "anthropic.AsyncAnthropic", batch: str) -> dict[str, Reply] | None:
    found: dict[str, Reply] = {}
    async with _within(_BATCH_SECONDS):
        raw = await client.messages.batches.with_raw_response.retrieve(batch)
        state = _decoded(await raw.http_response.aread(), _Batch)
        if state.processing_status != "ended":
            return None
        async for entry in await client.messages.batches.results(batch):
            if entry.result.type == "succeeded":
                said = entry.result.message.model_dump_json().encode()
                found[entry.custom_id] = read(said)
    return found


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    """What goes wrong on the wire as a Fault; nothing takes longer than this."""
    import anthropic  # noqa: PLC0415 (`_client` has loaded it)

    try:
        # The SDK's timeout is of each read alone: a body that drips would never end.
        async with asyncio.timeout(seconds):
            yield
    except anthropic.APIStatusError as error:
        raise _refusal(error) from None
    except (TimeoutError, anthropic.APITimeoutError):
        raise Fault("Claude does not answer in time", "busy", billed=True) from None
    except anthropic.AnthropicError as error:
        said = str(error.__cause__ or error)[:200]
        raise Fault(f"Claude cannot be reached: {said}", "busy", billed=True) from None


def params(question: Question, rules: JudgePolicy) -> dict[str, Any]:
    """A question as the Messages API takes it; the fixed part is cached."""
    fixed = {"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}
    found: dict[str, Any] = {
        "model": question.model,
        "max_tokens": rules.max_tokens,
        "system": [fixed],
        "messages": [{"role": "user", "content": question.user}],
        "output_config": {"format": {"type": "json_schema", "schema": question.schema}},
    }
    if rules.temperature is not None:
        found["temperature"] = rules.temperature
    return found


def read(body: bytes) -> Reply:
    """The reply in a body; Fault for anything else that came with a 200."""
    message = _decoded(body, _Message)
    text = "".join(block.text for block in message.content if block.type == "text")
    return Reply(text=text, stop=message.stop_reason, usage=message.usage)


def _decoded(body: bytes, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError):
        start = body[:80].decode(errors="replace")
        raise Fault(f"no answer of Claude's: {start!r}", "busy", billed=True) from None


def _refusal(error: "anthropic.APIStatusError") -> Fault:
    """What a status says."""
    said = " ".join(str(error.api_message or error.body or "")[:300].split())
    reason = f"Claude refuses ({error.status_code}): {said or 'without a word'}"
    return Fault(reason, _kind(error, said), wait=_wait(error.response.headers.get("retry-after")))


def _kind(error: "anthropic.APIStatusError", said: str) -> Literal["busy", "closed", "bad"]:
    status = error.status_code
    told = f"{error.type} {error.error_code} {said}".lower()
    if status in _CLOSED or (status in (400, 429) and any(word in told for word in _MONEY)):
        return "closed"
    return "busy" if status in _BUSY or status >= 500 else "bad"


def _wait(said: str | None) -> float | None:
    """`retry-after` in seconds, given as such or as a date; None for neither."""
    if said is None:
        return None
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None


# ── one loop for all threads: connections are kept, and a deadline ends any wait ──────


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="claude", daemon=True).start()
    return loop


def _awaited(work: Coroutine[Any, Any, _Value]) -> _Value:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()
