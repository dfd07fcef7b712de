"""Quantities of two plain sentences: what a skill says, and what was done.

`x says at most 1 %. I put 5 %.` acts against x, and no other word of it says so.
"""

import re
from typing import Literal, NamedTuple

_WORDS = {
    word: float(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_MOST = (
    r"(?:at|the) most|(?:no|not) (?:more|longer|higher|larger) than|under|below|less than|up to"
    r"|max(?:imum)?(?: of)?|cap(?:ped)?(?: of| at)?|within|limit(?:ed)?(?: of| to)?"
)
_LEAST = (
    r"at (?:the )?least|(?:no|not) (?:less|fewer|lower|smaller) than|above|over|more than"
    r"|min(?:imum)?(?: of)?"
)
_QUANTITY = re.compile(
    rf"(?:\b(?:(?P<most>{_MOST})|(?P<least>{_LEAST})) )?"
    rf"(?<![\w.-])(?P<number>\d+(?:[.,]\d+)*|{'|'.join(_WORDS)})(?P<scale>k|m|x)?"
    r"(?:\s?(?P<percent>%|per ?cent)|\s(?P<noun>[a-z]+))?(?!\w)"
)
_SCALES = {"k": 1e3, "m": 1e6, "x": 1.0, "": 1.0}
# What may stand behind a number and is no unit.
_NO_UNIT = frozenset(
    "and or but then so in on at for of to the a an i we it is was each per".split()
)


class Quantity(NamedTuple):
    """A number and what it counts: `%`, a noun in the singular, or "" if nothing is said.

    `bound`: it is the most or the least that is meant.
    """

    value: float
    unit: str
    bound: Literal["most", "least", ""] = ""


def quantities_in(plain: str) -> list[Quantity]:
    """The quantities of a sentence in plain form, in order."""
    return [_quantity(match) for match in _QUANTITY.finditer(plain)]


def differ(advice: list[Quantity], act: list[Quantity]) -> bool:
    """Whether what was done is another quantity of the same thing than the advice allows."""
    pairs = [(a, b) for a in advice for b in act if a.unit == b.unit or not (a.unit and b.unit)]
    return bool(pairs) and not any(_allows(a, b) for a, b in pairs)


def _allows(advised: Quantity, other: Quantity) -> bool:
    if advised.bound == "most":
        return other.value <= advised.value
    if advised.bound == "least":
        return other.value >= advised.value
    return other.value == advised.value


def _quantity(match: re.Match[str]) -> Quantity:
    number, noun = match["number"], match["noun"]
    value = _WORDS[number] if number in _WORDS else float(number.replace(",", ""))
    unit = "%" if match["percent"] else "" if noun is None or noun in _NO_UNIT else noun.rstrip("s")
    bound: Literal["most", "least", ""] = (
        "most" if match["most"] else "least" if match["least"] else ""
    )
    return Quantity(value * _SCALES[match["scale"] or ""], unit, bound)
