"""Which of many texts say nearly the same: exact, and far from comparing all pairs.

How many words each text shares with another is counted for all of them at once, in bit
sets; the answers equal a scan of all pairs.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from skillvault.model.text.text import jaccard

_Bits = int  # a set of texts: bit n stands for the text of number n


class Neighbours:
    """Texts in the order in which they were added, numbered from 0.

    Two are neighbours if the Jaccard index of their `text.words` is above `threshold`,
    strictly.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._sets: list[frozenset[str]] = []
        self._holders: dict[str, _Bits] = defaultdict(int)
        self._sizes: dict[int, _Bits] = defaultdict(int)

    def add(self, text: frozenset[str]) -> int:
        """Take a text's words in; its number."""
        number = len(self._sets)
        self._sets.append(text)
        self._sizes[len(text)] |= 1 << number
        for word in text:
            self._holders[word] |= 1 << number
        return number

    def first(self, text: frozenset[str]) -> int | None:
        """The earliest neighbour of a text's words."""
        neighbours = self._above(text)
        return (neighbours & -neighbours).bit_length() - 1 if neighbours else None

    def closest(self, text: frozenset[str]) -> tuple[int, float] | None:
        """The nearest neighbour and its similarity; of equally near ones the earliest."""
        near = ((n, jaccard(text, self._sets[n])) for n in _members(self._above(text)))
        return max(near, key=lambda neighbour: (neighbour[1], -neighbour[0]), default=None)

    def _above(self, text: frozenset[str]) -> _Bits:
        """Every neighbour of a text's words."""
        planes = self._shared(text)
        neighbours = 0
        for size, holders in self._sizes.items():
            if needed := self._needed(len(text), size):
                neighbours |= holders & _at_least(needed, planes)
        return neighbours

    def _needed(self, a: int, b: int) -> int | None:
        """The least number of shared words that makes sets of these sizes neighbours."""
        needed = max(int(self.threshold / (1 + self.threshold) * (a + b)) - 1, 1)
        while needed <= min(a, b):
            if needed / (a + b - needed) > self.threshold:
                return needed
            needed += 1
        return None

    def _shared(self, text: frozenset[str]) -> list[_Bits]:
        """How many of these words each text holds: plane i has bit i of every count."""
        planes: list[_Bits] = []
        for word in text:
            carry = self._holders.get(word, 0)
            for i, plane in enumerate(planes):
                planes[i], carry = plane ^ carry, plane & carry
                if not carry:
                    break
            if carry:
                planes.append(carry)
        return planes


def _at_least(number: int, planes: Sequence[_Bits]) -> _Bits:
    """The texts whose count is no less than a number above 0."""
    if number >> len(planes):
        return 0
    more, equal = 0, -1
    for i in reversed(range(len(planes))):
        if number >> i & 1:
            equal &= planes[i]
        else:
            more |= equal & planes[i]
            equal &= ~planes[i]
    return more | equal


def _members(texts: _Bits) -> Iterator[int]:
    while texts:
        lowest = texts & -texts
        yield lowest.bit_length() - 1
        texts ^= lowest
