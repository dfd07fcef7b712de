"""The equations of a domain: its base, its skills' effects, and those of choosing them.

Bayesian linear regression of success, its sums in and effects out.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from skillvault.learning.effect.lift import (
    Column,
    DecisionGroup,
    DomainEffect,
    Prior,
    Sums,
)
from skillvault.learning.effect.pooling import WIDE, Solved, with_bases, with_choosing

Array = np.ndarray[Any, np.dtype[np.float64]]

LEAST_NOISE = 0.03  # the variance of an outcome if nearly all succeed or fail
# In units of the slope, for it goes with the odds: 0.5 and 0.05 if half of all succeed.
_CHOOSING = 2.0  # how far from 0 the effect of choosing is expected, of a domain
_CHOOSING_APART = 0.2  # and how far a skill's is from its domain's, and a domain's from another's
_CHOOSERS = 400  # skills up to which each has one of its own


class System(NamedTuple):
    """A domain as a system of equations: its base, its columns' effects, those of choosing."""

    matrix: Array
    vector: Array
    noise: float
    spread: float  # of the bases of its groups, a variance
    slope: float  # how much the rate of success changes with its log-odds


def domain_effects(domains: Sequence[Sums], prior: Prior) -> Iterator[tuple[Column, DomainEffect]]:
    """Each column's effect in each domain, the base it was applied to and how often.

    What is believed of the domains' bases and of choosing is learned from all of them.
    """
    systems = [system_of(sums) for sums in domains]
    solutions = [
        solve(system, precision_of(sums.columns, prior, system.slope))
        for sums, system in zip(domains, systems, strict=True)
    ]
    if len(domains) > 1:
        solutions = with_choosing(
            solutions,
            [len(sums.columns) + 1 for sums in domains],
            [system.slope for system in systems],
            believed=_CHOOSING,
            least=_CHOOSING_APART,
        )
        rates = [float(system.vector[0] / system.matrix[0, 0]) for system in systems]
        solutions = with_bases(solutions, rates)
    for sums, system, solved in zip(domains, systems, solutions, strict=True):
        yield from _effects(sums, system, solved, prior)


def system_of(sums: Sums) -> System:
    """The normal equations, the effects of the groups taken out of them."""
    total = sum(group.count for group in sums.groups)
    successes = sum(group.successes for group in sums.groups)
    rate = (successes + 1) / (total + 2)
    slope = max(LEAST_NOISE, rate * (1 - rate))
    noise = sums.noise or slope
    spread = _spread(sums.groups, noise)
    size = 2 * len(sums.columns) + 1
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    matrix[0, 0], vector[0] = total, successes
    first, second = (np.frombuffer(found, np.int32) + 1 for found in (sums.firsts, sums.seconds))
    matrix[first, second] = matrix[second, first] = np.frombuffer(sums.weights)
    vector[1:] = sums.hits
    for group in sums.groups:
        places = [0, *(i + 1 for i in group.weights)]
        weights = np.array([group.count, *group.weights.values()])
        matrix[0, places[1:]] += weights[1:]
        matrix[places[1:], 0] += weights[1:]
        share = spread / (noise + group.count * spread)
        matrix[np.ix_(places, places)] -= share * np.outer(weights, weights)
        vector[places] -= share * weights * group.successes
    return System(*_with_choosing(matrix, vector, shares(sums)), noise, spread, slope)


def _with_choosing(matrix: Array, vector: Array, share: Array) -> tuple[Array, Array]:
    """The base, the columns and, in place of their offers, how much more than usual was applied.

    Of those who could apply a skill some do; if that goes with success whatever the skill, it is
    their choosing. It is told from the skills by decisions to which others were offered. It is
    counted over all columns, and, if these are few enough, for each.
    """
    a, w = slice(1, len(share) + 1), slice(len(share) + 1, None)
    by_column = matrix[:, a] - matrix[:, w] * share
    own = by_column[a] - share[:, None] * by_column[w]
    beside = by_column[: len(share) + 1]
    chosen = np.hstack([beside.sum(axis=1, keepdims=True), beside])
    corner = np.block([[own.sum(), own.sum(axis=0)[None]], [own.sum(axis=1)[:, None], own]])
    hits = vector[a] - share * vector[w]
    size = 2 + len(share) + (len(share) if len(share) <= _CHOOSERS else 0)
    whole = np.block([[matrix[: len(share) + 1, : len(share) + 1], chosen], [chosen.T, corner]])
    right = np.concatenate([vector[: len(share) + 1], [hits.sum()], hits])
    return whole[:size, :size], right[:size]


