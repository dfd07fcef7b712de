"""Lift: what having a skill changes, estimated from all closed decisions together.

The rate of success of a decision is the base of its action and target plus one effect a skill.
Credit is shared among skills that are applied together, and every effect is shrunk to zero.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from skillvault.learning.effect.exposure import Column, Group, Sums

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

_WIDE = (0.5, 0.3**2)  # the middle and the variance of the base of an only domain
_BASE_SPREAD = 0.05  # the spread of several domains' bases, before any of them is known
_ROUNDS = 8  # until the spread of the bases settles
_LEAST_NOISE = 0.03  # the variance of an outcome where nearly all succeed or fail


class Lift(Struct, frozen=True):
    """An effect on the rate of success, a fraction, its standard error, and the base it adds to."""

    lift: float
    error: float
    base: float

    @property
    def helps(self) -> float:
        """How likely the effect is positive."""
        return 0.5 * math.erfc(-self.lift / (self.error * math.sqrt(2)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the effect."""
        return self.lift - 1.96 * self.error, self.lift + 1.96 * self.error


class Prior(Struct, frozen=True):
    """What is believed before any decision: effects spread around 0 by `scale`.

    A rewritten text's effect is like the old one's by `carry`, 0..1.
    """

    scale: float = 0.15
    carry: float = 0.5


class _Domain(NamedTuple):
    """A domain as a system of equations; its base stands first, then its columns."""

    matrix: "Array"
    vector: "Array"
    noise: float
    spread: float  # of the bases of its groups, a variance


class _Solved(NamedTuple):
    mean: "Array"
    covariance: "Array"


class _Said(NamedTuple):
    """What one domain says of a column: an effect, the base below it, and how much is behind."""

    mean: float
    variance: float
    base: float
    weight: float


def lifts(domains: Iterable[Sums], prior: Prior) -> dict[Column, Lift]:
    """The lift of every column, from the sums of all domains.

    A skill of several domains has one effect, and in each the base of what it was applied to.
    Source: Bayesian linear regression with a spread of bases that is estimated (empirical Bayes).
    """
    known = [one for one in domains if one.groups]
    if not any(one.columns for one in known):
        return {}
    systems = [_domain(one) for one in known]
    answers = _answers(systems, [_precision(one.columns, prior) for one in known])
    found: dict[Column, list[_Said]] = {}
    for one, system, answer in zip(known, systems, answers, strict=True):
        for column, said in _told(one, system, answer):
            found.setdefault(column, []).append(said)
    return {column: _together(some, prior) for column, some in sorted(found.items())}


def _domain(one: Sums) -> _Domain:
    """The normal equations, the effects of the groups taken out of them."""
    import numpy as np  # noqa: PLC0415 (only what computes pays for it)

    count = sum(group.count for group in one.groups)
    successes = sum(group.successes for group in one.groups)
    rate = (successes + 1) / (count + 2)
    noise = max(_LEAST_NOISE, rate * (1 - rate))
    spread = _spread(one.groups, noise)
    size = len(one.columns) + 1
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    matrix[0, 0], vector[0] = count, successes
    for i, j, weight in one.pairs:
        matrix[i + 1, j + 1] = matrix[j + 1, i + 1] = weight
    vector[1:] = one.hits
    for group in one.groups:
        places = [0, *(i + 1 for i in group.weights)]
        weights = np.array([group.count, *group.weights.values()])
        matrix[0, places[1:]] += weights[1:]
        matrix[places[1:], 0] += weights[1:]
        share = spread / (noise + group.count * spread)
        matrix[np.ix_(places, places)] -= share * np.outer(weights, weights)
        vector[places] -= share * weights * group.successes
    return _Domain(matrix, vector, noise, spread)


def _spread(groups: Sequence[Group], noise: float) -> float:
    """The variance of the bases of a domain's groups.

    Source: DerSimonian and Laird, 1986, by moments.
    """
    counts = [group.count for group in groups]
    total = sum(counts)
    rate = sum(group.successes for group in groups) / total
    apart = sum(g.count * (g.successes / g.count - rate) ** 2 for g in groups if g.count)
    room = total - sum(count * count for count in counts) / total
    return max(0.0, (apart - noise * (len(groups) - 1)) / room) if room > 0 else 0.0


