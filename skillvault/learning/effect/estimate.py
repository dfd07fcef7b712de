"""Estimate the lift of each skill: how much the skill raises the rate of success.

`add_up` sums the closed decisions of a domain; `estimate_lifts` solves the sums. A decision
succeeds at the base rate of its action and target, plus one effect for each skill. Skills that are
applied together share the credit, and all effects are shrunk to zero. Agents choose when to apply a
skill, so the effect of their choice is estimated too.
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

_MAX_SKILLS = 2000  # of one domain that are weighed together, the most applied
_BASE_DRIFT = 0.1  # how far the base is expected to move while a skill is applied `latest` times
_MAX_PRODUCTS = 20_000_000  # decisions times skills for which shared luck is computed
_GUESS_WEIGHT = 20  # decisions that a first guess of the noise counts like
_MIN_EPISODES = 5  # of a correlation
_MIN_HALF = 5  # uses in half of a history
_RECOUNT_PART = 64  # decisions are added up again after one more for each so many
_CHANGE_ERRORS = 2.58  # standard errors from which on a skill's two halves differ


class _Entries(NamedTuple):
    """The decisions of a domain by time, and the part of each column in them.

    A decision has a group, a success and an episode. An entry has a decision, a column, how much
    the column was applied, and if it could have been applied. Entries are in the order of
    decisions.
    """

    group: Ints
    success: Floats
    episode: Ints
    decision: Ints
    column: Ints
    applied: Floats
    offered: Floats


def recount_after(count: int) -> int:
    """Return the number of new decisions after which a domain is summed again.

    So each decision costs the same amount of work, and lifts are at most 1/64 behind.
    """
    return max(1, count // _RECOUNT_PART)


def add_up(
    observations: Iterable[Observation],
    totals: Mapping[str, tuple[int, int]],
    begun: Mapping[str, Sequence[int]],
    prior: EffectPolicy,
) -> Sums:
    """Sum the closed decisions of one domain.

    `totals` maps each group to (number, successes) of all closed decisions. `begun` has the times
    at which the text of a skill changed.
    """
    by_entry = _by_entry(observations, begun)
    counts = Counter(c for (_, c), observation in by_entry.items() if observation.applied)
    last = {skill: len(begun.get(skill, ())) for _, (skill, _) in by_entry}
    skills = sorted(last, key=lambda name: (-counts.get((name, last[name]), 0), name))[:_MAX_SKILLS]
    # Old versions of a skill inform its last version, so each version has a column.
    columns = tuple((name, version) for name in sorted(skills) for version in range(last[name] + 1))
    names = sorted(totals)
    entries = _entries(by_entry, columns, names)
    sums = _sum_entries(entries, columns, [totals[name] for name in names])
    return _add_error_sums(sums, entries, prior) if len(entries.decision) else sums


def _by_entry(
    observations: Iterable[Observation], begun: Mapping[str, Sequence[int]]
) -> dict[tuple[str, Column], Observation]:
    """Map (decision, column) to its observation; of two, to the one with more information."""
    by_entry: dict[tuple[str, Column], Observation] = {}
    for observation in observations:
        starts = begun.get(observation.skill)
        version = bisect_right(starts, observation.made) if starts else 0
        key = observation.decision, (observation.skill, version)
        if key not in by_entry or _information(observation) > _information(by_entry[key]):
            by_entry[key] = observation
    return by_entry


def _information(observation: Observation) -> tuple[float, float]:
    """Sort key: uses that were neither applied nor overruled first, applied uses last."""
    return abs(observation.weight), observation.weight


def _entries(
    by_entry: Mapping[tuple[str, Column], Observation],
    columns: Sequence[Column],
    groups: Sequence[str],
) -> _Entries:
    column_index = {column: i for i, column in enumerate(columns)}
    group_index = {name: i for i, name in enumerate(groups)}
    samples = {decision: observation for (decision, _), observation in by_entry.items()}
    names = sorted(samples, key=lambda decision: (samples[decision].made, decision))
    decision_index = {decision: i for i, decision in enumerate(names)}
    numbered = [
        (decision_index[decision], column_index[column], observation)
        for (decision, column), observation in by_entry.items()
        if column in column_index
    ]
    decisions = np.array([decision for decision, _, _ in numbered], np.intp)
    column_numbers = np.array([column for _, column, _ in numbered], np.intp)
    uses = np.array([part.weight for _, _, part in numbered], float)
    # What was applied could have been, whatever a receipt says.
    offers = np.array([part.offer == "shown" or part.weight > 0 for _, _, part in numbered], float)
    order = np.lexsort((column_numbers, decisions))
    ordered_samples = [samples[name] for name in names]
    episode_names = [sample.episode or f"alone {sample.decision}" for sample in ordered_samples]
    episode_index = {name: i for i, name in enumerate(dict.fromkeys(episode_names))}
    return _Entries(
        group=np.array([group_index[sample.group] for sample in ordered_samples], np.intp),
        success=np.array([sample.success for sample in ordered_samples], float),
        episode=np.array([episode_index[name] for name in episode_names], np.intp),
        decision=decisions[order],
        column=column_numbers[order],
        applied=uses[order],
        offered=offers[order],
    )


def _sum_entries(
    entries: _Entries, columns: tuple[Column, ...], totals: Sequence[tuple[int, int]]
) -> Sums:
    """Sum the entries; weights are whole quarters, so the order makes no difference."""
    size = 2 * len(columns)
    products = zip(*_products(entries, len(columns)), strict=True)
    firsts, seconds, values = map(np.concatenate, products)
    pair_codes = np.minimum(firsts, seconds) * size + np.maximum(firsts, seconds)
    codes, weights = _sum_by_code(pair_codes, values)
    indices = np.concatenate([entries.column, entries.column + len(columns)])
    values = np.concatenate([entries.applied, entries.offered])
    decisions = np.concatenate([entries.decision, entries.decision])
    success_weights = np.bincount(indices, values * entries.success[decisions], minlength=size)
    group_codes, group_weights = _sum_by_code(entries.group[decisions] * size + indices, values)
    by_group: list[dict[int, float]] = [{} for _ in totals]
    for code, weight in zip(group_codes.tolist(), group_weights.tolist(), strict=True):
        by_group[code // size][code % size] = weight
    return Sums(
        columns=columns,
        firsts=(codes // max(1, size)).astype(np.int32).tobytes(),
        seconds=(codes % max(1, size)).astype(np.int32).tobytes(),
        weights=weights.tobytes(),
        hits=tuple(success_weights.tolist()),
        groups=tuple(
            DecisionGroup(*total, weights) for total, weights in zip(totals, by_group, strict=True)
        ),
    )


def _products(entries: _Entries, count: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (column, column, product) for each pair of entries of one decision."""
    parts = ((entries.column, entries.applied), (entries.column + count, entries.offered))
    for (i, x), (j, y) in combinations_with_replacement(parts, 2):
        yield i, j, x * y
    distance = 1
    while (mask := entries.decision[distance:] == entries.decision[:-distance]).any():
        for (i, x), (j, y) in product(parts, parts):
            products = x[:-distance][mask] * y[distance:][mask]
            yield i[:-distance][mask], j[distance:][mask], products
        distance += 1


