"""Solve the regression of success on the applied skills of a domain, from sums to effects.

The regression is Bayesian and linear. Its unknowns are the base rate of the domain, the effect of
each skill, and the effect of choosing a skill. `estimate` makes the sums and calls this module.
To change what the program expects before it has data, see the constants and `precision_of`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from skillvault.learning.effect.lift import Column, DecisionGroup, DomainEffect, Sums
from skillvault.model.policy import EffectPolicy

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.intp]]


class Posterior(NamedTuple):
    """The posterior of the unknowns of a system."""

    mean: Floats
    covariance: Floats


class Belief(NamedTuple):
    """The expected value of an unknown, and its variance."""

    mean: float
    variance: float


_BASE_PRIOR = Belief(0.5, 0.5**2)  # of the base rate, if there is only one domain
_BASE_SPREAD = 0.05  # expected standard deviation between the base rates of several domains
_SPREAD_FACTOR = 2  # widens the variance of the base rates
_POOL_ROUNDS = 8  # after which the variance of the base rates is stable
_MIN_PRECISION = 1e-9  # of an unknown on which a domain has no information
MIN_NOISE = 0.03  # the least variance of a result, if nearly all succeed or fail
# The effect of choosing follows the odds, so both are in units of the slope of the rate. If half
# of all decisions succeed, they mean 0.5 and 0.05.
_CHOICE_SPREAD = 2.0  # standard deviation of a domain's effect of choosing
_CHOICE_DIFFERENCE = 0.2  # standard deviation between skills of a domain, and between domains
_MAX_CHOICES = 400  # with more skills, all share one effect of choosing


class _Role(NamedTuple):
    """For each sum (base, uses, offers), an unknown that depends on it, and the factor."""

    unknowns: Ints
    factors: Floats


class System(NamedTuple):
    """The normal equations of a domain; the unknowns are base, effects, effects of choosing."""

    matrix: Floats
    vector: Floats
    noise: float
    spread: float  # the variance between the base rates of the groups
    slope: float  # the derivative of the rate of success by its log-odds


def domain_effects(
    domains: Sequence[Sums], policy: EffectPolicy
) -> Iterator[tuple[Column, DomainEffect]]:
    """Yield the effect of each column in each domain.

    The expected base rates and effects of choosing come from all domains together.
    """
    systems = [system_of(sums) for sums in domains]
    solutions = [
        solve(system, precision_of(sums.columns, policy, system.slope))
        for sums, system in zip(domains, systems, strict=True)
    ]
    if len(domains) > 1:
        indices = [len(sums.columns) + 1 for sums in domains]
        slopes = [system.slope for system in systems]
        solutions = _pool_choosing(solutions, indices, slopes)
        rates = [float(system.vector[0] / system.matrix[0, 0]) for system in systems]
        solutions = _pool_bases(solutions, rates)
    for sums, system, fit in zip(domains, systems, solutions, strict=True):
        yield from _effects(sums, system, fit, policy)


def _pool_bases(solutions: Sequence[Posterior], rates: Sequence[float]) -> list[Posterior]:
    """Update the solutions with the base rates of all domains (empirical Bayes)."""
    mean_rate, spread = sum(rates) / len(rates), _BASE_SPREAD**2
    for _ in range(_POOL_ROUNDS):
        belief = Belief(mean_rate, _SPREAD_FACTOR * spread)
        updates = [_update_belief(fit, 0, _BASE_PRIOR, belief, size=1) for fit in solutions]
        mean_rate = sum(float(base.mean[0]) for base in updates) / len(updates)
        squares = (float((b.mean[0] - mean_rate) ** 2 + b.covariance[0, 0]) for b in updates)
        spread = (sum(squares) + _BASE_SPREAD**2) / (len(updates) + 1)
    belief = Belief(mean_rate, _SPREAD_FACTOR * spread)
    return [_update_belief(fit, 0, _BASE_PRIOR, belief) for fit in solutions]


def _pool_choosing(
    solutions: Sequence[Posterior], indices: Sequence[int], units: Sequence[float]
) -> list[Posterior]:
    """Update each solution with the effect of choosing in the other domains.

    `indices` has the index of this effect in each solution, `units` the slope of each domain.
    Source: DerSimonian and Laird 1986.
    """
    prior = Belief(0.0, _CHOICE_SPREAD**2)
    domains = list(zip(solutions, indices, units, strict=True))
    estimates = [_domain_estimate(*domain, prior) for domain in domains]
    spread = max(_CHOICE_DIFFERENCE**2, _domain_spread(estimates))
    weights = [1 / (estimate.variance + spread) for estimate in estimates]
    terms = [weight * estimate.mean for weight, estimate in zip(weights, estimates, strict=True)]
    total, term_sum = sum(weights) + 1 / prior.variance, sum(terms)
    updated_solutions: list[Posterior] = []
    for i, (fit, index, unit) in enumerate(domains):
        precision = total - weights[i]
        belief = Belief((term_sum - terms[i]) / precision, spread + 1 / precision)
        old_belief, new_belief = _scale_belief(unit, prior), _scale_belief(unit, belief)
        updated_solutions.append(_update_belief(fit, index, old_belief, new_belief))
    return updated_solutions


def _scale_belief(unit: float, belief: Belief) -> Belief:
    return Belief(unit * belief.mean, unit**2 * belief.variance)


def _domain_estimate(fit: Posterior, index: int, unit: float, prior: Belief) -> Belief:
    """Return what one domain says about an unknown, without the prior and divided by `unit`."""
    mean, variance = fit.mean[index] / unit, fit.covariance[index, index] / unit**2
    precision = max(_MIN_PRECISION, float(1 / variance - 1 / prior.variance))
    weighted_mean = float(mean / variance - prior.mean / prior.variance)
    return Belief(weighted_mean / precision, 1 / precision)


def _domain_spread(estimates: Sequence[Belief]) -> float:
    """Return the variance between domains by the method of moments; it may be negative."""
    weights = [1 / estimate.variance for estimate in estimates]
    pairs, total = list(zip(weights, estimates, strict=True)), sum(weights)
    mean = sum(weight * estimate.mean for weight, estimate in pairs) / total
    squares = sum(weight * (estimate.mean - mean) ** 2 for weight, estimate in pairs)
    degrees = total - sum(weight * weight for weight in weights) / total
    return (squares - (len(estimates) - 1)) / degrees if degrees > 0 else 0.0


def _update_belief(
    fit: Posterior, index: int, prior: Belief, belief: Belief, *, size: int | None = None
) -> Posterior:
    """Replace the prior of one unknown by `belief` (Sherman and Morrison 1950)."""
    precision = 1 / belief.variance - 1 / prior.variance
    mean_change = belief.mean / belief.variance - prior.mean / prior.variance
    row = fit.covariance[index, :size]
    share = row / (1 + precision * fit.covariance[index, index])
    mean = fit.mean[:size] + share * (mean_change - precision * fit.mean[index])
    return Posterior(mean, fit.covariance[:size, :size] - precision * np.outer(share, row))


def system_of(sums: Sums) -> System:
    """Return the normal equations of a domain, with the base rates of the groups eliminated."""
    total = sum(group.count for group in sums.groups)
    successes = sum(group.successes for group in sums.groups)
    rate = (successes + 1) / (total + 2)
    slope = max(MIN_NOISE, rate * (1 - rate))
    noise = sums.noise or slope
    spread = _base_spread(sums.groups, noise)
    count = len(sums.columns)
    roles = _roles(shares(sums))
    size = 1 + max(int(role.unknowns.max()) for role in roles)
    matrix = _products(sums, roles, size)
    vector = _project(roles, range(2 * count + 1), [successes, *sums.hits], size)
    for group in sums.groups:
        weights = [group.count, *group.weights.values()]
        row = _project(roles, [0, *(index + 1 for index in group.weights)], weights, size)
        matrix[0] += row
        matrix[1:, 0] += row[1:]
        if share := spread / (noise + group.count * spread):
            indices = np.flatnonzero(row)
            matrix[np.ix_(indices, indices)] -= share * np.outer(row[indices], row[indices])
            vector -= share * group.successes * row
    return System(matrix, vector, noise, spread, slope)


def _roles(share: Floats) -> list[_Role]:
    """Return the unknowns of the base, of each column and of its offers.

    A use of a column counts for the effect of the column. Uses beyond the usual `share` of offers
    count for the effect of choosing: if agents that choose any skill succeed more often, then the
    choice explains the success, not the skill. The data separate both effects where a skill was
    not offered. All columns share one effect of choosing. With few columns, each column also has
    its own.
    """
    count = len(share)
    indices, zeros = np.arange(2 * count + 1), np.zeros(count)
    choice = np.concatenate([[0.0], np.ones(count), -share])
    roles = [
        _Role(np.minimum(indices, count), np.concatenate([[1.0], np.ones(count), zeros])),
        _Role(np.full(2 * count + 1, count + 1), choice),
    ]
    if count <= _MAX_CHOICES:
        roles.append(_Role(count + 1 + np.where(indices > count, indices - count, indices), choice))
    return roles


def _products(sums: Sums, roles: Sequence[_Role], size: int) -> Floats:
    """Return the matrix of the products of two unknowns, summed over decisions, without base."""
    first, second = (np.frombuffer(data, np.int32) + 1 for data in (sums.firsts, sums.seconds))
    # Each pair is stored once, and belongs on both sides of the diagonal.
    weights = np.frombuffer(sums.weights) * np.where(first == second, 0.5, 1.0)
    upper_half = np.zeros(size * size)
    for a in roles:
        for b in roles:
            codes = a.unknowns[first] * size + b.unknowns[second]
            products = weights * a.factors[first] * b.factors[second]
            upper_half += np.bincount(codes, products, minlength=size * size)
    matrix = upper_half.reshape(size, size)
    return matrix + matrix.T


def _project(
    roles: Sequence[_Role], positions: Sequence[int], values: Sequence[float], size: int
) -> Floats:
    indices, weights = np.array(positions, np.intp), np.array(values, float)
    unknowns = np.concatenate([role.unknowns[indices] for role in roles])
    parts = np.concatenate([role.factors[indices] * weights for role in roles])
    return np.bincount(unknowns, parts, minlength=size).astype(np.float64)


def split_effects(mean: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the effects of `count` columns, and the effects of choosing each column."""
    mean_choosing, offsets = mean[count + 1], mean[count + 2 :]
    return mean[1 : count + 1], mean_choosing + (offsets if len(offsets) else np.zeros(count))


