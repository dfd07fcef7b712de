"""Exposure: which decisions a skill was offered to and applied in, added up for the estimate.

The sums of a domain are all that `lift` asks of its decisions, however many there are.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Literal, NamedTuple

from msgspec import Struct

Offer = Literal["shown", "held", ""]
Column = tuple[str, int]  # a skill, and which version of its text, from 0

UNSEEN = 0.25  # how likely a shown skill was applied of which the reasoning says nothing
_MOST = 2000  # skills of one domain that are weighed together, the most applied


class Exposure(NamedTuple):
    """What one skill had to do with one decision that has ended.

    `offer` is whether it was shown or held out, "" where it was neither; `weight` how surely it
    was applied, 0..1. `group` is the action and target, `made` when it was decided,
    in microseconds since 1970.
    """

    decision: str
    skill: str
    group: str
    success: bool
    made: int
    applied: bool
    weight: float
    offer: Offer = ""


class Group(Struct, frozen=True):
    """The decisions on one action and target: how many, how many succeeded, how much of a skill."""

    count: int
    successes: int
    weights: dict[int, float]


class Sums(Struct, frozen=True):
    """All that the estimate asks of one domain's decisions; columns are counted from 0.

    `pairs` are the weights of two columns together, (i, i) among them, `hits` those of the
    successes.
    """

    columns: tuple[Column, ...] = ()
    pairs: tuple[tuple[int, int, float], ...] = ()
    hits: tuple[float, ...] = ()
    groups: tuple[Group, ...] = ()


def sums(
    exposures: Iterable[Exposure],
    totals: Mapping[str, tuple[int, int]],
    begun: Mapping[str, Sequence[int]],
    least_held: int,
) -> Sums:
    """The sums of one domain.

    `totals` are all its closed decisions, group -> (how many, how many succeeded); `begun` says
    from when on a skill has another text. A skill that was held out `least_held` times is
    weighed by what it was offered to, whether it was applied or not: agents choose when to.
    """
    decisions = _by_decision(exposures, begun)
    shares = _shares(decisions.values(), least_held)
    found: list[tuple[str, bool, dict[Column, float]]] = [
        (some[0].group, some[0].success, _weights(by_column, shares))
        for by_column in decisions.values()
        if (some := list(by_column.values()))
    ]
    counts = Counter(c for some in decisions.values() for c, one in some.items() if one.applied)
    columns = _columns({c for some in decisions.values() for c in some}, begun, counts)
    return _added(found, columns, totals)


def _by_decision(
    exposures: Iterable[Exposure], begun: Mapping[str, Sequence[int]]
) -> dict[str, dict[Column, Exposure]]:
    """Decision -> what each column had to do with it; of two the one that was applied."""
    found: dict[str, dict[Column, Exposure]] = {}
    for one in exposures:
        column = (one.skill, bisect_right(begun.get(one.skill, ()), one.made))
        known = found.setdefault(one.decision, {})
        if column not in known or one.weight > known[column].weight:
            known[column] = one
    return found


def _shares(decisions: Iterable[Mapping[Column, Exposure]], least_held: int) -> dict[Column, float]:
    """The share of those it was shown to that applied it, of the columns that were held out."""
    held, shown, applied = Counter[Column](), Counter[Column](), Counter[Column]()
    for some in decisions:
        for column, one in some.items():
            held[column] += one.offer == "held"
            shown[column] += one.offer == "shown"
            applied[column] += one.offer == "shown" and one.applied
    return {
        column: applied[column] / shown[column]
        for column, times in held.items()
        if times >= max(1, least_held) and applied[column]
    }


def _weights(
    some: Mapping[Column, Exposure], shares: Mapping[Column, float]
) -> dict[Column, float]:
    found: dict[Column, float] = {}
    for column, one in some.items():
        by_offer = column in shares and one.offer
        weight = (shares[column] if one.offer == "shown" else 0.0) if by_offer else one.weight
        if weight:
            found[column] = weight
    return found


def _columns(
    known: Iterable[Column], begun: Mapping[str, Sequence[int]], counts: Mapping[Column, int]
) -> tuple[Column, ...]:
    """Every version up to the last of each skill, so that the last is known by the ones before."""
    last = {skill: len(begun.get(skill, ())) for skill, _ in known}
    skills = sorted(last, key=lambda name: (-counts.get((name, last[name]), 0), name))[:_MOST]
    return tuple((name, version) for name in sorted(skills) for version in range(last[name] + 1))


def _added(
    decisions: Iterable[tuple[str, bool, Mapping[Column, float]]],
    columns: tuple[Column, ...],
    totals: Mapping[str, tuple[int, int]],
) -> Sums:
    place = {column: i for i, column in enumerate(columns)}
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    hits = [0.0] * len(columns)
    groups: dict[str, dict[int, float]] = {name: defaultdict(float) for name in totals}
    for group, success, weights in decisions:
        some = sorted((place[c], w) for c, w in weights.items() if c in place)
        for i, weight in some:
            hits[i] += weight * success
            groups[group][i] += weight
        for (i, a), (j, b) in combinations_with_replacement(some, 2):
            pairs[i, j] += a * b
    return Sums(
        columns=columns,
        pairs=tuple((i, j, weight) for (i, j), weight in sorted(pairs.items())),
        hits=tuple(hits),
        groups=tuple(
            Group(*totals[name], dict(sorted(weights.items())))
            for name, weights in sorted(groups.items())
        ),
    )
