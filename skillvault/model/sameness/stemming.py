"""The stem of an English word, by the Snowball project's English stemmer."""

from functools import lru_cache

from Stemmer import Stemmer

from skillvault.model.english import base_form


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return what a lower-case word shares with its other forms: `retries` -> retri."""
    # One each: a stemmer keeps the word that it works on, and threads would share it.
    stemmed: str = Stemmer("english", 0).stemWord(base_form(word))
    return stemmed
