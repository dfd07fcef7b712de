"""Rate a decision by its reasoning: the verdict and the opinion of the offline judge.

The quality is a sum of marks from the `_rate_…` functions; add a criterion there. General words,
which fit any decision, earn nothing. A figure matches a recorded figure even if it is rounded, in
per cent or in words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.learning.account.sentences import render_value
from skillvault.model.brief import MAX_WARNING, BlindCase, Opinion, Verdict, blind_case, warnings_of
from skillvault.model.english import FULL, base_form, weight
from skillvault.model.phrases import inline, quote_text
from skillvault.model.reasoning import MAX_NOTE, Reading, read_reasoning
from skillvault.model.records import Decision, Outcome, Scalar, Skill
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.vocabulary import NUMERALS
from skillvault.model.text.tables import read_patterns, read_sections
from skillvault.model.text.text import count_of, join_items, shorten, terms

# Verbs of doing, not of seeing or thinking.
_ACTION = re.compile(
    r"\b(?:i|we) (?!(?:also|then|still|now|only|see|find|notice|get|have|know|guess|think)\b)(\w+)",
    re.IGNORECASE,
)
_CUES = read_patterns("skillvault.judge.offline", "words.txt")
_CODE_NAME = re.compile(r"[\d._/()]|^-")  # typical of names from code, paths and versions
_MAX_GENERALITY = 1 / 3  # share of general words; a statement with more is not specific

_AMOUNT = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w.,-])-?(?P<amount>{_AMOUNT})"
    r"(?:\s?(?P<unit>%|percent\b|k\b|thousand\b|million\b|m\b|bn\b|billion\b))?",
    re.IGNORECASE,
)
_NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b", re.IGNORECASE)
_SCALES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "m": 1e6, "bn": 1e9, "billion": 1e9}
_LINKING_WORDS = r"\W+(?:(?:is|are|was|were|at|of|only|still|now|stands|sits|about|around)\W+){0,3}"
_MAX_ROUNDING, _MAX_RATIO = 0.05, 20.0  # relative rounding error; ratio of two measures
_MIN_UNNAMED_FIGURE = 10  # a smaller number counts only with the name of its condition
_MIN_UNNAMED_WEIGHT = 30  # a word of less weight counts only with the name of its condition


class ReasoningStatement(NamedTuple):
    """A statement of a reasoning, with the parts that concern this decision.

    `cited_keys` are the conditions that the statement names with their values; `contradicted_keys`
    are conditions to which it gives a wrong value. `figures` are counts and measures.
    `general_words` fit any decision; `topic_words` are the other words. `is_announcement` is true
    if the statement announces something.
    """

    text: str
    cited_keys: tuple[str, ...]
    contradicted_keys: tuple[str, ...]
    names: frozenset[str]
    figures: frozenset[str]
    topic_words: frozenset[str]
    general_words: frozenset[str]
    is_announcement: bool

    @property
    def generality(self) -> float:
        """The share of the statement's words that fit any decision."""
        return len(self.general_words) / max(len(self.general_words | self.topic_words), 1)

    @property
    def is_specific(self) -> bool:
        """True if most of the statement's words are about the topic."""
        return bool(self.topic_words | self.names) and self.generality <= _MAX_GENERALITY

    @property
    def is_anchored(self) -> bool:
        """True if the statement names a condition, a thing or a measure that can be looked up."""
        has_measure = bool(self.figures) and len(self.topic_words) >= 2
        return self.is_specific and (bool(self.cited_keys or self.names) or has_measure)

    @property
    def is_grounded(self) -> bool:
        """True if the statement does not fit every decision."""
        is_detailed = self.is_specific and len(self.topic_words) >= 4 and not self.is_announcement
        return self.is_anchored or is_detailed

    @property
    def is_finding(self) -> bool:
        """True if the statement tells the result of an inspection; a name alone is no result."""
        results = self.figures | set(filter(_CODE_NAME.search, self.names))
        anchors = len(self.names | self.figures) + len(self.cited_keys)
        has_result = bool(results) and anchors >= 2 and len(self.topic_words) >= 2
        return has_result and self.is_specific and not self.is_announcement


