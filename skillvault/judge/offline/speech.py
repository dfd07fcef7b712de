"""How a judge speaks: conditions as clauses, results as figures, foreign text as quotes."""

import re
from datetime import timedelta
from decimal import Decimal

from skillvault.brief import Contrast
from skillvault.records import (
    InsightType,
    Outcome,
)
from skillvault.text import count_of, inert, percent

_APPLIED = re.compile(r"^(?P<no>did not apply|applied) (?P<skill>.+)$")
_MEASURE = re.compile(r" of \S+ or more$| below \S+$")
_SIGNED = re.compile(r"-[\d.]")
_HUGE = 1e15
QUOTE = "'"  # around a term in a condition


def quoted(text: str, limit: int = 140) -> str:
    """Foreign text as one quoted line that cannot pass for structure."""
    return f"“{inert(text, limit)}”"


def figured(value: str, limit: int = 60) -> str:
    """A foreign value inside a sentence of ours; a sign in front of a number is part of it."""
    sign = "-" if _SIGNED.match(value) else ""
    return sign + inert(value.lstrip("-"), limit) if sign else inert(value, limit)


def plain(text: str, limit: int = 60) -> str:
    """A foreign name or value inside a sentence of ours, without quotes."""
    return inert(text, limit)


def subject(outcome: Outcome) -> str:
    """The action, and on what."""
    decision = outcome.decision
    target = f" on {plain(decision.target)}" if decision.target else ""
    return f"{plain(decision.action)}{target}"


def ended(outcome: Outcome) -> str:
    """The result as a verb phrase."""
    score, status = outcome.result.score, outcome.result.status
    if score is not None:
        return f"ended at {percent(score)}"
    return {"success": "succeeded", "failure": "failed", "neutral": "ended neutral"}[status]


def clause(condition: str) -> str:
    """A contrast's condition as a clause that can open or end a sentence."""
    if skill := _APPLIED.match(condition):
        no = "not " if skill["no"] != "applied" else ""
        return f"when {plain(skill['skill'])} was {no}applied"
    if _MEASURE.search(condition):
        return f"with {plain(condition, 90)}"
    return f"when {plain(condition, 110)}"


def counts(contrast: Contrast, group: str) -> str:
    """A contrast's counts: `5 of 6 losses beyond 10 %, against 50 of 173 others`."""
    return f"{count_of(*contrast.in_group)} {group}, against {count_of(*contrast.in_rest)} others"


def risk(contrast: Contrast, group: str) -> str:
    """What the counts mean for a decision: `then 5 of 55 were …, otherwise 1 of 124`."""
    (met, of), (other, others) = contrast.in_group, contrast.in_rest
    otherwise = count_of(of - met, of + others - met - other)
    return f"then {count_of(met, met + other)} were {group}, otherwise {otherwise}"


def figure(value: float) -> str:
    """A number in six digits, without an exponent."""
    return f"{Decimal(f'{value:.6g}'):f}" if abs(value) < _HUGE else f"{value:g}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A sentence of ours: a capital unless it opens with a foreign name, one full stop."""
    head = text.split(" ", 1)[0]
    opened = text if re.search(r"[^a-z']", head.rstrip(",:")) else _upper(text)
    return opened if re.search(r"[.!?:…。！？]”?$", opened) else f"{opened}."


def held_for(outcome: Outcome) -> str | None:
    """From decision to end, in the unit a person would choose."""
    made = outcome.decision.made_at
    if made is None or outcome.occurred_at - made < timedelta(seconds=1):
        return None
    return _span(outcome.occurred_at - made)


def _span(time: timedelta) -> str:
    if time < timedelta(minutes=2):
        return f"{time.total_seconds():.0f} seconds"
    minutes = round(time.total_seconds() / 60)
    for size, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {name}s"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def kind_of(condition: str) -> InsightType:
    """What a condition is about."""
    if condition.startswith(("decided ", "made within")):
        return "timing"
    if re.match(r"(?:entry value|.*leverage|.*size)\b", condition):
        return "sizing"
    if condition.startswith(("target is", "action is")):
        return "selection"
    if condition.startswith(("applied", "did not apply", "the reasoning")):
        return "method"
    return "context"
