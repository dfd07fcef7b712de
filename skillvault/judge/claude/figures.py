"""Check the figures in a model's reply against the record that the model was shown.

`replies` calls `find_unsupported` for each text. A claim must repeat a figure of the record or
follow from a count. A figure that advice sets (a stop at 10 %) or that belongs to a name (HTTP 404)
is no claim, unless it counts outcomes. Add cue words to `figures.txt`.
"""

import json
import re
from collections.abc import Iterator
from functools import cached_property

from skillvault.model.lazy import regex
from skillvault.model.text.tables import read_patterns
from skillvault.model.text.text import sentences

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_TIME = regex(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|\d{1,2}:\d{2}(?::\d{2})?")
_HEX = regex(r"\b(?=\w*\d)(?=\w*[a-z])[\w-]*[0-9a-f]{6,}[\w-]*\b")
_COUNT = regex(rf"(?<![\w.,])({_NUMBER})\s?(?:/|of|out of)\s?(?:all |the )?({_NUMBER})(?![\w.]*\d)")
_FIGURE = regex(rf"(?<![\w.,])[-+−]?({_NUMBER})(\s?(?:%|per ?cent\b))?(?![\w]*\d)")
_CUES = read_patterns("skillvault.judge.claude", "figures.txt")
_CLAUSE = regex(r"[:;(]")
_NAME_BEFORE = regex(r"(?:^|[\s(“\"'`])([A-Z][A-Za-z+#]*|port|version|line|status|code|step|v)\s$")
_MIN_CLAIM = 100  # smaller whole numbers are claims only if they count something


class RecordFigures:
    """The figures of a record: its values, its percentages, and its counts `k of n`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._text = _TIME.sub(" ", text)

    def without_other_facts(self, fact_id: str) -> "RecordFigures":
        """Return the record with only one of its facts, because facts are about other outcomes.

        A record that was cut off cannot be parsed and stays as it is.
        """
        try:
            material = json.loads(self.text.partition("\n")[2].rpartition("\n")[0])
        except ValueError:
            return self
        fact = material.pop("facts", {}).get(fact_id)
        return RecordFigures(json.dumps([fact, material], ensure_ascii=False))

    @cached_property
    def pairs(self) -> frozenset[tuple[float, float]]:
        """The counts `k of n`, and the complement of each count."""
        pairs = {(_to_number(k), _to_number(n)) for k, n in _COUNT.findall(self._text)}
        return frozenset(pairs | {(n - k, n) for k, n in pairs if n >= k})

    @cached_property
    def values(self) -> frozenset[float]:
        """All single figures."""
        return frozenset(_to_number(match[1]) for match in self._figures())

    @cached_property
    def shares(self) -> frozenset[float]:
        """The percentages, stated or computed from fractions and counts."""
        # A figure with decimals may be a percentage, unless it is a fraction.
        percentages = (
            _to_number(match[1])
            for match in self._figures()
            if match[2] or ("." in match[1] and _to_number(match[1]) > 1)
        )
        fractions = (100 * value for value in self.values if 0 < value <= 1)
        counts = (100 * k / n for k, n in self.pairs if n)
        return frozenset((*percentages, *fractions, *counts))

    def _figures(self) -> Iterator[re.Match[str]]:
        return _FIGURE.finditer(_HEX.sub(" ", self._text))


def find_unsupported(text: str, record: RecordFigures, *, advice: bool = False) -> list[str]:
    """Return the claims of a text that the record does not support, in order."""
    figures = (
        figure
        for line in text.splitlines()
        for sentence in sentences(line)
        for figure in _unsupported_figures(sentence, record, advice=advice)
    )
    return list(dict.fromkeys(figures))


def _unsupported_figures(sentence: str, record: RecordFigures, *, advice: bool) -> Iterator[str]:
    yield from (time for time in _TIME.findall(sentence) if time not in record.text)
    text = _TIME.sub(" ", sentence)
    for match in _COUNT.finditer(text):
        if (_to_number(match[1]), _to_number(match[2])) not in record.pairs:
            yield match[0]
    text = _COUNT.sub(" ", text)
    for match in _FIGURE.finditer(text):
        if not (_is_instruction(match, text, advice=advice) or _is_supported(match, text, record)):
            yield match[0].strip()


def _is_instruction(match: re.Match[str], sentence: str, *, advice: bool) -> bool:
    """Return True if an instruction sets a figure: "run it 200 times before you merge"."""
    clause = _CLAUSE.split(sentence[: match.start()])[-1]
    purpose = _CUES["purpose"].split(_CUES["counted"].sub("", sentence[match.end() :], count=1))[0]
    instruction = _CUES["imperative"].sub("", clause)
    if _CUES["reason"].search(instruction) or _CUES["outcome"].search(instruction + purpose):
        return False
    return advice or instruction != clause


def _is_supported(match: re.Match[str], sentence: str, record: RecordFigures) -> bool:
    """Return True if a figure is not a claim, or if the record supports the claim."""
    figure, percent_sign = match[1], match[2]
    recorded_values = record.shares if percent_sign else record.values
    if any(_is_rounded(figure, value) for value in recorded_values):
        return True
    is_count = bool(_CUES["counted"].match(sentence[match.end() :]))
    if not percent_sign and _is_name(sentence[: match.start()], figure) and not is_count:
        return True
    is_odds = percent_sign and _CUES["outcome"].search(sentence)
    if _CUES["limit"].search(sentence) and not is_count and not is_odds:
        return True
    return (
        not percent_sign and not is_count and "." not in figure and _to_number(figure) < _MIN_CLAIM
    )


def _is_name(text_before: str, figure: str) -> bool:
    """Return True if a figure is part of a name: `Python 3.11`, `HTTP 404`, `port 8080`."""
    match = _NAME_BEFORE.search(text_before)
    if match is None:
        return False
    word = match[1]
    is_first_word = not text_before[: match.start(1)].strip()
    return word.isupper() or word.islower() or "." in figure or not is_first_word


def _to_number(figure: str) -> float:
    return float(figure.replace(",", ""))


def _is_rounded(figure: str, value: float) -> bool:
    decimals = len(figure.partition(".")[2])
    tolerance = 0.5 * 10**-decimals if value % 1 else 0.0
    return abs(_to_number(figure) - abs(value)) <= tolerance + 1e-9