def _precision(columns: Sequence[Column], prior: Prior) -> "Array":
    """The precision of the columns before any decision: versions of one skill are a chain."""
    import numpy as np  # noqa: PLC0415

    found = np.zeros((len(columns), len(columns)))
    apart = 1 / (prior.scale**2 * (1 - prior.carry**2))
    for i, (_, version) in enumerate(columns):
        if version == 0:
            found[i, i] += 1 / prior.scale**2
        else:
            found[i, i] += apart
            found[i - 1, i - 1] += prior.carry**2 * apart
            found[i - 1, i] = found[i, i - 1] = -prior.carry * apart
    return found


def _answers(systems: Sequence[_Domain], precisions: Sequence["Array"]) -> list[_Solved]:
    """Each domain's answer; what is believed of their bases is learned from all of them."""
    if len(systems) < 2:
        return [_answer(*one, *_WIDE) for one in zip(systems, precisions, strict=True)]
    rates = [one.vector[0] / one.matrix[0, 0] for one in systems]
    middle, spread = float(sum(rates)) / len(rates), _BASE_SPREAD**2
    found: list[_Solved] = []
    for _ in range(_ROUNDS):
        pairs = zip(systems, precisions, strict=True)
        found = [_answer(*one, middle, spread) for one in pairs]
        middle = sum(float(one.mean[0]) for one in found) / len(found)
        apart = (float((one.mean[0] - middle) ** 2 + one.covariance[0, 0]) for one in found)
        spread = (sum(apart) + _BASE_SPREAD**2) / (len(found) + 1)
    return found


def _answer(one: _Domain, precision: "Array", middle: float, spread: float) -> _Solved:
    """The posterior of the base and of the columns."""
    import numpy as np  # noqa: PLC0415

    matrix = one.matrix / one.noise
    matrix[0, 0] += 1 / spread
    matrix[1:, 1:] += precision
    vector = one.vector / one.noise
    vector[0] += middle / spread
    covariance = np.linalg.inv(matrix)
    return _Solved(covariance @ vector, covariance.astype(np.float64))


def _told(one: Sums, domain: _Domain, solved: _Solved) -> Iterator[tuple[Column, _Said]]:
    """Each column's effect, its variance, the base it was applied to and how often."""
    bases = _bases(one, domain, solved)
    for i, column in enumerate(one.columns):
        weights = [(group.weights.get(i, 0.0), base) for group, base in bases]
        total = sum(weight for weight, _ in weights)
        base = sum(weight * base for weight, base in weights) / total if total else None
        mean, variance = float(solved.mean[i + 1]), float(solved.covariance[i + 1, i + 1])
        yield column, _Said(mean, variance, float(solved.mean[0]) if base is None else base, total)


def _bases(one: Sums, domain: _Domain, solved: _Solved) -> list[tuple[Group, float]]:
    """What each group's decisions reach without any skill."""
    found: list[tuple[Group, float]] = []
    middle = float(solved.mean[0])
    for group in one.groups:
        effects = sum(w * float(solved.mean[i + 1]) for i, w in group.weights.items())
        share = domain.spread / (domain.noise + group.count * domain.spread)
        more = share * (group.successes - group.count * middle - effects)
        found.append((group, min(1.0, max(0.0, middle + more))))
    return found


def _together(some: Sequence[_Said], prior: Prior) -> Lift:
    """One effect of what several domains say: what was believed before counts once."""
    believed = 1 / prior.scale**2
    precision = believed + sum(1 / said.variance - believed for said in some)
    mean = sum(said.mean / said.variance for said in some) / precision
    total = sum(said.weight for said in some)
    weights = [said.weight / total if total else 1 / len(some) for said in some]
    base = sum(w * said.base for w, said in zip(weights, some, strict=True))
    return Lift(mean, math.sqrt(1 / precision), base)
