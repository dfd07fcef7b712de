"""Find leads: conditions that may explain the failures of an action with few outcomes.

Each episode has one vote, its share of failures. The test compares the smallest p of all keys with
permutations of the votes (min-p: Westfall and Young 1993), so a key with many cuts does not weaken
the other keys. `account/rules.py` calls `separations_and_leads`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256, shake_256
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from skillvault.learning.contrast.condition_table import Bools, Column, Floats, lead_columns
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.separations import (
    DEFAULT_SETTINGS,
    Ints,
    Sample,
    SeparationCandidate,
    centred_within,
    effect_of,
    find_separations,
    membership,
    number_names,
    renumber,
    separation_of,
    still_holds,
    strata_of,
)
from skillvault.model.conditions import FRAME_KEYS, Separation
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome

# Divided by the number of outcomes: .04 for ten, .02 for twenty. Reading points are a quarter
# apart, so this bounds all tests together and gives the first few more power than a constant .02.
_LEVEL = 0.4
_MIN_EPISODES, _MIN_SIDE = 8, 3  # episodes in all, and on each side of a condition
_MIN_SERIAL_EPISODES = 16  # with fewer, a drift over time cannot be seen
_RESULT = "failures"
_MAX_ARRANGEMENTS, _SHUFFLES = 5_000, 2_000
_MAX_LEADS = 2
_ROUNDING = 1e-4  # error of the logarithm of a p, which is computed in single precision


class _Episodes(NamedTuple):
    """The episodes of an action by time; `votes` has the share of failures of each."""

    sample: Sample
    votes: Floats
    strata: Ints
    sessions: Ints
    seed: bytes


class _Cuts(NamedTuple):
    """The conditions to compare, with `truth` and `recorded` as (cuts x episodes)."""

    columns: list[Column]
    keys: Ints
    truth: Bools
    recorded: Bools


def separations_and_leads(
    outcomes: Sequence[Outcome],
    results: Mapping[str, frozenset[str]],
    settings: EvaluatePolicy = DEFAULT_SETTINGS,
    previous_point: int | None = None,
) -> tuple[Separation, ...]:
    """Return the separations of one domain and action, then the leads about other keys.

    A separation counts only if it is also a lead, or if it held already for the first
    `previous_point` outcomes. If `previous_point` is None, every separation counts.
    """
    leads = find_leads(outcomes, settings)
    separations = find_separations(outcomes, results, settings)
    confirmed_keys = set(map(_keys_of, leads))
    is_confirmed = all(_keys_of(separation) in confirmed_keys for separation in separations)
    if previous_point is not None and not is_confirmed:
        earlier_outcomes = sorted(outcomes, key=lambda outcome: outcome.order)[:previous_point]
        earlier_separations = find_separations(earlier_outcomes, results, settings)
        confirmed_keys.update(map(_keys_of, earlier_separations))
        separations = tuple(s for s in separations if _keys_of(s) in confirmed_keys)
    keys = {key for separation in separations for key in _keys_of(separation)}
    return (*separations, *(lead for lead in leads if keys.isdisjoint(_keys_of(lead))))


def find_leads(
    outcomes: Sequence[Outcome], settings: EvaluatePolicy = DEFAULT_SETTINGS
) -> tuple[Separation, ...]:
    """Return the conditions with more failures than chance explains.

    The outcomes are of one domain and action, in any order. A second lead must explain failures
    that the first lead does not explain.
    """
    episodes = _episodes_of(outcomes, settings)
    if episodes is None:
        return ()
    cuts = _cuts_of(episodes)
    found_leads: list[Separation] = []
    candidates: list[SeparationCandidate] = []
    for _ in range(_MAX_LEADS if cuts.columns else 0):
        best_index, p = _best_cut(cuts, episodes)
        if p > _LEVEL / len(episodes.sample.outcomes):
            break
        lead = _candidate_of(cuts.columns[best_index], p, episodes.sample)
        if still_holds(lead.truth, lead.recorded, _RESULT, episodes.sample):
            found_leads.append(replace(separation_of(lead, candidates, episodes.sample), lead=True))
        candidates.append(lead)
        episodes = episodes._replace(strata=renumber(episodes.strata * 2 + cuts.truth[best_index]))
    return tuple(found_leads)


def _keys_of(separation: Separation) -> frozenset[tuple[str, str]]:
    return frozenset((condition.kind, condition.key) for condition in separation.conditions)


def _episodes_of(outcomes: Sequence[Outcome], settings: EvaluatePolicy) -> _Episodes | None:
    """Return the latest episodes, or None if there are too few or all have the same result."""
    by_id = {outcome.id: outcome for outcome in outcomes}
    runs = sorted(by_id.values(), key=lambda outcome: outcome.order)[-settings.peers :]
    runs = [outcome for outcome in runs if outcome.result.status != "neutral"]
    is_failure = np.array([outcome.result.status == "failure" for outcome in runs])
    if len(runs) < _MIN_EPISODES or is_failure.all() or not is_failure.any():
        return None
    episodes = number_names(episodes_of(runs, settings.episode_minutes))
    first_places = np.unique(episodes, return_index=True)[1]
    if len(first_places) < _MIN_EPISODES:
        return None
    votes = np.bincount(episodes, is_failure) / np.bincount(episodes)
    strata = strata_of([tuple(map(runs[i].context.get, FRAME_KEYS)) for i in first_places])
    sessions = number_names([outcome.session for outcome in runs])
    seed = sha256("\n".join(sorted(by_id)).encode()).digest()
    sample = Sample(runs, {_RESULT: is_failure}, strata[episodes], episodes, sessions)
    return _Episodes(sample, votes, strata, sessions[first_places], seed)


def _cuts_of(episodes: _Episodes) -> _Cuts:
    """Return the cuts with enough episodes on both sides; keep one of equal cuts."""
    groups = lead_columns(episodes.sample.outcomes)
    columns = [column for group in groups for column in group]
    if not columns:
        no_truths = np.zeros((0, len(episodes.votes)), dtype=bool)
        return _Cuts([], np.zeros(0, dtype=np.intp), no_truths, no_truths)
    keys = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    member = membership(episodes.sample.episodes)
    recorded_counts = np.array([column.recorded for column in columns]).astype(np.float32) @ member
    met_counts = np.array([column.truth for column in columns]).astype(np.float32) @ member
    is_testable = (recorded_counts > 0) & (2 * met_counts != recorded_counts)
    truth = is_testable & (2 * met_counts > recorded_counts)
    hits, counts = truth.sum(axis=1), is_testable.sum(axis=1)
    is_large = (np.minimum(hits, counts - hits) >= _MIN_SIDE) & (counts >= _MIN_EPISODES)
    rows = _distinct_cuts(truth, is_testable, np.flatnonzero(is_large))
    return _Cuts([columns[row] for row in rows], keys[rows], truth[rows], is_testable[rows])


def _distinct_cuts(truth: Bools, recorded: Bools, candidates: Ints) -> list[int]:
    """Return the index of the first of the cuts that divide the episodes in the same way."""
    first = recorded.argmax(axis=1)
    aligned_truths = np.where(truth[np.arange(len(truth)), first, None], recorded & ~truth, truth)
    packed_bits = np.packbits(np.concatenate([aligned_truths, recorded], axis=1), axis=1)
    place_by_bits: dict[bytes, int] = {}
    for index in candidates.tolist():
        place_by_bits.setdefault(packed_bits[index].tobytes(), index)
    return list(place_by_bits.values())


def _candidate_of(column: Column, p: float, sample: Sample) -> SeparationCandidate:
    """Return the candidate for the side of a cut that has more failures."""
    is_failure, conditions = sample.results[_RESULT], column.conditions
    truth, complement = column.truth, column.recorded & ~column.truth
    if is_failure[complement].mean() > is_failure[truth].mean():
        conditions, truth = column.opposite or (), complement
    z = effect_of(truth, column.recorded, _RESULT, sample).z
    return SeparationCandidate(conditions, truth, column.recorded, _RESULT, z, p, z)


# ── the smallest p by key ────────────────────────────────────────────────────────────


def _best_cut(cuts: _Cuts, episodes: _Episodes) -> tuple[int, float]:
    """Return the index of the cut that separates best, and its p over all keys."""
    centred = centred_within(cuts.truth, cuts.recorded, episodes.strata)
    arrangements = _arrangements(episodes).astype(np.float32)
    surprises = _surprises(centred @ arrangements.T, cuts, episodes.votes)
    surprises[:, 0] /= _dependence(centred, cuts, episodes)
    starts = np.flatnonzero(np.diff(cuts.keys, prepend=-1))
    maxima = np.maximum.reduceat(surprises, starts, axis=0)
    maxima[:, 0] -= _ROUNDING
    shares = np.array([_tail_shares(row) for row in maxima])
    least_shares = shares.min(axis=0)
    key = int(shares[:, 0].argmin())
    members = np.flatnonzero(cuts.keys == cuts.keys[starts[key]])
    best_index = max(members.tolist(), key=lambda index: round(float(surprises[index, 0]), 3))
    return best_index, float((least_shares <= shares[key, 0] * (1 + _ROUNDING) + 1e-12).mean())


def _tail_shares(values: Floats) -> Floats:
    """Return for each value the share of values that are at least as great.

    Shuffles give too few values in the highest hundredth, so there the share is extrapolated.
    """
    sorted_values = np.sort(values)
    shares: Floats = 1 - np.searchsorted(sorted_values, values - _ROUNDING) / len(values)
    if len(values) == _SHUFFLES + 1:
        bound = sorted_values[-_SHUFFLES // 100]
        shares = np.where(values > bound, np.exp(bound - values) / 100, shares)
    return shares


def _surprises(surplus: Floats, cuts: _Cuts, votes: Floats) -> Floats:
    """Return -log of the mid-p of the failures that meet a condition (cuts x arrangements).

    `surplus` is the number of these failures beyond the expectation within strata.
    """
    hits, of = cuts.truth.sum(axis=1), cuts.recorded.sum(axis=1)
    sizes, inverse = np.unique(np.stack([hits, of]), axis=1, return_inverse=True)
    failures = np.rint(sizes[1] * votes.mean()).clip(1, sizes[1] - 1).astype(int)
    table = np.array([_mid_p(a, n, k, len(votes)) for a, n, k in np.stack([*sizes, failures]).T])
    row = inverse.ravel()[:, None]
    expectations = (sizes[0] * failures / sizes[1])[row].astype(np.float32)
    counts = np.clip(surplus + expectations, 0, failures[row]).astype(np.float32)
    nearest_counts = np.rint(counts)
    step = counts - nearest_counts
    nearest_counts = nearest_counts.astype(np.intp)
    surprises: Floats = table[row, nearest_counts]
    if np.abs(step).max() > _ROUNDING:
        step = np.where(np.abs(step) > _ROUNDING, step, 0)
        nearest = np.clip(nearest_counts + np.sign(step).astype(np.intp), 0, failures[row])
        surprises = surprises + np.abs(step) * (table[row, nearest] - surprises)
    return surprises


def _mid_p(met: int, total: int, failures: int, max_failures: int) -> Floats:
    """Return -log of the two-sided mid-p for 0 to `max_failures` failures among `met` episodes."""
    low, high = max(0, met + failures - total), min(met, failures)
    logs = np.concatenate([[0], np.log(np.arange(1, total + 1)).cumsum()])  # of the factorials
    k = np.arange(low, high + 1)
    weights = logs[k] + logs[met - k] + logs[failures - k] + logs[total - met - failures + k]
    shares = np.exp(weights.min() - weights)
    shares /= shares.sum()
    upper_tail, lower_tail = shares[::-1].cumsum()[::-1], shares.cumsum()
    surprise = -np.log(np.minimum(upper_tail, lower_tail) - shares / 2)
    return np.pad(surprise, (low, max_failures - high), mode="edge").astype(np.float32)


def _dependence(centred: Floats, cuts: _Cuts, episodes: _Episodes) -> Floats:
    """Return the factor, at least 1, by which dependent episodes weaken each cut.

    The factor is greater if condition and votes both vary by session (Kish 1965), and for numbers
    also if both drift over time (Bartlett 1935).
    """
    votes = episodes.votes - membership(episodes.strata) @ (
        np.bincount(episodes.strata, episodes.votes) / np.bincount(episodes.strata)
    )
    rows = np.vstack([centred, votes]).astype(float)
    total = np.maximum((rows**2).sum(axis=1), 1e-9)
    member = membership(episodes.sessions)
    size = float((member.sum(axis=0) ** 2).sum()) / len(votes) - 1
    session_share = np.maximum(((rows @ member) ** 2).sum(axis=1) / total - 1, 0)
    factor: Floats = 1 + session_share[:-1] * session_share[-1] / max(size, 1e-9)
    if len(votes) >= _MIN_SERIAL_EPISODES:
        is_numeric = np.array(
            [not column.conditions[0].op.startswith("is") for column in cuts.columns]
        )
        for lag in range(1, len(votes) // 4):
            serial_share = (rows[:, lag:] * rows[:, :-lag]).sum(axis=1) / total
            serial_share = np.maximum(serial_share - len(votes) ** -0.5, 0)
            factor += 2 * serial_share[:-1] * serial_share[-1] * is_numeric
    return factor


# ── arrangements of the votes ────────────────────────────────────────────────────────


def _arrangements(episodes: _Episodes) -> Floats:
    """Return the votes, permuted within strata (arrangements x episodes), real votes first."""
    votes = episodes.votes
    members = [np.flatnonzero(episodes.strata == s) for s in range(int(episodes.strata.max()) + 1)]
    counts = [Counter(votes[indices].tolist()) for indices in members]
    orders = [
        math.factorial(count.total()) // math.prod(map(math.factorial, count.values()))
        for count in counts
    ]
    if math.prod(orders) > _MAX_ARRANGEMENTS:
        return votes[_shuffles(members, len(votes), episodes.seed)]
    rows = votes[None]
    for indices, count in zip(members, counts, strict=True):
        places = np.repeat(indices[None], len(rows), axis=0)
        for value, number in sorted(count.items()):
            choices, rest_places = _choices(places.shape[1], number)
            rows = np.repeat(rows, len(choices), axis=0)
            np.put_along_axis(rows, places[:, choices].reshape(len(rows), number), value, axis=1)
            places = places[:, rest_places].reshape(len(rows), rest_places.shape[1])
    first = int((rows == votes).all(axis=1).argmax())
    rows[[0, first]] = rows[[first, 0]]
    return rows


def _choices(total: int, number: int) -> tuple[Ints, Ints]:
    """Return all choices of `number` out of `total` indices, and the indices not chosen."""
    choices = np.array(list(combinations(range(total), number)), dtype=np.intp)
    is_free = np.ones((len(choices), total), dtype=bool)
    np.put_along_axis(is_free, choices, False, axis=1)
    return choices, is_free.nonzero()[1].reshape(len(choices), total - number)


def _shuffles(members: Sequence[Ints], count: int, seed: bytes) -> Ints:
    """Return the votes of the episodes as indices (shuffles x episodes); row 0 is unshuffled."""
    draws = np.frombuffer(shake_256(seed).digest(4 * _SHUFFLES * count), dtype="<u4")
    mask = (1 << count.bit_length()) - 1  # bits of the number of an episode
    sort_keys = (draws.reshape(_SHUFFLES, count) & ~np.uint32(mask)) | np.arange(
        count, dtype=np.uint32
    )
    shuffles = np.empty((_SHUFFLES + 1, count), dtype=np.intp)
    shuffles[0] = np.arange(count)
    for indices in members:
        shuffles[1:, indices] = np.sort(sort_keys[:, indices], axis=1) & mask
    return shuffles
