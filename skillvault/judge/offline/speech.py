"""How a judge speaks: conditions as clauses, results as figures, foreign text as quotes."""

import re
from datetime import timedelta

from skillvault.records import Outcome
from skillvault.text import inert, percent

_SIGNED = re.compile(r"-[\d.]")


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
