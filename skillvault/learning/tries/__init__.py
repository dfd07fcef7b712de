"""Tries: in one line what each outcome did and how it ended, and groups of equal deeds.

A try is the short form of an outcome; its deed says in a sentence what the run did.
"""

import re

from skillvault.model.text.tables import read_patterns, read_sections

_SECTIONS = dict(read_sections("skillvault.learning.tries", "words.txt"))
CUE = read_patterns("skillvault.learning.tries", "patterns.txt")


def read_words(section: str) -> list[str]:
    """Return the words of a section of words.txt, some as patterns."""
    return re.split(r",\s+", _SECTIONS[section].strip())


def words_pattern(section: str) -> str:
    """Return a pattern for the words of a section of words.txt."""
    return f"(?:{'|'.join(read_words(section))})"
