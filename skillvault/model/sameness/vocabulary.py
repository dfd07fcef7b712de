"""The words that decide a comparison: opposites, alternatives, negations, units and synonyms.

The tables are in `vocabulary.txt`.
"""

import re
from typing import NamedTuple

from skillvault.model.english import FUNCTION_WORDS
from skillvault.model.text.tables import read_sections

_WORDS = dict(read_sections("skillvault.model.sameness", "vocabulary.txt"))

NEGATIONS = frozenset(_WORDS["negations"].split())
# A relation turns what follows it into the other side of what was said.
RELATIONS = frozenset("before after than over instead from to into onto by".split())
# Words that begin a new part of a sentence.
CONJUNCTIONS = frozenset(
    "and or but while when whenever if then because since so which that where unless until".split()
)
PARTICLES = frozenset("up down on off".split())
SILENT = (FUNCTION_WORDS | CONJUNCTIONS | frozenset(_WORDS["silent"].split())) - (
    NEGATIONS | RELATIONS | frozenset({"under", "same"})
)

# Stems of common words that change a statement when one replaces another.
VERBS = frozenset(_WORDS["verbs"].split())

# Words for one thing, as stems; the first stands for all.
SYNONYMS = {
    word: group.split()[0] for group in _WORDS["synonyms"].split(";") for word in group.split()[1:]
}


class Side(NamedTuple):
    """The side of an axis that a word takes. Opposites are the two sides of a binary axis."""

    axis: str
    side: int
    binary: bool = True


def _sides(table: str, separator: str) -> dict[str, tuple[Side, ...]]:
    sides: dict[str, tuple[Side, ...]] = {}
    for line in table.split(";"):
        columns = [column.split() for column in line.split(separator)]
        for number, words in enumerate(columns):
            for word in words:
                side = Side(columns[0][0], number, separator == ">")
                sides[word] = (*sides.get(word, ()), side)
    return sides


# Counterparts are different things, but not contraries.
OPPOSITES = _sides(_WORDS["opposites"], ">") | _sides(_WORDS["counterparts"], "|")
ALTERNATIVES = _sides(_WORDS["alternatives"], "|")  # as they are written


def _units() -> dict[str, tuple[str, float]]:
    """Return (measure, size in that measure) for each unit of a number."""
    units: dict[str, tuple[str, float]] = {}
    for line in _WORDS["measures"].split(";"):
        measure, _, table = line.partition("=")
        names: list[str] = []
        for entry in table.split():
            name, _, amount = entry.partition(":")
            names.append(name)
            if amount:
                factors = {unit: (measure.strip(), float(amount)) for unit in names}
                units |= factors | {f"{unit}s": factors[unit] for unit in names if len(unit) > 2}
                names = []
    return units


UNITS = _units()
SHORT_UNITS = frozenset("b d k m x".split())  # said of a number only where they touch it
NUMERALS = {
    word: number
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), start=2
    )
}

# Names in any spelling: days, months, and what is traded.
NAMES = frozenset(_WORDS["names"].split())
# Capitals that are not names.
GENERAL = frozenset("api apis url urls id ids ui ok tv am pm mr mrs dr i a e.g i.e and/or".split())

# Scripts without spaces have no words to look up: phrases, the longer first.
UNSPACED_NEGATION = re.compile(
    "不要|不能|不可|不应|不会|不得|没有|禁止|切勿|请勿|避免|ないで|しない|ません|不|勿|未"
)
UNSPACED_SILENT = re.compile("[的了着把被就也都和与及或请在是]")
UNSPACED_SIDES = {
    phrase: Side(axis, side)
    for line in _WORDS["unspaced sides"].split(";")
    for axis, *sides in [re.split(r"[=>]", line.strip())]
    for side, phrases in enumerate(sides)
    for phrase in phrases.split()
}
