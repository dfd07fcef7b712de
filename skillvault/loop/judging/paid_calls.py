"""Send requests to a paid judge, one at a time (`Caller`) or in cheaper batches (`Batches`).

Replies are stored, so each is paid for only once. A request over a limit of the policy waits.
`judges.py` gives the caller to the judge; `judge/claude/wire.py` calls the SDK.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from skillvault.judge.claude import wire
from skillvault.judge.claude.questions import JudgeRequest
from skillvault.judge.claude.replies import PricedReply
from skillvault.judge.claude.wire import Fault, Reply
from skillvault.model.brief import AnswerCost
from skillvault.model.claude_models import BATCH_RATE, cost, max_cost
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.policy import JudgePolicy
from skillvault.vault.spending import Ledger

_MAX_TRIES = 3  # tries of one request
_FIRST_BACKOFF = 1.0  # seconds before the second try at most; doubled for each further try
_LONGEST_BACKOFF = 30.0
_LONGEST_WAIT = 900.0  # seconds; a longer `retry-after` is not obeyed
_CIRCUIT_SECONDS = 3600.0  # seconds until the next request if the account or the key is refused
_TURN_SECONDS = 0.1  # seconds between two attempts to reserve a call
_BATCH_SIZE = 10_000  # requests of one batch; the API allows ten times as many
_BATCH_SHARE = 0.999  # share of the day's remaining dollars to spend, because sums are rounded
_NO_TURN_REASON = "the service does not answer those who asked before"


class Caller:
    """Sends requests one by one, within the limits of a policy.

    With `unasked`, it sends nothing. It adds the requests without a stored reply to `unasked`, from
    which a batch is made.
    `now` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        policy: JudgePolicy,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        unasked: dict[str, JudgeRequest] | None = None,
    ) -> None:
        self._ledger = ledger
        self._policy = policy
        self._now = now
        self._sleep = sleep
        self._unasked = unasked

    def ask_claude(self, request: JudgeRequest) -> PricedReply:
        """Return the reply to a request, from the store or from the service.

        Raise UnavailableError if there is no reply now, and NoAnswerError if there will be none.
        """
        stored_reply = self._ledger.reply(request.key)
        if stored_reply is not None:
            return msgspec.json.decode(stored_reply, type=PricedReply)
        if pending_batches := self._ledger.batch_reason(request.key):
            raise UnavailableError(pending_batches)
        if self._unasked is not None:
            self._unasked[request.key] = request
            raise UnavailableError("left to a batch")
        wire.check_ready()
        deadline = self._now() + self._policy.deadline_seconds
        for number in range(_MAX_TRIES):
            call = self._reserve(request, deadline)
            try:
                reply = wire.send(request, self._policy, deadline - self._now())
            except Fault as fault:
                is_last = number == _MAX_TRIES - 1
                self._sleep(self._pause(call, fault, deadline, number, is_last=is_last))
            else:
                priced_reply = _price_reply(reply, request.model, self._policy)
                texts = {request.key: _encode_reply(priced_reply)}
                self._ledger.record_replies(call, texts, priced_reply.spent)
                return priced_reply
        raise AssertionError("the last try returns or raises")

    def forget_reply(self, request: JudgeRequest) -> None:
        """Delete a useless reply from the store, so that the next call asks again."""
        self._ledger.forget_reply(request.key)

    def _reserve(self, request: JudgeRequest, deadline: float) -> int:
        usd = _max_usd(request, self._policy)
        while self._now() < deadline:
            call = self._ledger.reserve(usd, self._policy)
            if call is not None:
                return call
            self._sleep(_TURN_SECONDS)
        raise UnavailableError(_NO_TURN_REASON)

    def _pause(
        self, call: int, fault: Fault, deadline: float, number: int, *, is_last: bool
    ) -> float:
        """Record a fault. Return the seconds until the next try, or raise if there is none."""
        reason = str(fault)
        if fault.kind == "bad":
            self._ledger.record_refusal(call)
            raise NoAnswerError(reason) from fault
        if fault.kind == "closed":
            self._ledger.record_failure(call, reason, billed=False, pause=_CIRCUIT_SECONDS)
            raise UnavailableError(reason, tried=True) from fault
        limit = min(_FIRST_BACKOFF * 2**number, _LONGEST_BACKOFF)
        wait = random.uniform(0, limit)  # noqa: S311 (full jitter, no secret)
        if fault.wait is not None:
            wait += min(fault.wait, _LONGEST_WAIT)
        is_late = self._now() + wait >= deadline
        pause = wait if is_late and fault.wait is not None else None
        self._ledger.record_failure(call, reason, billed=fault.billed, pause=pause)
        if is_last or is_late:
            raise UnavailableError(reason, tried=True) from fault
        return wait


