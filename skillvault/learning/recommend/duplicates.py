"""Compare the texts of two skills, so that only one of two equal skills is shown."""

from collections.abc import Sequence
from functools import lru_cache

from skillvault.model.sameness import comparison
from skillvault.model.sameness import form as forms
from skillvault.model.text import markdown
from skillvault.model.text.text import jaccard, words

_WORDS = 5  # a text of fewer words is too short to compare
_ALIKE = 0.3  # texts that share fewer of their words are not looked at more closely
_SAME = 0.85  # the share of each text's statements that the other has


def says_same(text: str, other_text: str) -> bool:
    """Return True if nearly all statements of each text are in the other, in any words."""
    a, b = _distinct_words(text), _distinct_words(other_text)
    if min(len(a), len(b)) < _WORDS or jaccard(a, b) < _ALIKE:
        return False
    first, second = _forms(text), _forms(other_text)
    return _coverage(first, second) >= _SAME and _coverage(second, first) >= _SAME


def likeness(text: str, other_text: str) -> float:
    """Return the share (0..1) of the statements of the shorter text that the other has."""
    if not _distinct_words(text) & _distinct_words(other_text):
        return 0.0
    first, second = _forms(text), _forms(other_text)
    return max(_coverage(first, second), _coverage(second, first))


@lru_cache(maxsize=256)
def _distinct_words(text: str) -> frozenset[str]:
    return words(text)


@lru_cache(maxsize=256)
def _forms(text: str) -> "tuple[forms.Form, ...]":
    return tuple(map(forms.normal_form, markdown.statements(text) or [text]))


def _coverage(statements: "Sequence[forms.Form]", other_forms: "Sequence[forms.Form]") -> float:
    return sum(
        any(comparison.is_same(form, other_form) for other_form in other_forms)
        for form in statements
    ) / len(statements)
