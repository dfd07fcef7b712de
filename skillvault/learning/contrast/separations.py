"""Find separations: conditions under which a result of one action is more frequent.

`find_separations` tests all conditions of the table against chance, then keeps those that
add to the separations before them and still hold in the later half. `leads` calls it. Separations
depend on the outcomes alone, not on the order of arrival.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256, shake_256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skillvault.learning.contrast.condition_table import (
    Bools,
    Conditions,
    ConditionTable,
    Floats,
    build_condition_table,
    generality,
)
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.model.conditions import FRAME_KEYS, Condition, Separation
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome, Scalar

Ints = NDArray[np.intp]

SHIFTS = 400
DEFAULT_SETTINGS = EvaluatePolicy()
_MAX_FALSE_ALARMS = 0.05  # share of samples without a cause that get a separation by chance
_FULL_SET = 60  # outcomes; a smaller set may get fewer false alarms, as it is tested again soon
_MIN_OUTCOMES, _MIN_RESULTS, _MIN_EPISODES = 12, 3, 5
_MIN_STRATUM = 3  # outcomes of a stratum; smaller strata are put together
_MIN_LATE = 3  # late outcomes that meet a condition, and late outcomes that do not
# Standard errors that a separation must reach: beside the accepted ones, if the results
# of a session may share their luck, and for each part of a pair if the other part alone separates.
_MIN_Z, _MIN_SESSION_Z, _MIN_PAIR_Z = 2.33, 3.0, 3.29
_PAIR_HANDICAP = 0.15  # standard errors; otherwise the many pairs would hide single conditions
_CHANGE_Z = 1.28  # standard errors from which on two halves of the time differ
_SESSION_SHARE = 0.5  # share of its variance between sessions; above, a condition is by session
_STATISTIC_ROUNDING, _ROUNDING = 1e-5, 1e-9
_CUTS = ("at least", "below", "between", "outside")


class _Effect(NamedTuple):
    """The effect of a condition on the frequency of a result; `z` is difference by error."""

    difference: float
    error: float
    z: float


_NO_EFFECT = _Effect(0.0, math.inf, 0.0)


class SeparationCandidate(NamedTuple):
    """Conditions that chance does not explain; `p` is corrected for all columns and results."""

    conditions: Conditions
    truth: Bools
    recorded: Bools
    result: str
    statistic: float
    p: float
    z: float

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: recorded conditions before words, then the smallest p."""
        return (
            self.conditions[0].kind == "word",
            -round(self.statistic, 4),
            generality(self.conditions),
        )


class Sample(NamedTuple):
    """The compared outcomes in order of time, their results and the groups that they are in."""

    outcomes: Sequence[Outcome]
    results: Mapping[str, Bools]
    strata: Ints
    episodes: Ints
    sessions: Ints


def find_separations(
    outcomes: Sequence[Outcome],
    results: Mapping[str, frozenset[str]],
    settings: EvaluatePolicy = DEFAULT_SETTINGS,
) -> tuple[Separation, ...]:
    """Return the separations of each result, the most certain first.

    The outcomes are of one domain and action, in any order. `results` maps each result ("failures",
    "losses beyond 10 %") to the ids of its outcomes. All results share one false alarm rate.
    """
    sample = _sample_of(outcomes, results, settings)
    if not sample.results:
        return ()
    candidates = _find_candidates(build_condition_table(sample.outcomes), sample)
    return tuple(
        separation
        for result in sample.results
        for separation in _select([c for c in candidates if c.result == result], sample)
    )


def _sample_of(
    outcomes: Sequence[Outcome], results: Mapping[str, frozenset[str]], settings: EvaluatePolicy
) -> Sample:
    """Return the latest outcomes, and the results that are neither too rare nor too common."""
    by_id = {outcome.id: outcome for outcome in outcomes}
    recent = sorted(by_id.values(), key=lambda outcome: outcome.order)[-settings.peers :]
    episodes = np.array(episodes_of(recent, settings.episode_minutes), dtype=np.intp)
    strata = strata_of([(o.source.agent, *map(o.context.get, FRAME_KEYS)) for o in recent])
    truths = {name: np.array([o.id in ids for o in recent]) for name, ids in results.items()}
    is_enough = len(recent) >= _MIN_OUTCOMES and len(set(episodes.tolist())) >= _MIN_EPISODES
    testable_results = {
        name: truth
        for name, truth in truths.items()
        if is_enough and _MIN_RESULTS <= truth.sum() <= len(truth) - _MIN_RESULTS
    }
    sessions = number_names([outcome.session for outcome in recent])
    return Sample(recent, testable_results, strata, episodes, sessions)


