"""What one outcome shows by itself: its insights, as values, the most telling first.

Nothing here compares outcomes: the same outcome gives the same insights in whatever vault.
"""

from collections.abc import Iterator, Sequence

from skillvault.brief import Insight, InsightKind
from skillvault.learning.account.answers import answer_of
from skillvault.reading import Reading, how, read, telling
from skillvault.records import Outcome


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
    reason, answer = how(outcome), answer_of(outcome)
    reading = read(outcome.decision.reasoning)
    yield Insight(kind="error", quote=reason) if reason else None
    yield Insight(kind="answer", quote=answer) if answer else None
    fault = _shortcoming(reading)
    if fault is None or (answer and fault.kind in ("claim", "risk", "ground")):
        return  # the answer that was refused is told instead
    if reason and fault.kind in ("claim", "risk"):
        return  # what the result says is told instead
    yield fault


def _shortcoming(reading: Reading) -> Insight | None:
    """Not done, not checked, guessed, refused; else the ground that it rested on."""
    # A run that checked much may well say `probably`.
    strong = reading.guesses if len(reading.guesses) > len(reading.checks) else ()
    shown: tuple[tuple[InsightKind, Sequence[str | None]], ...] = (
        ("stopped", [reading.unfinished]),
        ("unchecked", reading.unchecked),
        ("exposed", reading.exposed),
        ("guess", strong),
        ("certainty", reading.hype),
        ("claim", [reading.claim]),
        ("guess", reading.guesses),
        ("risk", reading.risks),
        ("ground", [*reading.reasons, reading.thesis]),
    )
    return next((Insight(kind=kind, quote=q[0]) for kind, q in shown if q and q[0]), None)


def _merit(outcome: Outcome) -> Iterator[Insight]:
    """Why a success may have succeeded: what was found, how it was checked, its ground."""
    reading = read(outcome.decision.reasoning)
    grounds = (*reading.found, *reading.reasons, *reading.plans)
    key = next((text for text in grounds if telling(text) > 0), None)
    check = next((text for text in reading.checks if text != key), None)
    if key:
        yield Insight(kind="found" if key in reading.found else "ground", quote=key)
    if check:
        yield Insight(kind="check", quote=check)
    if not (key or check) and reading.thesis:
        yield Insight(kind="ground", quote=reading.thesis)
