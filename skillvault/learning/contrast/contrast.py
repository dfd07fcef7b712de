"""What separates a group of outcomes from the others: conditions known before the result.

Only antecedents are conditions; what a result says (exit reason, duration, evidence) tells
what happened, never why. A value of the set of outcomes alone: arrival order is nothing.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate, chain, takewhile
from operator import or_
from typing import NamedTuple

from skillvault.brief import Contrast
from skillvault.learning.contrast.conditions import Condition, Rank, bits, conditions, distinct
from skillvault.learning.contrast.exact_test import Table, fisher, tail, tails
from skillvault.policy import EvaluatePolicy
from skillvault.records import (
    Outcome,
)
from skillvault.text import terms

RULES = EvaluatePolicy()
UNLIKELY = 0.05  # what chance does more often than this is never named, whatever else is
FALSE_ALARM = 0.05  # how often a group that nothing separates may get any condition at all
ADDS = 2.33  # standard errors by which a condition must add to one already told
FEW, MANY = 3, 10  # a lead needs so many on each side, and at most so many in all
LEADS = 3
ROUNDING = 1e-9


# The allowance for error is shared out before anything is seen: half to the four windows
# of the day, which are few and fixed beforehand, the least to terms, which are thousands
# and would otherwise drown the rest. A family without a chance leaves its share to the others.
_FAMILIES: tuple[tuple[int, frozenset[Rank]], ...] = (
    (4, frozenset({Rank.WINDOW})),
    (3, frozenset({Rank.CONTEXT, Rank.NAME, Rank.SKILL, Rank.NUMBER})),
    (1, frozenset({Rank.DAY, Rank.TERM, Rank.NO_TERM})),
)


class _Split(NamedTuple):
    """How many outcomes there are, how many are the group, and which, as a bit set.

    `support` of the group must meet a condition; fewer are an anecdote. `strata` are the bit
    sets of the outcomes that are compared with one another, all of them if there is one.
    """

    total: int
    group: int
    members: int
    support: int
    strata: tuple[int, ...]

    def count_meeting(self, holds: int) -> tuple[int, int]:
        """How many of the group meet a condition, and how many of all."""
        return (holds & self.members).bit_count(), holds.bit_count()

    def within(self, holds: int) -> tuple[int, ...]:
        """The strata in which a condition can be compared.

        One that is met by whole strata (it is their action) is compared across them.
        """
        if all(holds & stratum in (0, stratum) for stratum in self.strata):
            return (reduce(or_, self.strata),)
        return self.strata

    def tables(self, holds: int) -> tuple[Table, ...]:
        """The sizes of a comparison, stratum by stratum."""
        sizes = (
            Table(
                (stratum & self.members).bit_count(),
                (stratum & holds).bit_count(),
                stratum.bit_count(),
            )
            for stratum in self.within(holds)
        )
        return tuple(sorted(sizes))


class _Field:
    """The outcomes that are compared, of two with one id the later, and what any of them meets."""

    def __init__(
        self, outcomes: Iterable[Outcome], stratum: Callable[[Outcome], str | None]
    ) -> None:
        by_id = {outcome.id: outcome for outcome in outcomes}
        self.everyone = [by_id[key] for key in sorted(by_id)]
        self.strata = tuple(_strata(self.everyone, stratum))

    @cached_property
    def tried(self) -> list[Condition]:
        """The conditions, those that hold for the same outcomes as one."""
        return distinct(conditions(self.everyone))


class _Family(NamedTuple):
    """Conditions that share one allowance; `chance(p)` is how many of them reach p."""

    weight: int
    members: list[Condition]
    chance: Callable[[float], float]


class _Unlikely(NamedTuple):
    """A condition with its probability under chance.

    `alarms` is how many conditions as sure as this one chance gives in a whole search.
    """

    p: float
    rank: Rank
    text: str
    holds: int
    alarms: float


def contrasts(
    group: Sequence[Outcome],
    rest: Sequence[Outcome],
    rules: EvaluatePolicy = RULES,
    *,
    share: float | None = None,
    stratum: Callable[[Outcome], str | None] = lambda _: "",
) -> list[Contrast]:
    """The conditions that are more frequent in `group` than in `rest`.

    Recorded ones before words of the reasoning, and the surest first.

    Both hold outcomes of the same domain; an outcome in both counts as `group`. Compared are
    those of the same `stratum` (their action, if there are several): a condition has to
    separate within them, unless it is the stratum itself; what has none is counted, not compared.
    `share` is the part of the allowance for false alarms that this question may use, if one
    text asks several; each condition then has to keep within it by itself.
    """
    return _separating(group, _Field([*rest, *group], stratum), rules, share)


def both_ways(
    group: Sequence[Outcome], rest: Sequence[Outcome], rules: EvaluatePolicy = RULES
) -> tuple[list[Contrast], list[Contrast]]:
    """(the contrasts of `group` with `rest`, those of `rest` with `group`) of separate outcomes."""
    field = _Field([*rest, *group], lambda _: "")
    return _separating(group, field, rules), _separating(rest, field, rules)


def _separating(
    group: Iterable[Outcome], field: _Field, rules: EvaluatePolicy, share: float | None = None
) -> list[Contrast]:
    inside = {outcome.id for outcome in group}
    everyone = field.everyone
    if len(inside) < rules.contrast_support or len(inside) == len(everyone):
        return []
    members = bits(i for i, outcome in enumerate(everyone) if outcome.id in inside)
    split = _Split(len(everyone), len(inside), members, rules.contrast_support, field.strata)
    unlikely = _weighed(field.tried, split)
    if share is None:
        unlikely = _step_up(unlikely, rules.contrast_false_discovery)
    else:
        unlikely = sorted(
            condition for condition in unlikely if condition.alarms <= FALSE_ALARM * share
        )
    return [_contrast_of(condition, split, everyone) for condition in _independent(unlikely, split)]


def _strata(everyone: Sequence[Outcome], stratum: Callable[[Outcome], str | None]) -> Iterator[int]:
    """The outcomes that are compared with one another, as bit sets."""
    places: dict[str, list[int]] = defaultdict(list)
    for i, outcome in enumerate(everyone):
        name = stratum(outcome)
        if name is not None:
            places[name].append(i)
    return map(bits, places.values())


def leads(
    group: Sequence[Outcome],
    rest: Sequence[Outcome],
    usual: Callable[[str], bool] = lambda _: False,
) -> list[Contrast]:
    """What every reasoning of a small group mentions and none of the others.

    Only if both are too few for a test to find anything among so many words; a lead is
    not a contrast, and whoever tells it says so. The words used most come first,
    and those that are `usual` in the domain's other actions say nothing.
    """
    inside, outside = (
        [o.decision.reasoning for o in side if o.decision.reasoning.strip()]
        for side in (group, rest)
    )
    if min(len(inside), len(outside)) < FEW or len(inside) + len(outside) > MANY:
        return []
    unshared = frozenset.intersection(*map(terms, inside)).difference(*map(terms, outside))
    telling = [term for term in unshared if not usual(term)]
    used = {term: sum(text.lower().count(term) for text in inside) for term in telling}
    p = fisher(len(inside), len(inside), len(inside), len(inside) + len(outside))
    return [
        Contrast(
            f"the reasoning mentions '{term}'", (len(inside),) * 2, (0, len(outside)), math.inf, p
        )
        for term in sorted(used, key=lambda t: (-used[t], t))[:LEADS]
    ]


# ── which of them chance does not explain ────────────────────────────────────────────


def _weighed(conditions: Sequence[Condition], split: _Split) -> list[_Unlikely]:
    """The conditions that chance gives seldom, each with its alarms, surest first."""
    families = [
        _Family(weight, members, _expected_by_chance(members, split))
        for weight, ranks in _FAMILIES
        if (members := [condition for condition in conditions if condition.rank in ranks])
    ]
    able = [family for family in families if family.chance(1.0)]
    total = sum(family.weight for family in able)
    unlikely = [
        _Unlikely(p, *condition, alarms=family.chance(p) * total / family.weight)
        for family in able
        for condition, p in _unlikely(family.members, split)
    ]
    return sorted(unlikely, key=lambda condition: (condition.alarms, condition))


def _step_up(unlikely: Sequence[_Unlikely], false_share: float) -> list[_Unlikely]:
    """Benjamini-Hochberg, behind a gate: if nothing separates, its promise is too weak.

    At a false share of 0.2 every fifth group without any cause would still get one.
    """
    if not unlikely or unlikely[0].alarms > FALSE_ALARM:
        return []
    passing = [j for j, condition in enumerate(unlikely, 1) if condition.alarms <= false_share * j]
    return sorted(unlikely[: max(passing)])


def _unlikely(conditions: Sequence[Condition], split: _Split) -> Iterator[tuple[Condition, float]]:
    for condition in conditions:
        met, holds = split.count_meeting(condition.holds)
        if met < split.support or met * split.total <= holds * split.group:
            continue
        p = tail(met, split.tables(condition.holds))
        if p <= UNLIKELY:
            yield condition, p


def _expected_by_chance(conditions: Sequence[Condition], split: _Split) -> Callable[[float], float]:
    """How many of the conditions tried would reach a probability of `p` by chance.

    Benjamini-Hochberg estimates that number as p times the conditions tried. With few
    outcomes most conditions cannot reach p at all (a pair traded twice is never named), so
    this sums what each of them can attain at most (Heyse 2011; Tarone 1990): still an
    upper bound of the expected number, so the share of false ones holds, but not a bound
    so loose that small data never says anything. Which conditions exist and how many
    outcomes meet them does not depend on who is in the group, so nothing is selected.
    """
    rises: dict[float, float] = defaultdict(float)
    for tables, how_many in Counter(
        split.tables(condition.holds) for condition in conditions
    ).items():
        before = 0.0
        for chance in _attainable(tables, split.support):
            rises[chance] += how_many * (chance - before)
            before = chance
    at = sorted(rises)
    sums = [0.0, *accumulate(rises[chance] for chance in at)]
    # The slack: `p` and the same tail summed in the other order differ in the last digits.
    return lambda p: sums[bisect_right(at, p * (1 + 1e-9))]


def _attainable(tables: Sequence[Table], support: int) -> Iterator[float]:
    """The probabilities up to UNLIKELY that a condition of these sizes can have."""
    expected = sum(size * holds / total for size, holds, total in tables)
    first = max(support, math.ceil(expected - ROUNDING))
    return takewhile(lambda chance: chance <= UNLIKELY, tails(tables, first))


# ── which of those are worth telling ─────────────────────────────────────────────────


def _independent(unlikely: Sequence[_Unlikely], split: _Split) -> list[_Unlikely]:
    """Those that neither imply nor follow from one told before, and add to each of them."""
    independent: list[_Unlikely] = []
    # A recorded condition can be acted on; a word of the reasoning stands for one at best.
    for condition in sorted(unlikely, key=lambda condition: condition.rank >= Rank.TERM):
        if all(_adds(condition.holds, other.holds, split) for other in independent):
            independent.append(condition)
    return independent


def _adds(holds: int, fixed: int, split: _Split) -> bool:
    """True when a condition still separates the group while `fixed` is held fixed.

    The Cochran-Mantel-Haenszel statistic over the two halves of each stratum.
    """
    if holds & fixed in (holds, fixed):
        return False
    surplus = variance = 0.0
    halves = [(s & fixed, s & ~fixed) for s in split.within(holds)]
    for stratum in chain.from_iterable(halves):
        total, inside = stratum.bit_count(), (stratum & split.members).bit_count()
        met, all_met = split.count_meeting(stratum & holds)
        if total > 1:
            share = inside / total
            surplus += met - all_met * share
            variance += all_met * share * (1 - share) * (total - all_met) / (total - 1)
    return variance > 0 and surplus - 0.5 > ADDS * math.sqrt(variance)


def _contrast_of(condition: _Unlikely, split: _Split, everyone: Sequence[Outcome]) -> Contrast:
    met, holds = split.count_meeting(condition.holds)
    outside = split.total - split.group
    share, base = met / split.group, (holds - met) / outside
    return Contrast(
        condition=condition.text,
        in_group=(met, split.group),
        in_rest=(holds - met, outside),
        lift=share / base if base else math.inf,
        p=condition.p,
        holds_for=frozenset(o.id for i, o in enumerate(everyone) if condition.holds >> i & 1),
    )
