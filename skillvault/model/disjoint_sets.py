"""Disjoint sets (union-find): sets of members that are connected, directly or through others."""

from collections import defaultdict
from collections.abc import Iterable


class DisjointSets:
    """Numbers from 0. Each is a set of its own until `union` merges two sets."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def find_set(self, member: int) -> int:
        """Return the representative of a member's set, and shorten the path to it."""
        while self._parents[member] != member:
            self._parents[member] = member = self._parents[self._parents[member]]
        return member

    def union(self, first: int, second: int) -> None:
        """Merge the sets of two members."""
        self._parents[self.find_set(first)] = self.find_set(second)

    def sets(self, order: Iterable[int]) -> list[list[int]]:
        """Return the sets as lists of members in this order, sorted by their first members."""
        sets: dict[int, list[int]] = defaultdict(list)
        for member in order:
            sets[self.find_set(member)].append(member)
        return list(sets.values())