def statements_of(
    texts: Iterable[str], decision: Decision, context: Mapping[str, Scalar]
) -> tuple[ReasoningStatement, ...]:
    """Parse each text into a statement; leave out texts that repeat another text."""
    labels = " ".join(filter(None, (decision.action, decision.target, *context)))
    label_words = _words_of(labels) | normal_form(labels).names
    general_stems = _general_stems()
    statements = []
    for form, text in {normal_form(text): text for text in texts}.items():
        cited_keys = tuple(key for key in context if _cites(text, form, key, context[key]))
        known_words = label_words.union(*(_words_of(str(context[key])) for key in cited_keys))
        statements.append(
            ReasoningStatement(
                text=text,
                cited_keys=cited_keys,
                contradicted_keys=_contradicted_conditions(text, form, context),
                names=frozenset(filter(_is_single_name, (form.names | form.proper) - known_words)),
                figures=frozenset() if _CUES["odds"].search(text) else form.numbers,
                topic_words=form.stems - known_words - general_stems,
                general_words=(form.stems & general_stems) - known_words,
                is_announcement=_is_announcement(text),
            )
        )
    return tuple(statements)


@lru_cache(maxsize=1)
def _general_stems() -> frozenset[str]:
    words = dict(read_sections("skillvault.judge.offline", "words.txt"))
    return normal_form(words["general"]).stems


def _is_announcement(text: str) -> bool:
    """Return True for an announcement, such as "I raise" but not "I raised"."""
    verbs = [act[1].lower() for act in _ACTION.finditer(text)]
    has_intention = any(not verb.endswith("ed") and base_form(verb) == verb for verb in verbs)
    return has_intention or bool(_CUES["ahead"].search(text))


def _is_single_name(name: str) -> bool:
    """Return True for one name, and False for two words such as `risk/reward`."""
    return "/" not in name or any(weight(part) >= FULL for part in name.split("/"))


# ── conditions and figures ───────────────────────────────────────────────────────────


class Figure(NamedTuple):
    """A number in a text without its sign, and its largest rounding error."""

    amount: float
    rounding: float
    is_percent: bool

    def matches(self, original: "Figure") -> bool:
        """Return True if this figure is the `original`, perhaps rounded or in per cent."""
        tolerance = min(self.rounding, _MAX_ROUNDING * self.amount) + 1e-12
        percent = original.amount * self._scale(original)
        return min(abs(self.amount - amount) for amount in (original.amount, percent)) <= tolerance

    def contradicts(self, original: "Figure") -> bool:
        """Return True if this figure is the same measure as the `original`, with a wrong amount."""
        if self.matches(original) or not self.amount or not original.amount:
            return False
        ratio = self.amount / (original.amount * self._scale(original))
        return 1 / _MAX_RATIO < ratio < _MAX_RATIO

    def _scale(self, original: "Figure") -> float:
        return 100.0 if self.is_percent and not original.is_percent else 1.0


@lru_cache(maxsize=1024)
def figures_of(text: str) -> tuple[Figure, ...]:
    """Return the numbers of a text in order, including numbers in words."""
    text_in_digits = _NUMERAL.sub(lambda word: str(NUMERALS[word[0].lower()]), text)
    figures = []
    for number in _NUMBER.finditer(text_in_digits):
        amount = re.sub(r",(?=\d{3}(?!\d))", "", number["amount"]).replace(",", ".")
        unit = (number["unit"] or "").lower()
        scale = _SCALES.get(unit, 1.0)
        rounding = scale * 10.0 ** -len(amount.partition(".")[2]) / 2
        figures.append(Figure(float(amount) * scale, rounding, unit in ("%", "percent")))
    return tuple(figures)


@lru_cache(maxsize=1024)
def _words_of(name: str) -> frozenset[str]:
    form = normal_form(re.sub(r"[_-]", " ", name))
    return form.stems | form.names


def _contradicted_conditions(
    text: str, form: Form, context: Mapping[str, Scalar]
) -> tuple[str, ...]:
    """Return the conditions to which a statement gives a wrong value."""
    return tuple(
        key
        for key, value in context.items()
        if _words_of(key)
        and _words_of(key) <= form.stems | form.names
        and not isinstance(value, bool)
        and not _cites(text, form, key, value)
        and (_gives_other_figure(text, key, value) or _takes_other_side(form, value))
    )


