"""Words for what outcomes hold: results as figures, foreign text as quotes."""

import re

from skillvault.model.records import Outcome
from skillvault.model.text.text import OPEN_WORDS, format_number, format_percent, make_inert


def quote_text(text: str, limit: int = 140) -> str:
    """Foreign text as one quoted line that cannot pass for structure."""
    return f"“{make_inert(text, limit)}”"


def inline(text: str, limit: int = 60) -> str:
    """A foreign name or value inside a sentence of ours, without quotes."""
    return make_inert(text, limit)


def describe_subject(outcome: Outcome) -> str:
    """The action, and on what."""
    decision = outcome.decision
    target = f" on {inline(decision.target)}" if decision.target else ""
    return f"{inline(decision.action)}{target}"


def describe_result(outcome: Outcome) -> str:
    """The result as a verb phrase."""
    score, status = outcome.result.score, outcome.result.status
    if score is not None:
        return f"ended at {format_percent(score)}"
    return {"success": "succeeded", "failure": "failed", "neutral": "ended neutral"}[status]


def amount_of(outcome: Outcome) -> str:
    """The gain or the loss in its unit, without a sign; "" if none was recorded."""
    result = outcome.result
    if result.amount is None:
        return ""
    return format_amount(abs(result.amount), outcome)


def format_amount(value: float, outcome: Outcome) -> str:
    """A value in the unit of an outcome."""
    return f"{format_number(value)} {inline(outcome.result.unit or '', 20)}".strip()


def cut_name(text: str, limit: int) -> str:
    """A name within a limit, cut at a word that leaves nothing open."""
    words = text.split()
    while len(" ".join(words)) > limit and len(words) > 1:
        del words[-1]
    while len(words) > 1 and words[-1].casefold().strip(".,:;") in OPEN_WORDS:
        del words[-1]
    return " ".join(words)[:limit]


def make_sentence(text: str) -> str:
    """A sentence of ours: a capital unless it opens with a foreign name, one full stop."""
    head = text.split(" ", 1)[0]
    opened = text if re.search(r"[^a-z']", head.rstrip(",:")) else text[:1].upper() + text[1:]
    return opened if re.search(r"[.!?:…。！？]”?$", opened) else f"{opened}."


def describe_duration(outcome: Outcome) -> str | None:
    """From decision to end, in the unit a person would choose; None if nobody knows."""
    made = outcome.decision.made_at
    seconds = (outcome.occurred_at - made).total_seconds() if made else 0.0
    return _span(seconds) if seconds >= 1 else None


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    for size, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {name}s"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
