"""Estimate the lift of each skill: how much having it changes the rate of success.

All closed decisions count together: first they are added up, one sum a domain, then solved.
A decision succeeds at the base rate of its action and target plus one effect a skill. Credit is
shared among skills that are applied together, and every effect is shrunk to zero. Agents choose
when to apply what they are shown; how their choosing goes with success is learned beside.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from skillvault.learning.effect import equations
from skillvault.learning.effect import sums as added
from skillvault.learning.effect.lift import (
    UNSEEN,
    Column,
    DomainEffect,
    Effect,
    Lift,
    Observation,
    Offer,
    Prior,
    Sums,
)

__all__ = [
    "UNSEEN",
    "Lift",
    "Observation",
    "Offer",
    "Prior",
    "Sums",
    "add_up",
    "estimate_lifts",
]


def add_up(
    observations: Iterable[Observation],
    totals: Mapping[str, tuple[int, int]],
    begun: Mapping[str, Sequence[int]],
    prior: Prior,
) -> Sums:
    """Add up the decisions of one domain.

    `totals` are all its closed decisions, group -> (how many, how many succeeded); `begun` says
    from when on a skill has another text.
    """
    return added.add_up(observations, totals, begun, prior)


def estimate_lifts(domains: Iterable[Sums], prior: Prior) -> dict[Column, Lift]:
    """The lift of every column, from the sums of all domains.

    A skill of several domains has one effect, and in each the base of what it was applied to.
    """
    with_groups = [sums for sums in domains if sums.groups]
    if not any(sums.columns for sums in with_groups):
        return {}
    parts: dict[Column, list[DomainEffect]] = {}
    for column, part in equations.domain_effects(with_groups, prior):
        parts.setdefault(column, []).append(part)
    return {column: _pooled(column_parts, prior) for column, column_parts in sorted(parts.items())}


def _pooled(parts: Sequence[DomainEffect], prior: Prior) -> Lift:
    """One effect of what several domains say: what was believed before counts once."""
    believed = 1 / prior.scale**2
    precision = believed + sum(1 / part.variance - believed for part in parts)
    mean = sum(part.mean / part.variance for part in parts) / precision
    total = sum(part.weight for part in parts)
    weights = [part.weight / total if total else 1 / len(parts) for part in parts]
    base = sum(w * part.base for w, part in zip(weights, parts, strict=True))
    changed = sum(w * part.changed for w, part in zip(weights, parts, strict=True))
    latest = _latest_effect(parts, believed, precision)
    return Lift(mean, math.sqrt(1 / precision + changed), base, latest)


def _latest_effect(parts: Sequence[DomainEffect], believed: float, known: float) -> Effect | None:
    """What the latest applications say in all domains; never more surely than all do."""
    latest = [part.latest for part in parts if part.latest[0]]
    if not latest:
        return None
    precision = sum(weight for weight, _ in latest)
    effect = sum(weight * effect for weight, effect in latest) / precision
    precision = min(precision, known - believed)
    return Effect(effect * precision / (believed + precision), (believed + precision) ** -0.5)