def _cites(text: str, form: Form, key: str, value: Scalar) -> bool:
    """Return True if a text has the value and the name of a condition, or a rare value alone."""
    is_named = _names_condition(text, form, key)
    if isinstance(value, bool):
        return is_named and _words_of(key) <= form.stems | form.names and form.negated != value
    originals = figures_of(str(value))
    if originals:
        has_all = all(any(f.matches(figure) for f in figures_of(text)) for figure in originals)
        return has_all and (is_named or min(f.amount for f in originals) >= _MIN_UNNAMED_FIGURE)
    words = re.escape(str(value).replace("_", " ").strip())
    if not words or not re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
        return False
    # `asia` can belong to one condition only, `high` to many.
    form = normal_form(str(value))
    is_rare = bool(form.names) or any(weight(stem) >= _MIN_UNNAMED_WEIGHT for stem in form.stems)
    return is_named or (not form.sides and is_rare)


def _names_condition(text: str, form: Form, key: str) -> bool:
    if _words_of(key) & (form.stems | form.names):
        return True
    parts = [part for part in re.split(r"[_-]", key) if len(part) > 1]
    return any(re.search(rf"(?<![^\W\d]){re.escape(p)}\b", text, re.IGNORECASE) for p in parts)


def _gives_other_figure(text: str, key: str, value: Scalar) -> bool:
    name = re.escape(re.split(r"[_-]", key)[-1])
    match = re.search(rf"\b{name}{_LINKING_WORDS}(-?(?:{_AMOUNT})\s?%?)", text, re.IGNORECASE)
    figures = figures_of(match[1]) if match else ()
    return any(f.contradicts(original) for f in figures for original in figures_of(str(value)))


def _takes_other_side(form: Form, value: Scalar) -> bool:
    """Return True if a text says `low` for a value `high`, and does not say `high` too."""
    sides = normal_form(str(value)).sides
    if sides & form.sides or form.negated:
        return False
    return any(claim.axis == side.axis and claim.binary for side in sides for claim in form.sides)


BASE = 0.4  # the quality of a decision without anything to judge
GOOD = 0.5
NOT_WEIGHED = " and is not weighed"
_BONUS, _PENALTY = 0.08, -0.15  # points for a kind of care, and for a gap
_GOOD_FINDING_SHARE, _MIN_FINDING_SHARE = 0.2, 0.1  # share of findings among the statements
_HIGH_CONFIDENCE, _MIN_GROUNDS = 0.85, 2  # a high confidence needs so many grounded statements
_TOPIC_SHARE = 0.85  # share of topic words; a reasoning with fewer loses points


class _Mark(NamedTuple):
    """A feature of a decision: its points, and the sentence that explains them."""

    points: float
    sentence: str


class _DecisionMaterial(NamedTuple):
    """A decision without its result, and the statements of its reasoning."""

    case: BlindCase
    reading: Reading
    statements: tuple[ReasoningStatement, ...]

    @property
    def findings(self) -> list[ReasoningStatement]:
        """The statements with the result of an inspection."""
        return [statement for statement in self.statements if statement.is_finding]

    @property
    def is_run(self) -> bool:
        """True if the reasoning is long, as the report of a whole run is."""
        return self.reading.size > MAX_NOTE


def judge_decision(case: BlindCase) -> Verdict:
    """Return the verdict on a decision, with sentences that explain its quality."""
    reading = read_reasoning(case.decision.reasoning)
    context = {key: value for key, value in case.context.items() if value not in (None, "")}
    statements = statements_of(reading.statements, case.decision, context)
    material = _DecisionMaterial(replace(case, context=context), reading, statements)
    marks = [
        *_rate_conditions(material),
        *_rate_findings(material),
        *_rate_care(material),
        *_rate_certainty(material),
        *_rate_size_and_skills(material),
    ]
    missed_factors = _missed_conditions(material)
    total = BASE + sum(mark.points for mark in marks) - 0.04 * len(missed_factors)
    quality = round(min(max(total, 0.02), 0.98), 2)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=tuple(mark.sentence for mark in marks if mark.points > 0),
        weaknesses=tuple(mark.sentence for mark in marks if mark.points < 0),
        missed_factors=tuple(missed_factors) if reading.size else ("no reasoning was recorded",),
    )


