"""Find the search terms of a rule, and decide if enough files contain them.

`loop/code_bases.py` searches the code for the terms between `search_terms` and `rule_evidence`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from skillvault.model.lazy import regex
from skillvault.model.policy import CapturePolicy
from skillvault.model.text.tables import read_sections
from skillvault.model.text.text import UNSPACED

Polarity = Literal["positive", "negative"]

_MAX_TERMS = 5  # code spans, quotations, or words of one rule
_MIN_TERM, _MIN_WORD = 3, 4  # characters
_CODE = regex(r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)")
_QUOTED = regex(
    r"\"(?P<double>[^\"]+)\"|“(?P<curly>[^”]+)”"
    r"|(?<!\w)'(?P<single>[^']+)'(?!\w)|(?<!\w)‘(?P<bent>[^’]+)’(?!\w)"
)
_WORD = regex(r"[.@]?\w[\w./@-]*")
_UNSPACED = regex(f"[{UNSPACED}]")
_NEGATIVE = regex(
    r"\b(?:never|avoid(?:s|ing)?|don['’]t|do not|must not|should not|shouldn['’]t"
    r"|forbid(?:s|den)?|ban(?:s|ned)?|no longer)\b",
    re.IGNORECASE,
)
_CONTRAST = regex(r"\b(?:instead of|rather than|not|over)\b", re.IGNORECASE)
_IDENTIFIER = regex(r"[_./@\d]|\w-\w|[a-z][A-Z]|[A-Z]{2}[a-z]")
_STOP = frozenset(dict(read_sections("skillvault.learning.capture", "words.txt"))["stop"].split())


class Terms(Struct, frozen=True):
    """The search terms of a rule: its code spans and quotations, or else some of its words.

    A `negative` rule forbids its terms, so a file with these terms breaks the rule.
    """

    polarity: Polarity
    code: list[str]
    quoted: list[str]
    words: list[str]

    @property
    def exact(self) -> list[str]:
        """The terms in backticks or quotation marks."""
        return list(dict.fromkeys([*self.code, *self.quoted]))

    @property
    def all(self) -> list[str]:
        """All search terms."""
        return self.exact or self.words


def search_terms(rule: str) -> Terms:
    """Return the search terms of a rule; if the rule prefers A to B, only the terms of A."""
    text = " ".join(rule.split())
    prose = _CODE.sub(lambda match: " " * len(match[0]), text)  # keeps the positions of words
    is_negative = _NEGATIVE.search(prose) is not None
    contrast = None if is_negative else _CONTRAST.search(prose)
    part = text[: contrast.start()] if contrast else text
    code = [match["code"].strip() for match in _CODE.finditer(part)]
    prose = _CODE.sub(" ", part)
    quotations = [match[match.lastgroup or 0].strip() for match in _QUOTED.finditer(prose)]
    return Terms(
        polarity="negative" if is_negative else "positive",
        code=_long_terms(code),
        quoted=_long_terms(quotations),
        words=_distinctive_words(_QUOTED.sub(" ", prose)),
    )


def _long_terms(terms: Iterable[str]) -> list[str]:
    long_terms = [term for term in terms if len(term) >= _MIN_TERM and re.search(r"\w", term)]
    return list(dict.fromkeys(long_terms))[:_MAX_TERMS]


def _distinctive_words(prose: str) -> list[str]:
    tokens = {token.rstrip("./@-") for token in _WORD.findall(prose)}
    words = (token for token in tokens if len(token) >= _MIN_WORD and token.lower() not in _STOP)
    spaced_words = (word for word in words if not _UNSPACED.search(word))
    return sorted(spaced_words, key=lambda w: (not _IDENTIFIER.search(w), -len(w), w))[:_MAX_TERMS]


_MIN_SEARCHED = 20  # with fewer searched files, no term counts as too common
_COMMON = 0.5  # a term in a greater share of the files is too common
_MIN_WORDS = 2  # words that one file must contain
_MAX_NAMES = 5  # files to list

Occurrences = Mapping[str, frozenset[str]]  # term -> the files that have it
Confidence = Literal["low", "medium", "high"]  # with low confidence, no pattern is made
DEFAULTS = CapturePolicy()


class CodeEvidence(Struct, frozen=True):
    """The files that support a rule, sorted, with their terms and the confidence."""

    files: tuple[str, ...]
    terms: tuple[str, ...]
    confidence: Confidence

    @property
    def is_enough(self) -> bool:
        """True if the evidence is enough for a pattern."""
        return self.confidence != "low"

    @property
    def file_list(self) -> str:
        """The names of the first files, and the number of the others."""
        count = len(self.files) - _MAX_NAMES
        return ", ".join(self.files[:_MAX_NAMES]) + (f" (+{count} more)" if count > 0 else "")


def rate_confidence(files: int, policy: CapturePolicy = DEFAULTS) -> Confidence:
    """Return the confidence for a number of files."""
    if files < policy.files:
        return "low"
    return "high" if files >= policy.high else "medium"


def rule_evidence(
    terms: Terms, occurrences: Occurrences, file_count: int, policy: CapturePolicy = DEFAULTS
) -> CodeEvidence:
    """Return the files that support a rule, or that break a negative rule.

    `file_count` is the number of searched files.
    """
    matches = {term: occurrences.get(term, frozenset()) for term in terms.all}
    if file_count >= _MIN_SEARCHED:
        matches = {t: files for t, files in matches.items() if len(files) <= _COMMON * file_count}
    if terms.polarity == "negative" or not terms.exact:
        return _word_evidence(matches, 1 if terms.exact else _MIN_WORDS, policy)
    if not matches:
        return CodeEvidence((), (), "low")
    has_all = len(matches) == len(terms.exact)
    files = frozenset.intersection(*matches.values()) if has_all else frozenset()
    used_terms = tuple(matches)
    if rate_confidence(len(files), policy) == "low":
        best_term = max(matches, key=lambda term: (len(matches[term]), -terms.exact.index(term)))
        files, used_terms = matches[best_term], (best_term,)
    return CodeEvidence(tuple(sorted(files)), used_terms, rate_confidence(len(files), policy))


def _word_evidence(
    matches: Mapping[str, frozenset[str]], min_words: int, policy: CapturePolicy
) -> CodeEvidence:
    counts = Counter(file for files in matches.values() for file in files)
    files = sorted(file for file, count in counts.items() if count >= min_words)
    confidence = rate_confidence(len(files), policy)
    if confidence == "high" and min_words > 1:
        confidence = "medium"
    return CodeEvidence(tuple(files), tuple(matches), confidence)
