"""Tries: in one line what each outcome did and how it ended, and groups of equal deeds.

A try is the short form of an outcome; its deed says in a sentence what the run did.
"""

import re

from skillvault.model.text.tables import read_sections

_WORDS = dict(read_sections("skillvault.learning.tries", "words.txt"))


def words_pattern(section: str) -> str:
    """Return a pattern for the words of a section of words.txt."""
    words = re.split(r",\s+", _WORDS[section].strip())
    return f"(?:{'|'.join(words)})"
