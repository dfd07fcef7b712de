"""The offline judge's opinion of a decision before it is carried out."""

from collections.abc import Sequence

from skillvault.judge.offline.verdict import GOOD, judged
from skillvault.model.brief import WARNING, Opinion, warnings_of
from skillvault.model.records import Outcome, Skill
from skillvault.model.text.text import shorten

_MOST = 4


def opined(outcome: Outcome, skills: Sequence[Skill]) -> Opinion:
    """Quality as in a verdict; grounds that do not carry a decision lower its confidence."""
    decision, size = outcome.decision, outcome.result.entry_value
    verdict = judged(decision, outcome.context, outcome.applied, size)
    confidence = 1.0 if decision.confidence is None else decision.confidence
    doubts = [shorten(text, WARNING) for text in (*verdict.weaknesses, *verdict.missed_factors)]
    return Opinion(
        quality=verdict.quality_score,
        confidence=round(confidence * min(verdict.quality_score / GOOD, 1.0), 2),
        warnings=(*warnings_of(skills), *doubts)[:_MOST],
    )
