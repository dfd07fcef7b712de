"""Build tries: the short form of an outcome, with its deed, its result and advice.

The deed says in a sentence what the run did. `tries.py` builds a try; `deed.py`, `answers.py` and
`insight.py` read its parts. Add wordings to `patterns.txt` and `words.txt`.
"""

import re

from skillvault.model.lazy import regex
from skillvault.model.text.tables import join_lines, read_sections

_PACKAGE = "skillvault.learning.tries"
_AS_WRITTEN = " as written"
_WORDS = dict(read_sections(_PACKAGE, "words.txt"))
_PATTERNS = dict(read_sections(_PACKAGE, "patterns.txt"))


def read_words(section: str) -> list[str]:
    """Return the words of a section of words.txt; some are patterns."""
    return re.split(r",\s+", _WORDS[section].strip())


def _expand(name: str) -> str:
    """Return the pattern below a heading; replace each `{name}` by the pattern of that name."""
    text = _PATTERNS.get(name) or _PATTERNS.get(name + _AS_WRITTEN)
    parts = join_lines(text) if text else read_words(name)
    pattern = re.sub(r"\{([a-z][a-z ]*)\}", lambda match: _expand(match[1]), "|".join(parts))
    return f"(?:{pattern})"


# The patterns of patterns.txt; a pattern `as written` distinguishes upper and lower case.
CUE = {
    head.removesuffix(_AS_WRITTEN): regex(
        _expand(head), re.NOFLAG if head.endswith(_AS_WRITTEN) else re.IGNORECASE
    )
    for head in _PATTERNS
}
