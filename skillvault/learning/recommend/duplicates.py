"""Compare the statements of two texts, in any wording.

So an answer shows only one of two skills that say the same, and no rejected skill is made again.
"""

from collections.abc import Sequence
from functools import lru_cache

from skillvault.model.sameness.comparison import is_same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text import markdown
from skillvault.model.text.text import jaccard, words

_MIN_WORDS = 5  # a text with fewer words is too short to compare
_MIN_SHARED_WORDS = 0.3  # share of words; texts that share fewer are not compared further
_MIN_COVERAGE = 0.85  # share of the statements of each text that the other must have


def says_same(text: str, other_text: str) -> bool:
    """Return True if each text has nearly all statements of the other, in any wording."""
    terms, others = _distinct_words(text), _distinct_words(other_text)
    if min(len(terms), len(others)) < _MIN_WORDS or jaccard(terms, others) < _MIN_SHARED_WORDS:
        return False
    first, second = _forms(text), _forms(other_text)
    return _coverage(first, second) >= _MIN_COVERAGE and _coverage(second, first) >= _MIN_COVERAGE


def likeness(text: str, other_text: str) -> float:
    """Return the share (0..1) of the statements of the shorter text that the other has."""
    if not _distinct_words(text) & _distinct_words(other_text):
        return 0.0
    first, second = _forms(text), _forms(other_text)
    return max(_coverage(first, second), _coverage(second, first))


_distinct_words = lru_cache(maxsize=256)(words)


@lru_cache(maxsize=256)
def _forms(text: str) -> tuple[Form, ...]:
    return tuple(map(normal_form, markdown.statements(text) or [text]))


def _coverage(forms: Sequence[Form], other_forms: Sequence[Form]) -> float:
    shared_forms = [form for form in forms if any(is_same(form, other) for other in other_forms)]
    return len(shared_forms) / len(forms)
