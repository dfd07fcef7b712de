"""Send requests to Claude, one by one or as a batch, and convert replies and errors to values.

Only this module uses the Anthropic SDK, which is loaded on first use. The key and the address come
from the environment (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL). `loop/judging/paid_calls.py` calls
`send` and the batch functions, and retries after a `Fault`.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from skillvault.judge.claude.questions import JudgeRequest
from skillvault.model.claude_models import Usage, cacheable_length
from skillvault.model.errors import UnavailableError
from skillvault.model.policy import JudgePolicy

if TYPE_CHECKING:
    import anthropic

KEY = "ANTHROPIC_API_KEY"
_OFFLINE_HINT = "or set `judge: {provider: offline}` in vault.yaml"
_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_BATCH_SECONDS = 300.0  # seconds to send or fetch a whole batch
# Without the lock, two threads could each start an event loop, and a connection works in one only.
_START_LOCK = threading.Lock()

_BUSY_CODES = {408, 409, 429}  # and all codes from 500
_CLOSED_CODES = {401, 402, 403, 404}  # 404: the key may not use the model
# Words in the message of a 400 or 429 that the account is out of money.
_MONEY_SIGNS = (
    "spend limit", "spend_limit", "credit balance", "billing", "usage limit", "usage_limit",
)  # fmt: skip
_Shape = TypeVar("_Shape", bound=Struct)
_Value = TypeVar("_Value")
_FaultKind = Literal["busy", "closed", "bad"]


class Reply(Struct, frozen=True, kw_only=True):
    """A reply: its text, the reason why it stopped, and the used tokens."""

    text: str
    stop: str
    usage: Usage


class Fault(Exception):  # noqa: N818 (not every fault is an error)
    """A request without a reply.

    `kind` is `busy` if another try may help, `closed` if a person must act first, and `bad` if this
    request always fails. `wait` is the number of seconds that the service asks to wait. `billed` is
    true if the request may cost money.
    """

    def __init__(
        self, reason: str, kind: _FaultKind, *, wait: float | None = None, billed: bool = False
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.wait = wait
        self.billed = billed


class _Block(Struct, frozen=True):
    """A part of a reply; some parts, such as thinking, have no text."""

    type: str
    text: str = ""


class Batch(Struct, frozen=True):
    """The fields of a batch that this module reads."""

    id: str
    processing_status: str


class _Message(Struct, frozen=True, tag_field="type", tag="message"):
    """The fields of a Messages API answer that this module reads."""

    content: list[_Block]
    stop_reason: str
    usage: Usage


def request_body(request: JudgeRequest, policy: JudgePolicy) -> dict[str, Any]:
    """Return the parameters of a request to the Messages API.

    The part that several requests share comes first, so that the service can cache it.
    """
    system_block: dict[str, Any] = {"type": "text", "text": request.system}
    if len(request.system) >= cacheable_length(request.model):
        system_block |= _CACHE_MARK
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.limit(policy),
        "system": [system_block],
        "messages": _conversation(request),
        "output_config": {"format": {"type": "json_schema", "schema": request.schema}},
    }
    if policy.temperature is not None:
        body["temperature"] = policy.temperature
    return body


def _conversation(request: JudgeRequest) -> list[dict[str, Any]]:
    """Return the turns of the conversation, with a refused reply as the assistant's turn."""
    question = {"role": "user", "content": _user_content(request)}
    if request.refused is None:
        return [question]
    reply, fault = request.refused
    return [question, {"role": "assistant", "content": reply}, {"role": "user", "content": fault}]


def _user_content(request: JudgeRequest) -> str | list[dict[str, Any]]:
    """Return the user's turn, in two parts if the shared part is long enough for the cache."""
    shared = request.shared
    if not shared or len(request.system) + shared < cacheable_length(request.model):
        return request.user
    shared_part = {"type": "text", "text": request.user[:shared], **_CACHE_MARK}
    return [shared_part, {"type": "text", "text": request.user[shared:]}]


def reply_of(body: bytes) -> Reply:
    """Return the reply in the body of a response; raise Fault if the body is no reply."""
    message = decode(body, _Message)
    text = "".join(block.text for block in message.content if block.type == "text")
    return Reply(text=text, stop=message.stop_reason, usage=message.usage)


