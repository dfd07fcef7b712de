"""Tries: one line for each outcome, and groups of tries with the same deed. Values in and out."""

import re

from skillvault.model.text.tables import read_sections

_WORDS = dict(read_sections("skillvault.learning.tries", "words.txt"))


def words_pattern(section: str) -> str:
    """Return a pattern for the words of a section of words.txt."""
    words = re.split(r",\s+", _WORDS[section].strip())
    return f"(?:{'|'.join(words)})"