def parts_of(solved: Solved, count: int) -> tuple[Array, Array]:
    """The effects of so many columns, and those of choosing each."""
    own = solved.mean[count + 2 :]
    return solved.mean[1 : count + 1], solved.mean[count + 1] + (
        own if len(own) else np.zeros(count)
    )


def shares(sums: Sums) -> Array:
    """The share of the decisions that could have applied a column that did."""
    first, second = (np.frombuffer(found, np.int32) for found in (sums.firsts, sums.seconds))
    applied, offered, count = (
        np.zeros(len(sums.columns)),
        np.zeros(len(sums.columns)),
        len(sums.columns),
    )
    weights = np.frombuffer(sums.weights)
    own = second == first + count
    applied[first[own]] = weights[own]
    own = (second == first) & (first >= count)
    offered[first[own] - count] = weights[own]
    # One that was overruled weighs less than nothing, and was not applied.
    return np.maximum(0.0, np.divide(applied, offered, out=np.ones(count), where=offered > 0))


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


def precision_of(columns: Sequence[Column], prior: Prior, slope: float) -> Array:
    """The precision of the columns before any decision: versions of one skill are a chain.

    Beside them that of the effects of choosing, by the slope of the domain's rate.
    """
    count = len(columns)
    size = count + 1 + (count if count <= _CHOOSERS else 0)
    precision = np.zeros((size, size))
    apart = 1 / (prior.scale**2 * (1 - prior.carry**2))
    for i, (_, version) in enumerate(columns):
        if version == 0:
            precision[i, i] += 1 / prior.scale**2
        else:
            precision[i, i] += apart
            precision[i - 1, i - 1] += prior.carry**2 * apart
            precision[i - 1, i] = precision[i, i - 1] = -prior.carry * apart
    precision[count, count] = 1 / (_CHOOSING * slope) ** 2
    places = np.arange(count + 1, size)
    precision[places, places] = 1 / (_CHOOSING_APART * slope) ** 2
    return precision


def solve(system: System, precision: Array) -> Solved:
    """The posterior of the base and of all else, little being believed of the base."""
    middle, spread = WIDE
    matrix = system.matrix / system.noise
    matrix[0, 0] += 1 / spread
    matrix[1:, 1:] += precision
    vector = system.vector / system.noise
    vector[0] += middle / spread
    covariance = np.linalg.inv(matrix)
    return Solved(covariance @ vector, covariance.astype(np.float64))


def _effects(
    sums: Sums, domain: System, solved: Solved, prior: Prior
) -> Iterator[tuple[Column, DomainEffect]]:
    """Each column's effect, its variance, the base it was applied to and how often."""
    group_bases = bases(sums, domain, solved)
    for i, column in enumerate(sums.columns):
        weights = [(max(0.0, group.weights.get(i, 0.0)), base) for group, base in group_bases]
        total = sum(weight for weight, _ in weights)
        base = sum(weight * base for weight, base in weights) / total if total else None
        mean, variance = _tempered(solved, i + 1, sums.shared[i], prior)
        base = float(solved.mean[0]) if base is None else base
        yield column, DomainEffect(mean, variance, base, total, sums.latest[i])


def _tempered(solved: Solved, place: int, shared: float, prior: Prior) -> tuple[float, float]:
    """The mean and the variance of an effect whose decisions say less than they are many."""
    mean, variance = float(solved.mean[place]), float(solved.covariance[place, place])
    believed = 1 / prior.scale**2
    precision = believed + max(0.0, 1 / variance - believed) / shared
    return mean / variance / shared / precision, 1 / precision


def bases(sums: Sums, domain: System, solved: Solved) -> list[tuple[DecisionGroup, float]]:
    """What each group's decisions reach without any skill."""
    group_bases: list[tuple[DecisionGroup, float]] = []
    effects, choosing = parts_of(solved, len(sums.columns))
    effect = np.concatenate([effects + choosing, -shares(sums) * choosing]).tolist()
    middle = float(solved.mean[0])
    for group in sums.groups:
        explained = sum(w * effect[i] for i, w in group.weights.items())
        share = domain.spread / (domain.noise + group.count * domain.spread)
        more = share * (group.successes - group.count * middle - explained)
        group_bases.append((group, min(1.0, max(0.0, middle + more))))
    return group_bases
