"""Which conditions separate results by more than chance: one max-T test over all of them.

Chance shifts the results as a ring in the order of time within each agent: what walks, or comes in
runs, still does, so a walk of luck beside a walk of the price separates nothing.
"""

from collections.abc import Mapping, Sequence
from hashlib import shake_256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skillvault.learning.contrast.antecedents import Antecedents

Truth = NDArray[np.bool_]
Figures = NDArray[np.floating[Any]]
Places = NDArray[np.intp]

SHIFTS = 400
FALSE_ALARM = 0.05  # how often outcomes that nothing separates may get any condition at all
_FULL = 60  # outcomes; fewer get as much less of it, for they are asked again soon
_ROUNDING = 1e-5
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
    conditions: Antecedents,
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
        if (p := float((greatest >= abs(signed[column]) - _ROUNDING).mean())) <= alarm
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
    member = _membership(strata)
    met, of = (values.astype(np.float32) @ member for values in (holds, recorded))
    shares = met / np.maximum(of, 1)
    return np.where(recorded, holds - shares[:, strata_places(strata)], 0).astype(np.float32)


def strata_places(strata: Places) -> Places:
    """Each outcome's stratum, numbered from 0 without gaps."""
    return np.unique(strata, return_inverse=True)[1].ravel()


def _membership(strata: Places) -> Figures:

    places = strata_places(strata)
    member: Figures = (places[:, None] == np.arange(places.max() + 1)).astype(np.float32)
    return member


def _statistics(centred: Figures, results: Truth, strata: Places) -> Figures:
    """(shifts x columns) standard errors that a column's share in the results is from chance."""
    member = _membership(strata)
    sizes = member.sum(axis=0)
    share = (results[0] @ member) / sizes
    spread = sizes * share * (1 - share) / np.maximum(sizes - 1, 1)
    errors = np.sqrt((centred**2 @ member) @ spread)
    surplus = results.astype(np.float32) @ centred.T
    # Where no agent both meets it and does not, or none both fails and succeeds, nothing separates.
    return np.where(errors > _ROUNDING, surplus / np.maximum(errors, _ROUNDING), 0.0)