def decode(body: bytes, shape: type[_Shape]) -> _Shape:
    """Decode the body of a response; raise Fault if it does not have the shape."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError):
        start = body[:80].decode(errors="replace")
        raise Fault(f"no answer of Claude's: {start!r}", "busy", billed=True) from None


def _refusal_fault(status: int, codes: str, message: str, retry_after: str | None) -> Fault:
    kind: _FaultKind = "busy" if status in _BUSY_CODES or status >= 500 else "bad"
    is_money = any(sign in f"{codes} {message}".lower() for sign in _MONEY_SIGNS)
    if status in _CLOSED_CODES or (status in (400, 429) and is_money):
        kind = "closed"
    reason = f"Claude refuses ({status}): {message[:300] or 'without a word'}"
    return Fault(reason, kind, wait=_parse_retry_after(retry_after))


def _parse_retry_after(header: str | None) -> float | None:
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None


# ── the SDK ──────────────────────────────────────────────────────────────────────────


def check_ready() -> None:
    """Raise UnavailableError without a key or the SDK."""
    _connect()


def send(request: JudgeRequest, policy: JudgePolicy, seconds: float) -> Reply:
    """Send one request and wait for `seconds`; raise Fault if there is no reply."""
    return _run(_send_request(_connect(), request, policy, seconds))


def send_batch(requests: Sequence[JudgeRequest], policy: JudgePolicy) -> str:
    """Send a batch and return its id; raise Fault if there is no reply."""
    return _run(_create_batch(_connect(), requests, policy))


def batch_replies(batch: str) -> dict[str, Reply] | None:
    """Return the successful replies of a batch by key, or None while the batch is running."""
    return _run(_fetch_batch(_connect(), batch))


def find_api_key() -> str | None:
    """Return the API key in the environment, or None without a usable key."""
    key = os.environ.get(KEY, "").strip()
    return key if key.isascii() and key.isprintable() and key else None


def _connect() -> "anthropic.AsyncAnthropic":
    key = find_api_key()
    if key is None:
        raise UnavailableError(
            f"the judge is Claude and {KEY} is not set; export it, {_OFFLINE_HINT}"
        )
    with _START_LOCK:
        return _client(key, os.environ.get("ANTHROPIC_BASE_URL"))


@cache
def _client(key: str, address: str | None) -> "anthropic.AsyncAnthropic":
    try:
        import anthropic  # noqa: PLC0415 (most of a second)
    except ImportError:
        raise UnavailableError(
            "the judge is Claude and its package is missing; `pip install '.[claude]'` in a clone "
            f"of skillvault, {_OFFLINE_HINT}"
        ) from None
    return anthropic.AsyncAnthropic(
        api_key=key, base_url=address, max_retries=0, open_telemetry=False
    )


async def _send_request(
    client: "anthropic.AsyncAnthropic", request: JudgeRequest, policy: JudgePolicy, seconds: float
) -> Reply:
    async with _deadline(seconds):
        body = request_body(request, policy)
        # Older models take a temperature, but the SDK no longer has the parameter.
        extra = {key: body.pop(key) for key in ("temperature",) if key in body}
        response = await client.messages.with_raw_response.create(
            **body, extra_body=extra, timeout=seconds
        )
        answer = await response.http_response.aread()
    return reply_of(answer)


async def _create_batch(
    client: "anthropic.AsyncAnthropic", requests: Sequence[JudgeRequest], policy: JudgePolicy
) -> str:
    entries: list[Any] = [
        {"custom_id": request.key, "params": request_body(request, policy)} for request in requests
    ]
    async with _deadline(_BATCH_SECONDS):
        api = client.messages.batches.with_raw_response
        response = await api.create(requests=entries, timeout=_BATCH_SECONDS)
        answer = await response.http_response.aread()
    return decode(answer, Batch).id


async def _fetch_batch(client: "anthropic.AsyncAnthropic", batch: str) -> dict[str, Reply] | None:
    replies: dict[str, Reply] = {}
    async with _deadline(_BATCH_SECONDS):
        response = await client.messages.batches.with_raw_response.retrieve(batch)
        state = decode(await response.http_response.aread(), Batch)
        if state.processing_status != "ended":
            return None
        try:
            async for entry in await client.messages.batches.results(batch):
                if entry.result.type == "succeeded":
                    message = entry.result.message.model_dump_json().encode()
                    replies[entry.custom_id] = reply_of(message)
        except (ValueError, AttributeError):  # the SDK does not check the lines
            raise Fault(f"the replies of {batch} cannot be read", "busy") from None
    return replies


@asynccontextmanager
async def _deadline(seconds: float) -> AsyncIterator[None]:
    """Raise Fault for an error of the connection, or after some seconds."""
    import anthropic  # noqa: PLC0415 (`_client` has loaded it)

    try:
        # The SDK's timeout is for each read, so a slow body would never end.
        async with asyncio.timeout(seconds):
            yield
    except anthropic.APIStatusError as error:
        message = " ".join(str(error.api_message or error.body or "").split())
        codes = f"{error.type} {error.error_code}"
        wait = error.response.headers.get("retry-after")
        raise _refusal_fault(error.status_code, codes, message, wait) from None
    except (TimeoutError, anthropic.APITimeoutError):
        raise Fault("Claude does not answer in time", "busy", billed=True) from None
    except anthropic.AnthropicError as error:
        message = str(error.__cause__ or error)[:200]
        raise Fault(f"Claude cannot be reached: {message}", "busy", billed=True) from None


# ── one loop for all threads: connections are kept, and a deadline ends any wait ──────


def _event_loop() -> asyncio.AbstractEventLoop:
    with _START_LOCK:
        return _start_loop()


@cache
def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="claude", daemon=True).start()
    return loop


def _run(work: Coroutine[Any, Any, _Value]) -> _Value:
    return asyncio.run_coroutine_threadsafe(work, _event_loop()).result()
