"""What all domains together say of an unknown that each has: its base, and how agents choose in it.

Random effects, learned from the answers of the domains; a domain that tells little leans on them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


class Solved(NamedTuple):
    """The posterior of a system's unknowns."""

    mean: Array
    covariance: Array


class Belief(NamedTuple):
    """The middle and the variance of what is expected of an unknown."""

    middle: float
    variance: float


WIDE = Belief(0.5, 0.5**2)  # of the base of an only domain
_BASE_SPREAD = 0.05  # the spread of several domains' bases, before any of them is known
_ROOM = 2  # how much wider than that: a high base leaves a skill less room, so it tells little
_ROUNDS = 8  # until the spread of the bases is stable
_NOTHING = 1e-9  # the precision of a domain that does not tell an unknown


def with_bases(solutions: Sequence[Solved], rates: Sequence[float]) -> list[Solved]:
    """The answers with what all domains' bases say of each (empirical Bayes)."""
    middle, spread = sum(rates) / len(rates), _BASE_SPREAD**2
    for _ in range(_ROUNDS):
        expected = Belief(middle, _ROOM * spread)
        bases = [_believing(solved, 0, WIDE, expected, size=1) for solved in solutions]
        middle = sum(float(base.mean[0]) for base in bases) / len(bases)
        apart = (float((b.mean[0] - middle) ** 2 + b.covariance[0, 0]) for b in bases)
        spread = (sum(apart) + _BASE_SPREAD**2) / (len(bases) + 1)
    expected = Belief(middle, _ROOM * spread)
    return [_believing(solved, 0, WIDE, expected) for solved in solutions]


def with_choosing(
    solutions: Sequence[Solved],
    places: Sequence[int],
    units: Sequence[float],
    *,
    believed: float,
    least: float,
) -> list[Solved]:
    """The answers with what the other domains say of choosing in each.

    Of each domain: the place of the effect of choosing and the unit in which domains are alike.
    `believed` is how far from 0 it was expected in each, `least` how far the domains are apart
    at the least, both in units. Source: DerSimonian and Laird 1986, the mean of the others.
    """
    before = Belief(0.0, believed**2)
    told = [
        _told_alone(solved, place, unit, before)
        for solved, place, unit in zip(solutions, places, units, strict=True)
    ]
    apart = max(least**2, _apart(told))
    weights = [1 / (alone.variance + apart) for alone in told]
    pulls = [weight * alone.middle for weight, alone in zip(weights, told, strict=True)]
    total, pull = sum(weights) + 1 / before.variance, sum(pulls)
    pooled: list[Solved] = []
    for i, (solved, place, unit) in enumerate(zip(solutions, places, units, strict=True)):
        precision = total - weights[i]
        expected = Belief((pull - pulls[i]) / precision, apart + 1 / precision)
        pooled.append(_believing(solved, place, _in(unit, before), _in(unit, expected)))
    return pooled


def _in(unit: float, belief: Belief) -> Belief:
    return Belief(unit * belief.middle, unit**2 * belief.variance)


def _told_alone(solved: Solved, place: int, unit: float, before: Belief) -> Belief:
    """What a domain alone says of an unknown, in units, without what was believed before."""
    mean, variance = solved.mean[place] / unit, solved.covariance[place, place] / unit**2
    precision = max(_NOTHING, float(1 / variance - 1 / before.variance))
    pull = float(mean / variance - before.middle / before.variance)
    return Belief(pull / precision, 1 / precision)


def _apart(told: Sequence[Belief]) -> float:
    """The variance between the domains, by moments; below 0 if they are more alike than chance."""
    weights = [1 / alone.variance for alone in told]
    total = sum(weights)
    middle = sum(w * alone.middle for w, alone in zip(weights, told, strict=True)) / total
    squares = sum(w * (alone.middle - middle) ** 2 for w, alone in zip(weights, told, strict=True))
    room = total - sum(w * w for w in weights) / total
    return (squares - (len(told) - 1)) / room if room > 0 else 0.0


def _believing(
    solved: Solved, place: int, before: Belief, after: Belief, *, size: int | None = None
) -> Solved:
    """The first so many of an answer if something else is believed of an unknown: a row's update.

    Source: Sherman and Morrison, 1950.
    """
    precision = 1 / after.variance - 1 / before.variance
    pull = after.middle / after.variance - before.middle / before.variance
    row = solved.covariance[place, :size]
    share = row / (1 + precision * solved.covariance[place, place])
    mean = solved.mean[:size] + share * (pull - precision * solved.mean[place])
    return Solved(mean, solved.covariance[:size, :size] - precision * np.outer(share, row))
