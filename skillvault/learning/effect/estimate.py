"""Estimate the lift of each skill: how much having it changes the rate of success.

All closed decisions count together: first they are added up, one sum a domain, then solved.
A decision succeeds at the base rate of its action and target plus one effect a skill.
Credit is shared among skills that are applied together, and every effect is shrunk to zero.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Offer = Literal["shown", "held", ""]
Column = tuple[str, int]  # a skill, and which version of its text, from 0

UNSEEN = 0.25  # how likely a shown skill was applied of which the reasoning says nothing
_MOST = 2000  # skills of one domain that are weighed together, the most applied
_WIDE = (0.5, 0.3**2)  # the middle and the variance of the base of an only domain
_BASE_SPREAD = 0.05  # the spread of several domains' bases, before any of them is known
_ROUNDS = 8  # until the spread of the bases settles
_LEAST_NOISE = 0.03  # the variance of an outcome where nearly all succeed or fail


class Observation(NamedTuple):
    """What one skill had to do with one decision that has ended.

    `offer` is whether it was shown or held out, "" where it was neither; `weight` how surely it
    was applied, 0..1. `group` is the action and target, `made` when it was decided,
    in microseconds since 1970.
    """

    decision: str
    skill: str
    group: str
    success: bool
    made: int
    applied: bool
    weight: float
    offer: Offer = ""


class Group(Struct, frozen=True):
    """The decisions on one action and target: how many, how many succeeded, how much of a skill."""

    count: int
    successes: int
    weights: dict[int, float]


class Sums(Struct, frozen=True):
    """All that the estimate asks of one domain's decisions; columns are counted from 0.

    `pairs` are the weights of two columns together, (i, i) among them, `hits` those of the
    successes.
    """

    columns: tuple[Column, ...] = ()
    pairs: tuple[tuple[int, int, float], ...] = ()
    hits: tuple[float, ...] = ()
    groups: tuple[Group, ...] = ()


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


# ── decisions added up ───────────────────────────────────────────────────────────────


def sums(
    observations: Iterable[Observation],
    totals: Mapping[str, tuple[int, int]],
    begun: Mapping[str, Sequence[int]],
    least_held: int,
) -> Sums:
    """The sums of one domain.

    `totals` are all its closed decisions, group -> (how many, how many succeeded); `begun` says
    from when on a skill has another text. A skill that was held out `least_held` times is
    weighed by what it was offered to, whether it was applied or not: agents choose when to.
    """
    decisions = _by_decision(observations, begun)
    shares = _shares(decisions.values(), least_held)
    found: list[tuple[str, bool, dict[Column, float]]] = [
        (some[0].group, some[0].success, _weights(by_column, shares))
        for by_column in decisions.values()
        if (some := list(by_column.values()))
    ]
    counts = Counter(c for some in decisions.values() for c, one in some.items() if one.applied)
    columns = _columns({c for some in decisions.values() for c in some}, begun, counts)
    return _added(found, columns, totals)


def _by_decision(
    observations: Iterable[Observation], begun: Mapping[str, Sequence[int]]
) -> dict[str, dict[Column, Observation]]:
    """Decision -> what each column had to do with it; of two the one that was applied."""
    found: dict[str, dict[Column, Observation]] = {}
    for one in observations:
        column = (one.skill, bisect_right(begun.get(one.skill, ()), one.made))
        known = found.setdefault(one.decision, {})
        if column not in known or one.weight > known[column].weight:
            known[column] = one
    return found


def _shares(
    decisions: Iterable[Mapping[Column, Observation]], least_held: int
) -> dict[Column, float]:
    """The share of those it was shown to that applied it, of the columns that were held out."""
    held, shown, applied = Counter[Column](), Counter[Column](), Counter[Column]()
    for some in decisions:
        for column, one in some.items():
            held[column] += one.offer == "held"
            shown[column] += one.offer == "shown"
            applied[column] += one.offer == "shown" and one.applied
    return {
        column: applied[column] / shown[column]
        for column, times in held.items()
        if times >= max(1, least_held) and applied[column]
    }


def _weights(
    some: Mapping[Column, Observation], shares: Mapping[Column, float]
) -> dict[Column, float]:
    found: dict[Column, float] = {}
    for column, one in some.items():
        by_offer = column in shares and one.offer
        weight = (shares[column] if one.offer == "shown" else 0.0) if by_offer else one.weight
        if weight:
            found[column] = weight
    return found


def _columns(
    known: Iterable[Column], begun: Mapping[str, Sequence[int]], counts: Mapping[Column, int]
) -> tuple[Column, ...]:
    """Every version up to the last of each skill, so that the last is known by the ones before."""
    last = {skill: len(begun.get(skill, ())) for skill, _ in known}
    skills = sorted(last, key=lambda name: (-counts.get((name, last[name]), 0), name))[:_MOST]
    return tuple((name, version) for name in sorted(skills) for version in range(last[name] + 1))


def _added(
    decisions: Iterable[tuple[str, bool, Mapping[Column, float]]],
    columns: tuple[Column, ...],
    totals: Mapping[str, tuple[int, int]],
) -> Sums:
    place = {column: i for i, column in enumerate(columns)}
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    hits = [0.0] * len(columns)
    groups: dict[str, dict[int, float]] = {name: defaultdict(float) for name in totals}
    for group, success, weights in decisions:
        some = sorted((place[c], w) for c, w in weights.items() if c in place)
        for i, weight in some:
            hits[i] += weight * success
            groups[group][i] += weight
        for (i, a), (j, b) in combinations_with_replacement(some, 2):
            pairs[i, j] += a * b
    return Sums(
        columns=columns,
        pairs=tuple((i, j, weight) for (i, j), weight in sorted(pairs.items())),
        hits=tuple(hits),
        groups=tuple(
            Group(*totals[name], dict(sorted(weights.items())))
            for name, weights in sorted(groups.items())
        ),
    )


# ── the estimate ─────────────────────────────────────────────────────────────────────


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
