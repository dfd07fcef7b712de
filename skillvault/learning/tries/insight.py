"""What one outcome shows by itself: its insights, as values, the most telling first.

Nothing here compares outcomes: the same outcome gives the same insights in whatever vault.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from skillvault.learning.tries.answers import answer_text
from skillvault.model.brief import Insight, InsightKind
from skillvault.model.reasoning import (
    PRAISE,
    Reading,
    describe_cause,
    is_concrete,
    is_narration,
    is_praise,
    read,
    score_statement,
)
from skillvault.model.records import Outcome
from skillvault.model.text.text import terms

_DISCOVERIES = 3  # of one outcome
_RESTATED = 0.5  # of a statement's words in the task; more is the task said again
VALUE = re.compile(r"\d(?:[\d.,]*\d)?|`[^`]+`|\"[^\"]+\"")


def insights_of(outcome: Outcome) -> tuple[Insight, ...]:
    """What an outcome shows; nothing of one that is neutral or says nothing."""
    if outcome.result.status == "neutral":
        return ()
    failed = outcome.result.status == "failure"
    return tuple(
        filter(None, (_lesson(outcome), *(_fault(outcome) if failed else _merit(outcome))))
    )


def _lesson(outcome: Outcome) -> Insight | None:
    """What the agent itself says that it learned."""
    lesson = outcome.lesson
    if lesson is None:
        return None
    parts = (("when ", lesson.when), ("", lesson.do), ("because ", lesson.because))
    said = [lead + text.strip().rstrip(".") for lead, text in parts if text.strip()]
    return Insight(kind="lesson", quote=", ".join(said), supposed=outcome.is_lesson_supposed)


def _fault(outcome: Outcome) -> Iterator[Insight | None]:
    """Why a failure failed: what the result says, what was answered, what the reasoning shows."""
    reason, answer = describe_cause(outcome), answer_text(outcome)
    reading = read(outcome.decision.reasoning)
    yield Insight(kind="error", quote=reason) if reason else None
    yield Insight(kind="answer", quote=answer) if answer else None
    # A transcript thinks aloud: what it guesses or fears on the way is no ground of a decision.
    note = Reading() if reading.is_transcript else reading
    # What was checked much may well say `probably`.
    strong = note.guesses if len(note.guesses) > len(note.checks) else ()
    shown: tuple[tuple[InsightKind, Sequence[str | None]], ...] = (
        ("stopped", [reading.unfinished]),
        ("unchecked", reading.unchecked),
        ("exposed", reading.exposed),
        ("guess", strong),
        ("certainty", reading.hype),
        ("claim", [reading.claim]),
        ("guess", note.guesses),
        ("risk", _stated(note.risks)),
        ("ground", _stated([*note.reasons, note.thesis])),
    )
    fault = next((Insight(kind=kind, quote=q[0]) for kind, q in shown if q and q[0]), None)
    # What the result says, or an answer that was refused, is told in place of a claim or a risk.
    instead = ("claim", "risk", "ground") if answer else ("claim", "risk") if reason else ()
    if fault is not None and fault.kind not in instead:
        yield fault
    yield from _discoveries(reading, outcome)


def _merit(outcome: Outcome) -> Iterator[Insight]:
    """Why a success may have succeeded: what was found, how it was checked, its ground."""
    reading = read(outcome.decision.reasoning)
    if reading.is_transcript:
        yield from _discoveries(reading, outcome)
        checks = (text for text in reading.checks if is_concrete(text) and is_new(text, outcome))
        check = next((text for text in checks if not PRAISE.search(text)), None)
        if check:
            yield Insight(kind="check", quote=check)
        return
    # What was guessed or left open held by luck: that is no ground to do it again.
    lucky = {*reading.guesses, *reading.unchecked, *reading.exposed}
    grounds = _stated((*reading.found, *reading.reasons, *reading.plans))
    key = next((text for text in grounds if score_statement(text) > 0 and text not in lucky), None)
    check = next((text for text in _stated(reading.checks) if text != key), None)
    if key:
        yield Insight(kind="found" if key in reading.found else "ground", quote=key)
    if check:
        yield Insight(kind="check", quote=check)
    if not (key or check or reading.thesis in lucky):
        yield from (Insight(kind="ground", quote=text) for text in _stated([reading.thesis]))


def _stated(statements: Iterable[str | None]) -> list[str]:
    """Those that state something: no step that was announced, no praise of its own work."""
    return [t for t in statements if t and not is_narration(t) and not is_praise(t)]


def _discoveries(reading: Reading, outcome: Outcome) -> Iterator[Insight]:
    """What a transcript saw on the way, but for what its task says already."""
    if not reading.is_transcript:
        return
    new = [text for text in reading.discoveries if is_new(text, outcome)]
    yield from (Insight(kind="found", quote=text) for text in new[:_DISCOVERIES])


def is_new(statement: str, outcome: Outcome) -> bool:
    """Whether a statement says more than the task: in other words, or with a value of its own."""
    task = outcome.decision.task
    statement_terms = terms(statement)
    shared = len(statement_terms & terms(task))
    if shared < _RESTATED * len(statement_terms):
        return True
    return any(value.strip('`"') not in task for value in VALUE.findall(statement))
