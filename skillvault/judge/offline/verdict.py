"""The offline judge's blind verdict and opinion, from what the reasoning says.

Quality is a sum of features, each with its sentence. Words that fit any decision earn nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from skillvault.judge.offline.statements import ReasoningStatement, figures_of, statements_of
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
    """A feature of the decision: its points, and the sentence that says so."""

    points: float
    sentence: str


class _Material(NamedTuple):
    """All that a verdict may look at."""

    decision: Decision
    context: Mapping[str, Scalar]
    applied: Sequence[str]
    entry_value: float | None
    reading: Reading
    statements: tuple[ReasoningStatement, ...]

    @property
    def findings(self) -> list[ReasoningStatement]:
        """The statements with a result of looking."""
        return [statement for statement in self.statements if statement.is_finding]

    @property
    def is_run(self) -> bool:
        """True for the report of a whole run."""
        return self.reading.size > NOTE


def judge_decision(
    decision: Decision,
    context: Mapping[str, Scalar],
    applied: Sequence[str] | None,
    entry_value: float | None,
) -> Verdict:
    """Return the verdict with the sentences that explain its sum."""
    reading = read(decision.reasoning)
    context = {key: value for key, value in context.items() if value not in (None, "")}
    statements = statements_of(reading.statements, decision, context)
    material = _Material(decision, context, applied or (), entry_value, reading, statements)
    marks = [
        *_condition_marks(material),
        *_finding_marks(material),
        *_care_marks(material),
        *_certainty_marks(material),
        *_frame_marks(material),
    ]
    missed = _missed_conditions(material)
    total = BASE + sum(mark.points for mark in marks) - 0.04 * len(missed)
    quality = round(min(max(total, 0.02), 0.98), 2)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=tuple(m.sentence for m in marks if m.points > 0),
        weaknesses=tuple(m.sentence for m in marks if m.points < 0),
        missed_factors=tuple(missed) if reading.size else ("no reasoning was recorded",),
    )


def _condition_marks(material: _Material) -> Iterator[_Mark]:
    """Judge the recorded conditions that are cited or contradicted."""
    weighed = _distinct_keys(s.cited for s in material.statements if s.is_specific)
    recited = [
        key for key in _distinct_keys(s.cited for s in material.statements) if key not in weighed
    ]
    if weighed:
        points = 0.12 * min(len(weighed), 2)
        yield _Mark(
            points, f"weighs the conditions at entry: {_list_conditions(material, weighed)}"
        )
    elif recited:
        yield _Mark(0.04, f"repeats the conditions at entry: {_list_conditions(material, recited)}")
    denials = [(key, s.text) for s in material.statements for key in s.contradicted]
    for key, text in denials[:2]:
        yield _Mark(
            -0.2,
            f"{_list_conditions(material, [key])} was recorded, and it says {quote_text(text)}",
        )


def _distinct_keys(cited: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in cited for key in keys))


def _list_conditions(material: _Material, keys: Sequence[str]) -> str:
    return join_items(f"{inline(key)} {_format_value(material.context[key])}" for key in keys[:4])


def _finding_marks(material: _Material) -> Iterator[_Mark]:
    """Judge the findings, and how far the statements are about the matter."""
    findings, size = material.findings, len(material.statements)
    if material.is_run and len(findings) < _SELDOM * size:
        share = count_of(len(findings), size)
        yield _Mark(_GAP, f"only {share} statements say what was looked at and what came out")
    elif findings:
        # What a finding says of the conditions has earned its points already.
        most = 0.18 if any(s.things for s in findings) else 0.09
        points = most * min(len(findings) / (_OFTEN * max(size, 5)), 1)
        quote = quote_text(findings[0].text)
        yield _Mark(points, f"says what was looked at and what came out: {quote}")
    elif measured := [s.text for s in material.statements if s.figures and s.is_grounded]:
        yield _Mark(0.06, f"names a figure: {quote_text(measured[0])}")
    yield from _matter_marks(material)


def _matter_marks(material: _Material) -> Iterator[_Mark]:
    """Judge the share of words that fit any decision; repeating them changes nothing."""
    if not material.statements:
        return
    matter = frozenset[str]().union(*(s.matter for s in material.statements))
    vague = [s for s in material.statements if not s.is_anchored]
    general = frozenset[str]().union(*(s.general for s in vague))
    size = len(matter) + len(general)
    surplus = len(matter) / max(size, 1) - _MATTER
    points = max(surplus, -0.3) * min(size / 6, 1)
    emptiest = max(material.statements, key=lambda s: (s.generality, len(s.general)))
    if points > 0 and any(s.is_grounded for s in material.statements):
        yield _Mark(points, "is about the matter itself")
    elif points < 0:
        yield _Mark(points, f"says what would fit any decision: {quote_text(emptiest.text)}")
    if not any(s.is_grounded for s in material.statements):
        quote = quote_text(material.decision.reasoning, 80)
        yield _Mark(-_CARE, f"names nothing that could be looked up: {quote}")


def _care_marks(material: _Material) -> Iterator[_Mark]:
    """Judge reasons, risks, alternatives, ways out and checks; each statement counts once."""
    reading, quotes = material.reading, [s.text for s in material.findings[:1]]
    grounded = {s.text for s in material.statements if s.is_grounded}
    anchored = {s.text for s in material.statements if s.is_anchored}
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


def _certainty_marks(material: _Material) -> Iterator[_Mark]:
    """Judge announcements, open ends, guesses and confidence without grounds."""
    reading, confidence = material.reading, material.decision.confidence
    guesses = [guess for guess in reading.guesses if guess not in reading.unchecked]
    # A long transcript holds a guess somewhere; what counts is how much rests on them.
    dense = len(guesses) * NOTE / max(reading.size, NOTE)
    if reading.exposed:
        yield _Mark(_GAP, f"goes without a way out: {quote_text(reading.exposed[0])}")
    if reading.unfinished:
        yield _Mark(2 * _GAP, f"stops at an announced step: {quote_text(reading.unfinished)}")
    elif material.is_run and not reading.claim:
        yield _Mark(_GAP, "ends without a result")
    elif reading.announced and not material.findings:
        quote = quote_text(reading.announced[0])
        yield _Mark(_GAP, f"announces a check and does not say what came out: {quote}")
    if reading.unchecked:
        yield _Mark(2 * _GAP, f"goes on unchecked: {quote_text(reading.unchecked[0])}")
    if guesses and dense >= 0.5:
        yield _Mark(-min(0.1 * dense, 0.4), f"rests on a guess: {quote_text(guesses[0])}")
    if reading.hype:
        yield _Mark(_GAP, f"certainty in place of grounds: {quote_text(reading.hype[0], 80)}")
    grounds = sum(s.is_grounded for s in material.statements)
    if confidence is not None and confidence >= _SURE and grounds < _FEW:
        yield _Mark(_GAP, f"confidence of {confidence:g} on grounds that do not carry it")
    elif confidence is not None and confidence < _SURE and grounds >= _FEW:
        yield _Mark(0.04, f"confidence of {confidence:g} fits its grounds")


def _frame_marks(material: _Material) -> Iterator[_Mark]:
    """Judge the size and the skills if the reasoning names them."""
    size, reasoning = material.entry_value, material.decision.reasoning
    amounts = figures_of(f"{size:f}") if size else ()
    if any(stated.gives(a) for stated in figures_of(reasoning) for a in amounts):
        yield _Mark(0.04, f"weighs the size: {_format_value(size)}")
    skills = [name for name in material.applied if name.lower() in reasoning.lower()]
    if skills:
        yield _Mark(0.05, f"draws on {join_items(inline(name) for name in skills[:4])}")


def _mentions(reasoning: str, key: str, value: Scalar) -> bool:
    text = reasoning.lower()
    names = {key.lower().replace("_", " "), key.lower(), *terms(key.replace("_", " "))}
    if isinstance(value, str) and len(value) > 2:
        names.add(value.lower())
    return any(name in text for name in names if name)


def _missed_conditions(material: _Material) -> list[str]:
    """Return the conditions in words (not settings in figures) that the reasoning leaves out."""
    if not material.reading.size:
        return []
    conditions = {key: value for key, value in material.context.items() if isinstance(value, str)}
    missing = [k for k, v in conditions.items() if not _mentions(material.decision.reasoning, k, v)]
    return [
        f"{inline(key)} was {_format_value(conditions[key])}{NOT_WEIGHED}" for key in missing[:3]
    ]


def _format_value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else inline(str(value), 40)


_MOST = 4


def form_opinion(outcome: Outcome, skills: Sequence[Skill]) -> Opinion:
    """Return an opinion; a poor quality lowers the confidence that the decision states."""
    decision, size = outcome.decision, outcome.result.entry_value
    verdict = judge_decision(decision, outcome.conditions, outcome.applied, size)
    confidence = 1.0 if decision.confidence is None else decision.confidence
    doubts = [shorten(text, WARNING) for text in (*verdict.weaknesses, *verdict.missed_factors)]
    return Opinion(
        quality=verdict.quality_score,
        confidence=round(confidence * min(verdict.quality_score / GOOD, 1.0), 2),
        warnings=(*warnings_of(skills), *doubts)[:_MOST],
    )
