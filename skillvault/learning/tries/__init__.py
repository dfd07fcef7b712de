"""Tries: in one line what each outcome did and how it ended, and groups of equal deeds.

A try is the short form of an outcome; its deed says in a sentence what the run did.
"""

import re

from skillvault.model.lazy import regex
from skillvault.model.text.tables import join_lines, read_sections

_PACKAGE = "skillvault.learning.tries"
_AS_WRITTEN = " as written"
_WORDS = dict(read_sections(_PACKAGE, "words.txt"))
_PATTERNS = dict(read_sections(_PACKAGE, "patterns.txt"))


def read_words(section: str) -> list[str]:
    """Return the words of a section of words.txt, some as patterns."""
    return re.split(r",\s+", _WORDS[section].strip())


def _expand(name: str) -> str:
    """Return the words or the pattern below a head, with the patterns that it names."""
    text = _PATTERNS.get(name) or _PATTERNS.get(name + _AS_WRITTEN)
    parts = join_lines(text) if text else read_words(name)
    pattern = re.sub(r"\{([a-z][a-z ]*)\}", lambda match: _expand(match[1]), "|".join(parts))
    return f"(?:{pattern})"


# The patterns of patterns.txt; those `as written` match only in the given case.
CUE = {
    head.removesuffix(_AS_WRITTEN): regex(
        _expand(head), re.NOFLAG if head.endswith(_AS_WRITTEN) else re.IGNORECASE
    )
    for head in _PATTERNS
}
