"""Estimate the lift of each skill: how much the skill raises the rate of success.

The model: a decision succeeds at the base rate of its action and target, plus one effect for each
applied skill. All effects are shrunk to zero. Agents choose when to apply a skill, so the effect of
their choice is estimated too. `loop/effects.py` calls `add_up` for each domain with new decisions,
and then `estimate_lifts` with the sums of all domains. To change the regression, see `equations`.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from skillvault.learning.effect import equations
from skillvault.learning.effect.equations import Floats, Ints
from skillvault.learning.effect.lift import (
    UNSEEN,
    Column,
    DecisionGroup,
    DomainEffect,
    Effect,
    Lift,
    Observation,
    Sums,
)
from skillvault.model.policy import EffectPolicy

_MAX_SKILLS = 2000  # the most applied skills of a domain; the others get no lift
_BASE_DRIFT = 0.1  # expected change of the base rate during the latest uses of a skill
_MAX_PRODUCTS = 20_000_000  # decisions times skills; limits the cost of `_episode_factors`
_GUESS_WEIGHT = 20  # the first guess of the noise counts like this number of decisions
_MIN_EPISODES = 5  # with fewer episodes, no correlation is computed
_MIN_HALF = 5  # uses in each half of a skill's history, to compare the halves
_RECOUNT_PART = 64  # a domain is summed again after 1/64 more decisions
_CHANGE_ERRORS = 2.58  # standard errors between two halves that chance does not explain


class _Entries(NamedTuple):
    """A domain's decisions by time, and the columns that each decision used or was offered.

    `groups`, `successes` and `episodes` have one item for each decision. The other arrays have one
    item for each pair of a decision and a column, in the order of the decisions.
    """

    groups: Ints
    successes: Floats
    episodes: Ints
    decisions: Ints
    columns: Ints
    uses: Floats
    offers: Floats


def recount_after(count: int) -> int:
    """Return the number of new decisions after which a domain with `count` is summed again.

    Because the number grows with the domain, each decision costs the same amount of work.
    """
    return max(1, count // _RECOUNT_PART)


def add_up(
    observations: Iterable[Observation],
    totals: Mapping[str, tuple[int, int]],
    version_starts: Mapping[str, Sequence[int]],
    policy: EffectPolicy,
) -> Sums:
    """Sum the closed decisions of one domain.

    `totals` maps each group to (count, successes) of all closed decisions. `version_starts` maps
    each skill to the times at which its text changed, in microseconds since 1970.
    """
    entry_observations = _by_entry(observations, version_starts)
    use_counts = Counter(
        c for (_, c), observation in entry_observations.items() if observation.applied
    )
    versions = {skill: len(version_starts.get(skill, ())) for _, (skill, _) in entry_observations}
    skills = sorted(versions, key=lambda name: (-use_counts.get((name, versions[name]), 0), name))[
        :_MAX_SKILLS
    ]
    # Each version gets a column, because the effect of an old text informs the next one.
    columns = tuple(
        (name, version) for name in sorted(skills) for version in range(versions[name] + 1)
    )
    groups = sorted(totals)
    entries = _entries(entry_observations, columns, groups)
    sums = _sum_entries(entries, columns, [totals[name] for name in groups])
    return _add_error_sums(sums, entries, policy) if len(entries.decisions) else sums


def estimate_lifts(domains: Iterable[Sums], policy: EffectPolicy) -> dict[Column, Lift]:
    """Estimate the lift of every column from the sums of all domains.

    A skill of several domains gets one effect; its base rate is computed in each domain.
    """
    with_groups = [sums for sums in domains if sums.groups]
    if not any(sums.columns for sums in with_groups):
        return {}
    parts: dict[Column, list[DomainEffect]] = {}
    for column, part in equations.domain_effects(with_groups, policy):
        parts.setdefault(column, []).append(part)
    return {column: _pool_effects(parts[column], policy) for column in sorted(parts)}


def _by_entry(
    observations: Iterable[Observation], version_starts: Mapping[str, Sequence[int]]
) -> dict[tuple[str, Column], Observation]:
    """Map (decision, column) to the observation with the most information."""
    entry_observations: dict[tuple[str, Column], Observation] = {}
    for observation in observations:
        starts = version_starts.get(observation.skill)
        version = bisect_right(starts, observation.made) if starts else 0
        key = observation.decision, (observation.skill, version)
        if key not in entry_observations or _information(observation) > _information(
            entry_observations[key]
        ):
            entry_observations[key] = observation
    return entry_observations


def _information(observation: Observation) -> tuple[float, float]:
    """Sort key: uses that were neither applied nor overruled first, applied uses last."""
    return abs(observation.weight), observation.weight


def _entries(
    entry_observations: Mapping[tuple[str, Column], Observation],
    columns: Sequence[Column],
    groups: Sequence[str],
) -> _Entries:
    column_index = {column: i for i, column in enumerate(columns)}
    group_index = {name: i for i, name in enumerate(groups)}
    samples = {decision: observation for (decision, _), observation in entry_observations.items()}
    decision_ids = sorted(samples, key=lambda decision: (samples[decision].made, decision))
    decision_index = {decision: i for i, decision in enumerate(decision_ids)}
    rows = [
        (decision_index[decision], column_index[column], observation)
        for (decision, column), observation in entry_observations.items()
        if column in column_index
    ]
    decisions = np.array([decision for decision, _, _ in rows], np.intp)
    column_numbers = np.array([column for _, column, _ in rows], np.intp)
    uses = np.array([part.weight for _, _, part in rows], float)
    # What was applied could have been, whatever a receipt says.
    offers = np.array([part.offer == "shown" or part.weight > 0 for _, _, part in rows], float)
    order = np.lexsort((column_numbers, decisions))
    ordered_samples = [samples[name] for name in decision_ids]
    episode_names = [sample.episode or f"alone {sample.decision}" for sample in ordered_samples]
    episode_index = {name: i for i, name in enumerate(dict.fromkeys(episode_names))}
    return _Entries(
        groups=np.array([group_index[sample.group] for sample in ordered_samples], np.intp),
        successes=np.array([sample.success for sample in ordered_samples], float),
        episodes=np.array([episode_index[name] for name in episode_names], np.intp),
        decisions=decisions[order],
        columns=column_numbers[order],
        uses=uses[order],
        offers=offers[order],
    )


def _sum_entries(
    entries: _Entries, columns: tuple[Column, ...], totals: Sequence[tuple[int, int]]
) -> Sums:
    """Sum the entries. All weights are whole quarters, so the sums are exact in any order."""
    size = 2 * len(columns)
    products = zip(*_products(entries, len(columns)), strict=True)
    firsts, seconds, values = map(np.concatenate, products)
    pair_codes = np.minimum(firsts, seconds) * size + np.maximum(firsts, seconds)
    codes, weights = _sum_by_code(pair_codes, values)
    indices = np.concatenate([entries.columns, entries.columns + len(columns)])
    values = np.concatenate([entries.uses, entries.offers])
    decisions = np.concatenate([entries.decisions, entries.decisions])
    success_weights = np.bincount(indices, values * entries.successes[decisions], minlength=size)
    group_codes, group_weights = _sum_by_code(entries.groups[decisions] * size + indices, values)
    sums: list[dict[int, float]] = [{} for _ in totals]
    for code, weight in zip(group_codes.tolist(), group_weights.tolist(), strict=True):
        sums[code // size][code % size] = weight
    return Sums(
        columns=columns,
        firsts=(codes // max(1, size)).astype(np.int32).tobytes(),
        seconds=(codes % max(1, size)).astype(np.int32).tobytes(),
        weights=weights.tobytes(),
        hits=tuple(success_weights.tolist()),
        groups=tuple(
            DecisionGroup(*total, weights) for total, weights in zip(totals, sums, strict=True)
        ),
    )


def _products(entries: _Entries, count: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (column, column, product) for each pair of entries of one decision."""
    parts = ((entries.columns, entries.uses), (entries.columns + count, entries.offers))
    for (i, x), (j, y) in combinations_with_replacement(parts, 2):
        yield i, j, x * y
    distance = 1
    while (mask := entries.decisions[distance:] == entries.decisions[:-distance]).any():
        for (i, x), (j, y) in product(parts, parts):
            products = x[:-distance][mask] * y[distance:][mask]
            yield i[:-distance][mask], j[distance:][mask], products
        distance += 1


