"""What separates the outcomes of one action: rules that hold, add to one another, and still do.

A value of the set of outcomes alone. Nothing here speaks: a rule is conditions and counts.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256, shake_256
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skillvault.learning.contrast.condition_table import (
    ConditionTable,
    Rule,
    build_condition_table,
    generality,
)
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import STRATA, is_met
from skillvault.model.conditions import Condition, Separation
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome, Scalar

Truth = NDArray[np.bool_]
Figures = NDArray[np.floating[Any]]
Places = NDArray[np.intp]

SHIFTS = 400
FALSE_ALARM = 0.05  # how often outcomes that nothing separates may get any condition at all
_FULL = 60  # outcomes; fewer get as much less of it, for they are asked again soon
_STATISTIC_ROUNDING = 1e-5
_PAIRS_BACK = 0.15  # standard errors: they are many, and would raise the bar for single conditions


class Separating(NamedTuple):
    """A column under which a result is more frequent, or less (`is_opposite`: its complement is).

    `p` is family-wise over all columns and results.
    """

    column: int
    result: str
    is_opposite: bool
    statistic: float
    p: float


def ring_test(
    conditions: ConditionTable,
    results: Mapping[str, Truth],
    agents: Sequence[int],
    seed: bytes,
) -> list[Separating]:
    """The columns that separate a result by more than chance, family-wise, in no order.

    Outcomes stand in the order of time; `agents` number whose they are, from 0. Max-T over the
    shifts of a ring: Westfall and Young 1993; Lancaster et al. 2018 for surrogates by rotation.
    """
    if not conditions.rules:
        return []
    strata = np.asarray(agents)
    centred = centred_within(conditions.holds, conditions.recorded, strata)
    one_sided = np.array([opposite is None for opposite in conditions.opposites])
    pairs = np.array([len(rule) == 2 for rule in conditions.rules])
    shifts = ring_shifts(strata, seed)
    alarm = FALSE_ALARM * min(1, len(strata) / _FULL)
    observed, greatest = {}, np.full(len(shifts), -np.inf)
    for name, result in results.items():
        statistics = _statistics(centred, result[shifts], strata)
        statistics[:, pairs] -= _PAIRS_BACK
        observed[name] = statistics[0].copy()
        np.abs(statistics, out=statistics, where=~one_sided)
        greatest = np.maximum(greatest, statistics.max(axis=1))
    return [
        Separating(column, name, bool(signed[column] < 0), float(abs(signed[column])), p)
        for name, signed in observed.items()
        for column in np.flatnonzero(np.where(one_sided, signed, np.abs(signed)) > 0).tolist()
        if (p := float((greatest >= abs(signed[column]) - _STATISTIC_ROUNDING).mean())) <= alarm
    ]


def ring_shifts(strata: Places, seed: bytes) -> Places:
    """(shifts x outcomes) which outcome's result each gets; the first leaves them as they are.

    Of one agent each shift once, if there are no more than so many; else as `seed` draws them.
    """
    members = [np.flatnonzero(strata == agent) for agent in np.unique(strata)]
    if len(members) == 1 and len(strata) <= SHIFTS:
        by = np.arange(len(strata))[:, None]
    else:
        drawn = shake_256(seed).digest(4 * SHIFTS * len(members))
        by = np.frombuffer(drawn, dtype="<u4").reshape(SHIFTS, -1).astype(np.intp)
        by = np.concatenate([np.zeros((1, len(members)), dtype=np.intp), by])
    shifts = np.empty((len(by), len(strata)), dtype=np.intp)
    for column, places in enumerate(members):
        turns = (np.arange(len(places)) + by[:, column : column + 1]) % len(places)
        shifts[:, places] = places[turns]
    return shifts


def centred_within(holds: Truth, recorded: Truth, strata: Places) -> Figures:
    """(columns x outcomes) less the share of each stratum that meets it; 0 where not recorded."""
    member = membership(strata)
    met, of = (values.astype(np.float32) @ member for values in (holds, recorded))
    shares = met / np.maximum(of, 1)
    return np.where(recorded, holds - shares[:, strata_places(strata)], 0).astype(np.float32)


def strata_places(strata: Places) -> Places:
    """Each outcome's stratum, numbered from 0 without gaps."""
    return np.unique(strata, return_inverse=True)[1].ravel()