def _sum_by_code(codes: Ints, weights: Floats) -> tuple[Ints, Floats]:
    unique_codes, positions = np.unique(codes, return_inverse=True)
    sums = np.bincount(positions, weights, minlength=len(unique_codes))
    return unique_codes[sums != 0], sums[sums != 0]


def _add_error_sums(sums: Sums, entries: _Entries, prior: EffectPolicy) -> Sums:
    """Add the shared luck and the latest effects, from the errors of the solution."""
    count = len(sums.columns)
    system = equations.system_of(sums)
    precision = equations.precision_of(sums.columns, prior, system.slope)
    mean = equations.solve_mean(system, precision)
    effects, choosing = equations.split_effects(mean, count)
    choice = entries.applied - equations.shares(sums)[entries.column] * entries.offered
    explained = entries.applied * effects[entries.column] + choice * choosing[entries.column]
    rates = np.array([base for _, base in equations.base_rates(sums, system, mean)])
    errors = entries.success - rates[entries.group]
    errors -= np.bincount(entries.decision, explained, minlength=len(errors))
    growth, correlation = np.ones(count), _episode_correlation(errors, entries.episode)
    if correlation:  # else the covariance is not needed, which is costly
        gains = equations.solve(system, precision).covariance[:, 1 : count + 1]
        growth = _shared_luck(entries, choice, correlation, gains)
    information = np.diag(system.matrix)[1:] / system.noise
    parameters = 1 + float((information / (information + np.diag(precision))).sum())  # at most
    degrees = max(1.0, len(errors) - parameters)
    # The first guess counts like so many decisions.
    squares = float(errors @ errors) + _GUESS_WEIGHT * system.noise
    noise = max(equations.MIN_NOISE, squares / (degrees + _GUESS_WEIGHT))
    latest = _recent_effects(entries, errors, effects, noise * growth, times=prior.latest)
    recent, changes = zip(*latest, strict=True) if count else ((), ())
    return replace(sums, shared=tuple(growth.tolist()), latest=recent, changed=changes, noise=noise)


