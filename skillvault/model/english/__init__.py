"""English: function words, irregular forms, and the rarity of words.

Words are rare in English, not in a vault, so that two texts compare the same in bulk and one at a
time. Weights are whole numbers, because sums of fractions depend on their order.
"""

import re
from functools import lru_cache

from skillvault.model.text.tables import read_sections

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
FULL = 40  # the weight of a word that is rare in English

_WORDS = dict(read_sections("skillvault.model.english", "words.txt"))
FUNCTION_WORDS = frozenset(_WORDS["function"].split())
_FUNCTION_CHARACTERS = frozenset("".join(_WORDS["function characters"].split()))
# Words that phrase a question or a request, rather than name its topic.
REQUEST_WORDS = frozenset(_WORDS["request"].split())
# Words of requests for work of any subject: more frequent in requests than in English at large.
WORK_WORDS = frozenset(_WORDS["work"].split())

_GROUPS = [line.split() for line in _WORDS["irregular"].split(";")]
_FORMS = {form: forms for forms in _GROUPS for form in forms}


def translate(text: str) -> list[str]:
    """Return English words for common words of requests in Chinese, Japanese, Korean, Russian."""
    if text.isascii():
        return []
    text, pairs = text.lower(), _glossary()
    sizes = {len(word) for word, _ in pairs}
    starts = {word[:size] for word in re.findall(r"\w+", text) for size in sizes}
    found_words = [
        phrase for word, phrase in pairs if word in (text if _UNSPACED.search(word) else starts)
    ]
    return [part for phrase in dict.fromkeys(found_words) for part in phrase.split()]


@lru_cache(maxsize=1)
def _glossary() -> list[tuple[str, str]]:
    sections = read_sections("skillvault.model.english", "glossary.txt")
    return [(word, english) for english, words in sections for word in words.split()]


def is_function_word(word: str) -> bool:
    """Return True for a function word, or characters of Chinese and kana that form no other."""
    return word in FUNCTION_WORDS or _FUNCTION_CHARACTERS.issuperset(word)


def other_forms(word: str) -> list[str]:
    """Return the other forms of an irregular word: `went` -> go, gone, goes."""
    return [form for form in _FORMS.get(word, ()) if form != word]


def base_form(word: str) -> str:
    """Return the first form of an irregular word, `went` -> go, or any other word unchanged."""
    return _FORMS[word][0] if word in _FORMS else word


def weight(stem: str) -> int:
    """Return the information of a stem, at most `FULL`: -log of its frequency, in bands."""
    return _weights().get(stem, FULL)


@lru_cache(maxsize=1)
def _weights() -> dict[str, int]:
    entries = ((band, entry) for band, line in bands() for entry in line.split())
    return {entry.partition("=")[0]: 2 * band + 1 for band, entry in entries}


def bands() -> list[tuple[int, str]]:
    """Return the bands of `common_words.txt`, each with its entries, `stem` or `stem=word`."""
    words = read_sections("skillvault.model.english", "common_words.txt")
    return [(int(snapshot), entries) for snapshot, entries in words]
