"""Find the phrases of `phrases.toml` in a text, in the languages of the text."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pkgutil import get_data
from typing import Any

from msgspec import Struct

from skillvault.model.lazy import regex

_UNSPACED = "zh"  # a language without spaces between words
_PLAIN = {"es", "fr", "pt"}  # languages that people often type without accents
_ACCENTS = str.maketrans("áéíóúàâçèêëîïôùûãõ", "aeiouaaceeeiiouuao")
_CJK = regex(r"[\u4e00-\u9fff]")
_WORD = regex(r"[^\W\d_]+")
_GAP = regex(r"""[^\w"'“”«„「『]*""")  # what may stand between words, except a quotation
_CLAUSE_START = regex(
    r"[,，、(]\s*|\b(?:and|but|so|because|since|und|aber|weil|denn|y|pero|porque|et|mais|car"
    r"|parce que|e|mas|porque)\s+"
)
# Parts of a pattern that no fixed text stands for: an escape, a set, a number of times.
_INEXACT = regex(r"\\(?:x\w\w|.)|\[[^\]]+\]|\{[\d,]*\}")
_SYNTAX = regex(r"[\\\[({.^$+?*|]")
_GROUP = regex(r"\((\?<?[=!])?(?:\?[:>])?([^()]*)\)")
_GROUP_SIGNS = range(0xE000, 0xF8FF)  # signs for private use, one for each group of a pattern
_PART = regex(r"[\ue000-\uf8ff](?![?*])|(?:[^\ue000-\uf8ff\0.^$+?*|](?![?*]))+")


class Words(Struct, frozen=True):
    """A text, and the languages that it may be written in."""

    text: str
    languages: tuple[str, ...]

    def cut(self, text: str) -> "Words":
        """Return a part of the text."""
        return Words(text, self.languages)

    def has(self, meaning: str) -> bool:
        """Return True if the text has a phrase of a meaning."""
        return any(True for _ in self._find(meaning))

    def text_before(self, meaning: str) -> str:
        """Return the text before the first phrase of a meaning, or ""."""
        return self.text[: min(self._find(meaning), default=0)]

    def starts(self, meaning: str) -> bool:
        """Return True if the text starts with a phrase of a meaning, or with filler before it."""
        return any(reading.has_phrase(reading.starts, meaning) for reading in self._readings())

    def has_clause(self, meaning: str) -> bool:
        """Return True if a clause of the text starts with a phrase of a meaning."""
        return any(
            reading.has_phrase(reading.starts, meaning)
            or reading.has_phrase(reading.clauses, meaning)
            for reading in self._readings()
        )

    def _find(self, meaning: str) -> Iterator[int]:
        """Yield the position of the first match of each phrase."""
        for reading in self._readings():
            yield from reading.find_starts(meaning)

    def _readings(self) -> Iterator["_Reading"]:
        return (_read(self.text, language) for language in self.languages)


class _Reading:
    """A text as one language reads it. A phrase is compiled if the text may have it."""

    def __init__(self, text: str, language: str) -> None:
        self._text, self._language = _plain(text.lower(), language), language
        self._edge = "" if language == _UNSPACED else r"(?!\w)"

    def find_starts(self, meaning: str) -> Iterator[int]:
        """Yield the position of the first match of each phrase, as whole words."""
        start = r"(?:(?<!\w)|(?=,))" if self._edge else ""
        for phrase in self._candidates.get(meaning, ()):
            if match := _compile(f"{start}(?:{phrase}){self._edge}").search(self._text):
                yield match.start()

    def has_phrase(self, places: Iterable[int], meaning: str) -> bool:
        """Return True if a phrase of a meaning begins at one of these positions."""
        return any(
            _compile(phrase).match(self._text, place)
            for phrase in self._candidates.get(meaning, ())
            for place in places
        )

    @cached_property
    def starts(self) -> frozenset[int]:
        """The positions at which the text may start: before, within and after filler words."""
        starts, ends = set[int](), {0}
        while ends:
            place = ends.pop()
            gap = range(place, _end_of_gap(self._text, place) + 1)
            for start in {*gap} - starts:
                starts.add(start)
                for filler in self._candidates.get("filler", ()):
                    if match := _compile(f"(?:{filler}){self._edge}").match(self._text, start):
                        ends.add(match.end())
                        break
        return frozenset(starts)

    @cached_property
    def clauses(self) -> tuple[int, ...]:
        """The positions at which a clause starts."""
        return 0, *(match.end() for match in _CLAUSE_START.finditer(self._text))

    @cached_property
    def _candidates(self) -> Mapping[str, Sequence[str]]:
        """The phrases by meaning that the text may have."""
        phrases, numbers = _phrases(self._language)
        candidates: dict[str, list[str]] = {}
        for number in sorted({n for need in numbers if need in self._text for n in numbers[need]}):
            meaning, phrase = phrases[number]
            candidates.setdefault(meaning, []).append(phrase)
        return candidates