def _rate_conditions(material: _DecisionMaterial) -> Iterator[_Mark]:
    used_keys = _distinct_keys(s.cited_keys for s in material.statements if s.is_specific)
    named_keys = _distinct_keys(statement.cited_keys for statement in material.statements)
    if used_keys:
        conditions = _list_conditions(material, used_keys)
        yield _Mark(0.12 * min(len(used_keys), 2), f"weighs the conditions at entry: {conditions}")
    elif named_keys:
        conditions = _list_conditions(material, named_keys)
        yield _Mark(0.04, f"repeats the conditions at entry: {conditions}")
    denials = [(key, s.text) for s in material.statements for key in s.contradicted_keys]
    for key, text in denials[:2]:
        condition = _list_conditions(material, [key])
        yield _Mark(-0.2, f"{condition} was recorded, and it says {quote_text(text)}")


def _distinct_keys(key_lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in key_lists for key in keys))


def _list_conditions(material: _DecisionMaterial, keys: Sequence[str]) -> str:
    return join_items(
        f"{inline(key)} {render_value(material.case.context[key], 40)}" for key in keys[:4]
    )


def _rate_findings(material: _DecisionMaterial) -> Iterator[_Mark]:
    findings, count = material.findings, len(material.statements)
    if material.is_run and len(findings) < _MIN_FINDING_SHARE * count:
        share = count_of(len(findings), count)
        yield _Mark(_PENALTY, f"only {share} statements say what was looked at and what came out")
    elif findings:
        # Conditions in a finding have earned their points already.
        most_points = 0.18 if any(finding.names for finding in findings) else 0.09
        points = most_points * min(len(findings) / (_GOOD_FINDING_SHARE * max(count, 5)), 1)
        quote = quote_text(findings[0].text)
        yield _Mark(points, f"says what was looked at and what came out: {quote}")
    elif measured_texts := [s.text for s in material.statements if s.figures and s.is_grounded]:
        yield _Mark(0.06, f"names a figure: {quote_text(measured_texts[0])}")
    yield from _rate_topic(material)


def _rate_topic(material: _DecisionMaterial) -> Iterator[_Mark]:
    """Rate the share of general words; repeated words count once."""
    if not material.statements:
        return
    topic_words = frozenset[str]().union(*(s.topic_words for s in material.statements))
    vague_statements = [statement for statement in material.statements if not statement.is_anchored]
    general_words = frozenset[str]().union(*(s.general_words for s in vague_statements))
    size = len(topic_words) + len(general_words)
    surplus = len(topic_words) / max(size, 1) - _TOPIC_SHARE
    points = max(surplus, -0.3) * min(size / 6, 1)
    example = max(material.statements, key=lambda s: (s.generality, len(s.general_words)))
    if points > 0 and any(statement.is_grounded for statement in material.statements):
        yield _Mark(points, "is about the matter itself")
    elif points < 0:
        yield _Mark(points, f"says what would fit any decision: {quote_text(example.text)}")
    if not any(statement.is_grounded for statement in material.statements):
        quote = quote_text(material.case.decision.reasoning, 80)
        yield _Mark(-_BONUS, f"names nothing that could be looked up: {quote}")


def _rate_care(material: _DecisionMaterial) -> Iterator[_Mark]:
    reading, quotes = material.reading, [statement.text for statement in material.findings[:1]]
    grounded_texts = {statement.text for statement in material.statements if statement.is_grounded}
    anchored_texts = {statement.text for statement in material.statements if statement.is_anchored}
    for sentence, texts in (
        ("says why", [text for text in reading.reasons if text in grounded_texts]),
        ("names a risk", [text for text in reading.risks if text in anchored_texts]),
        ("weighs another way", [text for text in reading.alternatives if text in grounded_texts]),
        ("limits what can go wrong", [text for text in reading.plans if text in anchored_texts]),
        ("checks its work", [text for text in reading.checks if text in anchored_texts]),
        ("says on what it depends", [t for t in reading.conditions if t in anchored_texts]),
    ):
        quote = next((text for text in texts if text not in quotes), None)
        if quote:
            quotes.append(quote)
            yield _Mark(_BONUS, f"{sentence}: {quote_text(quote)}")


