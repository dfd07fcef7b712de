"""The stem of an English word, by the Snowball project's English stemmer."""

from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

from skillvault.model.english import base_form


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """What a lower-case word has in common with its other forms: `retries` -> retri."""
    # One each: a stemmer keeps the word that it works on, and threads would share it.
    stemmed: str = EnglishStemmer().stemWord(base_form(word))
    return stemmed
