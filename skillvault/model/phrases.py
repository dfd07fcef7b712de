"""Write phrases about outcomes: results as figures, foreign text as quotations."""

import re

from skillvault.model.records import Outcome
from skillvault.model.text.text import (
    can_end_name,
    format_number,
    format_percent,
    join_items,
    make_inert,
)

_RESULTS = {"success": "succeeded", "failure": "failed", "neutral": "ended neutral"}
RESULT_WORDS = frozenset(" ".join(_RESULTS.values()).split())  # no theme of facts


def quote_text(text: str, limit: int = 140) -> str:
    """Quote foreign text in one line, so that it cannot be read as a heading or a list."""
    return f"“{make_inert(text, limit)}”"


def inline(text: str, limit: int = 60) -> str:
    """Return a foreign name or value for use in a sentence, without quotes."""
    return make_inert(text, limit)


def describe_subject(outcome: Outcome) -> str:
    """Describe an outcome's action and target: `open_long on SOL-PERP`."""
    names = (outcome.decision.action, outcome.decision.target)
    return join_items([inline(name) for name in names if name], last="on")


def describe_result(outcome: Outcome) -> str:
    """Describe the result as a verb phrase."""
    score, status = outcome.result.score, outcome.result.status
    if score is not None:
        return f"ended at {format_percent(score)}"
    return _RESULTS[status]


def amount_of(outcome: Outcome) -> str:
    """Return the gain or loss with its unit but without a sign, or "" if there is none."""
    result = outcome.result
    if result.amount is None:
        return ""
    return format_amount(abs(result.amount), outcome)


def format_amount(value: float, outcome: Outcome) -> str:
    """Format a value with the unit of an outcome: `-4.2 USD`."""
    return f"{format_number(value)} {inline(outcome.result.unit or '', 20)}".strip()


def cut_name(text: str, limit: int) -> str:
    """Cut a name to `limit` characters, but not after a word such as `of` or `and`."""
    words = text.split()
    while len(" ".join(words)) > limit and len(words) > 1:
        del words[-1]
    while len(words) > 1 and not can_end_name(words[-1].casefold().strip(".,:;")):
        del words[-1]
    return " ".join(words)[:limit]


def make_sentence(text: str) -> str:
    """Add a full stop, and a capital unless the text begins with a foreign name."""
    head = text.split(" ", 1)[0]
    if not re.search(r"[^a-z']", head.rstrip(",:")):
        text = text[:1].upper() + text[1:]
    return text if re.search(r"[.!?:…。！？]”?$", text) else f"{text}."


def describe_duration(outcome: Outcome) -> str | None:
    """Describe the time from the decision to the end, or return None if it is unknown."""
    start = outcome.decision.made_at
    seconds = (outcome.occurred_at - start).total_seconds() if start else 0.0
    if seconds < 1:
        return None
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    for size, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {name}s"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
