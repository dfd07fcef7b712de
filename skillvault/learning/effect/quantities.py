"""Quantities of two plain sentences: what a skill says, and what was done.

`x says at most 1 %. I put 5 %.` acts against x, and no other word of it says so.
"""

import re
from typing import NamedTuple

_WORDS = {
    word: float(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_QUANTITY = re.compile(
    rf"(?<![\w.-])(\d+(?:[.,]\d+)*|{'|'.join(_WORDS)})(k|m|x)?"
    r"(?:\s?(%|per ?cent)|\s([a-z]+))?(?!\w)"
)
_SCALES = {"k": 1e3, "m": 1e6, "x": 1.0, "": 1.0}
# What may stand behind a number and is no unit.
_NO_UNIT = frozenset(
    "and or but then so in on at for of to the a an i we it is was each per".split()
)


class Quantity(NamedTuple):
    """A number and what it counts: `%`, a noun in the singular, or "" if nothing is said."""

    value: float
    unit: str


def quantities_in(plain: str) -> list[Quantity]:
    """The quantities of a sentence in plain form, in order."""
    return [_figure(match) for match in _QUANTITY.finditer(plain)]


def differ(told: list[Quantity], done: list[Quantity]) -> bool:
    """Whether what was done is another number of the same thing, and never the number told."""
    pairs = [(a, b) for a in told for b in done if a.unit == b.unit or not (a.unit and b.unit)]
    return bool(pairs) and all(a.value != b.value for a, b in pairs)


def _figure(match: re.Match[str]) -> Quantity:
    number, scale, percent, noun = match.groups()
    value = _WORDS[number] if number in _WORDS else float(number.replace(",", ""))
    unit = "%" if percent else "" if noun is None or noun in _NO_UNIT else noun.rstrip("s")
    return Quantity(value * _SCALES[scale or ""], unit)
