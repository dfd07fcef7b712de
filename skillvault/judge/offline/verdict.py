"""The offline judge's blind verdict: quality as a sum of features, each with its sentence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from skillvault.brief import Verdict
from skillvault.judge.offline.speech import plain, quoted
from skillvault.reading import Reading, read
from skillvault.records import (
    Decision,
    Scalar,
)
from skillvault.text import listed, terms

BASE = 0.4  # nothing to judge is not good, and not a confirmed mistake either
GOOD = 0.5
NOT_WEIGHED = " and is not weighed"
THIN = 60  # characters of reasoning below which nothing was explained


class _Mark(NamedTuple):
    """One feature of the decision: what it adds, and the sentence that says so."""

    points: float
    sentence: str


class _Seen(NamedTuple):
    """All a verdict may look at."""

    decision: Decision
    context: Mapping[str, Scalar]
    applied: Sequence[str] | None
    entry_value: float | None
    reading: Reading


def judged(
    decision: Decision,
    context: Mapping[str, Scalar],
    applied: Sequence[str] | None,
    entry_value: float | None,
) -> Verdict:
    """The verdict and the sentences that explain its sum."""
    seen = _Seen(decision, context, applied, entry_value, read(decision.reasoning))
    marks = [*_substance(seen), *_care(seen), *_certainty(seen), *_frame(seen)]
    missed = _unweighed(seen)
    total = BASE + sum(mark.points for mark in marks) - 0.04 * len(missed)
    quality = round(min(max(total, 0.02), 0.98), 2)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=tuple(m.sentence for m in marks if m.points > 0),
        weaknesses=tuple(m.sentence for m in marks if m.points < 0),
        missed_factors=tuple(missed) or _untold(seen),
    )


def _substance(seen: _Seen) -> Iterator[_Mark]:
    """Is there a reasoning, and does it say anything."""
    reading = seen.reading
    if not reading.size:
        return
    if _size(seen) < THIN:
        yield _Mark(-0.12, f"the reasoning is one thin line: {quoted(seen.decision.reasoning, 80)}")
    if reading.figures >= 3:
        yield _Mark(0.14, "the reasoning is specific: it works with figures")
    elif reading.figures:
        yield _Mark(0.08, "the reasoning names a figure")
    else:
        yield _Mark(-0.05, "the reasoning names no figure and no threshold")
    grounds = (*reading.reasons, *reading.conditions)
    if grounds:
        yield _Mark(0.1, f"says why or when: {quoted(grounds[0])}")
    cited = _cited(seen)
    if cited:
        yield _Mark(0.08, f"weighs the conditions at entry: {listed(cited[:4])}")


def _size(seen: _Seen) -> int:
    # Bytes: a script without spaces says as much in a third of the characters.
    return len(seen.decision.reasoning.strip().encode())


def _care(seen: _Seen) -> Iterator[_Mark]:
    """Were risks, other ways, and the way out considered; were things checked."""
    reading = seen.reading
    if reading.risks:
        yield _Mark(0.1, f"names a risk: {quoted(reading.risks[0])}")
    if reading.alternatives:
        yield _Mark(0.08, f"considers another way: {quoted(reading.alternatives[0])}")
    if reading.plans:
        yield _Mark(0.1, f"limits what can go wrong: {quoted(reading.plans[0])}")
    elif reading.checks:
        yield _Mark(0.1, f"checks its work: {quoted(reading.checks[0])}")
    if reading.exposed:
        yield _Mark(-0.15, f"goes without a way out: {quoted(reading.exposed[0])}")
    if reading.size and not (reading.risks or reading.alternatives or reading.plans):
        yield _Mark(-0.08, "no risk, alternative or way out is named")
    if reading.unfinished:
        yield _Mark(-0.3, f"stops at an announced step: {quoted(reading.unfinished)}")


def _certainty(seen: _Seen) -> Iterator[_Mark]:
    """Is it as sure as its grounds allow."""
    reading = seen.reading
    if reading.unchecked:
        yield _Mark(-0.15, f"goes on unchecked: {quoted(reading.unchecked[0])}")
    guesses = [guess for guess in reading.guesses if guess not in reading.unchecked]
    # A long transcript holds a guess somewhere; what counts is how much rests on them.
    dense = len(guesses) * 1200 / max(reading.size, 1200)
    if guesses and dense >= 0.5:
        yield _Mark(-min(0.1 * dense, 0.4), f"rests on a guess: {quoted(guesses[0])}")
    if reading.hype:
        yield _Mark(-0.15, f"certainty in place of grounds: {quoted(reading.hype[0], 80)}")
    confidence = seen.decision.confidence
    if confidence is None:
        return
    grounds = sum(map(bool, (reading.figures, reading.reasons, reading.risks, reading.plans)))
    if confidence >= 0.85 and grounds < 3:
        yield _Mark(-0.2, f"confidence of {confidence:g} on grounds that do not carry it")
    elif reading.size and grounds >= 2:
        yield _Mark(0.06, f"confidence of {confidence:g} fits its grounds")


def _frame(seen: _Seen) -> Iterator[_Mark]:
    """Size and skills, where a reasoning makes them part of a decision."""
    if not seen.reading.size:
        return
    if seen.entry_value is not None:
        yield _Mark(0.04, f"the size is known: {seen.entry_value:g}")
    if seen.applied:
        yield _Mark(0.05, f"draws on {listed(plain(name) for name in seen.applied[:4])}")


def _worded(context: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {key: value for key, value in context.items() if value not in (None, "")}


def _cited(seen: _Seen) -> list[str]:
    """The context values that the reasoning mentions, by key or by value."""
    return [
        f"{plain(key)} {_shown(value)}"
        for key, value in _worded(seen.context).items()
        if _mentions(seen.decision.reasoning, key, value)
    ]


def _mentions(reasoning: str, key: str, value: Scalar) -> bool:
    said = reasoning.lower()
    names = {key.lower().replace("_", " "), key.lower(), *terms(key.replace("_", " "))}
    if isinstance(value, str) and len(value) > 2:
        names.add(value.lower())
    return any(name in said for name in names if name)


def _unweighed(seen: _Seen) -> list[str]:
    """Recorded conditions in words (not settings in figures) that the reasoning leaves out."""
    if not seen.reading.size:
        return []
    telling = {k: v for k, v in _worded(seen.context).items() if isinstance(v, str)}
    left = [k for k, v in telling.items() if not _mentions(seen.decision.reasoning, k, v)]
    return [f"{plain(k)} was {_shown(telling[k])}{NOT_WEIGHED}" for k in left[:3]]


def _untold(seen: _Seen) -> tuple[str, ...]:
    return () if seen.reading.size else ("no reasoning was recorded",)


def _shown(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else plain(str(value), 40)
