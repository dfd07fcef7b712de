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

UNSEEN = 0.25  # how likely a shown skill was applied that the reasoning does not name
_MOST = 2000  # skills of one domain that are weighed together, the most applied
_WIDE = (0.5, 0.3**2)  # the middle and the variance of the base of an only domain
_BASE_SPREAD = 0.05  # the spread of several domains' bases, before any of them is known
_ROUNDS = 8  # until the spread of the bases is stable
_LEAST_NOISE = 0.03  # the variance of an outcome if nearly all succeed or fail


class Observation(NamedTuple):
    """The part of one skill in one decision that has ended.

    `offer` is whether it was shown or held out, "" if it was neither; `weight` how surely it
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


class DecisionGroup(Struct, frozen=True):
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
    groups: tuple[DecisionGroup, ...] = ()


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


class _System(NamedTuple):
    """A domain as a system of equations; its base stands first, then its columns."""

    matrix: "Array"
    vector: "Array"
    noise: float
    spread: float  # of the bases of its groups, a variance


class _Solved(NamedTuple):
    mean: "Array"
    covariance: "Array"


class _DomainEffect(NamedTuple):
    """A column's effect in one domain, the base below it, and the weight of its decisions."""

    mean: float
    variance: float
    base: float
    weight: float


# ── decisions added up ───────────────────────────────────────────────────────────────


def add_up(
    observations: Iterable[Observation],
    totals: Mapping[str, tuple[int, int]],
    begun: Mapping[str, Sequence[int]],
    least_held: int,
) -> Sums:
    """Add up the decisions of one domain.

    `totals` are all its closed decisions, group -> (how many, how many succeeded); `begun` says
    from when on a skill has another text. A skill that was held out `least_held` times is
    weighed by what it was offered to, whether it was applied or not: agents choose when to.
    """
    decisions = _by_decision(observations, begun)
    shares = _shares(decisions.values(), least_held)
    weighed: list[tuple[str, bool, dict[Column, float]]] = [
        (columns_of[0].group, columns_of[0].success, _weights(by_column, shares))
        for by_column in decisions.values()
        if (columns_of := list(by_column.values()))
    ]
    counts = Counter(
        c
        for by_column in decisions.values()
        for c, observation in by_column.items()
        if observation.applied
    )
    columns = _columns({c for by_column in decisions.values() for c in by_column}, begun, counts)
    return _total(weighed, columns, totals)


def _by_decision(
    observations: Iterable[Observation], begun: Mapping[str, Sequence[int]]
) -> dict[str, dict[Column, Observation]]:
    """Decision -> what each column had to do with it; of two the one that was applied."""
    decisions: dict[str, dict[Column, Observation]] = {}
    for observation in observations:
        column = (
            observation.skill,
            bisect_right(begun.get(observation.skill, ()), observation.made),
        )
        by_column = decisions.setdefault(observation.decision, {})
        if column not in by_column or observation.weight > by_column[column].weight:
            by_column[column] = observation
    return decisions


def _shares(
    decisions: Iterable[Mapping[Column, Observation]], least_held: int
) -> dict[Column, float]:
    """The share of those it was shown to that applied it, of the columns that were held out."""
    held_out, shown, applied = Counter[Column](), Counter[Column](), Counter[Column]()
    for by_column in decisions:
        for column, observation in by_column.items():
            held_out[column] += observation.offer == "held"
            shown[column] += observation.offer == "shown"
            applied[column] += observation.offer == "shown" and observation.applied
    return {
        column: applied[column] / shown[column]
        for column, times in held_out.items()
        if times >= max(1, least_held) and applied[column]
    }


def _weights(
    by_column: Mapping[Column, Observation], shares: Mapping[Column, float]
) -> dict[Column, float]:
    weights: dict[Column, float] = {}
    for column, observation in by_column.items():
        by_offer = column in shares and observation.offer
        weight = (
            (shares[column] if observation.offer == "shown" else 0.0)
            if by_offer
            else observation.weight
        )
        if weight:
            weights[column] = weight
    return weights


