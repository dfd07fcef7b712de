"""Combine the outcomes of one decision: one outcome counts, the others complete it.

Several observers may report on a decision. Of one agent's outcomes, the one with the strongest
observer counts, or the latest of equals. A person's next words that refuse the work come first. Two
agents that use one decision id share no evidence. The order of arrival makes no difference.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.records import (
    OBSERVERS,
    Decision,
    Observer,
    Outcome,
    Recommendation,
    Result,
    Trust,
    Via,
)

# Keys of the agent's description that are taken together: a reasoning belongs to its time.
_REASONING_KEYS = ("reasoning", "made_at", "reasoning_at", "confidence")
_SUBJECT_KEYS = ("action", "target")
NEXT_WORDS = "a person said: "  # the beginning of a summary that quotes them


# ── the outcome that counts ──────────────────────────────────────────────────────────


class CompletedOutcome(Struct, frozen=True):
    """An outcome with the data of the decision's other outcomes.

    One outcome of the decision `counts`.
    """

    outcome: Outcome
    counts: bool


def observer_rank(observer: Observer, via: Via | None = None) -> tuple[bool, bool, int]:
    """Return the rank of an observer. A hook ranks low, the agent itself lowest."""
    return observer != "agent", via is None, -OBSERVERS.index(observer)


def as_agent_statement(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of an outcome as the agent's own statement, with no other observer."""
    result, source = values.get("result"), values.get("source")
    if isinstance(source, Mapping):
        values = {**values, "source": {k: v for k, v in source.items() if k != "person"}}
    if not isinstance(result, Mapping):
        return values
    result = {key: value for key, value in result.items() if key not in ("via", "next_words")}
    if result.get("observed_by") in OBSERVERS:
        result["observed_by"] = "agent"
    return {**values, "result": result}


def choose_outcome(outcomes: Iterable[Outcome]) -> Outcome | None:
    """Return the outcome that counts among one agent's outcomes of a decision.

    Next words that refuse the work come first, because a test does not know what the person wanted.
    """
    results = (outcome for outcome in outcomes if not outcome.only_teaches)
    return max(
        results,
        key=lambda o: (is_refused(o), observer_rank(o.observer, o.result.via), *o.order),
        default=None,
    )


def is_refused(outcome: Outcome) -> bool:
    """Return True if the person's next words refused the work."""
    result = outcome.result
    is_failure = (result.status, result.observed_by) == ("failure", "person")
    return is_failure and result.summary.startswith(NEXT_WORDS)


