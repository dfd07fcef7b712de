"""The antecedents of outcomes: every condition known before the result, as a bit set.

Context, names, skills, times, numbers cut in two, terms of the reasoning. Never a field of
the result: exit reason, duration and evidence tell what happened, not why.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from skillvault.records import Outcome, Scalar
from skillvault.text import terms

FEW_VALUES = 4  # a number with no more distinct values than this is cut between all of them
TOGETHER = timedelta(minutes=10)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Rank(IntEnum):
    """The kinds of antecedent; of two names for the same outcomes the first is told."""

    CONTEXT = 0
    NAME = 1
    SKILL = 2
    NUMBER = 3
    WINDOW = 4
    DAY = 5
    TERM = 6
    NO_TERM = 7


class Condition(NamedTuple):
    """A condition and the outcomes that meet it, as a bit set over their sorted ids."""

    rank: Rank
    text: str
    holds: int


def unrecorded(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """The antecedents that none of the outcomes recorded, in words for a sentence."""
    recorded = list(outcomes)
    missing = dict(_RECORDED)
    if all(outcome.result.score is None for outcome in recorded):
        del missing["size"]  # what has no score has no size either
    for outcome in recorded:
        missing = {name: has for name, has in missing.items() if not has(outcome)}
        if not missing:
            break
    return tuple(missing)


_RECORDED: Mapping[str, Callable[[Outcome], bool]] = {
    "reasoning": lambda o: bool(o.decision.reasoning.strip()),
    "context": lambda o: any(value is not None for value in o.context.values()),
    "target": lambda o: o.decision.target is not None,
    "confidence": lambda o: o.decision.confidence is not None,
    "decision time": lambda o: o.decision.made_at is not None,
    "size": lambda o: o.result.entry_value is not None,
    "skills applied": lambda o: o.applied is not None,
}


def varying(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """The context keys that not all of the outcomes have with the same value."""
    values: dict[str, list[Scalar]] = defaultdict(list)
    for outcome in outcomes:
        for key, value in outcome.context.items():
            values[key].append(value)
    return frozenset(
        key
        for key, present in values.items()
        if len(present) < len(outcomes) or any(value != present[0] for value in present)
    )


def bits(places: Iterable[int]) -> int:
    """A bit set of the given places; linear, where repeated `|= 1 << i` is quadratic."""
    chosen = list(places)
    if not chosen:
        return 0
    field = bytearray(max(chosen) // 8 + 1)
    for place in chosen:
        field[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(field, "little")


def distinct(conditions: Iterable[Condition]) -> list[Condition]:
    """Conditions that hold for the same outcomes are one; the more general names it."""
    by_set: dict[int, Condition] = {}
    for condition in conditions:
        same = by_set.get(condition.holds)
        if same is None or condition[:2] < same[:2]:
            by_set[condition.holds] = condition
    return list(by_set.values())


def conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    """Every condition that any of these outcomes meets, in no order that matters."""
    yield from _context_conditions(everyone)
    yield from _name_conditions(everyone)
    yield from _skill_conditions(everyone)
    yield from _time_conditions(everyone)
    confidence = {i: o.decision.confidence for i, o in enumerate(everyone)}
    yield from _number_conditions(Rank.NUMBER, "confidence", _if_complete(confidence, everyone))
    size = {i: o.result.entry_value for i, o in enumerate(everyone)}
    yield from _number_conditions(Rank.NUMBER, "entry value", _if_complete(size, everyone))
    yield from _term_conditions(everyone)


def _if_complete(
    values: Mapping[int, float | None], everyone: Sequence[Outcome]
) -> dict[int, float]:
    """A number, if all recorded it: who recorded it may depend on the result."""
    numbers = {i: v for i, v in values.items() if v is not None and math.isfinite(v)}
    return numbers if len(numbers) == len(everyone) else {}


def _context_conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    keys = sorted({key for outcome in everyone for key in outcome.context})
    for key in keys:
        values = {i: o.context[key] for i, o in enumerate(everyone) if key in o.context}
        numbers = {i: v for i, v in values.items() if _is_number(v)}
        yield from _number_conditions(Rank.CONTEXT, key, _if_complete(numbers, everyone))  # type: ignore[arg-type]  # narrowed above
        named = {i: _word(v) for i, v in values.items() if v is not None and not _is_number(v)}
        yield from _value_conditions(Rank.CONTEXT, f"{key} is", named)


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())


def _value_conditions(rank: Rank, prefix: str, values: Mapping[int, str]) -> Iterator[Condition]:
    """One condition a value."""
    places: dict[str, list[int]] = defaultdict(list)
    for i, value in values.items():
        places[value].append(i)
    for value, holders in places.items():
        yield Condition(rank, f"{prefix} {value}", bits(holders))


def _name_conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    actions = {i: o.decision.action for i, o in enumerate(everyone)}
    yield from _value_conditions(Rank.NAME, "action is", actions)
    targets = {i: o.decision.target for i, o in enumerate(everyone)}
    yield from _value_conditions(
        Rank.NAME, "target is", {i: name for i, name in targets.items() if name}
    )
    agents = {i: o.source.agent for i, o in enumerate(everyone)}
    yield from _value_conditions(
        Rank.NAME, "agent is", {i: name for i, name in agents.items() if name}
    )


def _skill_conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    logged = {i: set(o.applied) for i, o in enumerate(everyone) if o.applied is not None}
    for skill in sorted(set().union(*logged.values())):
        yield Condition(
            Rank.SKILL, f"applied {skill}", bits(i for i, s in logged.items() if skill in s)
        )
        without = bits(i for i, s in logged.items() if skill not in s)
        yield Condition(Rank.SKILL, f"did not apply {skill}", without)
    yield Condition(Rank.SKILL, "applied no skill", bits(i for i, s in logged.items() if not s))


def _time_conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    times = {
        i: o.decision.made_at.astimezone(UTC)
        for i, o in enumerate(everyone)
        if o.decision.made_at is not None
    }
    windows = {i: at.hour // 6 * 6 for i, at in times.items()}
    hours = {i: f"{start:02}:00 and {start + 6:02}:00 UTC" for i, start in windows.items()}
    yield from _value_conditions(Rank.WINDOW, "decided between", hours)
    yield from _value_conditions(
        Rank.DAY, "decided on a", {i: DAYS[at.weekday()] for i, at in times.items()}
    )
    together = "made within 10 minutes of another decision"
    yield Condition(Rank.DAY, together, bits(_together(times)))


def _together(times: Mapping[int, datetime]) -> set[int]:
    in_time = sorted(times, key=lambda i: (times[i], i))
    near = [pair for pair in pairwise(in_time) if times[pair[1]] - times[pair[0]] <= TOGETHER]
    return {i for pair in near for i in pair}


def _number_conditions(rank: Rank, name: str, values: Mapping[int, float]) -> Iterator[Condition]:
    """A number cut in two: at its quartiles, or between all values if they are few."""
    order = sorted(values, key=lambda i: (values[i], i))
    steps = sorted(set(values.values()))
    if len(steps) <= FEW_VALUES:
        edges = set(range(1, len(steps)))
    else:
        quartiles = {values[order[len(order) * q // 4]] for q in (1, 2, 3)}
        edges = {bisect_left(steps, value) for value in quartiles} - {0}
    ascending = [values[i] for i in order]
    for edge in sorted(edges):
        cut = _round_between(steps[edge - 1], steps[edge])
        place = bisect_left(ascending, cut)
        yield Condition(rank, f"{name} of {_figure(cut)} or more", bits(order[place:]))
        yield Condition(rank, f"{name} below {_figure(cut)}", bits(order[:place]))


def _round_between(low: float, high: float) -> float:
    """The shortest decimal above `low` and not above `high`."""
    for digits in range(-9, 16):
        cut = math.floor(round(high * 10.0**digits, 6)) / 10.0**digits
        if low < cut <= high:
            return cut
    return high


def _figure(value: float) -> str:
    return f"{value:.12g}" if abs(value) < 1e12 else f"{value:g}"


def _term_conditions(everyone: Sequence[Outcome]) -> Iterator[Condition]:
    """Terms of the reasoning, present or not, among the outcomes that have one."""
    reasoned = [i for i, o in enumerate(everyone) if o.decision.reasoning.strip()]
    places: dict[str, list[int]] = defaultdict(list)
    for i in reasoned:
        for term in terms(everyone[i].decision.reasoning):
            places[term].append(i)
    everywhere = bits(reasoned)
    for term, holders in places.items():
        holds = bits(holders)
        yield Condition(Rank.TERM, f"the reasoning mentions '{term}'", holds)
        yield Condition(
            Rank.NO_TERM, f"the reasoning does not mention '{term}'", everywhere & ~holds
        )
