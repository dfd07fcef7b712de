"""Recognize erased texts by their digests, and replace them with a marker.

A tombstone records an erasure without the text. It has an HMAC of the letters and digits of each
text, so only a clone with the key can recognize the text.
"""

import hmac
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct, field

FOLDER = "erased"  # of the tombstones
MARKER = "erased"  # a word that YAML, JSON, paths and ids may hold
_MIN_LENGTH = 3  # letters and digits of a text
_MAX_GAP = 40  # the most characters between two words of a text
_HMAC_DIGITS = 32  # hexadecimal digits of an HMAC
# In these scripts no space separates words, so each character counts as a word.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_ESCAPE = re.compile(r"\\u(?P<code>[0-9a-fA-F]{4})|\\x(?P<byte>[0-9a-fA-F]{2})")
_WORD = re.compile(
    rf"\\[nrtbf]|(?P<word>[{_UNSPACED}]|(?:\\u[0-9a-fA-F]{{4}}|\\x[0-9a-fA-F]{{2}}|[^\W_{_UNSPACED}]|[\u0300-\u036f])+)"
)


CommitId = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
OutcomeId = Annotated[str, Meta(pattern=r"^[0-9]{8}t[0-9]{6}z-[0-9a-f]{10}\Z")]


class Tombstone(Struct, kw_only=True):
    """The record of an erasure.

    `texts` has (length, HMAC) for each text. `outcomes` were removed. Each history with the erased
    texts contains one of the `commits`. `proof` recognizes the key.
    """

    at: datetime
    proof: str
    texts: list[tuple[int, str]] = field(default_factory=list)
    outcomes: list[OutcomeId] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)


class Eraser(Struct, frozen=True):
    """The texts and outcomes of some tombstones, with the key that recognizes the texts."""

    key: str
    texts: frozenset[tuple[int, str]] = frozenset()
    outcomes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, key: str, tombstones: Iterable[Tombstone]) -> "Eraser":
        """Return an eraser for all texts and outcomes of these tombstones."""
        texts: set[tuple[int, str]] = set()
        outcomes: set[str] = set()
        for tombstone in tombstones:
            texts.update(tombstone.texts)
            outcomes.update(tombstone.outcomes)
        return cls(key, frozenset(texts), frozenset(outcomes))

    def has_erased(self, text: str) -> bool:
        """Return True if a text contains an erased text."""
        return next(self._spans(text), None) is not None

    def replace(self, text: str) -> str:
        """Return a text with a marker in place of each erased text."""
        parts, end = list[str](), 0
        for start, stop in self._spans(text):
            parts += [text[end:start], MARKER]
            end = stop
        return "".join([*parts, text[end:]]) if parts else text

    def drops(self, path: str) -> bool:
        """Return True if a path belongs to a removed outcome."""
        name = path.rpartition("/")[2].partition(".")[0]
        return name in self.outcomes

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of erased texts in order; if some begin together, only the longest."""
        lengths = {length for length, _ in self.texts}
        longest = max(lengths, default=0)
        words = [
            (_fold(match[0]), match.start(), match.end())
            for match in _WORD.finditer(text)
            if match["word"]
        ]
        index = 0
        while index < len(words):
            group, last_end, match_end = "", words[index][2], None
            next_index = index + 1
            for number in range(index, len(words)):
                word, start, end = words[number]
                group += word
                if len(group) > longest or start - last_end > _MAX_GAP:
                    break
                last_end = end
                if len(group) in lengths and (len(group), sign_text(self.key, group)) in self.texts:
                    match_end, next_index = end, number + 1
            if match_end is not None:
                yield words[index][1], match_end
            index = next_index


def normalize(text: str) -> str:
    """Return the letters and digits of a text, without case and accents."""
    return "".join(_fold(match[0]) for match in _WORD.finditer(text) if match["word"])


def is_too_short(normal_text: str) -> bool:
    """Return True for a normalized text so short that it would match by chance."""
    return len(normal_text) < _MIN_LENGTH and (
        normal_text.isascii() or len(normal_text) < _MIN_LENGTH - 1
    )


@lru_cache(maxsize=1 << 18)
def sign_text(key: str, normal_text: str) -> str:
    """Return the HMAC of a normalized text."""
    return hmac.digest(key.encode(), normal_text.encode(), "sha256").hex()[:_HMAC_DIGITS]


def prove(key: str) -> str:
    """Return the value that lets a tombstone recognize its key."""
    return sign_text(key, "skillvault ")


@lru_cache(maxsize=1 << 18)
def _fold(word: str) -> str:
    if word.isascii() and "\\" not in word:
        return word.lower()
    unescaped = _ESCAPE.sub(lambda match: chr(int(match["code"] or match["byte"], 16)), word)
    letters = unicodedata.normalize("NFKD", unescaped).casefold()
    return "".join(character for character in letters if character.isalnum())
