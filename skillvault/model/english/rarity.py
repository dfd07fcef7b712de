"""How much a word tells, by its rarity in English at large, whatever a vault happens to hold.

So the answer about two texts is the same in bulk and one at a time. Weights are whole numbers, as
sums of fractions depend on their order.
"""

from functools import lru_cache

from skillvault.model.english import read_words

FULL = 40  # the weight of a word that English at large hardly says


def weight(stem: str) -> int:
    """How much a stem tells, at most `FULL`: -log of its frequency, in bands."""
    return _table().get(stem, FULL)


@lru_cache(maxsize=1)
def _table() -> dict[str, int]:
    """Stem -> its weight."""
    entries = ((band, entry) for band, line in bands() for entry in line.split())
    return {entry.partition("=")[0]: 2 * band + 1 for band, entry in entries}


def bands() -> list[tuple[int, str]]:
    """The bands of `common_words.txt`, each with its entries, `stem` or `stem=word`."""
    words = read_words("skillvault.model.english", "common_words.txt")
    return [(int(head), entries) for head, entries in words.items()]