def _columns(
    used: Iterable[Column], begun: Mapping[str, Sequence[int]], counts: Mapping[Column, int]
) -> tuple[Column, ...]:
    """Every version up to the last of each skill, so that the last is known by the ones before."""
    last = {skill: len(begun.get(skill, ())) for skill, _ in used}
    skills = sorted(last, key=lambda name: (-counts.get((name, last[name]), 0), name))[:_MOST]
    return tuple((name, version) for name in sorted(skills) for version in range(last[name] + 1))


def _total(
    decisions: Iterable[tuple[str, bool, Mapping[Column, float]]],
    columns: tuple[Column, ...],
    totals: Mapping[str, tuple[int, int]],
) -> Sums:
    place = {column: i for i, column in enumerate(columns)}
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    hits = [0.0] * len(columns)
    groups: dict[str, dict[int, float]] = {name: defaultdict(float) for name in totals}
    for group, success, weights in decisions:
        entries = sorted((place[c], w) for c, w in weights.items() if c in place)
        for i, weight in entries:
            hits[i] += weight * success
            groups[group][i] += weight
        for (i, a), (j, b) in combinations_with_replacement(entries, 2):
            pairs[i, j] += a * b
    return Sums(
        columns=columns,
        pairs=tuple((i, j, weight) for (i, j), weight in sorted(pairs.items())),
        hits=tuple(hits),
        groups=tuple(
            DecisionGroup(*totals[name], dict(sorted(weights.items())))
            for name, weights in sorted(groups.items())
        ),
    )


# ── the estimate ─────────────────────────────────────────────────────────────────────


def estimate_lifts(domains: Iterable[Sums], prior: Prior) -> dict[Column, Lift]:
    """The lift of every column, from the sums of all domains.

    A skill of several domains has one effect, and in each the base of what it was applied to.
    Source: Bayesian linear regression with a spread of bases that is estimated (empirical Bayes).
    """
    with_groups = [sums for sums in domains if sums.groups]
    if not any(sums.columns for sums in with_groups):
        return {}
    systems = [_system_of(sums) for sums in with_groups]
    answers = _solve_all(systems, [_precision(sums.columns, prior) for sums in with_groups])
    parts: dict[Column, list[_DomainEffect]] = {}
    for sums, system, answer in zip(with_groups, systems, answers, strict=True):
        for column, part in _domain_effects(sums, system, answer):
            parts.setdefault(column, []).append(part)
    return {column: _pooled(column_parts, prior) for column, column_parts in sorted(parts.items())}


def _system_of(sums: Sums) -> _System:
    """The normal equations, the effects of the groups taken out of them."""
    import numpy as np  # noqa: PLC0415 (only what computes pays for it)

    count = sum(group.count for group in sums.groups)
    successes = sum(group.successes for group in sums.groups)
    rate = (successes + 1) / (count + 2)
    noise = max(_LEAST_NOISE, rate * (1 - rate))
    spread = _spread(sums.groups, noise)
    size = len(sums.columns) + 1
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    matrix[0, 0], vector[0] = count, successes
    for i, j, weight in sums.pairs:
        matrix[i + 1, j + 1] = matrix[j + 1, i + 1] = weight
    vector[1:] = sums.hits
    for group in sums.groups:
        places = [0, *(i + 1 for i in group.weights)]
        weights = np.array([group.count, *group.weights.values()])
        matrix[0, places[1:]] += weights[1:]
        matrix[places[1:], 0] += weights[1:]
        share = spread / (noise + group.count * spread)
        matrix[np.ix_(places, places)] -= share * np.outer(weights, weights)
        vector[places] -= share * weights * group.successes
    return _System(matrix, vector, noise, spread)


