"""Which decisions applied which skills, and what came of it: outcomes joined with what was shown.

Computed from both, whichever arrived first; nothing of it is stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault.learning.effect import detect as track
from skillvault.learning.effect.exposure import UNSEEN, Offer
from skillvault.records import Outcome, Recommendation

Read = Callable[[str, str], str]  # (skill, blob) -> the skill's text at that version


class Exposed(Struct, frozen=True, order=True):
    """What one skill had to do with one outcome's decision, and how that is known.

    `match` is none where it was offered and not applied; `confidence` is then how likely it was
    all the same. `made` is when the decision was made.
    """

    skill: str
    outcome: str
    made: datetime
    match: track.Match
    confidence: float
    quote: str | None = None
    offer: Offer = ""

    @property
    def applied(self) -> bool:
        """Whether the decision applied it."""
        return self.match != "none"


def exposed(
    outcome: Outcome,
    shown: Iterable[Recommendation],
    known: Mapping[str, Iterable[str]],
    read: Read,
) -> list[Exposed]:
    """What an outcome's decision applied, was shown and had held out, by skill.

    `shown` are the recommendations of its decision; those less trusted than the outcome do not
    count. `known` are the names of all skills, by `track.by_first_word`.
    """
    counted = [one for one in shown if outcome.trust == "untrusted" or one.trust == "local"]
    texts = {one.skill: read(one.skill, one.blob) for some in counted for one in some.shown}
    held = {one.skill for some in counted for one in some.held_out} - texts.keys()
    found = track.used(outcome.decision.reasoning, outcome.applied, known, texts)
    made = min((one.at for one in counted), default=outcome.decision.made_at or outcome.occurred_at)
    # A tool log says all that was applied; reasoning may leave it out.
    unsaid = 0.0 if outcome.applied is not None else UNSEEN
    return [
        Exposed(
            skill=name,
            outcome=outcome.id,
            made=made,
            match=found[name].match if name in found else "none",
            confidence=found[name].confidence if name in found else unsaid * (name in texts),
            quote=found[name].quote if name in found else None,
            offer="shown" if name in texts else "held" if name in held else "",
        )
        for name in sorted({*found, *texts, *held})
    ]


def decision(
    name: str,
    shown: Sequence[Recommendation],
    outcomes: Sequence[Outcome],
    uses: Iterable[Exposed],
) -> dict[str, Any]:
    """What `stats --decision` answers: the decision, its end, and each skill's part in it.

    `{decision, domain, outcome, score, outcomes, skills: [{skill, blob, shown, held_out,
    relevance, badge, applied, match, confidence, quote, contributed_to_success}]}`; the outcome
    is that of the last one, `pending` before there is any.
    """
    last = max(outcomes, key=lambda outcome: outcome.order, default=None)
    status = last.result.status if last else "pending"
    found = {o.skill: o for o in sorted(uses) if last and o.outcome == last.id and o.applied}
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


def _part(one: Exposed | None, status: str) -> dict[str, Any]:
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
