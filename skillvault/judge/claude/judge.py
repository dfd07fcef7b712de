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
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import Brief, Case, Draft, Insight, Opinion, Spent, Verdict, billed
from skillvault.errors import UnansweredError, UnavailableError
from skillvault.judge.claude import prompts as asking
from skillvault.judge.claude.replies import (
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
from skillvault.judge.claude.retries import Caller, Fault, Kept, Question, Reply
from skillvault.judge.claude.wire import Batch, Refusal, decoded, fault_of, params, read
from skillvault.judge.claude.writing import Unfit, Writing, writing
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.policy import JudgePolicy
from skillvault.records import Decision, JudgeInfo, Outcome, Scalar, Skill
from skillvault.text import flat, shorten

if TYPE_CHECKING:
    import anthropic

KEY = "ANTHROPIC_API_KEY"
_OFFLINE = "or set `judge: {provider: offline}` in vault.yaml"
_BATCH_SECONDS = 300.0  # for the requests and replies of a whole batch
# `cache` runs a function twice for two threads that come first together, and a connection that
# one event loop has opened fails in another.
_STARTING = threading.Lock()
_Value = TypeVar("_Value")


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
            why = shorten(flat(str(error)), 200)
            note = f"Written by the offline judge, as Claude's text was of no use: {why}."
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
            again = self._again(question, str(error))
        second = self.caller.ask(again)
        try:
            return read(second), first.spent + second.spent
        except UnusableError as error:
            self.caller.forget(question)
            self.caller.forget(again)
            raise UnansweredError(str(error)) from None

    def _again(self, question: Question, reason: str) -> Question:
        """The question, with what was wrong; as data, since it quotes replies and outcomes."""
        why = self.prompts.fenced({"of_no_use": reason})
        told = f"{question.user}\n\nYour last reply was of no use. Reply again, whole. Why:\n{why}"
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


def key_given() -> str | None:
    """The key that the environment names now; None where it names none that can be sent."""
    key = os.environ.get(KEY, "").strip()
    return key if key.isascii() and key.isprintable() and key else None


def _connected() -> "anthropic.AsyncAnthropic":
    """The SDK's client for the key and address that the environment names now."""
    key = key_given()
    if key is None:
        raise UnavailableError(f"the judge is Claude and {KEY} is not set; export it, {_OFFLINE}")
    with _STARTING:
        return _client(key, os.environ.get("ANTHROPIC_BASE_URL"))


@cache
def _client(key: str, address: str | None) -> "anthropic.AsyncAnthropic":
    try:
        import anthropic  # noqa: PLC0415 (most of a second, and only who asks Claude pays it)
    except ImportError:
        raise UnavailableError(
            "the judge is Claude and its package is missing; "
            "`pip install 'skillvault-git[claude]'`, "
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
    return decoded(said, Batch).id


async def _ended(client: "anthropic.AsyncAnthropic", batch: str) -> dict[str, Reply] | None:
    found: dict[str, Reply] = {}
    async with _within(_BATCH_SECONDS):
        raw = await client.messages.batches.with_raw_response.retrieve(batch)
        state = decoded(await raw.http_response.aread(), Batch)
        if state.processing_status != "ended":
            return None
        try:
            async for entry in await client.messages.batches.results(batch):
                if entry.result.type == "succeeded":
                    said = entry.result.message.model_dump_json().encode()
                    found[entry.custom_id] = read(said)
        except (ValueError, AttributeError):  # the SDK makes an entry of whatever a line holds
            raise Fault(f"the replies of {batch} cannot be read", "busy") from None
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
        said = " ".join(str(error.api_message or error.body or "").split())
        codes = f"{error.type} {error.error_code}"
        wait = error.response.headers.get("retry-after")
        raise fault_of(Refusal(error.status_code, codes, said, wait)) from None
    except (TimeoutError, anthropic.APITimeoutError):
        raise Fault("Claude does not answer in time", "busy", billed=True) from None
    except anthropic.AnthropicError as error:
        said = str(error.__cause__ or error)[:200]
        raise Fault(f"Claude cannot be reached: {said}", "busy", billed=True) from None


# ── one loop for all threads: connections are kept, and a deadline ends any wait ──────


def _loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        return _started_loop()


@cache
def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="claude", daemon=True).start()
    return loop


def _awaited(work: Coroutine[Any, Any, _Value]) -> _Value:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()