def _find_candidates(table: ConditionTable, sample: Sample) -> list[SeparationCandidate]:
    """Return the columns that separate a result better than chance, in any order.

    The test is a max-T permutation test (Westfall and Young 1993). Results are rotated, not
    shuffled, so that their dependence over time stays (Lancaster et al. 2018).
    """
    if not table.conditions:
        return []
    seed = sha256("\n".join(outcome.id for outcome in sample.outcomes).encode()).digest()
    shifts, strata = rotations(sample.strata, seed), sample.strata
    centred = centred_within(table.truth, table.recorded, strata)
    one_sided = np.array([opposite is None for opposite in table.opposites])
    pairs = np.array([len(conditions) == 2 for conditions in table.conditions])
    alarm = _MAX_FALSE_ALARMS * min(1, len(strata) / _FULL_SET)
    observations, greatest = {}, np.full(len(shifts), -np.inf)
    for name, result in sample.results.items():
        statistics = _statistics(centred, result[shifts], strata)
        statistics[:, pairs] -= _PAIR_HANDICAP
        observations[name] = statistics[0].copy()
        np.abs(statistics, out=statistics, where=~one_sided)
        greatest = np.maximum(greatest, statistics.max(axis=1))
    candidates = []
    for name, observed in observations.items():
        for column in np.flatnonzero(np.where(one_sided, observed, np.abs(observed)) > 0).tolist():
            statistic = abs(observed[column])
            p = float((greatest >= statistic - _STATISTIC_ROUNDING).mean())
            if p > alarm:
                continue
            conditions, truth = table.conditions[column], table.truth[column]
            recorded = table.recorded[column]
            if observed[column] < 0:
                conditions, truth = table.opposites[column] or (), recorded & ~truth
            z = effect_of(truth, recorded, name, sample).z
            candidates.append(
                SeparationCandidate(conditions, truth, recorded, name, float(statistic), p, z)
            )
    return candidates


# ── the permutation test ────────────────────────────────────────────────────────────


def rotations(strata: Ints, seed: bytes) -> Ints:
    """Return the index of the result for each outcome (shifts x outcomes), unshifted first.

    A single agent with few outcomes gets each shift once; otherwise `seed` draws the shifts.
    """
    members = [np.flatnonzero(strata == agent) for agent in np.unique(strata)]
    if len(members) == 1 and len(strata) <= SHIFTS:
        offsets = np.arange(len(strata))[:, None]
    else:
        random_bytes = shake_256(seed).digest(4 * SHIFTS * len(members))
        offsets = np.frombuffer(random_bytes, dtype="<u4").reshape(SHIFTS, -1).astype(np.intp)
        offsets = np.concatenate([np.zeros((1, len(members)), dtype=np.intp), offsets])
    shifts = np.empty((len(offsets), len(strata)), dtype=np.intp)
    for column, indices in enumerate(members):
        shifted_indices = (np.arange(len(indices)) + offsets[:, column : column + 1]) % len(indices)
        shifts[:, indices] = indices[shifted_indices]
    return shifts


def centred_within(truth: Bools, recorded: Bools, strata: Ints) -> Floats:
    """Return `truth` less its mean in the stratum, or 0 if not recorded (columns x outcomes)."""
    member = membership(strata)
    hits, counts = (values.astype(np.float32) @ member for values in (truth, recorded))
    shares = hits / np.maximum(counts, 1)
    return np.where(recorded, truth - shares[:, renumber(strata)], 0).astype(np.float32)


def renumber(strata: Ints) -> Ints:
    """Number strata from 0 without gaps."""
    return np.unique(strata, return_inverse=True)[1].ravel()


def strata_of(names: Sequence[tuple[Scalar, ...]]) -> Ints:
    """Number strata by name; all rare names share one stratum."""
    counts = Counter(names)
    return number_names([name if counts[name] >= _MIN_STRATUM else () for name in names])


