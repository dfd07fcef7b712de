"""The offline judge's blind verdict and opinion: what the reasoning says about this decision.

Quality is a sum of features, each with its sentence. What would fit any decision earns nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from skillvault.judge.offline.citations import figures_of
from skillvault.judge.offline.grounds import Statement, statements_of
from skillvault.model.brief import WARNING, Opinion, Verdict, warnings_of
from skillvault.model.phrases import inline, quote_text
from skillvault.model.reasoning import NOTE, Reading, read
from skillvault.model.records import Decision, Outcome, Scalar, Skill
from skillvault.model.text.text import count_of, format_number, join_items, shorten, terms

BASE = 0.4  # nothing to judge is not good, and not a confirmed mistake either
GOOD = 0.5
NOT_WEIGHED = " and is not weighed"
_CARE, _GAP = 0.08, -0.15  # what one kind of care earns, and the lack of any costs; a gap
_OFTEN, _SELDOM = 0.2, 0.1  # of all statements, those that are findings
_SURE, _FEW = 0.85, 2  # a confidence that asks for grounds; fewer do not carry it
_MATTER = 0.85  # of all words, those of the matter, from which on it is about this decision


class _Mark(NamedTuple):
    """One feature of the decision: what it adds, and the sentence that says so."""

    points: float
    sentence: str


class _Seen(NamedTuple):
    """All a verdict may look at."""

    decision: Decision
    context: Mapping[str, Scalar]
    applied: Sequence[str]
    entry_value: float | None
    reading: Reading
    statements: tuple[Statement, ...]

    @property
    def findings(self) -> list[Statement]:
        """The statements that say what was looked at and what came out."""
        return [statement for statement in self.statements if statement.is_finding]

    @property
    def is_run(self) -> bool:
        """Whether it is the report of a whole run."""
        return self.reading.size > NOTE


def judged(
    decision: Decision,
    context: Mapping[str, Scalar],
    applied: Sequence[str] | None,
    entry_value: float | None,
) -> Verdict:
    """The verdict and the sentences that explain its sum."""
    reading = read(decision.reasoning)
    context = {key: value for key, value in context.items() if value not in (None, "")}
    statements = statements_of(reading.statements, decision, context)
    seen = _Seen(decision, context, applied or (), entry_value, reading, statements)
    marks = [*_conditions(seen), *_substance(seen), *_care(seen), *_certainty(seen), *_frame(seen)]
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


def _conditions(seen: _Seen) -> Iterator[_Mark]:
    """Which recorded conditions are named with their values, and which otherwise."""
    weighed = _keys(s.cited for s in seen.statements if s.is_specific)
    recited = [key for key in _keys(s.cited for s in seen.statements) if key not in weighed]
    if weighed:
        points = 0.12 * min(len(weighed), 2)
        yield _Mark(points, f"weighs the conditions at entry: {_named(seen, weighed)}")
    elif recited:
        yield _Mark(0.04, f"repeats the conditions at entry: {_named(seen, recited)}")
    denials = [(key, s.text) for s in seen.statements for key in s.contradicted]
    for key, text in denials[:2]:
        yield _Mark(-0.2, f"{_named(seen, [key])} was recorded, and it says {quote_text(text)}")


def _keys(cited: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in cited for key in keys))


def _named(seen: _Seen, keys: Sequence[str]) -> str:
    return join_items(f"{inline(key)} {_shown(seen.context[key])}" for key in keys[:4])


def _substance(seen: _Seen) -> Iterator[_Mark]:
    """What was looked at and what came out, and whether it is about the matter at all."""
    findings, size = seen.findings, len(seen.statements)
    if seen.is_run and len(findings) < _SELDOM * size:
        share = count_of(len(findings), size)
        yield _Mark(_GAP, f"only {share} statements say what was looked at and what came out")
    elif findings:
        # What a finding says of the conditions has earned its points already.
        most = 0.18 if any(s.things for s in findings) else 0.09
        points = most * min(len(findings) / (_OFTEN * max(size, 5)), 1)
        quote = quote_text(findings[0].text)
        yield _Mark(points, f"says what was looked at and what came out: {quote}")
    elif measured := [s.text for s in seen.statements if s.figures and s.is_grounded]:
        yield _Mark(0.06, f"names a figure: {quote_text(measured[0])}")
    yield from _matter(seen)


def _matter(seen: _Seen) -> Iterator[_Mark]:
    """How much of what is said would fit any decision; saying it twice changes nothing."""
    if not seen.statements:
        return
    matter = frozenset[str]().union(*(s.matter for s in seen.statements))
    vague = [s for s in seen.statements if not s.is_anchored]
    general = frozenset[str]().union(*(s.general for s in vague))
    size = len(matter) + len(general)
    surplus = len(matter) / max(size, 1) - _MATTER
    points = max(surplus, -0.3) * min(size / 6, 1)
    emptiest = max(seen.statements, key=lambda s: (s.generality, len(s.general)))
    if points > 0 and any(s.is_grounded for s in seen.statements):
        yield _Mark(points, "is about the matter itself")
    elif points < 0:
        yield _Mark(points, f"says what would fit any decision: {quote_text(emptiest.text)}")
    if not any(s.is_grounded for s in seen.statements):
        quote = quote_text(seen.decision.reasoning, 80)
        yield _Mark(-_CARE, f"names nothing that could be looked up: {quote}")


def _care(seen: _Seen) -> Iterator[_Mark]:
    """Reasons, risks, other ways, a way out and checks; a statement counts as one of them."""
    reading, quotes = seen.reading, [s.text for s in seen.findings[:1]]
    grounded = {s.text for s in seen.statements if s.is_grounded}
    anchored = {s.text for s in seen.statements if s.is_anchored}
    for sentence, texts in (
        ("says why", [t for t in reading.reasons if t in grounded]),
        ("names a risk", [t for t in reading.risks if t in anchored]),
        ("weighs another way", [t for t in reading.alternatives if t in grounded]),
        ("limits what can go wrong", [t for t in reading.plans if t in anchored]),
        ("checks its work", [t for t in reading.checks if t in anchored]),
        ("says on what it depends", [t for t in reading.conditions if t in anchored]),
    ):
        quote = next((text for text in texts if text not in quotes), None)
        if quote:
            quotes.append(quote)
            yield _Mark(_CARE, f"{sentence}: {quote_text(quote)}")


def _certainty(seen: _Seen) -> Iterator[_Mark]:
    """What was announced, left open, or is surer than its grounds allow."""
    reading, confidence = seen.reading, seen.decision.confidence
    guesses = [guess for guess in reading.guesses if guess not in reading.unchecked]
    # A long transcript holds a guess somewhere; what counts is how much rests on them.
    dense = len(guesses) * NOTE / max(reading.size, NOTE)
    if reading.exposed:
        yield _Mark(_GAP, f"goes without a way out: {quote_text(reading.exposed[0])}")
    if reading.unfinished:
        yield _Mark(2 * _GAP, f"stops at an announced step: {quote_text(reading.unfinished)}")
    elif seen.is_run and not reading.claim:
        yield _Mark(_GAP, "ends without a result")
    elif reading.announced and not seen.findings:
        quote = quote_text(reading.announced[0])
        yield _Mark(_GAP, f"announces a check and does not say what came out: {quote}")
    if reading.unchecked:
        yield _Mark(2 * _GAP, f"goes on unchecked: {quote_text(reading.unchecked[0])}")
    if guesses and dense >= 0.5:
        yield _Mark(-min(0.1 * dense, 0.4), f"rests on a guess: {quote_text(guesses[0])}")
    if reading.hype:
        yield _Mark(_GAP, f"certainty in place of grounds: {quote_text(reading.hype[0], 80)}")
    grounds = sum(s.is_grounded for s in seen.statements)
    if confidence is not None and confidence >= _SURE and grounds < _FEW:
        yield _Mark(_GAP, f"confidence of {confidence:g} on grounds that do not carry it")
    elif confidence is not None and confidence < _SURE and grounds >= _FEW:
        yield _Mark(0.04, f"confidence of {confidence:g} fits its grounds")


def _frame(seen: _Seen) -> Iterator[_Mark]:
    """The size and the skills that the reasoning itself makes part of the decision."""
    size, reasoning = seen.entry_value, seen.decision.reasoning
    amounts = figures_of(f"{size:f}") if size else ()
    if any(written.gives(a) for written in figures_of(reasoning) for a in amounts):
        yield _Mark(0.04, f"weighs the size: {_shown(size)}")
    skills = [name for name in seen.applied if name.lower() in reasoning.lower()]
    if skills:
        yield _Mark(0.05, f"draws on {join_items(inline(name) for name in skills[:4])}")


def _mentions(reasoning: str, key: str, value: Scalar) -> bool:
    text = reasoning.lower()
    names = {key.lower().replace("_", " "), key.lower(), *terms(key.replace("_", " "))}
    if isinstance(value, str) and len(value) > 2:
        names.add(value.lower())
    return any(name in text for name in names if name)


def _unweighed(seen: _Seen) -> list[str]:
    """Recorded conditions in words (not settings in figures) that the reasoning leaves out."""
    if not seen.reading.size:
        return []
    telling = {key: value for key, value in seen.context.items() if isinstance(value, str)}
    missing = [k for k, v in telling.items() if not _mentions(seen.decision.reasoning, k, v)]
    return [f"{inline(key)} was {_shown(telling[key])}{NOT_WEIGHED}" for key in missing[:3]]


def _untold(seen: _Seen) -> tuple[str, ...]:
    return () if seen.reading.size else ("no reasoning was recorded",)


def _shown(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else inline(str(value), 40)


_MOST = 4


def opined(outcome: Outcome, skills: Sequence[Skill]) -> Opinion:
    """Quality as in a verdict; grounds that do not carry a decision lower its confidence."""
    decision, size = outcome.decision, outcome.result.entry_value
    verdict = judged(decision, outcome.context, outcome.applied, size)
    confidence = 1.0 if decision.confidence is None else decision.confidence
    doubts = [shorten(text, WARNING) for text in (*verdict.weaknesses, *verdict.missed_factors)]
    return Opinion(
        quality=verdict.quality_score,
        confidence=round(confidence * min(verdict.quality_score / GOOD, 1.0), 2),
        warnings=(*warnings_of(skills), *doubts)[:_MOST],
    )