def shares(sums: Sums) -> Floats:
    """Return the share of offers that were applied, for each column."""
    first, second = (np.frombuffer(data, np.int32) for data in (sums.firsts, sums.seconds))
    count, weights = len(sums.columns), np.frombuffer(sums.weights)
    uses, offers = np.zeros(count), np.zeros(count)
    mask = second == first + count
    uses[first[mask]] = weights[mask]
    mask = (second == first) & (first >= count)
    offers[first[mask] - count] = weights[mask]
    # An overruled use has a negative weight.
    return np.maximum(0.0, np.divide(uses, offers, out=np.ones(count), where=offers > 0))


def _base_spread(groups: Sequence[DecisionGroup], noise: float) -> float:
    """Return the variance between base rates by moments (DerSimonian and Laird 1986)."""
    counts = [group.count for group in groups]
    total = sum(counts)
    rate = sum(group.successes for group in groups) / total
    squares = sum(g.count * (g.successes / g.count - rate) ** 2 for g in groups if g.count)
    degrees = total - sum(count * count for count in counts) / total
    return max(0.0, (squares - noise * (len(groups) - 1)) / degrees) if degrees > 0 else 0.0


def precision_of(columns: Sequence[Column], policy: EffectPolicy, slope: float) -> Floats:
    """Return the prior precision of all unknowns but the base.

    The effect of each version of a skill is expected near the effect of the version before.
    """
    count = len(columns)
    size = count + 1 + (count if count <= _MAX_CHOICES else 0)
    precision = np.zeros((size, size))
    version_precision = 1 / (policy.scale**2 * (1 - policy.carry**2))
    for i, (_, version) in enumerate(columns):
        if version == 0:
            precision[i, i] += 1 / policy.scale**2
        else:
            precision[i, i] += version_precision
            precision[i - 1, i - 1] += policy.carry**2 * version_precision
            precision[i - 1, i] = precision[i, i - 1] = -policy.carry * version_precision
    precision[count, count] = 1 / (_CHOICE_SPREAD * slope) ** 2
    indices = np.arange(count + 1, size)
    precision[indices, indices] = 1 / (_CHOICE_DIFFERENCE * slope) ** 2
    return precision