def _shared_luck(entries: _Entries, choice: Floats, correlation: float, gains: Floats) -> Floats:
    """Return the factor by which the shared luck of episodes increases each effect's variance.

    `correlation` (0..1) is between two decisions of an episode. `gains` say how much each effect
    grows with the information on every unknown. All columns inform the correlation, so it also
    holds for a column with a single episode. Source: Moulton 1986, by moments.
    """
    count = gains.shape[1]
    window = slice(max(0, len(entries.column) - _MAX_PRODUCTS // count), None)
    column, z = entries.column[window], choice[window, None]
    influence = entries.applied[window, None] * gains[1 + column] + z * gains[count + 1]
    if len(gains) > count + 2:
        influence += z * gains[count + 2 + column]
    decisions, starts = np.unique(entries.decision[window], return_index=True)
    influence = np.add.reduceat(influence, starts) + gains[0]
    episodes = entries.episode[decisions]
    episode_order = np.argsort(episodes, kind="stable")
    _, starts = np.unique(episodes[episode_order], return_index=True)
    sums: Floats = (np.add.reduceat(influence[episode_order], starts) ** 2).sum(axis=0)
    squares = (influence**2).sum(axis=0)
    excess = sums / np.where(squares > 0, squares, np.inf) - 1
    return np.maximum(1.0, 1 + correlation * excess)


def _episode_correlation(errors: Floats, episodes: Ints) -> float:
    """Return the correlation (0..1) of the luck of two decisions of an episode."""
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
    """Yield the (precision, effect) of each column's latest uses, and the variance of a change.

    The other effects are those of all time. A column without earlier uses gets (0, 0).
    """
    later_errors = np.concatenate([np.cumsum(errors[::-1])[::-1], [0.0]])
    order = np.argsort(entries.column, kind="stable")
    starts = np.searchsorted(entries.column[order], np.arange(len(effects) + 1))
    for i, (effect, variance) in enumerate(zip(effects, variances, strict=True)):
        rows = order[starts[i] : starts[i + 1]]
        decisions, applied = entries.decision[rows], entries.applied[rows]
        uses = decisions[applied > UNSEEN]
        column = _Trace(decisions, applied, errors, later_errors, float(variance))
        latest_effect, change = (0.0, 0.0), 0.0
        if len(uses) > times:
            precision, difference = _span_effect(column, uses[-times], len(errors))
            latest_effect = precision, difference + float(effect)
        if len(uses) >= 2 * _MIN_HALF:
            middle = uses[len(uses) // 2]
            early = _span_effect(column, uses[0], middle)
            change = _change_variance(early, _span_effect(column, middle, len(errors)))
        yield latest_effect, change


class _Trace(NamedTuple):
    """The entries of a column by time, with the errors of all decisions from each entry on."""

    decision: Ints
    applied: Floats
    errors: Floats
    after: Floats
    variance: float


def _span_effect(column: _Trace, first: int, last: int) -> tuple[float, float]:
    """Return (precision, effect beyond the effect of all time) of a span with its own base."""
    start, end = np.searchsorted(column.decision, [first, last])
    applied_weights, decision = column.applied[start:end], column.decision[start:end]
    count = last - first + column.variance / _BASE_DRIFT**2
    mean_application = applied_weights.sum() / count
    squares = (applied_weights * applied_weights).sum() - mean_application * applied_weights.sum()
    error_sum = column.after[first] - column.after[last]
    products = (applied_weights * column.errors[decision]).sum() - mean_application * error_sum
    return float(squares / column.variance), float(products / squares) if squares else 0.0


def _change_variance(early: tuple[float, float], late: tuple[float, float]) -> float:
    """Return the variance that a change of the effect adds; 0 if chance explains the change.

    Sources: Chow 1960 for the test; DerSimonian and Laird 1986 for the amount.
    """
    if not (early[0] and late[0]):
        return 0.0
    expectation = 1 / early[0] + 1 / late[0]
    square = (late[1] - early[1]) ** 2
    return (square - expectation) / 4 if square > _CHANGE_ERRORS**2 * expectation else 0.0


def estimate_lifts(domains: Iterable[Sums], prior: EffectPolicy) -> dict[Column, Lift]:
    """Estimate the lift of every column from the sums of all domains.

    A skill in several domains has one effect, and in each domain the base of its own decisions.
    """
    with_groups = [sums for sums in domains if sums.groups]
    if not any(sums.columns for sums in with_groups):
        return {}
    parts: dict[Column, list[DomainEffect]] = {}
    for column, part in equations.domain_effects(with_groups, prior):
        parts.setdefault(column, []).append(part)
    return {column: _pool_effects(parts[column], prior) for column in sorted(parts)}


def _pool_effects(parts: Sequence[DomainEffect], prior: EffectPolicy) -> Lift:
    """Pool the effects of a column in several domains; the prior counts once."""
    prior_precision = 1 / prior.scale**2
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
