"""The offline judge's opinion of a decision before it is carried out."""

from collections.abc import Sequence

from skillvault.brief import Opinion
from skillvault.judge.offline.verdict import GOOD, judged
from skillvault.records import Outcome, Skill
from skillvault.text import flat, shorten

_MOST, _WARNING = 4, 200


def opined(outcome: Outcome, skills: Sequence[Skill]) -> Opinion:
    """Quality as in a verdict; grounds that do not carry a decision lower its confidence."""
    decision, size = outcome.decision, outcome.result.entry_value
    verdict = judged(decision, outcome.context, outcome.applied, size)
    given = 1.0 if decision.confidence is None else decision.confidence
    warnings = [f"{s.name}: {flat(s.description)}" for s in skills if s.kind == "warning"]
    said = [*warnings, *verdict.weaknesses, *verdict.missed_factors]
    return Opinion(
        quality=verdict.quality_score,
        confidence=round(given * min(verdict.quality_score / GOOD, 1.0), 2),
        warnings=tuple(shorten(each, _WARNING) for each in said[:_MOST]),
    )
