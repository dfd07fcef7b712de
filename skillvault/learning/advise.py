"""advise: may a decision be carried out? What is asked before acting, and what follows by rule.

A decision is an outcome that has not come yet: it is read like one, and one that the judge says
no to is recorded as a neutral one, with what the judge said.
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
    """What is at stake: an amount in the decision's own unit, or a word for it."""

    amount: float | None = None
    stakes: Literal["low", "high"] | None = None


class Proposal(Struct, frozen=True):
    """A decision before it is carried out, as the outcome it would be, and what is at stake."""

    outcome: Outcome
    stakes: Stakes


class Advice(Struct, frozen=True, kw_only=True):
    """Whether to go on, and why. `confidence` and `amount` are what the judge would go with.

    Numbers are None if nobody judged, or if the judge does not advise; `judge` too.
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


def proposal_from(raw: Mapping[str, Any], now: datetime) -> Proposal:
    """A decision from a mapping; BadInputError names the bad key."""
    if "result" in raw:
        raise BadInputError(
            "result: a decision has none yet; remove it, or `skillvault record` the outcome",
            code="has-result",
            key="result",
        )
    stakes_keys = {key: raw[key] for key in ("amount", "stakes") if key in raw}
    stakes = convert_stored(stakes_keys, Stakes)
    result = {"status": "neutral", "entry_value": stakes.amount}
    decision = {key: value for key, value in raw.items() if key not in stakes_keys}
    raw_outcome = {**decision, "occurred_at": stamp(now), "result": result}
    return Proposal(parse_outcome(raw_outcome, trust="local", now=now), stakes)


def skips(proposal: Proposal, rules: JudgePolicy) -> bool:
    """Whether a decision is not to act, so that there is nothing to judge."""
    return proposal.outcome.decision.action.lower() in rules.skip


def thorough(proposal: Proposal, rules: JudgePolicy) -> bool:
    """Whether so much is at stake that the better model is asked."""
    stakes = proposal.stakes
    if stakes.stakes is not None:
        return stakes.stakes == "high"
    return stakes.amount is not None and abs(stakes.amount) >= rules.thorough_from


def advice(proposal: Proposal, opinion: Opinion, judge: JudgeInfo, rules: JudgePolicy) -> Advice:
    """What an opinion comes to; sizes shrink with the confidence."""
    stated = proposal.outcome.decision.confidence
    sure = opinion.confidence if stated is None else min(stated, opinion.confidence)
    low = [f"quality {opinion.quality:.2f} is below {rules.min_quality:g}"]
    low = low if opinion.quality < rules.min_quality else []
    if sure < rules.min_confidence:
        low.append(f"confidence {sure:.2f} is below {rules.min_confidence:g}")
    amount = proposal.stakes.amount
    share = sure / stated if stated else 1.0
    return Advice(
        proceed=not low,
        reason=join_items(low) or f"quality {opinion.quality:.2f}, confidence {sure:.2f}",
        quality=opinion.quality,
        confidence=round(sure, 2),
        amount=None if amount is None else round(amount * share, 2),
        warnings=opinion.warnings,
        suggestion=opinion.suggestion,
        insight=opinion.insight,
        judge=judge,
    )


def unjudged(reason: str) -> Advice:
    """The advice if nobody could be asked: go on, with a warning."""
    return Advice(proceed=True, reason="not judged", warnings=(f"not judged: {reason}",))


def withheld(skills: Sequence[Skill]) -> Advice:
    """The advice if the judge is known to be no better than chance: the warnings that fit."""
    reason = (
        "this judge's verdicts were no better than chance here, so that it does not advise; "
        "`skillvault status` shows its record"
    )
    return Advice(proceed=True, reason=reason, warnings=warnings_of(skills))


def held(raw: Mapping[str, Any], advice: Advice, now: datetime) -> dict[str, Any]:
    """The neutral outcome that a decision has which was not carried out, for the inbox."""
    outcome_keys = {
        key: value for key, value in raw.items() if key not in ("amount", "stakes", "source")
    }
    lesson = advice.insight or join_items(advice.warnings[:2])
    summary = f"held back by the judge: {advice.reason}. {lesson}".strip()
    return {
        **outcome_keys,
        "occurred_at": stamp(now),
        "result": {"status": "neutral", "summary": summary},
        "source": {"agent": _AGENT},
    }
