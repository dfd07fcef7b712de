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
_PLAIN = {"es", "fr", "pt"}  # languages that people often type without accents
_ACCENTS = str.maketrans("áéíóúàâçèêëîïôùûãõ", "aeiouaaceeeiiouuao")
_CJK = regex(r"[\u4e00-\u9fff]")
_WORD = regex(r"[^\W\d_]+")
_GAP = r"""[^\w"'“”«„「『]*"""  # what may stand between words, except a quotation
_CLAUSE_START = (
    r"(?:^|[,，、(]\s*|\b(?:and|but|so|because|since|und|aber|weil|denn|y|pero|porque|et|mais|car"
    r"|parce que|e|mas|porque)\s+)"
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
        return bool(self._find("anywhere", meaning))

    def text_before(self, meaning: str) -> str:
        """Return the text before the first phrase of a meaning; "" without one."""
        matches = self._find("anywhere", meaning)
        return self.text[: min(match.start() for match in matches)] if matches else ""

    def starts(self, meaning: str) -> bool:
        """Return True if the text starts with a phrase of a meaning, or with filler before it."""
        return bool(self._find("start", meaning))

    def has_clause(self, meaning: str) -> bool:
        """Return True if a clause of the text starts with a phrase of a meaning."""
        return bool(self._find("start", meaning) or self._find("clause", meaning))

    def _find(self, position: str, meaning: str) -> list[re.Match[str]]:
        """Return the first match in each language that has one."""
        matches = (
            _compile(meaning, position, language).search(_plain(self.text.lower(), language))
            for language in self.languages
        )
        return [match for match in matches if match]


def read_words(text: str) -> Words:
    """Return a text with the languages that have most of its words; all if none is known."""
    if _CJK.search(text):
        return Words(text, (_UNSPACED,))
    words = _WORD.findall(text.lower())
    counts = {
        language: sum(map(common.__contains__, words))
        for language, common in _common_words().items()
    }
    most = max(counts.values())
    return Words(text, tuple(language for language, count in counts.items() if count == most))


def meanings() -> tuple[str, ...]:
    """Return the names of all meanings."""
    return tuple(_table())


def is_common(word: str) -> bool:
    """Return True for a word that stands in most texts of a language, and names nothing."""
    return any(word in common for common in _common_words().values())


@cache
def _common_words() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(line.split()) for language, line in _table()["common"].items()}


@cache
def _compile(meaning: str, position: str, language: str) -> re.Pattern[str]:
    """Compile the phrases of a meaning: for a position in the text, and for one language."""
    phrases = _plain(_join_phrases(meaning, language), language)
    edge = "" if language == _UNSPACED else r"(?!\w)"
    if position == "start":
        filler = _plain(_join_phrases("filler", language), language)
        return re.compile(f"^{_GAP}(?:(?>(?:{filler}){edge}){_GAP})*(?:{phrases})")
    if position == "clause":
        return re.compile(f"{_CLAUSE_START}(?:{phrases})")
    return re.compile(rf"(?:(?<!\w)|(?=,))(?:{phrases}){edge}" if edge else phrases)


def _plain(text: str, language: str) -> str:
    """Return a text without accents, unless they make other words of a language."""
    return text.translate(_ACCENTS) if language in _PLAIN else text


def _join_phrases(meaning: str, language: str) -> str:
    """Join the phrases of a meaning to one pattern: those of a language, and of every language."""
    forms = _table()[meaning]
    return "|".join([*forms.get(language, ()), *forms.get("any", ())])


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((get_data("skillvault.model.next_words", "phrases.toml") or b"").decode())
