"""How much a word tells, by its rarity in English at large, whatever a vault happens to hold.

So the answer about two texts is the same in bulk and one at a time. Weights are whole numbers, as
sums of fractions depend on their order.
"""

import re
from functools import lru_cache

from skillvault.model.english import read_words

FULL = 40  # the weight of a word that English at large hardly says


def weight(stem: str) -> int:
    """How much a stem tells, at most `FULL`: -log of its frequency, in bands."""
    return _table().get(stem, (FULL, stem))[0]


def word_of(stem: str) -> str:
    """The commonest word of a stem; of a rare one what it looks like."""
    return _table().get(stem, (FULL, re.sub("i$", "y", stem)))[1]


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[int, str]]:
    """Stem -> its weight and commonest word."""
    table: dict[str, tuple[int, str]] = {}
    for band, entries in bands():
        for entry in entries.split():
            stem, _, word = entry.partition("=")
            table[stem] = (2 * band + 1, word or stem)
    return table


def bands() -> list[tuple[int, str]]:
    """The bands of `common_words.txt`, each with its entries."""
    words = read_words("skillvault.model.english", "common_words.txt")
    return [(int(head), entries) for head, entries in words.items()]
