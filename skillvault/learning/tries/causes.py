"""What makes the words of two outcomes comparable: error signatures, figures, own values."""

import re

from skillvault.model.records import Outcome
from skillvault.model.text.text import percent

# These quote the reasoning: another outcome may rest on the same words and end otherwise.
REASONED = frozenset(
    {"unchecked", "exposed", "guess", "certainty", "risk", "ground", "found", "check"}
)
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.~-]*(?::\d+)*|\b[\w-]+\.[a-z]{1,4}:\d+\b")
_ID = re.compile(r"\b(?=[\w-]*\d)(?:0x)?[0-9a-fA-F-]{8,}\b|\b[A-Z]{2,}[-_]\d+\b")
_QUOTED = re.compile(r"\"[^\"]{1,60}\"|'[^']{1,60}'|`[^`]{1,60}`")
_NUMBER = re.compile(r"[-+]?\d[\d.,:_]*")

_SPEAKS = 3  # words of a message that says something without the names that it quotes
_LINE = 300  # characters of a message that are compared


def signature(message: str) -> str:
    """An error's type and message, without paths, numbers, ids and quoted names."""
    line = message[:_LINE]
    unquoted = _QUOTED.sub(" ", line)
    # Of `KeyError: 'amount'` the name is all there is.
    plain = _PATH.sub(" ", unquoted if len(unquoted.split()) > _SPEAKS else line)
    plain = _ID.sub(" ", plain)
    return " ".join(_NUMBER.sub(" ", plain).casefold().split())


def specific_values(outcome: Outcome) -> tuple[str, ...]:
    """What an outcome's words hold of it alone: its target, its figures, what it observed."""
    values = (outcome.result.score, outcome.result.amount, outcome.result.entry_value)
    figures = [f"{value:g}" for value in values if value is not None]
    if outcome.result.score is not None:
        figures.append(percent(outcome.result.score))  # as an insight tells it
    context = (str(value) for value in outcome.context.values() if value is not None)
    target = (outcome.decision.target,) if outcome.decision.target else ()
    return (*target, *figures, *context)
