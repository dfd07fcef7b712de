"""The insights of one outcome, the most informative first, and the words that compare outcomes.

No function here compares outcomes: an outcome gives the same insights in any vault.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from skillvault.learning.tries.answers import answer_text
from skillvault.model.brief import Insight, InsightKind
from skillvault.model.decision_outcomes import is_refused
from skillvault.model.reasoning import (
    PRAISE,
    Reading,
    describe_cause,
    is_concrete,
    is_narration,
    is_praise,
    read_reasoning,
    score_statement,
)
from skillvault.model.records import Outcome
from skillvault.model.text.text import format_percent, terms

_MAX_DISCOVERIES = 3  # discoveries of one outcome
_RESTATED_SHARE = 0.5  # a statement with so many words of the task repeats the task
# Insights that quote the reasoning: another outcome may have the same words and another result.
REASONED = frozenset(
    {"unchecked", "exposed", "guess", "certainty", "risk", "ground", "found", "check"}
)
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.~-]*(?::\d+)*|\b[\w-]+\.[a-z]{1,4}:\d+\b")
_ID = re.compile(r"\b(?=[\w-]*\d)(?:0x)?[0-9a-fA-F-]{8,}\b|\b[A-Z]{2,}[-_]\d+\b")
_QUOTED = re.compile(r"\"[^\"]{1,60}\"|'[^']{1,60}'|`[^`]{1,60}`")
_NUMBER = re.compile(r"[-+]?\d[\d.,:_]*")
_MIN_OTHER_WORDS = 4  # words of a message that says enough without its quoted names
_MAX_MESSAGE = 300  # characters of a message to compare
_VALUE = re.compile(r"\d(?:[\d.,]*\d)?|`[^`]+`|\"[^\"]+\"")


def insights_of(outcome: Outcome) -> tuple[Insight, ...]:
    """Return the insights of an outcome, the most informative first; none for a neutral outcome.

    If a person's next words rejected the work, only a lesson is an insight, because nobody said
    that the agent's reasons were wrong.
    """
    if outcome.result.status == "neutral":
        return ()
    if is_refused(outcome):
        return tuple(_lesson_insights(outcome))
    find_insights = _fault_insights if outcome.result.status == "failure" else _merit_insights
    return (*_lesson_insights(outcome), *find_insights(outcome))


def _lesson_insights(outcome: Outcome) -> Iterator[Insight]:
    if lesson := outcome.lesson:
        parts = (("when ", lesson.when), ("", lesson.do), ("because ", lesson.because))
        quote = ", ".join(lead + text.strip().rstrip(".") for lead, text in parts if text.strip())
        yield Insight(kind="lesson", quote=quote, supposed=outcome.is_lesson_supposed)


def _fault_insights(outcome: Outcome) -> Iterator[Insight]:
    reason, answer = describe_cause(outcome), answer_text(outcome)
    reading = read_reasoning(outcome.decision.reasoning)
    if reason:
        yield Insight(kind="error", quote=reason)
    if answer:
        yield Insight(kind="answer", quote=answer)
    # A transcript thinks aloud, so its guesses and fears are no claims of the decision.
    note = Reading() if reading.is_transcript else reading
    # In a note with many checks, `probably` is no guess.
    strong_guesses = note.guesses if len(note.guesses) > len(note.checks) else ()
    candidates: tuple[tuple[InsightKind, Sequence[str | None]], ...] = (
        ("stopped", [reading.unfinished]),
        ("unchecked", reading.unchecked),
        ("exposed", reading.exposed),
        ("guess", strong_guesses),
        ("certainty", reading.hype),
        ("claim", [reading.claim]),
        ("guess", note.guesses),
        ("risk", _plain_statements(note.risks)),
        ("ground", _plain_statements([*note.reasons, note.thesis])),
    )
    insight = next((Insight(kind=kind, quote=q[0]) for kind, q in candidates if q and q[0]), None)
    # An error or a refused answer replaces a claim or a risk.
    replaced_kinds = ("claim", "risk", "ground") if answer else ("claim", "risk") if reason else ()
    if insight is not None and insight.kind not in replaced_kinds:
        yield insight
    yield from _discoveries(reading, outcome)


def _merit_insights(outcome: Outcome) -> Iterator[Insight]:
    reading = read_reasoning(outcome.decision.reasoning)
    if reading.is_transcript:
        yield from _discoveries(reading, outcome)
        checks = (text for text in reading.checks if is_concrete(text) and is_new(text, outcome))
        check = next((text for text in checks if not PRAISE.search(text)), None)
        if check:
            yield Insight(kind="check", quote=check)
        return
    # A guess that came true was luck, and no reason to repeat the decision.
    guesses = {*reading.guesses, *reading.unchecked, *reading.exposed}
    reasons = _plain_statements((*reading.found, *reading.reasons, *reading.plans))
    key = next(
        (text for text in reasons if score_statement(text) > 0 and text not in guesses), None
    )
    check = next((text for text in _plain_statements(reading.checks) if text != key), None)
    if key:
        yield Insight(kind="found" if key in reading.found else "ground", quote=key)
    if check:
        yield Insight(kind="check", quote=check)
    if not (key or check or reading.thesis in guesses):
        for text in _plain_statements([reading.thesis]):
            yield Insight(kind="ground", quote=text)


def _plain_statements(statements: Iterable[str | None]) -> list[str]:
    return [text for text in statements if text and not is_narration(text) and not is_praise(text)]


def _discoveries(reading: Reading, outcome: Outcome) -> Iterator[Insight]:
    """Yield the discoveries of a transcript that its task does not name."""
    if not reading.is_transcript:
        return
    discoveries = [text for text in reading.discoveries if is_new(text, outcome)]
    for text in discoveries[:_MAX_DISCOVERIES]:
        yield Insight(kind="found", quote=text)


def is_new(statement: str, outcome: Outcome) -> bool:
    """Return True if a statement has words or values that the task does not have."""
    task = outcome.decision.task
    statement_terms = terms(statement)
    shared_count = len(statement_terms & terms(task))
    if shared_count < _RESTATED_SHARE * len(statement_terms):
        return True
    return any(value.strip('`"') not in task for value in _VALUE.findall(statement))


def signature(message: str) -> str:
    """Return the type and message of an error without paths, numbers, ids and quoted names."""
    line = message[:_MAX_MESSAGE]
    unquoted_line = _QUOTED.sub(" ", line)
    # A message such as `KeyError: 'amount'` has only the quoted name.
    text = unquoted_line if len(unquoted_line.split()) >= _MIN_OTHER_WORDS else line
    for pattern in (_PATH, _ID, _NUMBER):
        text = pattern.sub(" ", text)
    return " ".join(text.casefold().split())


def specific_values(outcome: Outcome) -> tuple[str, ...]:
    """Return the values of this outcome that other outcomes may not have."""
    values = (outcome.result.score, outcome.result.amount, outcome.result.entry_value)
    figures = [f"{value:g}" for value in values if value is not None]
    if outcome.result.score is not None:
        figures.append(format_percent(outcome.result.score))  # as an insight has it
    context = (str(value) for value in outcome.context.values() if value is not None)
    target = (outcome.decision.target,) if outcome.decision.target else ()
    return (*target, *figures, *context)