def number_names(names: Sequence[Hashable]) -> Ints:
    """Number names from 0 in the order of their first use."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.intp)


def membership(strata: Ints) -> Floats:
    """Return 1 if an outcome belongs to a stratum, else 0 (outcomes x strata)."""
    numbers = renumber(strata)
    member: Floats = (numbers[:, None] == np.arange(numbers.max() + 1)).astype(np.float32)
    return member


def _statistics(centred: Floats, results: Bools, strata: Ints) -> Floats:
    """Return the distance of each column from chance in standard errors (shifts x columns)."""
    member = membership(strata)
    sizes = member.sum(axis=0)
    share = (results[0] @ member) / sizes
    spread = sizes * share * (1 - share) / np.maximum(sizes - 1, 1)
    errors = np.sqrt((centred**2 @ member) @ spread)
    surplus = results.astype(np.float32) @ centred.T
    # Without variation of both condition and result within a stratum, the statistic is 0.
    return np.where(
        errors > _STATISTIC_ROUNDING, surplus / np.maximum(errors, _STATISTIC_ROUNDING), 0.0
    )


# ── the separations that remain ────────────────────────────────────────────────────────────


def _select(candidates: Sequence[SeparationCandidate], sample: Sample) -> Iterator[Separation]:
    """Yield the candidates that add to those accepted before, the most certain first."""
    accepted: list[SeparationCandidate] = []
    single_keys = {_key_of(c.conditions[0]) for c in candidates if len(c.conditions) == 1}
    for candidate in sorted(candidates, key=lambda candidate: candidate.order):
        is_repeat = any(_cuts_same_number(candidate, earlier) for earlier in accepted)
        if is_repeat or not _adds_information(candidate, accepted, sample):
            continue
        if _holds_in_parts(candidate, single_keys, sample):
            yield separation_of(candidate, accepted, sample)
            accepted.append(candidate)


def _cuts_same_number(candidate: SeparationCandidate, earlier: SeparationCandidate) -> bool:
    if len(candidate.conditions) > 1 or len(earlier.conditions) > 1:
        return False
    condition, earlier_condition = candidate.conditions[0], earlier.conditions[0]
    return condition.op in _CUTS and _key_of(condition) == _key_of(earlier_condition)


def _key_of(condition: Condition) -> tuple[str, str]:
    return condition.kind, condition.key


def _adds_information(
    candidate: SeparationCandidate, accepted: Sequence[SeparationCandidate], sample: Sample
) -> bool:
    """Return True if a candidate explains more than those accepted and more than its sessions."""
    strata = sample.strata
    for earlier in accepted:
        strata = renumber(strata * 2 + earlier.truth)
    truth, recorded, result = candidate.truth, candidate.recorded, candidate.result
    by_session = sample._replace(episodes=sample.sessions)
    session_z = effect_of(truth, recorded, result, by_session).z
    if candidate.z <= _MIN_Z or session_z <= _session_threshold(candidate, sample):
        return False
    return not accepted or effect_of(truth, recorded, result, sample, strata=strata).z > _MIN_Z


def _session_threshold(candidate: SeparationCandidate, sample: Sample) -> float:
    """Return the standard errors that a candidate must reach, given that sessions share their luck.

    A condition that is the same in a whole session must reach more if there are few sessions. The
    formula expands Student's quantile around the normal quantile (Abramowitz and Stegun 26.7.5).
    """
    labels = renumber(sample.sessions[candidate.recorded])
    x = candidate.truth[candidate.recorded] - candidate.truth[candidate.recorded].mean()
    session_variance = float((np.bincount(labels, x) ** 2 / np.bincount(labels)).sum())
    if session_variance < _SESSION_SHARE * float((x * x).sum()):
        return _MIN_SESSION_Z
    freedom = max(int(labels.max()), 1)
    return _MIN_SESSION_Z * (1 + (_MIN_SESSION_Z**2 + 1) / (4 * freedom))


def _holds_in_parts(
    candidate: SeparationCandidate, single_keys: AbstractSet[tuple[str, str]], sample: Sample
) -> bool:
    """Return True if a candidate still holds, and each part of a pair adds to the other part.

    The partner of a condition in `single_keys` must add more: the best of many possible partners
    looks useful by chance.
    """
    result = candidate.result
    if len(candidate.conditions) == 1:
        return still_holds(candidate.truth, candidate.recorded, result, sample)
    for condition in candidate.conditions:
        truth = np.array([is_met(condition, outcome) is True for outcome in sample.outcomes])
        is_compared = truth & candidate.recorded
        min_gain = _MIN_PAIR_Z if _key_of(condition) in single_keys else _MIN_Z
        is_gain = effect_of(candidate.truth, is_compared, result, sample).z >= min_gain
        if not (is_gain and still_holds(candidate.truth, is_compared, result, sample)):
            return False
    return True


def still_holds(truth: Bools, recorded: Bools, result: str, sample: Sample) -> bool:
    """Return True if a condition still separates the results in the later half.

    Also return True if the later half has too few outcomes to tell.
    """
    half = _late_half(sample)
    if (truth & half).sum() < _MIN_LATE or (recorded & ~truth & half).sum() < _MIN_LATE:
        return True
    early_effect = effect_of(truth, recorded & ~half, result, sample)
    late_effect = effect_of(truth, recorded & half, result, sample)
    margin = math.hypot(early_effect.error, late_effect.error) * _CHANGE_Z
    has_changed = abs(early_effect.difference - late_effect.difference) > margin
    return late_effect.difference > 0 and not (has_changed and late_effect.z < _MIN_Z)


def _late_half(sample: Sample) -> Bools:
    return np.arange(len(sample.outcomes)) >= len(sample.outcomes) // 2


def separation_of(
    candidate: SeparationCandidate, accepted: Sequence[SeparationCandidate], sample: Sample
) -> Separation:
    """Return the separation for a candidate, with its counts."""
    result, half = sample.results[candidate.result], _late_half(sample)
    truth, opposite = candidate.truth, candidate.recorded & ~candidate.truth
    late_counts, episodes = _tally(truth & half, result), sample.episodes
    return Separation(
        conditions=candidate.conditions,
        result=candidate.result,
        met=_tally(truth, result),
        other=_tally(opposite, result),
        episodes=(len(set(episodes[truth & result])), len(set(episodes[truth]))),
        p=candidate.p,
        z=candidate.z,
        holds_for=frozenset(sample.outcomes[i].id for i in truth.nonzero()[0].tolist()),
        read=len(sample.outcomes),
        until=sample.outcomes[-1].occurred_at,
        lately=late_counts if late_counts[1] < _MIN_LATE else None,
        held=tuple(earlier.conditions for earlier in accepted),
    )


def _tally(truth: Bools, result: Bools) -> tuple[int, int]:
    return int((truth & result).sum()), int(truth.sum())


def effect_of(
    truth: Bools, among: Bools, result: str, sample: Sample, *, strata: Ints | None = None
) -> _Effect:
    """Return the effect of a condition on a result (Mantel-Haenszel score test within strata).

    The variance includes the correlation within episodes (Liang and Zeger 1986).
    """
    labels = renumber((sample.strata if strata is None else strata)[among])
    if not len(labels):
        return _NO_EFFECT
    sizes = np.bincount(labels)
    x, y = (values[among].astype(float) for values in (truth, sample.results[result]))
    x -= (np.bincount(labels, x) / sizes)[labels]
    y -= (np.bincount(labels, y) / sizes)[labels]
    squares = np.bincount(labels, x * x)
    variance = float((squares * np.bincount(labels, y * y) / np.maximum(sizes - 1, 1)).sum())
    variance *= _inflation(x * y, sample.episodes[among])
    total = float(squares.sum())
    if variance <= _ROUNDING or total <= _ROUNDING:
        return _NO_EFFECT
    surplus, error = float((x * y).sum()), math.sqrt(variance)
    return _Effect(surplus / total, error / total, surplus / error)


def _inflation(scores: Floats, clusters: Ints) -> float:
    """Return the factor, at least 1, by which clusters increase the variance of a sum."""
    deviations = scores - scores.mean()
    cluster_sums = np.bincount(renumber(clusters), deviations)
    noise = float((deviations**2).sum())
    if len(cluster_sums) < _MIN_EPISODES or noise <= _ROUNDING:
        return 1.0
    return max(1.0, float((cluster_sums**2).sum()) / noise)
