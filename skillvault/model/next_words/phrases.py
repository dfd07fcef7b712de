"""The phrases of `phrases.toml` as patterns, of the language of a text alone."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any

from msgspec import Struct

from skillvault.model.lazy import regex

_UNSPACED = "zh"  # a language without spaces between words
_CJK = regex(r"[\u4e00-\u9fff]")
_WORD = regex(r"[^\W\d_]+")
_GAP = r"""[^\w"'“”«„「『]*"""  # what may stand between words, except a quotation
_CLAUSE_START = (
    r"(?:^|[,，、(]\s*|\b(?:and|but|so|because|since|und|aber|weil|denn|y|pero|porque|et|mais|car"
    r"|parce que)\s+)"
)


class Words(Struct, frozen=True):
    """A text, and the languages that it may be written in."""

    text: str
    languages: tuple[str, ...]

    def cut(self, text: str) -> "Words":
        """Return a part of the text."""
        return Words(text, self.languages)

    def has(self, meaning: str) -> bool:
        """Return True if the text has a phrase of a meaning, wherever it stands."""
        return self._finds("anywhere", meaning)

    def text_before(self, meaning: str) -> str:
        """Return the text before the first phrase of a meaning; "" without one."""
        patterns = (_compile(meaning, "anywhere", language) for language in self.languages)
        matches = [match.start() for p in patterns if (match := p.search(self.text.lower()))]
        return self.text[: min(matches)] if matches else ""

    def starts(self, meaning: str) -> bool:
        """Return True if the text starts with a phrase of a meaning, or with filler before it."""
        return self._finds("start", meaning)

    def has_clause(self, meaning: str) -> bool:
        """Return True if a clause of the text starts with a phrase of a meaning."""
        return self._finds("start", meaning) or self._finds("clause", meaning)

    def _finds(self, place: str, meaning: str) -> bool:
        text = self.text.lower()
        return any(_compile(meaning, place, lang).search(text) for lang in self.languages)


def read_words(text: str) -> Words:
    """Return a text with the languages that have most of its words; all if none is known."""
    if _CJK.search(text):
        return Words(text, (_UNSPACED,))
    words = _WORD.findall(text.lower())
    counts = {
        language: sum(map(set(line.split()).__contains__, words))
        for language, line in _table()["common"].items()
    }
    most = max(counts.values())
    return Words(text, tuple(language for language, count in counts.items() if count == most))


@cache
def _compile(meaning: str, place: str, language: str) -> re.Pattern[str]:
    """Compile the phrases of a meaning: for a place in the text, and for one language."""
    phrases = _join_phrases(meaning, language)
    edge = "" if language == _UNSPACED else r"(?!\w)"
    if place == "start":
        filler = _join_phrases("filler", language)
        return re.compile(f"^{_GAP}(?:(?>(?:{filler}){edge}){_GAP})*(?:{phrases})")
    if place == "clause":
        return re.compile(f"{_CLAUSE_START}(?:{phrases})")
    return re.compile(rf"(?:(?<!\w)|(?=,))(?:{phrases}){edge}" if edge else phrases)


def _join_phrases(meaning: str, language: str) -> str:
    """Join the phrases of a language, and those that every language uses."""
    forms = _table()[meaning]
    return "|".join([*forms.get(language, ()), *forms.get("any", ())])


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((get_data("skillvault.model.next_words", "phrases.toml") or b"").decode())
