"""The rules of `skillvault judge`: advice on a decision before it is carried out.

The judge gives an opinion; `advice` compares it with the bounds of the policy. A decision is an
outcome without a result. If the judge rejects a decision, a neutral outcome records this.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from skillvault.model.brief import Opinion, warnings_of
from skillvault.model.conversion import convert_stored
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_outcome
from skillvault.model.policy import JudgePolicy
from skillvault.model.records import JudgeInfo, Outcome, Skill, stamp
from skillvault.model.text.text import join_items

_AGENT = "skillvault judge"


class Stakes(Struct, frozen=True):
    """The stakes of a decision: an amount in any unit, or `low` or `high`."""

    amount: float | None = None
    stakes: Literal["low", "high"] | None = None


class Proposal(Struct, frozen=True):
    """A decision before it is carried out, as an outcome without a result, and its stakes."""

    outcome: Outcome
    stakes: Stakes


class Advice(Struct, frozen=True, kw_only=True):
    """The advice to carry out a decision or not, and the reason.

    The judge proposes `confidence` and `amount`. The numbers and `judge` are None if no judge
    answered or the judge gives no advice.
    """

    proceed: bool
    reason: str
    quality: float | None = None
    confidence: float | None = None
    amount: float | None = None
    warnings: tuple[str, ...] = ()
    suggestion: str = ""
    insight: str = ""
    judge: JudgeInfo | None = None


def parse_proposal(values: Mapping[str, Any], now: datetime) -> Proposal:
    """Read a decision from a mapping; raise BadInputError with the name of a bad key."""
    if "result" in values:
        raise BadInputError(
            "result: a decision has none yet; remove it, or `skillvault record` the outcome",
            code="has-result",
            key="result",
        )
    stakes_keys = {key: values[key] for key in ("amount", "stakes") if key in values}
    stakes = convert_stored(stakes_keys, Stakes)
    result = {"status": "neutral", "entry_value": stakes.amount}
    decision = {key: value for key, value in values.items() if key not in stakes_keys}
    raw_outcome = {**decision, "occurred_at": stamp(now), "result": result}
    return Proposal(parse_outcome(raw_outcome, trust="local", now=now), stakes)


def has_high_stakes(proposal: Proposal, rules: JudgePolicy) -> bool:
    """Return True if the stakes are high enough for the better model."""
    amount, word = proposal.stakes.amount, proposal.stakes.stakes
    if word is not None:
        return word == "high"
    return amount is not None and abs(amount) >= rules.thorough_from


def advice(proposal: Proposal, opinion: Opinion, judge: JudgeInfo, rules: JudgePolicy) -> Advice:
    """Return the advice that follows from an opinion; amounts shrink with the confidence."""
    claim = proposal.outcome.decision.confidence
    confidence = opinion.confidence if claim is None else min(claim, opinion.confidence)
    doubts = []
    if opinion.quality < rules.min_quality:
        doubts.append(f"quality {opinion.quality:.2f} is below {rules.min_quality:g}")
    if confidence < rules.min_confidence:
        doubts.append(f"confidence {confidence:.2f} is below {rules.min_confidence:g}")
    amount = proposal.stakes.amount
    share = confidence / claim if claim else 1.0
    return Advice(
        proceed=not doubts,
        reason=join_items(doubts) or f"quality {opinion.quality:.2f}, confidence {confidence:.2f}",
        quality=opinion.quality,
        confidence=round(confidence, 2),
        amount=None if amount is None else round(amount * share, 2),
        warnings=opinion.warnings,
        suggestion=opinion.suggestion,
        insight=opinion.insight,
        judge=judge,
    )


def chance_advice(skills: Sequence[Skill]) -> Advice:
    """Return the advice of a judge no better than chance: carry it out, with warnings of skills."""
    reason = (
        "this judge's verdicts were no better than chance here, so it gives no advice; "
        "`skillvault stats` shows its record"
    )
    return Advice(proceed=True, reason=reason, warnings=warnings_of(skills))


def held_back_outcome(values: Mapping[str, Any], advice: Advice, now: datetime) -> dict[str, Any]:
    """Return the neutral outcome of a decision that the judge rejected, as values of a file."""
    outcome_keys = {
        key: value for key, value in values.items() if key not in ("amount", "stakes", "source")
    }
    lesson = advice.insight or join_items(advice.warnings[:2])
    summary = f"held back by the judge: {advice.reason}. {lesson}".strip()
    return {
        **outcome_keys,
        "occurred_at": stamp(now),
        "result": {"status": "neutral", "summary": summary},
        "source": {"agent": _AGENT},
    }