def solve(system: System, precision: Floats) -> Posterior:
    """Return the posterior of all unknowns."""
    matrix, vector = _build_equations(system, precision)
    covariance = np.linalg.inv(matrix).astype(np.float64)
    return Posterior(covariance @ vector, covariance)


def solve_mean(system: System, precision: Floats) -> Floats:
    """Return the means of the posterior; without the covariance this costs much less."""
    return np.linalg.solve(*_build_equations(system, precision)).astype(np.float64)


def _build_equations(system: System, precision: Floats) -> tuple[Floats, Floats]:
    matrix = system.matrix / system.noise
    matrix[0, 0] += 1 / _BASE_PRIOR.variance
    matrix[1:, 1:] += precision
    vector = system.vector / system.noise
    vector[0] += _BASE_PRIOR.mean / _BASE_PRIOR.variance
    return matrix, vector


def _effects(
    sums: Sums, domain: System, fit: Posterior, policy: EffectPolicy
) -> Iterator[tuple[Column, DomainEffect]]:
    """Yield each column with its effect; the base is the mean over the column's decisions."""
    totals, base_sums = np.zeros(len(sums.columns)), np.zeros(len(sums.columns))
    for group, base in base_rates(sums, domain, fit.mean):
        for i, weight in group.weights.items():
            if weight > 0 and i < len(totals):
                totals[i] += weight
                base_sums[i] += weight * base
    for i, column in enumerate(sums.columns):
        mean, variance = _shrink(fit, i + 1, sums.shared[i], policy)
        base = float(base_sums[i] / totals[i] if totals[i] else fit.mean[0])
        recent_values = sums.latest[i], sums.changed[i]
        yield column, DomainEffect(mean, variance, base, float(totals[i]), *recent_values)


def _shrink(fit: Posterior, index: int, growth: float, policy: EffectPolicy) -> tuple[float, float]:
    """Return the mean and variance of an effect after its variance grew by a factor."""
    mean, variance = float(fit.mean[index]), float(fit.covariance[index, index])
    prior_precision = 1 / policy.scale**2
    precision = prior_precision + max(0.0, 1 / variance - prior_precision) / growth
    return mean / variance / growth / precision, 1 / precision


def base_rates(sums: Sums, domain: System, mean: Floats) -> list[tuple[DecisionGroup, float]]:
    """Return each group with its rate of success if no skill were applied."""
    group_bases: list[tuple[DecisionGroup, float]] = []
    effects, choosing = split_effects(mean, len(sums.columns))
    effect = np.concatenate([effects + choosing, -shares(sums) * choosing]).tolist()
    mean_rate = float(mean[0])
    for group in sums.groups:
        explained_successes = sum(weight * effect[i] for i, weight in group.weights.items())
        share = domain.spread / (domain.noise + group.count * domain.spread)
        surplus = share * (group.successes - group.count * mean_rate - explained_successes)
        group_bases.append((group, min(1.0, max(0.0, mean_rate + surplus))))
    return group_bases
