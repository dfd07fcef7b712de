"""How often chance alone gives a group so many outcomes that meet a condition.

Chance deals the group anew within each stratum: where one action fails more often than
another, what merely goes with that action explains nothing. Exact, and arithmetic only.
"""

import math
from collections.abc import Iterator, Sequence
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
        log = (log_chance(met, *self) for met in range(self.least, self.most + 1))
        return [math.exp(each) for each in log]


def fisher(met: int, of: int, holds: int, total: int) -> float:
    """One-sided Fisher probability: at least `met` of a group of `of` meet a condition.

    `holds` of all `total` outcomes meet it. Exact up to rounding.
    """
    top = min(of, holds)
    if met <= max(0, of + holds - total):
        return 1.0
    if met > top:
        return 0.0
    part = math.exp(log_chance(met, of, holds, total))
    tail = part
    for x in range(met, top):
        part *= (of - x) * (holds - x) / ((x + 1) * (total - of - holds + x + 1))
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
        only = tables[0]
        found = (math.exp(log_chance(x, *only)) for x in reversed(range(first, only.most + 1)))
    else:
        least, chances = _together(tables)
        found = (chances[x - least] for x in reversed(range(first, least + len(chances))))
    reached = 0.0
    for chance in found:
        reached += chance
        yield reached


def log_chance(met: int, of: int, holds: int, total: int) -> float:
    """Log of the hypergeometric chance that exactly `met` meet the condition."""
    return _log_choose(holds, met) + _log_choose(total - holds, of - met) - _log_choose(total, of)


def _together(tables: Sequence[Table]) -> tuple[int, list[float]]:
    """(the least, its probability and those of all numbers above) over independent strata."""
    found = [1.0]
    for table in tables:
        chances = table.chances
        grown = [0.0] * (len(found) + len(chances) - 1)
        for i, a in enumerate(found):
            for j, b in enumerate(chances):
                grown[i + j] += a * b
        found = grown
    return sum(table.least for table in tables), found


def _log_choose(n: int, k: int) -> float:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


@lru_cache(maxsize=4096)
def _log_factorial(n: int) -> float:
    return math.lgamma(n + 1)
