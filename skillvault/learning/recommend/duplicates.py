"""When two skills say the same, so that they get one place between them."""

from collections.abc import Sequence
from functools import lru_cache

from skillvault.model.sameness import comparison
from skillvault.model.sameness import form as forms
from skillvault.model.text import markdown
from skillvault.model.text.text import jaccard, words

_WORDS = 5  # a text of fewer words is too short to tell
_ALIKE = 0.3  # texts that share fewer of their words are not looked at more closely
_SAME = 0.85  # the share of each text's statements that the other has


def says_same(text: str, other: str) -> bool:
    """Whether nearly all statements of either text stand in the other, in whatever words."""
    a, b = _distinct_words(text), _distinct_words(other)
    if min(len(a), len(b)) < _WORDS or jaccard(a, b) < _ALIKE:
        return False
    first, second = _forms(text), _forms(other)
    return _covered(first, second) >= _SAME and _covered(second, first) >= _SAME


def likeness(text: str, other: str) -> float:
    """The share of the statements of the shorter text that the other says too, 0..1."""
    if not _distinct_words(text) & _distinct_words(other):
        return 0.0
    first, second = _forms(text), _forms(other)
    return max(_covered(first, second), _covered(second, first))


@lru_cache(maxsize=256)
def _distinct_words(text: str) -> frozenset[str]:
    return words(text)


@lru_cache(maxsize=256)
def _forms(text: str) -> "tuple[forms.Form, ...]":
    return tuple(map(forms.normal_form, markdown.statements(text) or [text]))


def _covered(statements: "Sequence[forms.Form]", others: "Sequence[forms.Form]") -> float:
    """The share of these statements that are among the others."""
    return sum(
        any(comparison.is_same(form, other) for other in others) for form in statements
    ) / len(statements)