def _sum_by_code(codes: Ints, weights: Floats) -> tuple[Ints, Floats]:
    unique_codes, positions = np.unique(codes, return_inverse=True)
    sums = np.bincount(positions, weights, minlength=len(unique_codes))
    return unique_codes[sums != 0], sums[sums != 0]


def _add_error_sums(sums: Sums, entries: _Entries, policy: EffectPolicy) -> Sums:
    """Add the sums that need a first solution's errors: noise, episode factors, recent effects."""
    count = len(sums.columns)
    system = equations.system_of(sums)
    precision = equations.precision_of(sums.columns, policy, system.slope)
    mean = equations.solve_mean(system, precision)
    effects, choosing = equations.split_effects(mean, count)
    choice = entries.uses - equations.shares(sums)[entries.columns] * entries.offers
    parts = entries.uses * effects[entries.columns] + choice * choosing[entries.columns]
    rates = np.array([base for _, base in equations.base_rates(sums, system, mean)])
    errors = entries.successes - rates[entries.groups]
    errors -= np.bincount(entries.decisions, parts, minlength=len(errors))
    growth, correlation = np.ones(count), _episode_correlation(errors, entries.episodes)
    if correlation:  # else the covariance is not needed, which is costly
        gains = equations.solve(system, precision).covariance[:, 1 : count + 1]
        growth = _episode_factors(entries, choice, correlation, gains)
    information = np.diag(system.matrix)[1:] / system.noise
    parameters = 1 + float((information / (information + np.diag(precision))).sum())  # at most
    degrees = max(1.0, len(errors) - parameters)
    # The first guess counts like so many decisions.
    squares = float(errors @ errors) + _GUESS_WEIGHT * system.noise
    noise = max(equations.MIN_NOISE, squares / (degrees + _GUESS_WEIGHT))
    latest = _recent_effects(entries, errors, effects, noise * growth, times=policy.latest)
    recent, changes = zip(*latest, strict=True) if count else ((), ())
    return replace(sums, shared=tuple(growth.tolist()), latest=recent, changed=changes, noise=noise)


