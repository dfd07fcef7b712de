"""Rules: conditions that separate the results of one action, with their counts.

Rules depend on the outcomes alone. Each rule must add to the rules before it, and still hold
lately.
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
    ConditionTable,
    Figures,
    Rule,
    Truth,
    build_condition_table,
    generality,
)
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.model.conditions import FRAME_KEYS, Condition, Separation
from skillvault.model.policy import EvaluatePolicy
from skillvault.model.records import Outcome, Scalar

Places = NDArray[np.intp]

SHIFTS = 400
_FALSE_ALARM = 0.05  # share of sets without a cause that may get any rule
_FULL = 60  # outcomes; fewer get a smaller share of it, for they are tested again soon
_STATISTIC_ROUNDING = 1e-5
_PAIRS_BACK = 0.15  # standard errors: pairs are many, and would raise the bar for single conditions


def rotations(strata: Places, seed: bytes) -> Places:
    """Return the index of the result that each outcome gets (shifts x outcomes), unshifted first.

    An agent with few outcomes gets each shift once; otherwise `seed` draws the shifts.
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


def centred_within(truth: Truth, recorded: Truth, strata: Places) -> Figures:
    """Return `truth` less its mean in the stratum (columns x outcomes); 0 if not recorded."""
    member = membership(strata)
    hits, counts = (values.astype(np.float32) @ member for values in (truth, recorded))
    shares = hits / np.maximum(counts, 1)
    return np.where(recorded, truth - shares[:, renumber(strata)], 0).astype(np.float32)


def renumber(strata: Places) -> Places:
    """Renumber strata from 0 without gaps."""
    return np.unique(strata, return_inverse=True)[1].ravel()


def strata_of(names: Sequence[tuple[Scalar, ...]]) -> Places:
    """Number strata by name; all rare names share one stratum."""
    counts = Counter(names)
    return number_names([name if counts[name] >= _FEWEST_OF_STRATUM else () for name in names])


def number_names(names: Sequence[Hashable]) -> Places:
    """Number names from 0 in the order of their first use."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.intp)


def membership(strata: Places) -> Figures:
    """Return 1 if an outcome belongs to a stratum, else 0 (outcomes x strata)."""
    numbers = renumber(strata)
    member: Figures = (numbers[:, None] == np.arange(numbers.max() + 1)).astype(np.float32)
    return member


def _statistics(centred: Figures, results: Truth, strata: Places) -> Figures:
    """Return the standard errors between a column's share and chance (shifts x columns)."""
    member = membership(strata)
    sizes = member.sum(axis=0)
    share = (results[0] @ member) / sizes
    spread = sizes * share * (1 - share) / np.maximum(sizes - 1, 1)
    errors = np.sqrt((centred**2 @ member) @ spread)
    surplus = results.astype(np.float32) @ centred.T
    # Nothing separates unless an agent both meets and misses it, and both fails and succeeds.
    return np.where(
        errors > _STATISTIC_ROUNDING, surplus / np.maximum(errors, _STATISTIC_ROUNDING), 0.0
    )


RULES = EvaluatePolicy()
_FEWEST_OUTCOMES, _FEWEST_RESULTS, _FEWEST_EPISODES = 12, 3, 5
_ADDS = 2.33  # standard errors that a rule must reach beside the accepted ones
_SESSION_ADDS = 3.0  # the same, if all results of a session may share their luck
_PAIR_ADDS = 3.29  # of a part of a pair beside a single cause: it has rivals
_DIFFERS = 1.28  # standard errors between the halves of the time
_FEWEST_LATELY = 3
_ROUNDING = 1e-9
_FEWEST_OF_STRATUM = 3
_MOSTLY = 0.5  # of the variance between sessions: from here on a condition belongs to sessions
_CUTS = ("at least", "below", "between", "outside")


class _Effect(NamedTuple):
    """The effect of a condition on the frequency of a result: difference, standard error, ratio."""

    difference: float
    error: float
    z: float


_NO_EFFECT = _Effect(0.0, math.inf, 0.0)


