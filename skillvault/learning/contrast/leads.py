"""Leads: what separates the few outcomes of one action, one vote an episode.

A value of the set of outcomes alone. The smallest p over the recorded keys, each by permutation
of the votes (min-p: Westfall and Young 1993): a key with many cuts costs the others nothing.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256, shake_256
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from skillvault.learning.contrast.condition_table import Column, lead_columns
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import STRATA
from skillvault.learning.contrast.separations import (
    RULES,
    Decisions,
    Figures,
    Places,
    Truth,
    Unexplained,
    centred_within,
    effect_of,
    enumerated,
    membership,
    separation_of,
    separations,
    still_holds,
    strata_of,
    strata_places,
)
from skillvault.model.conditions import Separation
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome

# Divided by the tries: .04 of ten, .02 of twenty. As reading points are a quarter apart, all looks
# together are bounded, and the few at the beginning are told more than at .02 throughout.
LEVEL = 0.4
FEWEST_EPISODES, FEWEST_ON_A_SIDE = 8, 3
RESULT = "failures"
_ARRANGEMENTS, _SHUFFLES = 5_000, 2_000
_MOST_LEADS = 2
_ROUNDING = 1e-4  # of the logarithm of a p, which is computed in single precision
_SERIAL = 16  # episodes from which on it is told whether a number and the results both drift


class _Tries(NamedTuple):
    """The episodes of an action, in the order of time: the share of failures is the vote."""

    decisions: Decisions
    votes: Figures
    strata: Places
    sessions: Places
    seed: bytes


class _Cuts(NamedTuple):
    """The conditions that are compared: `holds`, `recorded` (cuts x episodes); `keys` from 0."""

    columns: list[Column]
    keys: Places
    holds: Truth
    recorded: Truth


def rules_and_leads(
    outcomes: Sequence[Outcome],
    results: Mapping[str, frozenset[str]],
    rules: EvaluatePolicy = RULES,
    previous_point: int | None = None,
) -> tuple[Separation, ...]:
    """Return the rules of one domain and action, then the leads about other keys.

    A rule must have passed at the previous reading point, too, that of the oldest so many outcomes,
    or be a lead. If that point is None, every rule is told that passes now.
    """
    few = leads(outcomes, rules)
    passing = separations(outcomes, results, rules)
    surest = {_keys_of(lead) for lead in few}
    if previous_point is not None and any(_keys_of(rule) not in surest for rule in passing):
        earlier = sorted(outcomes, key=lambda outcome: outcome.order)[:previous_point]
        surest |= {_keys_of(rule) for rule in separations(earlier, results, rules)}
        passing = tuple(rule for rule in passing if _keys_of(rule) in surest)
    keys = {key for rule in passing for key in _keys_of(rule)}
    return (*passing, *(lead for lead in few if keys.isdisjoint(_keys_of(lead))))


def leads(outcomes: Sequence[Outcome], rules: EvaluatePolicy = RULES) -> tuple[Separation, ...]:
    """Return the conditions with which more tries failed than without, by more than chance.

    The outcomes are of one domain and action, in any order. A second lead separates what the first
    leaves alike.
    """
    tries = _tries_of(outcomes, rules)
    if tries is None:
        return ()
    cuts = _cuts_of(tries)
    told: list[Separation] = []
    held: list[Unexplained] = []
    for _ in range(_MOST_LEADS if cuts.columns else 0):
        best, p = _best_cut(cuts, tries)
        if p > LEVEL / len(tries.decisions.outcomes):
            break
        lead = _unexplained(cuts.columns[best], p, tries.decisions)
        if still_holds(lead.holds, lead.recorded, RESULT, tries.decisions):
            told.append(replace(separation_of(lead, held, tries.decisions), lead=True))
        held.append(lead)
        tries = tries._replace(strata=strata_places(tries.strata * 2 + cuts.holds[best]))
    return tuple(told)


def _keys_of(separation: Separation) -> frozenset[tuple[str, str]]:
    return frozenset((condition.kind, condition.key) for condition in separation.conditions)


def _tries_of(outcomes: Sequence[Outcome], rules: EvaluatePolicy) -> _Tries | None:
    """Return the latest tries that failed or succeeded; None if they are too few or end alike."""
    by_id = {outcome.id: outcome for outcome in outcomes}
    latest = sorted(by_id.values(), key=lambda outcome: outcome.order)[-rules.peers :]
    latest = [outcome for outcome in latest if outcome.result.status != "neutral"]
    failed = np.array([outcome.result.status == "failure" for outcome in latest])
    if len(latest) < FEWEST_EPISODES or failed.all() or not failed.any():
        return None
    episodes = enumerated(episodes_of(latest, rules.episode_minutes))
    firsts = np.unique(episodes, return_index=True)[1]
    if len(firsts) < FEWEST_EPISODES:
        return None
    votes = np.bincount(episodes, failed) / np.bincount(episodes)
    strata = strata_of([tuple(map(latest[i].context.get, STRATA)) for i in firsts])
    sessions = enumerated([outcome.session for outcome in latest])
    seed = sha256("\n".join(sorted(by_id)).encode()).digest()
    decisions = Decisions(latest, {RESULT: failed}, strata[episodes], episodes, sessions)
    return _Tries(decisions, votes, strata, sessions[firsts], seed)


def _cuts_of(tries: _Tries) -> _Cuts:
    """Return the cuts with enough episodes on both sides; what cuts alike counts once."""
    groups = lead_columns(tries.decisions.outcomes)
    columns = [column for group in groups for column in group]
    if not columns:
        empty = np.zeros((0, len(tries.votes)), dtype=bool)
        return _Cuts([], np.zeros(0, dtype=np.intp), empty, empty)
    keys = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    member = membership(tries.decisions.episodes)
    known = np.array([column.recorded for column in columns]).astype(np.float32) @ member
    share = np.array([column.holds for column in columns]).astype(np.float32) @ member
    recorded = (known > 0) & (2 * share != known)
    holds = recorded & (2 * share > known)
    met, of = holds.sum(axis=1), recorded.sum(axis=1)
    enough = (np.minimum(met, of - met) >= FEWEST_ON_A_SIDE) & (of >= FEWEST_EPISODES)
    places = _distinct(holds, recorded, np.flatnonzero(enough))
    return _Cuts([columns[i] for i in places], keys[places], holds[places], recorded[places])


def _distinct(holds: Truth, recorded: Truth, places: Places) -> list[int]:
    """Return the first of those that divide the episodes alike, whichever side they name."""
    first = recorded.argmax(axis=1)
    turned = np.where(holds[np.arange(len(holds)), first, None], recorded & ~holds, holds)
    packed = np.packbits(np.concatenate([turned, recorded], axis=1), axis=1)
    unique: dict[bytes, int] = {}
    for i in places.tolist():
        unique.setdefault(packed[i].tobytes(), i)
    return list(unique.values())


def _unexplained(column: Column, p: float, decisions: Decisions) -> Unexplained:
    """Return a cut as a condition: its side with more failures."""
    failed, rule = decisions.results[RESULT], column.rule
    holds, other = column.holds, column.recorded & ~column.holds
    if failed[other].mean() > failed[holds].mean():
        rule, holds = column.opposite or (), other
    z = effect_of(holds, column.recorded, RESULT, decisions).z
    return Unexplained(rule, holds, column.recorded, RESULT, z, p, z)


# ── the smallest p by key ────────────────────────────────────────────────────────────


def _best_cut(cuts: _Cuts, tries: _Tries) -> tuple[int, float]:
    """Return the place of the cut that separates best, and its p among all keys."""
    centred = centred_within(cuts.holds, cuts.recorded, tries.strata)
    arranged = _arranged(tries).astype(np.float32)
    surprises = _surprises(centred @ arranged.T, cuts, tries.votes)
    surprises[:, 0] /= _dependence(centred, cuts, tries)
    starts = np.flatnonzero(np.diff(cuts.keys, prepend=-1))
    by_key = np.maximum.reduceat(surprises, starts, axis=0)
    by_key[:, 0] -= _ROUNDING
    shares = np.array([_tail(row) for row in by_key])
    smallest = shares.min(axis=0)
    key = int(shares[:, 0].argmin())
    members = np.flatnonzero(cuts.keys == cuts.keys[starts[key]])
    best = max(members.tolist(), key=lambda i: round(float(surprises[i, 0]), 3))
    return best, float((smallest <= shares[key, 0] * (1 + _ROUNDING) + 1e-12).mean())


def _tail(values: Figures) -> Figures:
    """Return for each value the share of those that are no less.

    Of shuffles, beyond the highest hundredth, where there are too few to count, the share falls as
    the mid-p does.
    """
    ascending = np.sort(values)
    shares: Figures = 1 - np.searchsorted(ascending, values - _ROUNDING) / len(values)
    if len(values) == _SHUFFLES + 1:
        bound = ascending[-_SHUFFLES // 100]
        shares = np.where(values > bound, np.exp(bound - values) / 100, shares)
    return shares


def _surprises(surplus: Figures, cuts: _Cuts, votes: Figures) -> Figures:
    """Return (cuts x arrangements) -log of the mid-p of so many failures with a condition.

    `surplus` is what there is of them beyond what is expected within strata.
    """
    met, of = cuts.holds.sum(axis=1), cuts.recorded.sum(axis=1)
    sizes, place = np.unique(np.stack([met, of]), axis=1, return_inverse=True)
    failures = np.rint(sizes[1] * votes.mean()).clip(1, sizes[1] - 1).astype(int)
    table = np.array([_mid_p(a, n, k, len(votes)) for a, n, k in np.stack([*sizes, failures]).T])
    row = place.ravel()[:, None]
    expected = (sizes[0] * failures / sizes[1])[row].astype(np.float32)
    counts = np.clip(surplus + expected, 0, failures[row]).astype(np.float32)
    whole = np.rint(counts)
    step = counts - whole
    whole = whole.astype(np.intp)
    found: Figures = table[row, whole]
    if np.abs(step).max() > _ROUNDING:
        step = np.where(np.abs(step) > _ROUNDING, step, 0)
        nearest = np.clip(whole + np.sign(step).astype(np.intp), 0, failures[row])
        found = found + np.abs(step) * (table[row, nearest] - found)
    return found


def _mid_p(met: int, of: int, failures: int, most: int) -> Figures:
    """Return -log of the two-sided mid-p for 0, 1, 2, … failures among those `met`, of `of`."""
    low, high = max(0, met + failures - of), min(met, failures)
    logs = np.concatenate([[0], np.log(np.arange(1, of + 1)).cumsum()])  # of the factorials
    k = np.arange(low, high + 1)
    weights = logs[k] + logs[met - k] + logs[failures - k] + logs[of - met - failures + k]
    shares = np.exp(weights.min() - weights)
    shares /= shares.sum()
    above, below = shares[::-1].cumsum()[::-1], shares.cumsum()
    surprise = -np.log(np.minimum(above, below) - shares / 2)
    return np.pad(surprise, (low, most - high), mode="edge").astype(np.float32)


def _dependence(centred: Figures, cuts: _Cuts, tries: _Tries) -> Figures:
    """Return by how much less a cut says because its episodes are alike, at least 1.

    Of one session (Kish 1965), if the condition and the votes both are the session's; of a number
    also of one time (Bartlett 1935), if both drift.
    """
    votes = tries.votes - membership(tries.strata) @ (
        np.bincount(tries.strata, tries.votes) / np.bincount(tries.strata)
    )
    both = np.vstack([centred, votes]).astype(float)
    total = np.maximum((both**2).sum(axis=1), 1e-9)
    member = membership(tries.sessions)
    size = float((member.sum(axis=0) ** 2).sum()) / len(votes) - 1
    alike = np.maximum(((both @ member) ** 2).sum(axis=1) / total - 1, 0)
    factor: Figures = 1 + alike[:-1] * alike[-1] / max(size, 1e-9)
    if len(votes) >= _SERIAL:
        numeric = np.array([not column.rule[0].op.startswith("is") for column in cuts.columns])
        for lag in range(1, len(votes) // 4):
            along = (both[:, lag:] * both[:, :-lag]).sum(axis=1) / total
            along = np.maximum(along - len(votes) ** -0.5, 0)
            factor += 2 * along[:-1] * along[-1] * numeric
    return factor


# ── arrangements of the votes ────────────────────────────────────────────────────────


def _arranged(tries: _Tries) -> Figures:
    """Return (arrangements x episodes) the votes, exchanged within strata; first as they are."""
    votes = tries.votes
    members = [np.flatnonzero(tries.strata == s) for s in range(int(tries.strata.max()) + 1)]
    counts = [Counter(votes[places].tolist()) for places in members]
    if math.prod(map(_orders, counts)) > _ARRANGEMENTS:
        return votes[_shuffled(members, len(votes), tries.seed)]
    rows = votes[None]
    for places, count in zip(members, counts, strict=True):
        free = np.repeat(places[None], len(rows), axis=0)
        for value, number in sorted(count.items()):
            chosen, others = _choices(free.shape[1], number)
            rows = np.repeat(rows, len(chosen), axis=0)
            np.put_along_axis(rows, free[:, chosen].reshape(len(rows), number), value, axis=1)
            free = free[:, others].reshape(len(rows), others.shape[1])
    first = int((rows == votes).all(axis=1).argmax())
    rows[[0, first]] = rows[[first, 0]]
    return rows


def _orders(counts: Counter[float]) -> int:
    """Return in how many orders votes can stand that differ."""
    return math.factorial(counts.total()) // math.prod(map(math.factorial, counts.values()))


def _choices(of: int, number: int) -> tuple[Places, Places]:
    """Return each way to choose so many places, and the places that are left."""
    chosen = np.array(list(combinations(range(of), number)), dtype=np.intp)
    left = np.ones((len(chosen), of), dtype=bool)
    np.put_along_axis(left, chosen, False, axis=1)
    return chosen, left.nonzero()[1].reshape(len(chosen), of - number)


def _shuffled(members: Sequence[Places], count: int, seed: bytes) -> Places:
    """Return (shuffles x episodes) whose vote each gets; the first leaves them as they are."""
    drawn = np.frombuffer(shake_256(seed).digest(4 * _SHUFFLES * count), dtype="<u4")
    low = (1 << count.bit_length()) - 1  # bits that number an episode, beneath those drawn
    keyed = (drawn.reshape(_SHUFFLES, count) & ~np.uint32(low)) | np.arange(count, dtype=np.uint32)
    shuffles = np.empty((_SHUFFLES + 1, count), dtype=np.intp)
    shuffles[0] = np.arange(count)
    for places in members:
        shuffles[1:, places] = np.sort(keyed[:, places], axis=1) & low
    return shuffles
