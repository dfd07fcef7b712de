"""Which recorded conditions a statement names with their values, and which it gives otherwise.

A figure is the recorded one in whatever way it is written: rounded, in per cent, in words.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.english import weight
from skillvault.model.records import Scalar
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.vocabulary import NUMERALS

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
_TELLING_ALONE = 10  # a smaller number is one of many
_RARE = 30  # of a word that is its condition's without being called so


class Figure(NamedTuple):
    """A number as it is written: how much without its sign, and how much rounding may hide."""

    amount: float
    rounding: float
    is_percent: bool

    def gives(self, recorded: "Figure") -> bool:
        """Whether this is a recorded figure; a fraction may be given in per cent."""
        tolerance = min(self.rounding, _ROUNDED * self.amount) + 1e-12
        percent = recorded.amount * self._scale(recorded)
        return min(abs(self.amount - a) for a in (recorded.amount, percent)) <= tolerance

    def contradicts(self, recorded: "Figure") -> bool:
        """Whether this is the same measure and another amount."""
        if self.gives(recorded) or not self.amount or not recorded.amount:
            return False
        ratio = self.amount / (recorded.amount * self._scale(recorded))
        return 1 / _OTHER_MEASURE < ratio < _OTHER_MEASURE

    def _scale(self, recorded: "Figure") -> float:
        return 100.0 if self.is_percent and not recorded.is_percent else 1.0


@lru_cache(maxsize=1024)
def figures_of(text: str) -> tuple[Figure, ...]:
    """The numbers of a text in order, numerals too."""
    digits = _NUMERAL.sub(lambda word: str(NUMERALS[word[0].lower()]), text)
    return tuple(map(_figure, _NUMBER.finditer(digits)))


def _figure(number: re.Match[str]) -> Figure:
    amount = re.sub(r",(?=\d{3}(?!\d))", "", number["amount"]).replace(",", ".")
    unit = (number["unit"] or "").lower()
    scale = _SCALES.get(unit, 1.0)
    rounding = scale * 10.0 ** -len(amount.partition(".")[2]) / 2
    return Figure(float(amount) * scale, rounding, unit in ("%", "percent"))


@lru_cache(maxsize=1024)
def words_of(name: str) -> frozenset[str]:
    """The stems and names in what a condition, an action or a target is called."""
    form = normal_form(re.sub(r"[_-]", " ", name))
    return form.stems | form.names


def cited(text: str, form: Form, context: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The conditions that a statement names with the value that they have."""
    return tuple(key for key in context if _cites(text, form, key, context[key]))


def contradicted(text: str, form: Form, context: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The conditions that a statement gives a value that they do not have."""
    called = form.stems | form.names
    return tuple(
        key
        for key, value in context.items()
        if words_of(key)
        and words_of(key) <= called
        and not isinstance(value, bool)
        and not _cites(text, form, key, value)
        and (_other_figure(text, key, value) or _other_side(form, value))
    )


def _cites(text: str, form: Form, key: str, value: Scalar) -> bool:
    """The value, and what it is of, unless the value tells that by itself."""
    named = _names(text, form, key)
    if isinstance(value, bool):
        return named and words_of(key) <= form.stems | form.names and form.negated != value
    recorded = figures_of(str(value))
    if recorded:
        given = all(any(f.gives(r) for f in figures_of(text)) for r in recorded)
        return given and (named or min(r.amount for r in recorded) >= _TELLING_ALONE)
    words = re.escape(str(value).replace("_", " ").strip())
    written = bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE)
    return bool(written) and (named or _tells_alone(str(value)))


def _names(text: str, form: Form, key: str) -> bool:
    """Whether a statement says any word of a condition's name, be it the unit of a number."""
    if words_of(key) & (form.stems | form.names):
        return True
    parts = [part for part in re.split(r"[_-]", key) if len(part) > 1]
    return any(re.search(rf"(?<![^\W\d]){re.escape(p)}\b", text, re.IGNORECASE) for p in parts)


def _tells_alone(value: str) -> bool:
    """`asia` says of what it is, `high` does not."""
    form = normal_form(value)
    return not form.sides and (bool(form.names) or any(weight(s) >= _RARE for s in form.stems))


def _other_figure(text: str, key: str, value: Scalar) -> bool:
    last = re.escape(re.split(r"[_-]", key)[-1])
    beside = re.search(rf"\b{last}{_LINK}(-?(?:{_AMOUNT})\s?%?)", text, re.IGNORECASE)
    written: Sequence[Figure] = figures_of(beside[1]) if beside else ()
    return any(w.contradicts(r) for w in written for r in figures_of(str(value)))


def _other_side(form: Form, value: Scalar) -> bool:
    """`volatility is low` of one that is high; a statement that names both sides denies none."""
    sides = normal_form(str(value)).sides
    if sides & form.sides or form.negated:
        return False
    return any(s.axis == mine.axis and s.binary for mine in sides for s in form.sides)