class RuleCandidate(NamedTuple):
    """A condition that chance does not explain; `p` is family-wise over columns and results."""

    rule: Rule
    truth: Truth
    recorded: Truth
    result: str
    statistic: float
    p: float
    z: float

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: recorded conditions before words, then the smallest p."""
        return (self.rule[0].kind == "word", -round(self.statistic, 4), generality(self.rule))


class Decisions(NamedTuple):
    """The compared outcomes by time, their results, and the numbers of their groups."""

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
    """Return the rules of each result, the most certain first.

    The outcomes are of one domain and action, in any order. `results` maps each result ("failures",
    "losses beyond 10 %") to the ids of its outcomes. All results share one false alarm rate.
    """
    decisions = _decisions_of(outcomes, results, rules)
    if not decisions.results:
        return ()
    candidates = _find_candidates(build_condition_table(decisions.outcomes), decisions)
    return tuple(
        rule
        for result in decisions.results
        for rule in _select_rules([c for c in candidates if c.result == result], decisions)
    )


def _decisions_of(
    outcomes: Sequence[Outcome], results: Mapping[str, frozenset[str]], rules: EvaluatePolicy
) -> Decisions:
    """Return the latest outcomes, and the results that are neither too rare nor too common."""
    by_id = {outcome.id: outcome for outcome in outcomes}
    recent = sorted(by_id.values(), key=lambda outcome: outcome.order)[-rules.peers :]
    episodes = np.array(episodes_of(recent, rules.episode_minutes), dtype=np.intp)
    strata = strata_of([(o.source.agent, *map(o.context.get, FRAME_KEYS)) for o in recent])
    truths = {name: np.array([o.id in ids for o in recent]) for name, ids in results.items()}
    is_enough = len(recent) >= _FEWEST_OUTCOMES and len(set(episodes.tolist())) >= _FEWEST_EPISODES
    testable_results = {
        name: truth
        for name, truth in truths.items()
        if is_enough and _FEWEST_RESULTS <= truth.sum() <= len(truth) - _FEWEST_RESULTS
    }
    sessions = number_names([o.session for o in recent])
    return Decisions(recent, testable_results, strata, episodes, sessions)


def _find_candidates(table: ConditionTable, decisions: Decisions) -> list[RuleCandidate]:
    """Return the columns that separate a result by more than chance, in no order.

    This is a max-T permutation test over the shifts of a ring: Westfall and Young 1993; Lancaster
    et al. 2018 for surrogates by rotation.
    """
    if not table.rules:
        return []
    seed = sha256("\n".join(outcome.id for outcome in decisions.outcomes).encode()).digest()
    shifts, strata = rotations(decisions.agents, seed), decisions.agents
    centred = centred_within(table.truth, table.recorded, strata)
    one_sided = np.array([opposite is None for opposite in table.opposites])
    pairs = np.array([len(rule) == 2 for rule in table.rules])
    alarm = _FALSE_ALARM * min(1, len(strata) / _FULL)
    observations, greatest = {}, np.full(len(shifts), -np.inf)
    for name, result in decisions.results.items():
        statistics = _statistics(centred, result[shifts], strata)
        statistics[:, pairs] -= _PAIRS_BACK
        observations[name] = statistics[0].copy()
        np.abs(statistics, out=statistics, where=~one_sided)
        greatest = np.maximum(greatest, statistics.max(axis=1))
    candidates = []
    for name, signed in observations.items():
        for column in np.flatnonzero(np.where(one_sided, signed, np.abs(signed)) > 0).tolist():
            statistic = abs(signed[column])
            p = float((greatest >= statistic - _STATISTIC_ROUNDING).mean())
            if p > alarm:
                continue
            rule, truth, recorded = table.rules[column], table.truth[column], table.recorded[column]
            if signed[column] < 0:
                rule, truth = table.opposites[column] or (), recorded & ~truth
            z = effect_of(truth, recorded, name, decisions).z
            candidates.append(RuleCandidate(rule, truth, recorded, name, float(statistic), p, z))
    return candidates


# ── the rules that remain ────────────────────────────────────────────────────────────


def _select_rules(
    candidates: Sequence[RuleCandidate], decisions: Decisions
) -> Iterator[Separation]:
    """Yield the candidates that still separate when the accepted rules are held fixed."""
    accepted: list[RuleCandidate] = []
    single_sources = {_source(c.rule[0]) for c in candidates if len(c.rule) == 1}
    for candidate in sorted(candidates, key=lambda candidate: candidate.order):
        if any(_cuts_same_number(candidate.rule, rule.rule) for rule in accepted):
            continue
        if _adds_information(candidate, accepted, decisions) and _holds_in_parts(
            candidate, single_sources, decisions
        ):
            yield separation_of(candidate, accepted, decisions)
            accepted.append(candidate)


def _cuts_same_number(rule: Rule, other: Rule) -> bool:
    """Return True if two rules cut the same number, so that one rule is enough."""
    if len(rule) > 1 or len(other) > 1 or rule[0].op not in _CUTS:
        return False
    return _source(rule[0]) == _source(other[0])


def _source(condition: Condition) -> tuple[str, str]:
    return condition.kind, condition.key


def _adds_information(
    candidate: RuleCandidate, accepted: Sequence[RuleCandidate], decisions: Decisions
) -> bool:
    """Return True if a rule adds to the accepted rules and to its sessions."""
    strata = decisions.agents
    for rule in accepted:
        strata = renumber(strata * 2 + rule.truth)
    truth, recorded, result = candidate.truth, candidate.recorded, candidate.result
    by_session = decisions._replace(episodes=decisions.sessions)
    return (
        candidate.z > _ADDS
        and effect_of(truth, recorded, result, by_session).z
        > _session_threshold(candidate, decisions)
        and (not accepted or effect_of(truth, recorded, result, decisions, strata=strata).z > _ADDS)
    )


def _session_threshold(candidate: RuleCandidate, decisions: Decisions) -> float:
    """Return the standard errors to reach if the results of a session share their luck.

    A condition that is the same in a whole session must reach more if there are few sessions. The
    formula is the first term of Student's quantile around the normal quantile (Abramowitz and
    Stegun 26.7.5).
    """
    labels = renumber(decisions.sessions[candidate.recorded])
    x = candidate.truth[candidate.recorded] - candidate.truth[candidate.recorded].mean()
    session_variance = float((np.bincount(labels, x) ** 2 / np.bincount(labels)).sum())
    if session_variance < _MOSTLY * float((x * x).sum()):
        return _SESSION_ADDS
    freedom = max(int(labels.max()), 1)
    return _SESSION_ADDS * (1 + (_SESSION_ADDS**2 + 1) / (4 * freedom))


def _holds_in_parts(
    candidate: RuleCandidate, single_sources: AbstractSet[tuple[str, str]], decisions: Decisions
) -> bool:
    """Return True if a rule still holds, and each part of a pair adds to the other part.

    A condition in `single_sources` has many possible partners. Chance makes the best partner look
    useful, so that partner must add more.
    """
    result = candidate.result
    if len(candidate.rule) == 1:
        return still_holds(candidate.truth, candidate.recorded, result, decisions)
    for condition in candidate.rule:
        truth = np.array([is_met(condition, outcome) is True for outcome in decisions.outcomes])
        compared_outcomes = truth & candidate.recorded
        gain = effect_of(candidate.truth, compared_outcomes, result, decisions).z
        if gain < (_PAIR_ADDS if _source(condition) in single_sources else _ADDS):
            return False
        if not still_holds(candidate.truth, compared_outcomes, result, decisions):
            return False
    return True


def still_holds(truth: Truth, recorded: Truth, result: str, decisions: Decisions) -> bool:
    """Return False if a rule fails in the later half of the decisions and the halves differ.

    A few late decisions are not enough to tell.
    """
    half = _late_half(decisions)
    if (truth & half).sum() < _FEWEST_LATELY or (recorded & ~truth & half).sum() < _FEWEST_LATELY:
        return True
    early_effect = effect_of(truth, recorded & ~half, result, decisions)
    late_effect = effect_of(truth, recorded & half, result, decisions)
    margin = math.hypot(early_effect.error, late_effect.error) * _DIFFERS
    has_changed = abs(early_effect.difference - late_effect.difference) > margin
    return late_effect.difference > 0 and not (has_changed and late_effect.z < _ADDS)


def _late_half(decisions: Decisions) -> Truth:
    return np.arange(len(decisions.outcomes)) >= len(decisions.outcomes) // 2


def separation_of(
    candidate: RuleCandidate, accepted: Sequence[RuleCandidate], decisions: Decisions
) -> Separation:
    """Return a candidate as a rule with its counts."""
    result, half = decisions.results[candidate.result], _late_half(decisions)
    truth, opposite = candidate.truth, candidate.recorded & ~candidate.truth
    late_counts = _tally(truth & half, result)
    return Separation(
        conditions=candidate.rule,
        result=candidate.result,
        met=_tally(truth, result),
        other=_tally(opposite, result),
        episodes=(
            len(set(decisions.episodes[truth & result])),
            len(set(decisions.episodes[truth])),
        ),
        p=candidate.p,
        z=candidate.z,
        holds_for=frozenset(decisions.outcomes[i].id for i in truth.nonzero()[0].tolist()),
        read=len(decisions.outcomes),
        until=decisions.outcomes[-1].occurred_at,
        lately=late_counts if late_counts[1] < _FEWEST_LATELY else None,
        held=tuple(rule.rule for rule in accepted),
    )


def _tally(truth: Truth, result: Truth) -> tuple[int, int]:
    return int((truth & result).sum()), int(truth.sum())


def effect_of(
    truth: Truth, among: Truth, result: str, decisions: Decisions, *, strata: Places | None = None
) -> _Effect:
    """Return the effect of a condition on a result by the Mantel-Haenszel score test within strata.

    The variance grows with the correlation within episodes: Liang and Zeger 1986.
    """
    labels = renumber((decisions.agents if strata is None else strata)[among])
    if not len(labels):
        return _NO_EFFECT
    sizes = np.bincount(labels)
    x, y = (values[among].astype(float) for values in (truth, decisions.results[result]))
    x -= (np.bincount(labels, x) / sizes)[labels]
    y -= (np.bincount(labels, y) / sizes)[labels]
    squares = np.bincount(labels, x * x)
    variance = float((squares * np.bincount(labels, y * y) / np.maximum(sizes - 1, 1)).sum())
    variance *= _inflation(x * y, decisions.episodes[among])
    total = float(squares.sum())
    if variance <= _ROUNDING or total <= _ROUNDING:
        return _NO_EFFECT
    surplus, error = float((x * y).sum()), math.sqrt(variance)
    return _Effect(surplus / total, error / total, surplus / error)


def _inflation(scores: Figures, clusters: Places) -> float:
    """Return the factor, at least 1, by which correlation in clusters increases a sum's variance.

    Fewer than five clusters are too few for an estimate.
    """
    deviations = scores - scores.mean()
    cluster_sums = np.bincount(renumber(clusters), deviations)
    noise = float((deviations**2).sum())
    if len(cluster_sums) < _FEWEST_EPISODES or noise <= _ROUNDING:
        return 1.0
    return max(1.0, float((cluster_sums**2).sum()) / noise)