def strata_of(names: Sequence[tuple[Scalar, ...]]) -> Places:
    """Return the stratum of each that is named so; what is rare is one stratum with all such."""
    counts = Counter(names)
    return enumerated([name if counts[name] >= _FEWEST_OF_STRATUM else () for name in names])


def enumerated(names: Sequence[Hashable]) -> Places:
    """Return names as numbers, from 0 in the order in which they come first."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.intp)


def membership(strata: Places) -> Figures:
    """Return (outcomes x strata) 1 where an outcome is of a stratum, else 0."""
    places = strata_places(strata)
    member: Figures = (places[:, None] == np.arange(places.max() + 1)).astype(np.float32)
    return member


def _statistics(centred: Figures, results: Truth, strata: Places) -> Figures:
    """(shifts x columns) standard errors that a column's share in the results is from chance."""
    member = membership(strata)
    sizes = member.sum(axis=0)
    share = (results[0] @ member) / sizes
    spread = sizes * share * (1 - share) / np.maximum(sizes - 1, 1)
    errors = np.sqrt((centred**2 @ member) @ spread)
    surplus = results.astype(np.float32) @ centred.T
    # Where no agent both meets it and does not, or none both fails and succeeds, nothing separates.
    return np.where(
        errors > _STATISTIC_ROUNDING, surplus / np.maximum(errors, _STATISTIC_ROUNDING), 0.0
    )


RULES = EvaluatePolicy()
FEWEST_OUTCOMES, FEWEST_RESULTS, FEWEST_EPISODES = 12, 3, 5
ADDS = 2.33  # standard errors by which a rule must separate, beside what is held fixed
BEYOND_SESSIONS = 3.0  # the same, if all results of a session may share their luck
BESIDE_CAUSE = 3.29  # of a pair's part beside one that separates by itself: it has rivals
DIFFERS = 1.28  # standard errors between the halves of the time
FEWEST_LATELY = 3
_ROUNDING = 1e-9
_FEWEST_OF_STRATUM = 3
_MOSTLY = 0.5  # of a condition's variance, from which on it is the sessions' and not the decisions'
_CUTS = ("at least", "below", "between", "outside")


class _Effect(NamedTuple):
    """By how much a result is more frequent, its standard error, and their ratio."""

    difference: float
    error: float
    z: float


_NO_EFFECT = _Effect(0.0, math.inf, 0.0)


class Unexplained(NamedTuple):
    """A rule that chance does not explain."""

    rule: Rule
    holds: Truth
    recorded: Truth
    result: str
    statistic: float
    p: float
    z: float

    @property
    def order(self) -> tuple[Any, ...]:
        """Recorded ones before words, which stand for a cause at best; then the surest."""
        return (self.rule[0].kind == "word", -round(self.statistic, 4), generality(self.rule))


class Decisions(NamedTuple):
    """The outcomes that are compared, in the order of time."""

    outcomes: Sequence[Outcome]
    results: Mapping[str, Truth]
    agents: Places
    episodes: Places
    sessions: Places


def separations(
    outcomes: Sequence[Outcome],
    results: Mapping[str, frozenset[str]],
    rules: EvaluatePolicy = RULES,
) -> tuple[Separation, ...]:
    """What separates each result, the surest first, result by result.

    The outcomes are of one domain and action, in any order; `results` names the ids of those that
    ended so ("failure", "loss beyond 10 %"). All results share one allowance for false alarms.
    """
    field = _decisions_of(outcomes, results, rules)
    if not field.results:
        return ()
    conditions = build_condition_table(field.outcomes)
    seed = sha256("\n".join(outcome.id for outcome in field.outcomes).encode()).digest()
    passing = ring_test(conditions, field.results, field.agents.tolist(), seed)
    candidates = [_candidate(separating, conditions, field) for separating in passing]
    by_result = ([c for c in candidates if c.result == name] for name in field.results)
    return tuple(chain.from_iterable(_independent(some, field) for some in by_result))


