"""Which of a decision's outcomes counts, and what the others add to it.

Outcomes are written once. Of those that one agent has of a decision the one that the strongest
observer saw counts, of equal ones the latest; what somebody else saw is completed by what the agent
said of the decision, and every one by a lesson that was added. Pure: records in, records out, in
whatever order they came.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.records import (
    OBSERVERS,
    Decision,
    Observer,
    Outcome,
    Recommendation,
    Result,
    Via,
)

# What is taken of an agent's own words together: the reasoning belongs to its time.
_REASONED = ("reasoning", "made_at", "reasoning_at", "confidence")
_SUBJECT = ("action", "target")
_SILENT = (None, "")
NEXT_WORDS = "the person's next words: "  # how a summary begins that quotes them


class CompletedOutcome(Struct, frozen=True):
    """An outcome as its decision's others complete it, and whether it is the one that counts."""

    outcome: Outcome
    counts: bool


def strength(observer: Observer, via: Via | None = None) -> tuple[bool, bool, int]:
    """Rank an observer's word beside others'.

    What a hook tells stands below all that came without one, and above the agent's word.
    """
    return observer != "agent", via is None, -OBSERVERS.index(observer)


def as_agents_word(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """An outcome's values as an agent may say them: that it saw itself how it ended."""
    result = values.get("result")
    if not isinstance(result, Mapping) or result.get("observed_by") not in OBSERVERS:
        return values
    said = {key: value for key, value in result.items() if key != "via"}
    return {**values, "result": {**said, "observed_by": "agent"}}


def choose_outcome(outcomes: Iterable[Outcome]) -> Outcome | None:
    """Of the outcomes that one agent has of a decision the one that counts."""
    return max((one for one in outcomes if not one.only_teaches), key=_rank, default=None)


def complete_outcomes(
    outcomes: Iterable[Outcome], receipts: Iterable[Recommendation]
) -> list[CompletedOutcome]:
    """The outcomes of one decision id, of whatever trusts and agents, as they stand together."""
    asked = list(receipts)
    groups: dict[tuple[str, str | None], list[Outcome]] = defaultdict(list)
    every = list(outcomes)
    for outcome in every:
        agent = outcome.source.agent
        if agent is None and not outcome.is_described:
            agent = _owner([o for o in every if o.trust == outcome.trust], asked)
        groups[outcome.trust, agent].append(_of_agent(outcome, agent))
    return [joined for members in groups.values() for joined in _together(members)]


def _together(members: Sequence[Outcome]) -> Iterable[CompletedOutcome]:
    """The outcomes of one trust, agent and decision."""
    best = choose_outcome(members)
    counted = best and best.id
    for outcome in members:
        others = [other for other in members if other.id != outcome.id]
        yield CompletedOutcome(complete_outcome(outcome, others), outcome.id == counted)


def complete_outcome(outcome: Outcome, others: Iterable[Outcome]) -> Outcome:
    """A result with what the agent said of the decision, where the result says nothing of it.

    A lesson that was added alone, the latest, stands in place of any other.
    """
    others = list(others)
    added = [o for o in others if o.lesson and not o.is_described]
    added = [o for o in added if o.only_teaches or outcome.lesson is None]
    if added and not outcome.only_teaches:
        latest = max(added, key=lambda o: (o.only_teaches, *o.order))
        outcome = replace(outcome, lesson=latest.lesson)
    described = [other for other in others if other.is_described]
    if not described or (outcome.observer == "agent" and outcome.is_described):
        return outcome
    description = max(described, key=_agents_word_first)
    return replace(
        outcome,
        domain=outcome.domain if outcome.is_described else description.domain,
        decision=_decision_described(outcome.decision, description.decision),
        result=_result_with_claim(outcome.result, description),
        # What a result alone came with is known only once it is there: no part of the decision.
        context={**(outcome.context if outcome.is_described else {}), **description.context},
        applied=description.applied if outcome.applied is None else outcome.applied,
        lesson=outcome.lesson or description.lesson,
        source=replace(
            outcome.source,
            session=outcome.source.session or description.source.session,
            batch=outcome.source.batch or description.source.batch,
        ),
    )


def _decision_described(own: Decision, said: Decision) -> Decision:
    keys = [key for key in ("task", "report") if getattr(own, key) in _SILENT]
    keys += () if own.action else _SUBJECT
    keys += () if own.reasoning else _REASONED
    return replace(own, **{key: getattr(said, key) for key in keys})


def _result_with_claim(own: Result, said: Outcome) -> Result:
    """The result with what the agent claimed of it, which no other key may hold."""
    result = said.result
    claim, claimed = result.claim, result.claimed
    if said.observer == "agent":
        claim, claimed = claim or result.summary, claimed or result.status
    return replace(
        own,
        answer=own.answer or result.answer,
        claim=own.claim or claim,
        claimed=own.claimed or claimed,
    )


def _of_agent(outcome: Outcome, agent: str | None) -> Outcome:
    if agent == outcome.source.agent:
        return outcome
    return replace(outcome, source=replace(outcome.source, agent=agent))


def _owner(outcomes: Sequence[Outcome], receipts: Sequence[Recommendation]) -> str | None:
    """Whose decision it is that somebody saw the end of: of who described it, else of who asked."""
    described = [outcome for outcome in outcomes if outcome.is_described]
    if described:
        return min(described, key=lambda outcome: outcome.order).source.agent
    named = sorted((r.at, r.id, r.agent) for r in receipts if r.agent and r.trust == "local")
    return named[0][2] if named else None


def _rank(outcome: Outcome) -> tuple[tuple[bool, bool, int], datetime, str]:
    return strength(outcome.observer, outcome.result.via), *outcome.order


def _agents_word_first(outcome: Outcome) -> tuple[bool, datetime, str]:
    """The agent's own word first, then the latest."""
    return outcome.observer == "agent", *outcome.order