class Batches:
    """The batches of a vault, within the limits of a policy; the service answers within a day.

    Replies are stored like other replies; the next run finds them and may ask further questions.
    """

    def __init__(self, ledger: Ledger, policy: JudgePolicy) -> None:
        self._ledger = ledger
        self._policy = policy

    def collect(self) -> list[str]:
        """Store the replies of batches that have ended; return the ids of the running batches.

        Raise UnavailableError if the service cannot be asked.
        """
        pending_batches: list[str] = []
        for batch, models in self._ledger.batches().items():
            wire.check_ready()
            try:
                replies = wire.batch_replies(batch)
            except Fault as fault:
                raise UnavailableError(f"batch {batch}: {fault}") from None
            if replies is None:
                pending_batches.append(batch)
            else:
                self._save(batch, models, replies)
        return pending_batches

    def send(self, requests: Sequence[JudgeRequest]) -> tuple[str, int]:
        """Send as many requests as the day's dollars allow; return (batch id, number of requests).

        Raise UnavailableError or NoAnswerError if nothing is sent.
        """
        wire.check_ready()
        chosen, usd = self._choose(requests[:_BATCH_SIZE])
        call = self._ledger.reserve(usd, self._policy)
        if call is None:
            raise UnavailableError(_NO_TURN_REASON)
        self._ledger.announce_batch(call, {request.key: request.model for request in chosen})
        try:
            batch = wire.send_batch(chosen, self._policy)
        except Fault as fault:
            self._ledger.record_failure(call, str(fault), billed=fault.billed)
            if not fault.billed:  # a billed batch may have arrived, and must not be sent again
                self._ledger.record_batch(call, None)
            error = NoAnswerError if fault.kind == "bad" else UnavailableError
            raise error(str(fault)) from None
        self._ledger.record_batch(call, batch)
        return batch, len(chosen)

    def _choose(self, requests: Sequence[JudgeRequest]) -> tuple[list[JudgeRequest], float]:
        """Return the first requests that the day's dollars allow, and their highest cost."""
        budget = self._ledger.left_usd(self._policy.usd_per_day) * _BATCH_SHARE
        batch: list[JudgeRequest] = []
        total = 0.0
        for request in requests:
            usd = BATCH_RATE * _max_usd(request, self._policy)
            if total + usd > budget:
                break
            total += usd
            batch.append(request)
        if not batch:
            raise UnavailableError(
                f"the day's ${self._policy.usd_per_day:g} (judge.usd_per_day) leave no room for a "
                "batch; it waits for midnight UTC"
            )
        return batch, total

    def _save(self, batch: str, models: Mapping[str, str], replies: Mapping[str, Reply]) -> None:
        priced_replies = {
            key: _price_reply(reply, models[key], self._policy, BATCH_RATE)
            for key, reply in replies.items()
            if key in models
        }
        total = sum((reply.spent for reply in priced_replies.values()), AnswerCost())
        texts = {key: _encode_reply(reply) for key, reply in priced_replies.items()}
        self._ledger.record_batch_replies(batch, texts, total)


def _max_usd(request: JudgeRequest, policy: JudgePolicy) -> float:
    return max_cost(policy.price(request.model), request.size, request.limit(policy))


def _price_reply(reply: Reply, model: str, policy: JudgePolicy, share: float = 1.0) -> PricedReply:
    usd = share * cost(policy.price(model), reply.usage)
    return PricedReply(text=reply.text, stop=reply.stop, spent=AnswerCost(reply.usage.tokens, usd))


def _encode_reply(reply: PricedReply) -> str:
    return msgspec.json.encode(reply).decode()