def _spread(groups: Sequence[DecisionGroup], noise: float) -> float:
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

    precision = np.zeros((len(columns), len(columns)))
    apart = 1 / (prior.scale**2 * (1 - prior.carry**2))
    for i, (_, version) in enumerate(columns):
        if version == 0:
            precision[i, i] += 1 / prior.scale**2
        else:
            precision[i, i] += apart
            precision[i - 1, i - 1] += prior.carry**2 * apart
            precision[i - 1, i] = precision[i, i - 1] = -prior.carry * apart
    return precision


def _solve_all(systems: Sequence[_System], precisions: Sequence["Array"]) -> list[_Solved]:
    """Each domain's answer; what is believed of their bases is learned from all of them."""
    if len(systems) < 2:
        return [_solve(*pair, *_WIDE) for pair in zip(systems, precisions, strict=True)]
    rates = [domain.vector[0] / domain.matrix[0, 0] for domain in systems]
    middle, spread = float(sum(rates)) / len(rates), _BASE_SPREAD**2
    solutions: list[_Solved] = []
    for _ in range(_ROUNDS):
        pairs = zip(systems, precisions, strict=True)
        solutions = [_solve(*pair, middle, spread) for pair in pairs]
        middle = sum(float(solved.mean[0]) for solved in solutions) / len(solutions)
        apart = (
            float((solved.mean[0] - middle) ** 2 + solved.covariance[0, 0]) for solved in solutions
        )
        spread = (sum(apart) + _BASE_SPREAD**2) / (len(solutions) + 1)
    return solutions


def _solve(domain: _System, precision: "Array", middle: float, spread: float) -> _Solved:
    """The posterior of the base and of the columns."""
    import numpy as np  # noqa: PLC0415

    matrix = domain.matrix / domain.noise
    matrix[0, 0] += 1 / spread
    matrix[1:, 1:] += precision
    vector = domain.vector / domain.noise
    vector[0] += middle / spread
    covariance = np.linalg.inv(matrix)
    return _Solved(covariance @ vector, covariance.astype(np.float64))


def _domain_effects(
    sums: Sums, domain: _System, solved: _Solved
) -> Iterator[tuple[Column, _DomainEffect]]:
    """Each column's effect, its variance, the base it was applied to and how often."""
    bases = _bases(sums, domain, solved)
    for i, column in enumerate(sums.columns):
        weights = [(group.weights.get(i, 0.0), base) for group, base in bases]
        total = sum(weight for weight, _ in weights)
        base = sum(weight * base for weight, base in weights) / total if total else None
        mean, variance = float(solved.mean[i + 1]), float(solved.covariance[i + 1, i + 1])
        yield (
            column,
            _DomainEffect(mean, variance, float(solved.mean[0]) if base is None else base, total),
        )


def _bases(sums: Sums, domain: _System, solved: _Solved) -> list[tuple[DecisionGroup, float]]:
    """What each group's decisions reach without any skill."""
    bases: list[tuple[DecisionGroup, float]] = []
    middle = float(solved.mean[0])
    for group in sums.groups:
        effects = sum(w * float(solved.mean[i + 1]) for i, w in group.weights.items())
        share = domain.spread / (domain.noise + group.count * domain.spread)
        more = share * (group.successes - group.count * middle - effects)
        bases.append((group, min(1.0, max(0.0, middle + more))))
    return bases


def _pooled(parts: Sequence[_DomainEffect], prior: Prior) -> Lift:
    """One effect of what several domains say: what was believed before counts once."""
    believed = 1 / prior.scale**2
    precision = believed + sum(1 / part.variance - believed for part in parts)
    mean = sum(part.mean / part.variance for part in parts) / precision
    total = sum(part.weight for part in parts)
    weights = [part.weight / total if total else 1 / len(parts) for part in parts]
    base = sum(w * part.base for w, part in zip(weights, parts, strict=True))
    return Lift(mean, math.sqrt(1 / precision), base)
