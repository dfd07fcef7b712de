"""How much a code base bears a rule out: which files count, and whether they are enough."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from skillvault.learning.capture.terms import Terms
from skillvault.model.policy import CapturePolicy

_MANY = 20  # searched files from which on a term may be too common
_COMMON = 0.5  # the share of them that is
_TOGETHER = 2  # words that must stand in one file
_SHOWN = 5  # files that are named

Occurrences = Mapping[str, frozenset[str]]  # term -> the files it stands in
DEFAULTS = CapturePolicy()


class Confidence(Struct, frozen=True):
    """What a number of files is worth: `low`, `medium` or `high`."""

    confidence: str
    promote: bool


class CodeEvidence(Struct, frozen=True):
    """The files that bear a rule out, sorted, by which terms, and what they are worth."""

    files: tuple[str, ...]
    terms: tuple[str, ...]
    worth: Confidence

    @property
    def told(self) -> str:
        """The files as a pattern names them."""
        more = len(self.files) - _SHOWN
        return ", ".join(self.files[:_SHOWN]) + (f" (+{more} more)" if more > 0 else "")


def confidence(files: int, policy: CapturePolicy = DEFAULTS) -> Confidence:
    """What so many distinct files are worth."""
    if files < policy.files:
        return Confidence("low", promote=False)
    return Confidence("high" if files >= policy.high else "medium", promote=True)


def evidence_for(
    terms: Terms, occurrences: Occurrences, searched: int, policy: CapturePolicy = DEFAULTS
) -> CodeEvidence:
    """The evidence for a rule in so many searched files; for a negative one what breaks it."""
    telling = {t: occurrences.get(t, frozenset()) for t in terms.all}
    if searched >= _MANY:
        telling = {t: files for t, files in telling.items() if len(files) <= _COMMON * searched}
    if terms.polarity == "negative" or not terms.exact:
        return _of_words(telling, together=_words_needed(terms), policy=policy)
    return _of_terms(terms.exact, telling, policy)


def _words_needed(terms: Terms) -> int:
    return 1 if terms.exact else _TOGETHER


def _of_terms(
    exact: Sequence[str], telling: Mapping[str, frozenset[str]], policy: CapturePolicy
) -> CodeEvidence:
    """Files with all terms if there are enough, else those with the best one."""
    if not telling:
        return _code_evidence(frozenset(), (), confidence(0, policy))
    common = (
        frozenset.intersection(*telling.values()) if len(telling) == len(exact) else frozenset()
    )
    if (worth := confidence(len(common), policy)).promote:
        return _code_evidence(common, tuple(telling), worth)
    best = max(telling, key=lambda term: (len(telling[term]), -exact.index(term)))
    return _code_evidence(telling[best], (best,), confidence(len(telling[best]), policy))


def _of_words(
    telling: Mapping[str, frozenset[str]], *, together: int, policy: CapturePolicy
) -> CodeEvidence:
    """Files in which so many of the words stand."""
    counts: dict[str, int] = {}
    for files in telling.values():
        for file in files:
            counts[file] = counts.get(file, 0) + 1
    files = frozenset(file for file, count in counts.items() if count >= together)
    worth = confidence(len(files), policy)
    capped = Confidence("medium", promote=True) if worth.promote and together > 1 else worth
    return _code_evidence(files, tuple(telling), capped)


def _code_evidence(
    files: frozenset[str], terms: tuple[str, ...], worth: Confidence
) -> CodeEvidence:
    return CodeEvidence(tuple(sorted(files)), terms, worth)
