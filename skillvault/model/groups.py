"""Groups of things that are connected, directly or through others."""

from collections import defaultdict
from collections.abc import Iterable


class Groups:
    """Numbers from 0; each is a group of its own until `join` joins two of them."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def root(self, member: int) -> int:
        """Return the number that stands for a group, and shorten the paths to it."""
        while self._parents[member] != member:
            self._parents[member] = member = self._parents[self._parents[member]]
        return member

    def join(self, first: int, second: int) -> None:
        """Join the groups of two numbers."""
        self._parents[self.root(first)] = self.root(second)

    def members(self, order: Iterable[int]) -> list[list[int]]:
        """Return the members of each group in an order, the groups by their first ones."""
        groups: dict[int, list[int]] = defaultdict(list)
        for member in order:
            groups[self.root(member)].append(member)
        return list(groups.values())