def _episode_factors(
    entries: _Entries, choice: Floats, correlation: float, gains: Floats
) -> Floats:
    """Return the factor by which each effect's variance grows because episodes share luck.

    `correlation` (0..1) holds for two decisions of an episode, in all columns, even in a column
    with a single episode. `gains` has the covariance of each effect with every unknown.
    Source: Moulton 1986, by moments.
    """
    count = gains.shape[1]
    window = slice(max(0, len(entries.columns) - _MAX_PRODUCTS // count), None)
    column, z = entries.columns[window], choice[window, None]
    influence = entries.uses[window, None] * gains[1 + column] + z * gains[count + 1]
    if len(gains) > count + 2:
        influence += z * gains[count + 2 + column]
    decisions, starts = np.unique(entries.decisions[window], return_index=True)
    influence = np.add.reduceat(influence, starts) + gains[0]
    episodes = entries.episodes[decisions]
    episode_order = np.argsort(episodes, kind="stable")
    _, starts = np.unique(episodes[episode_order], return_index=True)
    sums: Floats = (np.add.reduceat(influence[episode_order], starts) ** 2).sum(axis=0)
    squares = (influence**2).sum(axis=0)
    excess = sums / np.where(squares > 0, squares, np.inf) - 1
    return np.maximum(1.0, 1 + correlation * excess)


def _episode_correlation(errors: Floats, episodes: Ints) -> float:
    """Return the correlation (0..1) between the errors of two decisions of an episode."""
    sizes = np.bincount(episodes)
    pairs = float((sizes * (sizes - 1)).sum())
    variance = float(errors @ errors) / len(errors)
    if len(sizes) < _MIN_EPISODES or not pairs or not variance:
        return 0.0
    products = float((np.bincount(episodes, errors) ** 2).sum() - errors @ errors)
    return min(1.0, max(0.0, products / pairs / variance))


def _recent_effects(
    entries: _Entries, errors: Floats, effects: Floats, variances: Floats, *, times: int
) -> Iterator[tuple[tuple[float, float], float]]:
    """Yield (precision, effect) of each column's latest uses, and the variance of its change.

    Yield (0, 0) for a column with at most `times` uses.
    """
    error_sums = np.concatenate([np.cumsum(errors[::-1])[::-1], [0.0]])
    order = np.argsort(entries.columns, kind="stable")
    starts = np.searchsorted(entries.columns[order], np.arange(len(effects) + 1))
    for index, (effect, variance) in enumerate(zip(effects, variances, strict=True)):
        rows = order[starts[index] : starts[index + 1]]
        decisions, applied = entries.decisions[rows], entries.uses[rows]
        uses = decisions[applied > UNSEEN]
        trace = _Trace(decisions, applied, errors, error_sums, float(variance))
        latest_effect, growth = (0.0, 0.0), 0.0
        if len(uses) > times:
            precision, difference = _span_effect(trace, uses[-times], len(errors))
            latest_effect = precision, difference + float(effect)
        if len(uses) >= 2 * _MIN_HALF:
            middle = uses[len(uses) // 2]
            early_effect = _span_effect(trace, uses[0], middle)
            growth = _change_variance(early_effect, _span_effect(trace, middle, len(errors)))
        yield latest_effect, growth


class _Trace(NamedTuple):
    """The entries of a column by time; `error_sums` adds all later errors to each error."""

    decisions: Ints
    weights: Floats
    errors: Floats
    error_sums: Floats
    variance: float


def _span_effect(trace: _Trace, first: int, last: int) -> tuple[float, float]:
    """Return (precision, difference from the effect of all time) of decisions first..last - 1."""
    start, end = np.searchsorted(trace.decisions, [first, last])
    weights, decisions = trace.weights[start:end], trace.decisions[start:end]
    count = last - first + trace.variance / _BASE_DRIFT**2
    mean_weight = weights.sum() / count
    squares = (weights * weights).sum() - mean_weight * weights.sum()
    error_sum = trace.error_sums[first] - trace.error_sums[last]
    products = (weights * trace.errors[decisions]).sum() - mean_weight * error_sum
    return float(squares / trace.variance), float(products / squares) if squares else 0.0


def _change_variance(early_effect: tuple[float, float], late_effect: tuple[float, float]) -> float:
    """Return the variance that a change of the effect adds, or 0 if chance explains the change.

    Sources: Chow 1960 for the test; DerSimonian and Laird 1986 for the amount.
    """
    if not (early_effect[0] and late_effect[0]):
        return 0.0
    expectation = 1 / early_effect[0] + 1 / late_effect[0]
    square = (late_effect[1] - early_effect[1]) ** 2
    return (square - expectation) / 4 if square > _CHANGE_ERRORS**2 * expectation else 0.0


def _pool_effects(parts: Sequence[DomainEffect], policy: EffectPolicy) -> Lift:
    """Combine the effects of a column in several domains; count the prior only once."""
    prior_precision = 1 / policy.scale**2
    precision = prior_precision + sum(1 / part.variance - prior_precision for part in parts)
    mean = sum(part.mean / part.variance for part in parts) / precision
    total = sum(part.weight for part in parts)
    weights = [part.weight / total if total else 1 / len(parts) for part in parts]
    base = sum(w * part.base for w, part in zip(weights, parts, strict=True))
    variance_change = sum(w * part.changed for w, part in zip(weights, parts, strict=True))
    lift = Lift(mean, math.sqrt(1 / precision + variance_change), base)
    latest_effects = [part.latest for part in parts if part.latest[0]]
    if not latest_effects:
        return lift
    latest_precision = sum(weight for weight, _ in latest_effects)
    effect = sum(weight * effect for weight, effect in latest_effects) / latest_precision
    # The latest applications are never surer than all of them.
    latest_precision = min(latest_precision, precision - prior_precision)
    pooled = prior_precision + latest_precision
    return replace(lift, latest=Effect(effect * latest_precision / pooled, pooled**-0.5))