def _decisions_of(
    outcomes: Sequence[Outcome], results: Mapping[str, frozenset[str]], rules: EvaluatePolicy
) -> Decisions:
    """The latest outcomes, and the results that enough of them have, or have not."""
    by_id = {outcome.id: outcome for outcome in outcomes}
    latest = sorted(by_id.values(), key=lambda outcome: outcome.order)[-rules.peers :]
    episodes = np.array(episodes_of(latest, rules.episode_minutes), dtype=np.intp)
    strata = strata_of([(o.source.agent, *map(o.context.get, STRATA)) for o in latest])
    truths = {name: np.array([o.id in ids for o in latest]) for name, ids in results.items()}
    enough = len(latest) >= FEWEST_OUTCOMES and len(set(episodes.tolist())) >= FEWEST_EPISODES
    testable = {
        name: truth
        for name, truth in truths.items()
        if enough and FEWEST_RESULTS <= truth.sum() <= len(truth) - FEWEST_RESULTS
    }
    sessions = enumerated([o.session for o in latest])
    return Decisions(latest, testable, strata, episodes, sessions)


def _candidate(separating: Separating, conditions: ConditionTable, field: Decisions) -> Unexplained:
    column = separating.column
    rule, opposite = conditions.rules[column], conditions.opposites[column]
    holds, recorded = conditions.holds[column], conditions.recorded[column]
    if separating.is_opposite:
        rule, holds = opposite or (), recorded & ~holds
    z = effect_of(holds, recorded, separating.result, field).z
    return Unexplained(
        rule, holds, recorded, separating.result, separating.statistic, separating.p, z
    )


# ── which of them are worth telling ──────────────────────────────────────────────────


def _independent(candidates: Sequence[Unexplained], field: Decisions) -> Iterator[Separation]:
    """Those that still separate while the ones before are held fixed."""
    held: list[Unexplained] = []
    alone = {_source(c.rule[0]) for c in candidates if len(c.rule) == 1}
    for candidate in sorted(candidates, key=lambda candidate: candidate.order):
        if any(_recuts(candidate.rule, rule.rule) for rule in held):
            continue
        if _adds(candidate, held, field) and _is_whole(candidate, alone, field):
            yield separation_of(candidate, held, field)
            held.append(candidate)


def _recuts(rule: Rule, other: Rule) -> bool:
    """Whether both are cuts of the same number: the second says the first less well."""
    if len(rule) > 1 or len(other) > 1 or rule[0].op not in _CUTS:
        return False
    return _source(rule[0]) == _source(other[0])


def _source(condition: Condition) -> tuple[str, str]:
    return condition.kind, condition.key


def _adds(candidate: Unexplained, held: Sequence[Unexplained], field: Decisions) -> bool:
    """Whether a rule separates beside those before it, and whatever a session's results share."""
    strata = field.agents
    for rule in held:
        strata = strata_places(strata * 2 + rule.holds)
    holds, recorded, result = candidate.holds, candidate.recorded, candidate.result
    by_session = field._replace(episodes=field.sessions)
    return (
        candidate.z > ADDS
        and effect_of(holds, recorded, result, by_session).z > _beyond_sessions(candidate, field)
        and (not held or effect_of(holds, recorded, result, field, strata=strata).z > ADDS)
    )


def _beyond_sessions(candidate: Unexplained, field: Decisions) -> float:
    """The standard errors to reach: of what sessions have as a whole, as of so few as these.

    Student's quantile for the normal one, in its first term (Abramowitz and Stegun 26.7.5).
    """
    labels = strata_places(field.sessions[candidate.recorded])
    x = candidate.holds[candidate.recorded] - candidate.holds[candidate.recorded].mean()
    between = float((np.bincount(labels, x) ** 2 / np.bincount(labels)).sum())
    if between < _MOSTLY * float((x * x).sum()):
        return BEYOND_SESSIONS
    freedom = max(int(labels.max()), 1)
    return BEYOND_SESSIONS * (1 + (BEYOND_SESSIONS**2 + 1) / (4 * freedom))


