"""Many questions at once for half the price: sent as a batch, answered within a day.

Replies go where all paid replies go; the next run finds them there and asks what follows.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from skillvault.judge.claude.retries import Fault, Kept, Question, Reply
from skillvault.model.brief import Spent
from skillvault.model.claude_models import BATCH, cost, most
from skillvault.model.errors import UnansweredError, UnavailableError
from skillvault.model.policy import JudgePolicy

_MOST = 10_000  # questions of one batch; the API takes ten times as many
_ROOM = 0.999  # of what is left of the day's dollars, as sums are rounded


class BatchLedger(Protocol):
    """Where batches are written down; see `vault.ledger`."""

    def left_usd(self, usd_per_day: float) -> float:
        """What may be spent today."""

    def reserve(self, usd: float, *, usd_per_day: float, calls_per_day: int) -> int | None:
        """The number of a call that may be sent; None if it must wait its turn."""

    def failed(self, call: int, reason: str, *, billed: bool, pause: float | None = None) -> None:
        """A call was not answered."""

    def queue(self, call: int, models: Mapping[str, str]) -> None:
        """These keys, each with its model, are about to be asked for in a batch."""

    def batched(self, call: int, batch: str | None) -> None:
        """The batch of a call; None if there is none after all."""

    def batches(self) -> dict[str, dict[str, str]]:
        """The batches under way: the keys of each, with their models."""

    def collected(self, batch: str, replies: Mapping[str, str], *, usd: float, tokens: int) -> None:
        """A batch has ended, with these replies."""


class BatchWire(Protocol):
    """What batches go through."""

    def check_ready(self) -> None:
        """UnavailableError if nothing can be sent at all."""

    def begin(self, questions: Sequence[Question], rules: JudgePolicy) -> str:
        """Send a batch; its id. Fault if there is none."""

    def ended(self, batch: str) -> dict[str, Reply] | None:
        """The replies of a batch by key, those that there are; None while it is under way."""


class Batches:
    """The batches of a vault, under the rules of a policy."""

    def __init__(self, wire: BatchWire, ledger: BatchLedger, rules: JudgePolicy) -> None:
        self._wire = wire
        self._ledger = ledger
        self._rules = rules

    def collect(self) -> list[str]:
        """Take the replies of batches that have ended; those still under way, by their ids.

        UnavailableError if nobody can be asked how they stand.
        """
        under_way: list[str] = []
        for batch, models in self._ledger.batches().items():
            self._wire.check_ready()
            try:
                replies = self._wire.ended(batch)
            except Fault as fault:
                raise UnavailableError(f"batch {batch}: {fault}") from None
            if replies is None:
                under_way.append(batch)
            else:
                self._keep(batch, models, replies)
        return under_way

    def send(self, questions: Sequence[Question]) -> tuple[str, int]:
        """Ask as many of these as the day's dollars allow: (the batch, how many).

        UnavailableError or UnansweredError if none is sent.
        """
        self._wire.check_ready()
        chosen, usd = self._affordable(questions[:_MOST])
        call = self._ledger.reserve(
            usd, usd_per_day=self._rules.usd_per_day, calls_per_day=self._rules.calls_per_day
        )
        if call is None:
            raise UnavailableError("the service does not answer those who asked before")
        self._ledger.queue(call, {question.key: question.model for question in chosen})
        batch = self._begun(call, chosen)
        self._ledger.batched(call, batch)
        return batch, len(chosen)

    def _begun(self, call: int, questions: Sequence[Question]) -> str:
        try:
            return self._wire.begin(questions, self._rules)
        except Fault as fault:
            self._ledger.failed(call, str(fault), billed=fault.billed)
            if not fault.billed:  # else it may be under way, and is not sent again unasked
                self._ledger.batched(call, None)
            error = UnansweredError if fault.kind == "bad" else UnavailableError
            raise error(str(fault)) from None

    def _affordable(self, questions: Sequence[Question]) -> tuple[list[Question], float]:
        """The first questions for which there is money today, and what they may cost."""
        room = self._ledger.left_usd(self._rules.usd_per_day) * _ROOM
        chosen: list[Question] = []
        total = 0.0
        for question in questions:
            price = self._rules.price(question.model)
            usd = BATCH * most(price, question.size, question.limit(self._rules))
            if total + usd > room:
                break
            total += usd
            chosen.append(question)
        if not chosen:
            raise UnavailableError(
                f"the day's ${self._rules.usd_per_day:g} (judge.usd_per_day) leave no room for a "
                "batch; it waits for midnight UTC"
            )
        return chosen, total

    def _keep(self, batch: str, models: Mapping[str, str], replies: Mapping[str, Reply]) -> None:
        kept: dict[str, str] = {}
        whole = Spent()
        for key, reply in replies.items():
            if key in models:
                usd = BATCH * cost(self._rules.price(models[key]), reply.usage)
                spent = Spent(reply.usage.tokens, usd)
                reply_kept = Kept(text=reply.text, stop=reply.stop, spent=spent)
                kept[key] = msgspec.json.encode(reply_kept).decode()
                whole += spent
        self._ledger.collected(batch, kept, usd=whole.cost_usd, tokens=whole.tokens)
