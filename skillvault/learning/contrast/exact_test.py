"""How often chance alone gives a group so many outcomes that meet a condition.

Chance deals the group anew within each stratum: if one action fails more often than
another, what merely goes with that action explains nothing. Exact, and arithmetic only.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple


class Table(NamedTuple):
    """One stratum: of its `total` outcomes `of` are the group's and `holds` meet a condition."""

    of: int
    holds: int
    total: int

    @property
    def least(self) -> int:
        """The fewest of the group that can meet it."""
        return max(0, self.of + self.holds - self.total)

    @property
    def most(self) -> int:
        """The most of the group that can meet it."""
        return min(self.of, self.holds)

    @property
    def chances(self) -> list[float]:
        """The probability of each number from the least to the most."""
        return [math.exp(log) for log in log_chances(range(self.least, self.most + 1), self)]


def fisher(met: int, size: int, holds: int, total: int) -> float:
    """One-sided Fisher probability: at least `met` of a group of `of` meet a condition.

    `holds` of all `total` outcomes meet it. Exact up to rounding.
    """
    top = min(size, holds)
    if met <= max(0, size + holds - total):
        return 1.0
    if met > top:
        return 0.0
    part = math.exp(next(log_chances([met], Table(size, holds, total))))
    tail = part
    for x in range(met, top):
        part *= (size - x) * (holds - x) / ((x + 1) * (total - size - holds + x + 1))
        tail += part
        if part < tail * 1e-17:
            break
    return min(tail, 1.0)


def tail(met: int, tables: Sequence[Table]) -> float:
    """The probability that at least `met` of the group meet a condition, in all strata."""
    if len(tables) == 1:
        return fisher(met, *tables[0])
    least, chances = _together(tables)
    return min(math.fsum(chances[max(0, met - least) :]), 1.0)


def tails(tables: Sequence[Table], first: int) -> Iterator[float]:
    """The probabilities that `tail` can take, for the most down to `first`, rising."""
    if len(tables) == 1:
        falling = reversed(range(first, tables[0].most + 1))
        chances_down = (math.exp(log) for log in log_chances(falling, tables[0]))
    else:
        least, chances = _together(tables)
        chances_down = (chances[x - least] for x in reversed(range(first, least + len(chances))))
    reached = 0.0
    for chance in chances_down:
        reached += chance
        yield reached


def log_chances(numbers: Iterable[int], table: Table) -> Iterator[float]:
    """Log of the hypergeometric chance that exactly so many of the group meet the condition."""
    size, holds, total = table
    log = _log_factorials(1 << total.bit_length())  # one serves many groups
    unmet = total - holds
    every = log[total] - log[size] - log[total - size]
    for met in numbers:
        inside = log[holds] - log[met] - log[holds - met]
        yield inside + (log[unmet] - log[size - met] - log[unmet - size + met]) - every


def _together(tables: Sequence[Table]) -> tuple[int, list[float]]:
    """(the least, its probability and those of all numbers above) over independent strata."""
    joint = [1.0]
    for table in tables:
        chances = table.chances
        grown = [0.0] * (len(joint) + len(chances) - 1)
        for i, a in enumerate(joint):
            for j, b in enumerate(chances):
                grown[i + j] += a * b
        joint = grown
    return sum(table.least for table in tables), joint


@lru_cache(maxsize=16)
def _log_factorials(n: int) -> tuple[float, ...]:
    """The logs of 0! to n!."""
    return tuple(math.lgamma(i + 1) for i in range(n + 1))