def read_words(text: str) -> Words:
    """Return a text with the languages that have most of its words, or with all languages."""
    if _CJK.search(text):
        return Words(text, (_UNSPACED,))
    words = _WORD.findall(text.lower())
    counts = {
        language: sum(map(frequent_words.__contains__, words))
        for language, frequent_words in _common_words().items()
    }
    most = max(counts.values())
    return Words(text, tuple(language for language, count in counts.items() if count == most))


def meanings() -> tuple[str, ...]:
    """Return the names of all meanings."""
    return tuple(_table())


def is_common(word: str) -> bool:
    """Return True for a word that most texts of a language contain and that names nothing."""
    return any(word in frequent_words for frequent_words in _common_words().values())


@cache
def _common_words() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(line.split()) for language, line in _table()["common"].items()}


def _end_of_gap(text: str, place: int) -> int:
    match = _GAP.match(text, place)
    return match.end() if match else place


_read = lru_cache(maxsize=256)(_Reading)
_compile = cache(re.compile)


@cache
def _phrases(language: str) -> tuple[Sequence[tuple[str, str]], Mapping[str, Sequence[int]]]:
    """Return the phrases of a language and of every language, with their meanings.

    The second value maps a text that a phrase requires to the numbers of these phrases.
    """
    phrases = [
        (meaning, _plain(phrase, language))
        for meaning, forms in _table().items()
        if meaning != "common"
        for phrase in (*forms.get(language, ()), *forms.get("any", ()))
    ]
    numbers: dict[str, list[int]] = {}
    for number, (_, phrase) in enumerate(phrases):
        for need in required_texts(phrase):
            numbers.setdefault(need, []).append(number)
    return phrases, numbers


def required_texts(pattern: str) -> Sequence[str]:
    """Return texts such that each match of a pattern contains at least one of them."""
    if not _SYNTAX.search(pattern):
        return [pattern]
    pattern = _INEXACT.sub(lambda match: "*" if match[0][0] == "{" else "\0", pattern)
    groups: dict[str, Sequence[str]] = {}

    def needs_of(alternatives: str) -> Sequence[str]:
        return [need for alternative in alternatives.split("|") for need in best_of(alternative)]

    def best_of(alternative: str) -> Sequence[str]:
        parts = [groups.get(part, [part]) for part in _PART.findall(alternative)]
        return max(parts, key=lambda needs: min(map(len, needs)), default=[""])

    def shorten_group(match: re.Match[str]) -> str:
        if match[1]:
            return "\0"  # what stands before or after a match is no part of it
        sign = chr(_GROUP_SIGNS[len(groups)])
        groups[sign] = needs_of(match[2])
        return sign

    while "(" in pattern:
        pattern = _GROUP.sub(shorten_group, pattern)
    return needs_of(pattern)


def _plain(text: str, language: str) -> str:
    """Return a text without accents, except those that distinguish words of a language."""
    return text.translate(_ACCENTS) if language in _PLAIN else text


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((get_data("skillvault.model.reaction", "phrases.toml") or b"").decode())
