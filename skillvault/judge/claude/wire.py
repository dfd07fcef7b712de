"""What goes over the wire to Claude and back, as values: requests, replies, refusals. No SDK."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from skillvault.claude_models import Usage
from skillvault.judge.claude.retries import Fault, Question, Reply
from skillvault.policy import JudgePolicy

_BUSY = {408, 409, 429}  # and all from 500 on
_CLOSED = {401, 402, 403, 404}  # 404: no such model, for this key
# How a 400 or 429 says that money is the trouble; the codes that the SDK knows all hold one.
_MONEY = ("spend limit", "spend_limit", "credit balance", "billing", "usage limit", "usage_limit")
_Shape = TypeVar("_Shape", bound=Struct)


class _Block(Struct, frozen=True):
    """A part of a reply; thinking and the like have no text for us."""

    type: str
    text: str = ""


class Batch(Struct, frozen=True):
    """A batch, as far as we read it."""

    id: str
    processing_status: str


class _Message(Struct, frozen=True, tag_field="type", tag="message"):
    """What the Messages API answers, as far as we read it."""

    content: list[_Block]
    stop_reason: str
    usage: Usage


class Refusal(NamedTuple):
    """An answer that is no reply: its status, the API's codes for it, its words, its header."""

    status: int
    codes: str
    said: str
    retry_after: str | None


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
    message = decoded(body, _Message)
    text = "".join(block.text for block in message.content if block.type == "text")
    return Reply(text=text, stop=message.stop_reason, usage=message.usage)


def decoded(body: bytes, shape: type[_Shape]) -> _Shape:
    """A body as a shape; Fault for anything else."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError):
        start = body[:80].decode(errors="replace")
        raise Fault(f"no answer of Claude's: {start!r}", "busy", billed=True) from None


def fault_of(refusal: Refusal) -> Fault:
    """What a refusal means for us."""
    reason = f"Claude refuses ({refusal.status}): {refusal.said[:300] or 'without a word'}"
    return Fault(reason, _kind(refusal), wait=_wait(refusal.retry_after))


def _kind(refusal: Refusal) -> Literal["busy", "closed", "bad"]:
    status, told = refusal.status, f"{refusal.codes} {refusal.said}".lower()
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