def _rate_certainty(material: _DecisionMaterial) -> Iterator[_Mark]:
    reading, confidence = material.reading, material.case.decision.confidence
    guesses = [guess for guess in reading.guesses if guess not in reading.unchecked]
    # A long transcript contains a guess somewhere; the density of guesses counts.
    density = len(guesses) * MAX_NOTE / max(reading.size, MAX_NOTE)
    if reading.exposed:
        yield _Mark(_PENALTY, f"goes without a way out: {quote_text(reading.exposed[0])}")
    if reading.unfinished:
        yield _Mark(2 * _PENALTY, f"stops at an announced step: {quote_text(reading.unfinished)}")
    elif material.is_run and not reading.claim:
        yield _Mark(_PENALTY, "ends without a result")
    elif reading.announced and not material.findings:
        quote = quote_text(reading.announced[0])
        yield _Mark(_PENALTY, f"announces a check and does not say what came out: {quote}")
    if reading.unchecked:
        yield _Mark(2 * _PENALTY, f"goes on unchecked: {quote_text(reading.unchecked[0])}")
    if guesses and density >= 0.5:
        yield _Mark(-min(0.1 * density, 0.4), f"rests on a guess: {quote_text(guesses[0])}")
    if reading.hype:
        yield _Mark(_PENALTY, f"certainty in place of grounds: {quote_text(reading.hype[0], 80)}")
    grounds = sum(statement.is_grounded for statement in material.statements)
    if confidence is not None and confidence >= _HIGH_CONFIDENCE and grounds < _MIN_GROUNDS:
        yield _Mark(_PENALTY, f"confidence of {confidence:g} on grounds that do not carry it")
    elif confidence is not None and confidence < _HIGH_CONFIDENCE and grounds >= _MIN_GROUNDS:
        yield _Mark(0.04, f"confidence of {confidence:g} fits its grounds")


def _rate_size_and_skills(material: _DecisionMaterial) -> Iterator[_Mark]:
    size, reasoning = material.case.entry_value, material.case.decision.reasoning
    amounts = figures_of(f"{size:f}") if size else ()
    if any(figure.matches(amount) for figure in figures_of(reasoning) for amount in amounts):
        yield _Mark(0.04, f"weighs the size: {render_value(size, 40)}")
    skills = [name for name in material.case.applied or () if name.lower() in reasoning.lower()]
    if skills:
        yield _Mark(0.05, f"draws on {join_items(inline(name) for name in skills[:4])}")


def _mentions(reasoning: str, key: str, value: Scalar) -> bool:
    text = reasoning.lower()
    names = {key.lower().replace("_", " "), key.lower(), *terms(key.replace("_", " "))}
    if isinstance(value, str) and len(value) > 2:
        names.add(value.lower())
    return any(name in text for name in names if name)


def _missed_conditions(material: _DecisionMaterial) -> list[str]:
    """Return a sentence for each condition with a text value that the reasoning does not name."""
    if not material.reading.size:
        return []
    conditions = {
        key: value for key, value in material.case.context.items() if isinstance(value, str)
    }
    keys = [
        k for k, v in conditions.items() if not _mentions(material.case.decision.reasoning, k, v)
    ]
    return [
        f"{inline(key)} was {render_value(conditions[key], 40)}{NOT_WEIGHED}" for key in keys[:3]
    ]


_MAX_WARNINGS = 4


def form_opinion(outcome: Outcome, skills: Sequence[Skill]) -> Opinion:
    """Return an opinion on a decision; a poor quality lowers the stated confidence."""
    verdict, stated_confidence = judge_decision(blind_case(outcome)), outcome.decision.confidence
    confidence = 1.0 if stated_confidence is None else stated_confidence
    doubts = [shorten(text, MAX_WARNING) for text in (*verdict.weaknesses, *verdict.missed_factors)]
    return Opinion(
        quality=verdict.quality_score,
        confidence=round(confidence * min(verdict.quality_score / GOOD, 1.0), 2),
        warnings=(*warnings_of(skills), *doubts)[:_MAX_WARNINGS],
    )
