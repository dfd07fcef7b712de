"""The statements of a reasoning: what each says about its decision, which conditions it cites.

A figure is the recorded one however it is written: rounded, in per cent, in words. What would fit
any decision is told apart from the matter. `model.reading` splits the text.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.english import FULL, base_form, weight
from skillvault.model.records import Decision, Scalar
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.vocabulary import NUMERALS
from skillvault.model.text.tables import read_patterns, read_sections

# What one does, and not what one sees or thinks.
_ACT = re.compile(
    r"\b(?:i|we) (?!(?:also|then|still|now|only|see|find|notice|get|have|know|guess|think)\b)(\w+)",
    re.IGNORECASE,
)
_CUE = read_patterns("skillvault.judge.offline", "words.txt")
_LITERAL = re.compile(r"[\d._/()]|^-")  # of a name that is written in code, a path, a version
_MIXED = 1 / 3  # of the words of a statement, those that fit any decision

_AMOUNT = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w.,-])-?(?P<amount>{_AMOUNT})"
    r"(?:\s?(?P<unit>%|percent\b|k\b|thousand\b|million\b|m\b|bn\b|billion\b))?",
    re.IGNORECASE,
)
_NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b", re.IGNORECASE)
_SCALES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "m": 1e6, "bn": 1e9, "billion": 1e9}
_LINK = r"\W+(?:(?:is|are|was|were|at|of|only|still|now|stands|sits|about|around)\W+){0,3}"
_ROUNDED, _OTHER_MEASURE = 0.05, 20.0  # what rounding explains; from which on it is another thing
_TELLING_ALONE = 10  # a smaller number is too common
_RARE = 30  # of a word that is its condition's without being called so


class ReasoningStatement(NamedTuple):
    """A statement, and the parts of it that concern this decision.

    `cited` are the conditions that it names with their values, `contradicted` those to which it
    gives another value; `things` are its names, `figures` its counts and measures; `matter` are
    its other words, `general` those that fit any decision.
    """

    text: str
    cited: tuple[str, ...]
    contradicted: tuple[str, ...]
    things: frozenset[str]
    figures: frozenset[str]
    matter: frozenset[str]
    general: frozenset[str]
    is_ahead: bool

    @property
    def generality(self) -> float:
        """The share of its words that fit any decision."""
        return len(self.general) / max(len(self.general | self.matter), 1)

    @property
    def is_specific(self) -> bool:
        """True if it says more about the matter than about deciding."""
        return bool(self.matter | self.things) and self.generality <= _MIXED

    @property
    def is_anchored(self) -> bool:
        """True if it names something to look up: a condition, a thing or a measure."""
        measures = bool(self.figures) and len(self.matter) >= 2
        return self.is_specific and (bool(self.cited or self.things) or measures)

    @property
    def is_grounded(self) -> bool:
        """True if it says something that does not fit every decision."""
        is_plain = self.is_specific and len(self.matter) >= 4 and not self.is_ahead
        return self.is_anchored or is_plain

    @property
    def is_finding(self) -> bool:
        """True if it states a result of looking; a name alone is no result."""
        results = self.figures | set(filter(_LITERAL.search, self.things))
        anchors = len(self.things | self.figures) + len(self.cited)
        shows = bool(results) and anchors >= 2 and len(self.matter) >= 2
        return shows and self.is_specific and not self.is_ahead


def statements_of(
    texts: Iterable[str], decision: Decision, context: Mapping[str, Scalar]
) -> tuple[ReasoningStatement, ...]:
    """Return the statement of each text; one that repeats another is left out."""
    labels = " ".join(filter(None, (decision.action, decision.target, *context)))
    label_words = _words_of(labels) | normal_form(labels).names
    general = _general_stems()
    statements = []
    for form, text in {normal_form(text): text for text in texts}.items():
        cited = tuple(key for key in context if _cites(text, form, key, context[key]))
        known_words = label_words.union(*(_words_of(str(context[key])) for key in cited))
        statements.append(
            ReasoningStatement(
                text=text,
                cited=cited,
                contradicted=_contradicted_conditions(text, form, context),
                things=frozenset(filter(_is_thing, (form.names | form.proper) - known_words)),
                figures=frozenset() if _CUE["odds"].search(text) else form.numbers,
                matter=form.stems - known_words - general,
                general=(form.stems & general) - known_words,
                is_ahead=_is_ahead(text),
            )
        )
    return tuple(statements)


@lru_cache(maxsize=1)
def _general_stems() -> frozenset[str]:
    words = dict(read_sections("skillvault.judge.offline", "words.txt"))
    return normal_form(words["general"]).stems


def _is_ahead(text: str) -> bool:
    """True for an announcement, a condition, and "I raise" as opposed to "I raised"."""
    verbs = [act[1].lower() for act in _ACT.finditer(text)]
    intends = any(not verb.endswith("ed") and base_form(verb) == verb for verb in verbs)
    return intends or bool(_CUE["ahead"].search(text))


def _is_thing(name: str) -> bool:
    """False for `risk/reward`: two words and no name."""
    return "/" not in name or any(weight(part) >= FULL for part in name.split("/"))


# ── conditions and figures ───────────────────────────────────────────────────────────


class Figure(NamedTuple):
    """A number as it is written, without its sign, and the most that rounding may hide."""

    amount: float
    rounding: float
    is_percent: bool

    def gives(self, recorded: "Figure") -> bool:
        """Return True for a recorded figure; a fraction may be given in per cent."""
        tolerance = min(self.rounding, _ROUNDED * self.amount) + 1e-12
        percent = recorded.amount * self._scale(recorded)
        return min(abs(self.amount - a) for a in (recorded.amount, percent)) <= tolerance

    def contradicts(self, recorded: "Figure") -> bool:
        """Return True for the same measure with another amount."""
        if self.gives(recorded) or not self.amount or not recorded.amount:
            return False
        ratio = self.amount / (recorded.amount * self._scale(recorded))
        return 1 / _OTHER_MEASURE < ratio < _OTHER_MEASURE

    def _scale(self, recorded: "Figure") -> float:
        return 100.0 if self.is_percent and not recorded.is_percent else 1.0


@lru_cache(maxsize=1024)
def figures_of(text: str) -> tuple[Figure, ...]:
    """Return the numbers of a text in order, numerals too."""
    digits = _NUMERAL.sub(lambda word: str(NUMERALS[word[0].lower()]), text)
    figures = []
    for number in _NUMBER.finditer(digits):
        amount = re.sub(r",(?=\d{3}(?!\d))", "", number["amount"]).replace(",", ".")
        unit = (number["unit"] or "").lower()
        scale = _SCALES.get(unit, 1.0)
        rounding = scale * 10.0 ** -len(amount.partition(".")[2]) / 2
        figures.append(Figure(float(amount) * scale, rounding, unit in ("%", "percent")))
    return tuple(figures)


@lru_cache(maxsize=1024)
def _words_of(name: str) -> frozenset[str]:
    """Return the stems and names in the name of a condition, an action or a target."""
    form = normal_form(re.sub(r"[_-]", " ", name))
    return form.stems | form.names


def _contradicted_conditions(
    text: str, form: Form, context: Mapping[str, Scalar]
) -> tuple[str, ...]:
    """Return the conditions to which a statement gives a value that they do not have."""
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
    """Return True if the value is there, with the condition's name unless it is plain without."""
    is_named = _names_condition(text, form, key)
    if isinstance(value, bool):
        return is_named and _words_of(key) <= form.stems | form.names and form.negated != value
    recorded = figures_of(str(value))
    if recorded:
        is_given = all(any(f.gives(r) for f in figures_of(text)) for r in recorded)
        return is_given and (is_named or min(r.amount for r in recorded) >= _TELLING_ALONE)
    words = re.escape(str(value).replace("_", " ").strip())
    if not words or not re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
        return False
    # `asia` says of what it is, `high` does not.
    form = normal_form(str(value))
    is_rare = bool(form.names) or any(weight(stem) >= _RARE for stem in form.stems)
    return is_named or (not form.sides and is_rare)


def _names_condition(text: str, form: Form, key: str) -> bool:
    """Return True for any word of a condition's name, even as the unit of a number."""
    if _words_of(key) & (form.stems | form.names):
        return True
    parts = [part for part in re.split(r"[_-]", key) if len(part) > 1]
    return any(re.search(rf"(?<![^\W\d]){re.escape(p)}\b", text, re.IGNORECASE) for p in parts)


def _gives_other_figure(text: str, key: str, value: Scalar) -> bool:
    name = re.escape(re.split(r"[_-]", key)[-1])
    match = re.search(rf"\b{name}{_LINK}(-?(?:{_AMOUNT})\s?%?)", text, re.IGNORECASE)
    figures = figures_of(match[1]) if match else ()
    return any(figure.contradicts(r) for figure in figures for r in figures_of(str(value)))


def _takes_other_side(form: Form, value: Scalar) -> bool:
    """Return True for `volatility is low` if it is high; naming both sides denies neither."""
    sides = normal_form(str(value)).sides
    if sides & form.sides or form.negated:
        return False
    return any(s.axis == side.axis and s.binary for side in sides for s in form.sides)
