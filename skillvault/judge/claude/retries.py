"""One question to a paid judge: kept replies, caps, retries, deadline. Knows no SDK.

A reply that was paid for is never paid for again; what may not be sent now waits.
"""

import random
import time
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from skillvault.model.brief import Spent
from skillvault.model.claude_models import Usage, cost, most
from skillvault.model.errors import UnansweredError, UnavailableError
from skillvault.model.policy import JudgePolicy

_TRIES = 3  # requests that one question may take
_BACKOFF, _LONGEST_BACKOFF = 1.0, 30.0  # seconds before the second try at most, and before any
_LONGEST_WAIT = 900.0  # seconds of `retry-after` that are believed
_CLOSED = 3600.0  # seconds to the next probe, where money or the key are the trouble
_TURN = 0.1  # seconds between two looks whether it is our turn


class Question(Struct, frozen=True, kw_only=True):
    """What is sent. `key` is what its reply is kept under, the same after a crash.

    The first `shared` characters of `user` are those of other questions of its kind and domain too.
    `max_tokens`: the most of its reply, if that is not the policy's to say. `refused` is the reply
    to the same that was of no use, and what it is told of that.
    """

    key: str
    model: str
    system: str
    user: str
    schema: dict[str, Any]
    shared: int = 0
    max_tokens: int | None = None
    refused: tuple[str, str] | None = None

    @property
    def size(self) -> int:
        """Its bytes, but for the schema."""
        texts = (self.system, self.user, *(self.refused or ()))
        return sum(len(text.encode()) for text in texts)

    def limit(self, rules: JudgePolicy) -> int:
        """The most tokens of its reply."""
        return self.max_tokens or rules.max_tokens


class Reply(Struct, frozen=True, kw_only=True):
    """What came back: the text, why it ended, and what it took."""

    text: str
    stop: str
    usage: Usage


class Kept(Struct, frozen=True, kw_only=True):
    """A reply as it is kept, with its cost at the prices of its day."""

    text: str
    stop: str
    spent: Spent


class Fault(Exception):  # noqa: N818 (what went wrong on the wire; not all of it is an error of ours)
    """A request without a reply.

    `busy`: another try may help, `closed`: nobody's will before a person acts, `bad`: this
    request never will. `wait` are the seconds that the service asks for; `billed`: it may cost.
    """

    def __init__(
        self,
        reason: str,
        kind: Literal["busy", "closed", "bad"],
        *,
        wait: float | None = None,
        billed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.wait = wait
        self.billed = billed


class CallLedger(Protocol):
    """Where calls and replies are written down; see `vault.ledger`."""

    def reserve(self, usd: float, *, usd_per_day: float, calls_per_day: int) -> int | None:
        """The number of a call that may be sent; None if it must wait its turn."""

    def paid(self, call: int, key: str, reply: str, *, usd: float, tokens: int) -> None:
        """A call was answered."""

    def refused(self, call: int) -> None:
        """A call was answered with no."""

    def failed(self, call: int, reason: str, *, billed: bool, pause: float | None = None) -> None:
        """A call was not answered."""

    def reply(self, key: str) -> str | None:
        """The reply that was paid for under a key."""

    def forget_reply(self, key: str) -> None:
        """Drop a reply that is of no use."""

    def queued(self, key: str) -> str | None:
        """What stands between a key and a reply that a batch was sent for; None for nothing."""


class Clock(Protocol):
    """Time, so that a test may have a day pass."""

    def now(self) -> float:
        """Seconds, from any beginning."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class WallClock:
    """Time as it passes."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


class Wire(Protocol):
    """What requests go through."""

    def check_ready(self) -> None:
        """UnavailableError if nothing can be sent at all."""

    def send(self, question: Question, rules: JudgePolicy, seconds: float) -> Reply:
        """One request, done within these seconds; Fault if there is no reply."""


class Caller:
    """Asks questions through a wire, within the rules of a policy.

    With `unasked` it asks none: what has no reply yet is put there, for a batch.
    """

    def __init__(
        self,
        wire: Wire,
        ledger: CallLedger,
        rules: JudgePolicy,
        clock: Clock | None = None,
        *,
        unasked: dict[str, Question] | None = None,
    ) -> None:
        self._wire = wire
        self._unasked = unasked
        self._ledger = ledger
        self._rules = rules
        self._clock = clock or WallClock()

    def ask(self, question: Question) -> Kept:
        """The reply to a question, paid for once.

        UnavailableError if none can be had now, UnansweredError if asking again is no use.
        """
        kept = self._ledger.reply(question.key)
        if kept is not None:
            return msgspec.json.decode(kept, type=Kept)
        if under_way := self._ledger.queued(question.key):
            raise UnavailableError(under_way)
        if self._unasked is not None:
            self._unasked[question.key] = question
            raise UnavailableError("left to a batch")
        self._wire.check_ready()
        end = self._clock.now() + self._rules.deadline_seconds
        for number in range(_TRIES):
            call = self._reserved(question, end)
            try:
                reply = self._wire.send(question, self._rules, end - self._clock.now())
            except Fault as fault:
                last = number == _TRIES - 1
                self._clock.sleep(self._pause(call, fault, end, number, last=last))
            else:
                return self._kept(call, question, reply)
        raise AssertionError("the last try returns or raises")

    def forget_reply(self, question: Question) -> None:
        """Ask anew the next time: the reply is of no use."""
        self._ledger.forget_reply(question.key)

    def _reserved(self, question: Question, end: float) -> int:
        """The number of a call that is ours to send."""
        rules = self._rules
        usd = most(rules.price(question.model), question.size, question.limit(rules))
        while self._clock.now() < end:
            call = self._ledger.reserve(
                usd, usd_per_day=rules.usd_per_day, calls_per_day=rules.calls_per_day
            )
            if call is not None:
                return call
            self._clock.sleep(_TURN)
        raise UnavailableError("the service does not answer those who asked before")

    def _pause(self, call: int, fault: Fault, end: float, number: int, *, last: bool) -> float:
        """Write a fault down; the seconds until the next try, or why there is none."""
        reason = str(fault)
        if fault.kind == "bad":
            self._ledger.refused(call)
            raise UnansweredError(reason) from fault
        if fault.kind == "closed":
            self._ledger.failed(call, reason, billed=False, pause=_CLOSED)
            raise UnavailableError(reason, tried=True) from fault
        most_ = min(_BACKOFF * 2**number, _LONGEST_BACKOFF)
        wait = random.uniform(0, most_)  # noqa: S311 (full jitter, no secret)
        if fault.wait is not None:
            wait += min(fault.wait, _LONGEST_WAIT)
        late = self._clock.now() + wait >= end
        pause = wait if late and fault.wait is not None else None
        self._ledger.failed(call, reason, billed=fault.billed, pause=pause)
        if last or late:
            raise UnavailableError(reason, tried=True) from fault
        return wait

    def _kept(self, call: int, question: Question, reply: Reply) -> Kept:
        """The reply, written down before it is read."""
        usage = reply.usage
        spent = Spent(usage.tokens, cost(self._rules.price(question.model), usage))
        kept = Kept(text=reply.text, stop=reply.stop, spent=spent)
        text = msgspec.json.encode(kept).decode()
        self._ledger.paid(call, question.key, text, usd=spent.cost_usd, tokens=spent.tokens)
        return kept