def complete_outcomes(
    outcomes: Iterable[Outcome], receipts: Iterable[Recommendation]
) -> list[CompletedOutcome]:
    """Return the outcomes of one decision, each with the data of the agent's other outcomes."""
    outcomes, receipts = list(outcomes), list(receipts)
    groups: dict[tuple[str, str | None], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        source = outcome.source
        if source.agent is None and not outcome.is_described:
            owner = _owner([o for o in outcomes if o.trust == outcome.trust], receipts)
            source = replace(source, agent=owner)
        groups[outcome.trust, source.agent].append(replace(outcome, source=source))
    return [completed for group in groups.values() for completed in _complete_group(group)]


def _complete_group(outcomes: Sequence[Outcome]) -> Iterator[CompletedOutcome]:
    counting = choose_outcome(outcomes)
    for outcome in outcomes:
        others = [other for other in outcomes if other.id != outcome.id]
        is_counting = counting is not None and outcome.id == counting.id
        yield CompletedOutcome(_complete(outcome, others), is_counting)


def _complete(outcome: Outcome, others: Sequence[Outcome]) -> Outcome:
    """Add the parts of the decision that only other outcomes describe.

    The latest lesson that was reported alone replaces any other lesson.
    """
    lessons = [
        o
        for o in others
        if o.lesson and not o.is_described and (o.only_teaches or outcome.lesson is None)
    ]
    if lessons and not outcome.only_teaches:
        lesson_source = max(lessons, key=lambda o: (o.only_teaches, *o.order))
        outcome = replace(outcome, lesson=lesson_source.lesson)
    descriptions = [other for other in others if other.is_described]
    if not descriptions or (outcome.observer == "agent" and outcome.is_described):
        return outcome
    description = max(descriptions, key=lambda o: (o.observer == "agent", *o.order))
    return replace(
        outcome,
        domain=outcome.domain if outcome.is_described else description.domain,
        decision=_describe_decision(outcome.decision, description.decision),
        result=_add_claim(outcome.result, description),
        # The context of a bare result is known only with the result: no part of the decision.
        context={**(outcome.context if outcome.is_described else {}), **description.context},
        applied=description.applied if outcome.applied is None else outcome.applied,
        lesson=outcome.lesson or description.lesson,
        source=replace(
            outcome.source,
            session=outcome.source.session or description.source.session,
            batch=outcome.source.batch or description.source.batch,
        ),
    )


def _describe_decision(decision: Decision, description: Decision) -> Decision:
    keys = [key for key in ("task", "report") if not getattr(decision, key)]
    keys += () if decision.action else _SUBJECT_KEYS
    keys += () if decision.reasoning else _REASONING_KEYS
    return replace(decision, **{key: getattr(description, key) for key in keys})


def _add_claim(result: Result, description: Outcome) -> Result:
    """Add the agent's claim to a result, but only under the keys for claims."""
    stated = description.result
    claim, claimed = stated.claim, stated.claimed
    if description.observer == "agent":
        claim, claimed = claim or stated.summary, claimed or stated.status
    return replace(
        result,
        answer=result.answer or stated.answer,
        claim=result.claim or claim,
        claimed=result.claimed or claimed,
    )


def _owner(outcomes: Sequence[Outcome], receipts: Sequence[Recommendation]) -> str | None:
    """Return the agent that described the decision, else the agent that asked for it."""
    described = [outcome for outcome in outcomes if outcome.is_described]
    if described:
        return min(described, key=lambda outcome: outcome.order).source.agent
    requests = sorted((r.at, r.id, r.agent) for r in receipts if r.agent and r.trust == "local")
    return requests[0][2] if requests else None


# ── receipts ─────────────────────────────────────────────────────────────────────────


class Receipt(Protocol):
    """A record of the skills that were shown for a decision.

    Without an agent, it belongs to the first claim.
    """

    @property
    def agent(self) -> str | None:
        """The agent that asked, if known."""

    @property
    def trust(self) -> str:
        """The trust of the folder through which it came."""

    @property
    def at(self) -> datetime:
        """The time at which it was shown."""


_Receipt = TypeVar("_Receipt", bound=Receipt)


class Claim(NamedTuple):
    """An outcome that claims the skills shown for its decision. `at` is its end."""

    trust: Trust
    agent: str | None
    at: datetime


def claim_of(outcome: Outcome) -> Claim:
    """Return an outcome as a claim."""
    return Claim(outcome.trust, outcome.source.agent, outcome.occurred_at)


def select_receipts(
    claim: Claim, receipts: Iterable[_Receipt], claims: Sequence[Claim]
) -> list[_Receipt]:
    """Return the receipts of a decision that belong to a claim.

    `claims` are the claims of all trusted outcomes of the decision, oldest first. A receipt with
    less trust than the claim never belongs to it. A receipt that names an agent belongs only to
    that agent.
    """
    candidates = [r for r in receipts if claim.trust == "untrusted" or r.trust == "local"]
    agents = {r.agent for r in candidates} - {None}
    if claim.agent in agents:
        return [r for r in candidates if r.agent == claim.agent]
    anonymous_receipts = [r for r in candidates if r.agent is None]
    if claim.trust == "untrusted" or not anonymous_receipts:
        return anonymous_receipts
    rivals = [rival for rival in claims if rival.agent not in agents]
    asked_at = min(r.at for r in anonymous_receipts)
    # The first outcome after the request owns the receipt, or the first of all if clocks differ.
    later_claims = [rival for rival in (*rivals, claim) if rival.at >= asked_at]
    owner = next(iter((*later_claims, *rivals)), claim)
    return anonymous_receipts if owner.agent == claim.agent else []


def group_by_agent(
    receipts: Sequence[_Receipt], claims: Sequence[Claim]
) -> dict[str | None, list[_Receipt]]:
    """Return the receipts of one decision by agent. Agents with receipts come first.

    See `select_receipts` for `claims`. A receipt without an agent belongs to None until there is an
    outcome.
    """
    claim_by_agent = {claim.agent: claim for claim in reversed(claims)}
    for receipt in receipts:
        claim = Claim("local", receipt.agent, receipt.at)
        claim_by_agent.setdefault(receipt.agent, claim)
    groups = {
        agent: select_receipts(claim, receipts, claims) for agent, claim in claim_by_agent.items()
    }
    agents = dict.fromkeys(claim.agent for claim in claims)
    agents |= dict.fromkeys(agent for agent, agent_receipts in groups.items() if agent_receipts)
    return {agent: groups[agent] for agent in sorted(agents, key=lambda agent: not groups[agent])}


def scope_of(outcome: Outcome) -> str:
    """Return the repository of an outcome, or its domain if no repository is recorded."""
    return str(outcome.context.get("repository") or outcome.domain)
