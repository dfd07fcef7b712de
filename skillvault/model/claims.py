"""Whose a decision is: its evidence belongs to a trust, an agent and the decision's id.

Two agents that use one id do not touch each other's evidence. What was shown for a decision (a
receipt) is that of the agent who asked; where a receipt names none, of the one whose outcome came
of it first. Pure: records in, records out.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from skillvault.model.records import Outcome, Trust


class Receipt(Protocol):
    """What decides whose a record of what was shown is."""

    @property
    def agent(self) -> str | None:
        """Who asked; None if that is not said."""

    @property
    def trust(self) -> str:
        """Which door it came through."""

    @property
    def at(self) -> datetime:
        """When it was shown."""


_Receipt = TypeVar("_Receipt", bound=Receipt)


class Claim(NamedTuple):
    """An outcome as a claim to what was shown for its decision; `at` is when it ended."""

    trust: Trust
    agent: str | None
    at: datetime


def claim_of(outcome: Outcome) -> Claim:
    """What an outcome claims."""
    return Claim(outcome.trust, outcome.source.agent, outcome.occurred_at)


def select_receipts(
    claim: Claim, receipts: Iterable[_Receipt], ends: Sequence[Claim]
) -> list[_Receipt]:
    """Those of a decision's receipts that are the claim's.

    `ends` are the trusted outcomes of the decision that are recorded, oldest first. What is less
    trusted than the claim is never its own. A receipt that names the agent stands for it alone.
    """
    counted = [r for r in receipts if claim.trust == "untrusted" or r.trust == "local"]
    named = {r.agent for r in counted} - {None}
    if claim.agent in named:
        return [r for r in counted if r.agent == claim.agent]
    nameless = [r for r in counted if r.agent is None]
    if claim.trust == "untrusted" or not nameless:
        return nameless
    others = [end for end in ends if end.agent not in named]
    first = _first(claim, others, min(r.at for r in nameless))
    return nameless if first.agent == claim.agent else []


def group_by_agent(
    receipts: Sequence[_Receipt], ends: Sequence[Claim]
) -> dict[str | None, list[_Receipt]]:
    """Agent -> its receipts of one decision; those who have any come first.

    `ends` as in `select_receipts`. Receipts without a name have no agent (None) until an outcome
    exists.
    """
    claims = {end.agent: end for end in reversed(ends)}
    for receipt in receipts:
        claims.setdefault(receipt.agent, Claim("local", receipt.agent, receipt.at))
    parts = {agent: select_receipts(claim, receipts, ends) for agent, claim in claims.items()}
    ended = [end.agent for end in ends]
    there = {agent: part for agent, part in parts.items() if part or agent in ended}
    order = list(dict.fromkeys([*ended, *there]))
    return {agent: there[agent] for agent in sorted(order, key=lambda agent: not there[agent])}


def _first(claim: Claim, ends: Sequence[Claim], asked: datetime) -> Claim:
    """Whose outcome is the first that what was asked then can have led to, recorded ones first.

    Where none is, the first of all: clocks differ.
    """
    later = [end for end in (*ends, claim) if end.at >= asked]
    return next(iter((*later, *ends)), claim)
