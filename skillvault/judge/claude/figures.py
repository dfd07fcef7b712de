"""The figures of a reply against the record: stated figures, and what follows from counts.

Every claim needs support. A figure that advice sets (a stop at 10 %) or that is part of a name
(HTTP 404) is no claim, unless it counts outcomes.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from skillvault.model.lazy import regex
from skillvault.model.text.tables import read_patterns
from skillvault.model.text.text import sentences

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_MOMENT = regex(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|\d{1,2}:\d{2}(?::\d{2})?")
_HEX = regex(r"\b(?=\w*\d)(?=\w*[a-z])[\w-]*[0-9a-f]{6,}[\w-]*\b")
_PAIR = regex(rf"(?<![\w.,])({_NUMBER})\s?(?:/|of|out of)\s?(?:all |the )?({_NUMBER})(?![\w.]*\d)")
_FIGURE = regex(rf"(?<![\w.,])[-+−]?({_NUMBER})(\s?(?:%|per ?cent\b))?(?![\w]*\d)")
_CUE = read_patterns("skillvault.judge.claude", "figures.txt")
_CLAUSE = regex(r"[:;(]")
_NAME = regex(r"(?:^|[\s(“\"'`])([A-Z][A-Za-z+#]*|port|version|line|status|code|step|v)\s$")
_LEAST = 100  # smaller whole numbers that count nothing are no claim


class RecordFigures:
    """The figures of a record: its values, its percentages, and the counts `k of n`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._text = _MOMENT.sub(" ", text)

    @cached_property
    def pairs(self) -> frozenset[tuple[float, float]]:
        """The counts, and the complement of each."""
        pairs = {(_value(k), _value(n)) for k, n in _PAIR.findall(self._text)}
        return frozenset(pairs | {(n - k, n) for k, n in pairs if n >= k})

    @cached_property
    def values(self) -> frozenset[float]:
        """The whole figures."""
        return frozenset(_value(match[1]) for match in self._figures())

    @cached_property
    def shares(self) -> frozenset[float]:
        """The percentages, stated or computed from fractions and counts."""
        # A fraction is no percentage; any other figure with decimals may be one.
        stated = (
            _value(m[1]) for m in self._figures() if m[2] or ("." in m[1] and _value(m[1]) > 1)
        )
        fractions = (100 * value for value in self.values if 0 < value <= 1)
        counts = (100 * k / n for k, n in self.pairs if n)
        return frozenset((*stated, *fractions, *counts))

    def _figures(self) -> Iterator[re.Match[str]]:
        return _FIGURE.finditer(_HEX.sub(" ", self._text))

    def has_share(self, share: str) -> bool:
        """Return True if a percentage is there, or follows from a fraction or a count."""
        return any(_is_rounded(share, value) for value in self.shares)

    def has_value(self, figure: str) -> bool:
        """Return True if a figure is there, as it is or with more decimals."""
        return any(_is_rounded(figure, value) for value in self.values)


def find_unsupported(text: str, record: RecordFigures, *, advice: bool = False) -> list[str]:
    """Return the claims of a text that the record does not support, each once, in order."""
    figures = (
        figure
        for line in text.splitlines()
        for sentence in sentences(line)
        for figure in _unsupported_figures(sentence, record, advice=advice)
    )
    return list(dict.fromkeys(figures))


def _unsupported_figures(sentence: str, record: RecordFigures, *, advice: bool) -> Iterator[str]:
    yield from (moment for moment in _MOMENT.findall(sentence) if moment not in record.text)
    plain = _MOMENT.sub(" ", sentence)
    for match in _PAIR.finditer(plain):
        if (_value(match[1]), _value(match[2])) not in record.pairs:
            yield match[0]
    plain = _PAIR.sub(" ", plain)
    for match in _FIGURE.finditer(plain):
        if not (_is_set(match, plain, advice=advice) or _is_supported(match, plain, record)):
            yield match[0].strip()


def _is_set(match: re.Match[str], sentence: str, *, advice: bool) -> bool:
    """Return True for a figure that an instruction sets: "run it 200 times before you merge"."""
    clause = _CLAUSE.split(sentence[: match.start()])[-1]
    purpose = _CUE["purpose"].split(_CUE["counted"].sub("", sentence[match.end() :], count=1))[0]
    deed = _CUE["imperative"].sub("", clause)
    if _CUE["reason"].search(deed) or _CUE["outcome"].search(deed + purpose):
        return False
    return advice or deed != clause


def _is_supported(match: re.Match[str], sentence: str, record: RecordFigures) -> bool:
    """Return True if a figure is no claim, or one that the record supports."""
    figure, share = match[1], match[2]
    if record.has_share(figure) if share else record.has_value(figure):
        return True
    counts = bool(_CUE["counted"].match(sentence[match.end() :]))
    if not share and _is_name(sentence[: match.start()], figure) and not counts:
        return True
    is_odds = share and _CUE["outcome"].search(sentence)
    if _CUE["limit"].search(sentence) and not counts and not is_odds:
        return True
    return not share and not counts and "." not in figure and _value(figure) < _LEAST


def _is_name(lead: str, figure: str) -> bool:
    """Return True if a figure is part of a name: `Python 3.11`, `HTTP 404`, `port 8080`."""
    match = _NAME.search(lead)
    if match is None:
        return False
    word = match[1]
    opens = not lead[: match.start(1)].strip()
    return word.isupper() or word.islower() or "." in figure or not opens


def _value(figure: str) -> float:
    return float(figure.replace(",", ""))


def _is_rounded(figure: str, value: float) -> bool:
    """Return True if a figure is this value, rounded to the figure's decimals."""
    decimals = len(figure.partition(".")[2])
    half = 0.5 * 10**-decimals if value % 1 else 0.0
    return abs(_value(figure) - abs(value)) <= half + 1e-9
