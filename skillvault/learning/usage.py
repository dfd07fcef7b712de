"""Which decisions applied which skills, and what came of it: outcomes joined with what was shown.

Computed from both, whichever arrived first; nothing of it is stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault.learning import effect, track
from skillvault.learning.effect import Evidence, Use
from skillvault.records import Outcome, Recommendation, Status

Read = Callable[[str, str], str]  # (skill, blob) -> the skill's text at that version


class Applied(Struct, frozen=True, order=True):
    """One skill that one outcome's decision applied, and how that is known."""

    skill: str
    outcome: str
    at: datetime
    status: Status
    match: track.Match
    confidence: float
    quote: str | None = None


def applied(
    outcome: Outcome,
    shown: Iterable[Recommendation],
    known: Mapping[str, Iterable[str]],
    read: Read,
) -> list[Applied]:
    """What an outcome's decision applied, by skill.

    `shown` are the recommendations of its decision; those less trusted than the outcome do not
    count. `known` are the names of all skills, by `track.by_first_word`.
    """
    texts = {
        one.skill: read(one.skill, one.blob)
        for recommendation in shown
        if outcome.trust == "untrusted" or recommendation.trust == "local"
        for one in recommendation.shown
    }
    found = track.used(outcome.decision.reasoning, outcome.applied, known, texts)
    return [
        Applied(
            skill=name,
            outcome=outcome.id,
            at=outcome.occurred_at,
            status=outcome.result.status,
            match=one.match,
            confidence=one.confidence,
            quote=one.quote,
        )
        for name, one in found.items()
    ]


def evidence(uses: Iterable[Applied]) -> dict[str, Evidence]:
    """Skill -> the evidence of its uses. Give it those of trusted outcomes alone."""
    found: dict[str, list[Use]] = {}
    for one in uses:
        found.setdefault(one.skill, []).append(Use(one.at, one.outcome, one.status))
    return {skill: effect.counted(some) for skill, some in sorted(found.items())}


def decision(
    name: str,
    shown: Sequence[Recommendation],
    outcomes: Sequence[Outcome],
    uses: Iterable[Applied],
) -> dict[str, Any]:
    """What `stats --decision` answers: the decision, its end, and each skill's part in it.

    `{decision, domain, outcome, score, outcomes, skills: [{skill, blob, shown, held_out,
    relevance, badge, applied, match, confidence, quote, contributed_to_success}]}`; the outcome
    is that of the last one, `pending` before there is any.
    """
    last = max(outcomes, key=lambda outcome: outcome.order, default=None)
    status = last.result.status if last else "pending"
    found = {one.skill: one for one in sorted(uses) if last and one.outcome == last.id}
    rows = {row["skill"]: row for one in sorted(shown, key=_order) for row in _offered(one)}
    for skill in found:
        rows.setdefault(skill, _row(skill))
    domains = [*(one.domain for one in shown), *(one.domain for one in outcomes)]
    return {
        "decision": name,
        "domain": domains[0] if domains else None,
        "outcome": status,
        "score": last.result.score if last else None,
        "outcomes": [one.id for one in sorted(outcomes, key=lambda outcome: outcome.order)],
        "skills": [{**row, **_part(found.get(skill), status)} for skill, row in rows.items()],
    }


def _order(recommendation: Recommendation) -> tuple[datetime, str]:
    return recommendation.at, recommendation.id


def _offered(recommendation: Recommendation) -> list[dict[str, Any]]:
    shown = [
        _row(one.skill, blob=one.blob, shown=True, relevance=one.relevance, badge=one.badge)
        for one in recommendation.shown
    ]
    held = [_row(one.skill, blob=one.blob, held_out=True) for one in recommendation.held_out]
    return [*shown, *held]


def _row(skill: str, **said: Any) -> dict[str, Any]:
    unsaid = {"blob": None, "shown": False, "held_out": False, "relevance": None, "badge": None}
    return {"skill": skill, **unsaid, **said}


def _part(one: Applied | None, status: str) -> dict[str, Any]:
    """What a skill had to do with the outcome; whether it contributed is open while pending."""
    return {
        "applied": one is not None,
        "match": one.match if one else "none",
        "confidence": one.confidence if one else 0.0,
        "quote": one.quote if one else None,
        "contributed_to_success": None
        if status == "pending"
        else one is not None and status == "success",
    }