def _is_whole(
    candidate: Unexplained, alone: AbstractSet[tuple[str, str]], field: Decisions
) -> bool:
    """Whether a rule still holds, and of a pair each part, adding to the other.

    What separates `alone` has many partners, of which chance makes the likeliest look as if it
    added: to such a one the other part must add more.
    """
    result = candidate.result
    if len(candidate.rule) == 1:
        return still_holds(candidate.holds, candidate.recorded, result, field)
    for other in candidate.rule:
        among = _truth(other, field) & candidate.recorded
        adds = effect_of(candidate.holds, among, result, field).z
        if adds < (BESIDE_CAUSE if _source(other) in alone else ADDS):
            return False
        if not still_holds(candidate.holds, among, result, field):
            return False
    return True


def _truth(condition: Condition, field: Decisions) -> Truth:
    return np.array([is_met(condition, outcome) is True for outcome in field.outcomes])


def still_holds(holds: Truth, recorded: Truth, result: str, field: Decisions) -> bool:
    """False if the halves of the time differ in a rule, and the later alone does not show it.

    Of few cases lately nothing is said.
    """
    late = _late(field)
    if (holds & late).sum() < FEWEST_LATELY or (recorded & ~holds & late).sum() < FEWEST_LATELY:
        return True
    earlier = effect_of(holds, recorded & ~late, result, field)
    later = effect_of(holds, recorded & late, result, field)
    apart = math.hypot(earlier.error, later.error) * DIFFERS
    differs = abs(earlier.difference - later.difference) > apart
    return later.difference > 0 and not (differs and later.z < ADDS)


def _late(field: Decisions) -> Truth:
    return np.arange(len(field.outcomes)) >= len(field.outcomes) // 2


def separation_of(
    candidate: Unexplained, held: Sequence[Unexplained], field: Decisions
) -> Separation:
    """Return a rule with its counts."""
    result, late = field.results[candidate.result], _late(field)
    met, other = candidate.holds, candidate.recorded & ~candidate.holds
    lately = _tally(met & late, result)
    return Separation(
        conditions=candidate.rule,
        result=candidate.result,
        met=_tally(met, result),
        other=_tally(other, result),
        episodes=(len(set(field.episodes[met & result])), len(set(field.episodes[met]))),
        p=candidate.p,
        z=candidate.z,
        holds_for=frozenset(field.outcomes[i].id for i in met.nonzero()[0].tolist()),
        read=len(field.outcomes),
        until=field.outcomes[-1].occurred_at,
        lately=lately if lately[1] < FEWEST_LATELY else None,
        held=tuple(rule.rule for rule in held),
    )


def _tally(holds: Truth, result: Truth) -> tuple[int, int]:
    return int((holds & result).sum()), int(holds.sum())


def effect_of(
    holds: Truth,
    among: Truth,
    result: str,
    field: Decisions,
    *,
    strata: Places | None = None,
) -> _Effect:
    """How a result goes with a condition within strata: the score test of Mantel and Haenszel.

    Its variance grows by what the results of one episode share: Liang and Zeger 1986.
    """
    labels = strata_places((field.agents if strata is None else strata)[among])
    if not len(labels):
        return _NO_EFFECT
    sizes = np.bincount(labels)
    x, y = (values[among].astype(float) for values in (holds, field.results[result]))
    x -= (np.bincount(labels, x) / sizes)[labels]
    y -= (np.bincount(labels, y) / sizes)[labels]
    squares = np.bincount(labels, x * x)
    variance = float((squares * np.bincount(labels, y * y) / np.maximum(sizes - 1, 1)).sum())
    variance *= _inflation(x * y, field.episodes[among])
    total = float(squares.sum())
    if variance <= _ROUNDING or total <= _ROUNDING:
        return _NO_EFFECT
    surplus, error = float((x * y).sum()), math.sqrt(variance)
    return _Effect(surplus / total, error / total, surplus / error)


def _inflation(scores: Figures, clusters: Places) -> float:
    """By how much the variance of a sum grows as its parts go together in clusters, at least 1.

    Of fewer than five clusters it cannot be told.
    """
    apart = scores - scores.mean()
    shared = np.bincount(strata_places(clusters), apart)
    noise = float((apart**2).sum())
    if len(shared) < FEWEST_EPISODES or noise <= _ROUNDING:
        return 1.0
    return max(1.0, float((shared**2).sum()) / noise)
