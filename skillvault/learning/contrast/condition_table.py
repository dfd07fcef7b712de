"""Build the table of conditions that may explain a result; each was recorded before the result.

The table leaves out fields of the result, applied skills, the agent (outcomes of one agent are
compared with each other) and its confidence, and words of success or failure. A reasoning that may
have been written after the result gives no conditions. `separations` and `leads` test the columns;
to add a kind of condition, see `_single_columns`.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from skillvault.learning.contrast.recorded_values import DAYS, is_number, is_report, normalize_value
from skillvault.model.conditions import (
    Condition,
    ConditionKind,
    Operator,
    conditions_of,
    is_result_word,
)
from skillvault.model.records import Outcome, Scalar
from skillvault.model.text.text import terms

Bools = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]

Conditions = tuple[Condition, ...]

_MIN_OUTCOMES = 3  # outcomes that meet a condition, and outcomes that do not
_MIN_OF_PAIR = 5  # outcomes that meet a pair of conditions
_FEW_VALUES = 10  # a number with so few distinct values is cut between all values
_DIVISIONS = 10  # parts into which another number is cut
_LEAD_CUTS = 16  # for leads: cuts of a number, and distinct values that are all cut
_MIN_RECORDED = 0.8  # share of the outcomes that must have the key of a lead
_MIN_BAND = 2  # divisions in a band
_PAIR_DIVISIONS = 4  # parts into which a number in a pair is cut
_MAX_PAIRED = 120  # conditions to pair; those that divide the outcomes best come first
_KINDS: tuple[ConditionKind, ...] = (
    "context", "target", "agent", "number", "window", "day", "word",
)  # fmt: skip
_COMPLEMENTS: Mapping[Operator, Operator] = {
    "is": "is not", "at least": "below", "between": "outside", "mentions": "does not mention",
}  # fmt: skip


class ConditionTable(NamedTuple):
    """The truth values of conditions, as arrays of (columns x outcomes).

    `conditions` names the columns, and `opposites` their complements or None.
    `recorded` is False where an outcome did not record the value.
    """

    conditions: list[Conditions]
    opposites: list[Conditions | None]
    truth: Bools
    recorded: Bools


class Column(NamedTuple):
    """The truth values of one condition, as in `ConditionTable`."""

    conditions: Conditions
    opposite: Conditions | None
    truth: Bools
    recorded: Bools


def build_condition_table(outcomes: Sequence[Outcome]) -> ConditionTable:
    """Return the table of single conditions and pairs of conditions.

    Conditions that hold for the same outcomes, or for all others, share a column.
    """
    singles = _drop_rare(_stack(list(_single_columns(outcomes)), len(outcomes)), _MIN_OUTCOMES)
    pairs = _drop_rare(_pair_table(outcomes), _MIN_OF_PAIR)
    truth = np.concatenate([singles.truth, pairs.truth])
    recorded = np.concatenate([singles.recorded, pairs.recorded])
    conditions = singles.conditions + pairs.conditions
    opposites = singles.opposites + pairs.opposites
    return _merge_equal(ConditionTable(conditions, opposites, truth, recorded))


def lead_columns(outcomes: Sequence[Outcome]) -> list[list[Column]]:
    """Return the columns of each key that most outcomes recorded, the shortest list first.

    Target and agent are keys too.
    """
    min_count = _MIN_RECORDED * len(outcomes)
    groups: dict[tuple[ConditionKind, str], list[Column]] = defaultdict(list)
    agents: list[Scalar] = [outcome.source.agent for outcome in outcomes]
    for kind, key, values in [*_named_values(outcomes), ("agent", "agent", agents)]:
        names = [normalize_value(value) for value in values]
        is_recorded = np.array([name is not None for name in names])
        for name, count in Counter(names).items():
            if name is not None and _MIN_OUTCOMES <= count <= len(names) - _MIN_OUTCOMES:
                truth = np.array([value == name for value in names])
                column = _column(Condition(kind, key, "is", name), truth, is_recorded)
                groups[kind, key].append(column)
    for number in _numbers(outcomes):
        if number.kind == "context":
            groups[number.kind, number.key] += _cuts(number, _LEAD_CUTS + 1, _LEAD_CUTS)
    usual_groups = [
        sorted(columns, key=lambda column: generality(column.conditions))
        for columns in groups.values()
        if columns and np.any([column.recorded for column in columns], axis=0).sum() >= min_count
    ]
    return sorted(
        usual_groups, key=lambda columns: (len(columns), generality(columns[0].conditions))
    )


def generality(conditions: Conditions | None) -> tuple[Any, ...]:
    """Sort key for the names of a column: the most general name first, None last."""
    if conditions is None:
        return (math.inf,)
    names = [(_KINDS.index(c.kind), c.key, c.op, repr(c.value)) for c in conditions]
    return (len(conditions), names)


# ── single conditions ────────────────────────────────────────────────────────────────


def _single_columns(outcomes: Sequence[Outcome]) -> Iterator[Column]:
    for kind, key, names in _named_values(outcomes):
        yield from _value_columns(kind, key, names)
    for number in _numbers(outcomes):
        yield from _cuts(number, _DIVISIONS)
        yield from _bands(number)
    yield from _time_columns(outcomes)
    yield from _word_columns(outcomes)


def _named_values(outcomes: Sequence[Outcome]) -> Iterator[tuple[ConditionKind, str, list[Scalar]]]:
    """Yield (kind, key, values) with None in place of numbers and missing values."""
    for key in _context_keys(outcomes):
        values = [outcome.context.get(key) for outcome in outcomes]
        yield "context", key, [None if is_number(value) else value for value in values]
    yield "target", "target", [outcome.decision.target for outcome in outcomes]


def _context_keys(outcomes: Sequence[Outcome]) -> list[str]:
    values: dict[str, set[Scalar]] = defaultdict(set)
    for outcome in outcomes:
        for key, value in conditions_of(outcome).items():
            values[key].add(value)
    return sorted(key for key in values if not any(map(_is_result, values[key])))


def _is_result(value: Scalar) -> bool:
    """Return True if a value is about a result, except `win`, which may be an operating system."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return word in ("loss", "losses") or (is_result_word(word) and word != "win")


def _value_columns(kind: ConditionKind, key: str, values: Sequence[Scalar]) -> Iterator[Column]:
    names = [normalize_value(value) for value in values]
    all_recorded = np.ones(len(values), dtype=bool)
    for value in sorted({name for name in names if name is not None}, key=repr):
        truth = np.array([name == value for name in names])
        column = _column(Condition(kind, key, "is", value), truth, all_recorded)
        yield column._replace(opposite=None) if None in names else column


def _column(condition: Condition, truth: Bools, recorded: Bools) -> Column:
    complement = replace(condition, op=_COMPLEMENTS[condition.op])
    return Column((condition,), (complement,), truth, recorded)


class _Number(NamedTuple):
    """The values of a number that outcomes recorded; 0 for outcomes without the number."""

    kind: ConditionKind
    key: str
    values: Floats
    recorded: Bools

    def bounds(self, divisions: int, value_limit: int = _FEW_VALUES) -> dict[int, float]:
        """Map places in the sorted values to bounds: between all if few, or else quantiles."""
        values = sorted(self.values[self.recorded].tolist())
        steps = sorted(set(values))
        if len(steps) <= value_limit:
            return {i: _round_between(*steps[i - 1 : i + 1]) for i in range(1, len(steps))}
        bounds: dict[int, float] = {}
        for division in range(1, divisions):
            index = bisect_left(steps, values[len(values) * division // divisions])
            bound = _round_between(steps[index - 1], steps[index]) if index else steps[0]
            if index and bound not in bounds.values():
                bounds[division] = bound
        return bounds


def _numbers(outcomes: Sequence[Outcome]) -> Iterator[_Number]:
    columns: list[tuple[ConditionKind, str, list[Scalar]]] = [
        ("number", "entry_value", [outcome.result.entry_value for outcome in outcomes])
    ]
    keys = _context_keys(outcomes)
    columns += [("context", key, [o.context.get(key) for o in outcomes]) for key in keys]
    for kind, key, values in columns:
        numbers = np.array([value if is_number(value) else math.nan for value in values], float)
        is_recorded = np.isfinite(numbers)
        if is_recorded.any():
            yield _Number(kind, key, np.where(is_recorded, numbers, 0.0), is_recorded)


def _cuts(number: _Number, divisions: int, value_limit: int = _FEW_VALUES) -> Iterator[Column]:
    for bound in number.bounds(divisions, value_limit).values():
        condition = Condition(number.kind, number.key, "at least", bound)
        truth = (number.values >= bound) & number.recorded
        yield _column(condition, truth, number.recorded)


def _bands(number: _Number) -> Iterator[Column]:
    bounds = number.bounds(_DIVISIONS)
    has_few_bounds = len(bounds) < _FEW_VALUES - 1
    for (index, low), (next_index, high) in combinations(bounds.items(), 2):
        if has_few_bounds or next_index - index >= _MIN_BAND:
            condition = Condition(number.kind, number.key, "between", (low, high))
            truth = (number.values >= low) & (number.values < high) & number.recorded
            yield _column(condition, truth, number.recorded)


def _round_between(low: float, high: float) -> float:
    """Return the shortest decimal above `low` and not above `high`."""
    for digits in range(-9, 16):
        bound = math.floor(round(high * 10.0**digits, 6)) / 10.0**digits
        if low < bound <= high:
            return bound
    return high


def _time_columns(outcomes: Sequence[Outcome]) -> Iterator[Column]:
    times = [o.decision.made_at and o.decision.made_at.astimezone(UTC) for o in outcomes]
    has_time = np.array([time is not None for time in times])
    hours = np.array([time.hour if time else -1 for time in times])
    for start in range(0, 24, 6):
        condition = Condition("window", "made_at", "between", (float(start), start + 6.0))
        yield _column(condition, hours // 6 * 6 == start, has_time)
    days = np.array([time.weekday() if time else -1 for time in times])
    for number, day in enumerate(DAYS):
        yield _column(Condition("day", "made_at", "is", day), days == number, has_time)


def _word_columns(outcomes: Sequence[Outcome]) -> Iterator[Column]:
    texts = ["" if is_report(o) else o.decision.reasoning.strip() for o in outcomes]
    has_reasoning = np.array([bool(text) for text in texts])
    indices_by_term: dict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        for term in terms(text):
            indices_by_term[term].append(i)
    for term in sorted(indices_by_term):
        if len(indices_by_term[term]) >= _MIN_OUTCOMES and not is_result_word(term):
            truth = np.zeros(len(outcomes), dtype=bool)
            truth[indices_by_term[term]] = True
            condition = Condition("word", "reasoning", "mentions", term)
            yield _column(condition, truth, has_reasoning)


# ── pairs ────────────────────────────────────────────────────────────────────────────


def _pair_table(outcomes: Sequence[Outcome]) -> ConditionTable:
    singles = _stack(_columns_to_pair(outcomes), len(outcomes))
    keys = [(condition.kind, condition.key) for (condition,) in singles.conditions]
    pairs = [(a, b) for a, b in combinations(range(len(keys)), 2) if keys[a] != keys[b]]
    a, b = np.array(pairs, dtype=int).reshape(-1, 2).T
    conditions = [(*singles.conditions[i], *singles.conditions[j]) for i, j in pairs]
    truth = singles.truth[a] & singles.truth[b]
    recorded = singles.recorded[a] & singles.recorded[b]
    return ConditionTable(conditions, [None] * len(pairs), truth, recorded)


def _columns_to_pair(outcomes: Sequence[Outcome]) -> list[Column]:
    keys = _named_values(outcomes)
    columns = [c for kind, key, names in keys for c in _value_columns(kind, key, names)]
    for number in _numbers(outcomes):
        for column in _cuts(number, _PAIR_DIVISIONS):
            complement = column.recorded & ~column.truth
            columns += [column, column._replace(conditions=column.opposite or (), truth=complement)]
    counts = ((float(column.truth.sum()), column) for column in columns)
    choices = [(n, c) for n, c in counts if _MIN_OF_PAIR <= n <= len(outcomes) - _MIN_OUTCOMES]
    choices.sort(
        key=lambda pair: (abs(pair[0] - len(outcomes) / 2), generality(pair[1].conditions))
    )
    best_columns = [column for _, column in choices[:_MAX_PAIRED]]
    return sorted(best_columns, key=lambda column: generality(column.conditions))


# ── tables ───────────────────────────────────────────────────────────────────────────


def _stack(columns: Sequence[Column], count: int) -> ConditionTable:
    shape = (len(columns), count)
    return ConditionTable(
        [column.conditions for column in columns],
        [column.opposite for column in columns],
        np.array([column.truth for column in columns], dtype=bool).reshape(shape),
        np.array([column.recorded for column in columns], dtype=bool).reshape(shape),
    )


def _select(table: ConditionTable, columns: Sequence[int]) -> ConditionTable:
    return ConditionTable(
        [table.conditions[column] for column in columns],
        [table.opposites[column] for column in columns],
        table.truth[columns],
        table.recorded[columns],
    )


def _drop_rare(table: ConditionTable, min_count: int) -> ConditionTable:
    hits, counts = table.truth.sum(axis=1), table.recorded.sum(axis=1)
    is_common = (hits >= min_count) & (hits <= counts - _MIN_OUTCOMES)
    return _select(table, np.flatnonzero(is_common).tolist())


def _merge_equal(table: ConditionTable) -> ConditionTable:
    """Merge columns that hold for the same outcomes or for the complement."""
    first = table.recorded.argmax(axis=1)
    # Of a column and its complement, compare the one that the first outcome does not meet.
    flips = table.truth[np.arange(len(first)), first]
    truth = np.where(flips[:, None], table.recorded & ~table.truth, table.truth)
    packed_bits = np.concatenate([np.packbits(truth, 1), np.packbits(table.recorded, 1)], axis=1)
    groups: dict[bytes, list[int]] = defaultdict(list)
    for index, row in enumerate(packed_bits):
        groups[row.tobytes()].append(index)
    names = [_general_names(table, members, flips) for members in groups.values()]
    merged = _select(table._replace(truth=truth), [members[0] for members in groups.values()])
    swaps = np.array([generality(b) < generality(a) for a, b in names], dtype=bool)
    truth = np.where(swaps[:, None], merged.recorded & ~merged.truth, merged.truth)
    conditions = [(b if swap else a) or () for (a, b), swap in zip(names, swaps, strict=True)]
    opposites = [a if swap else b for (a, b), swap in zip(names, swaps, strict=True)]
    return ConditionTable(conditions, opposites, truth, merged.recorded)


def _general_names(
    table: ConditionTable, members: Sequence[int], flips: Bools
) -> tuple[Conditions | None, Conditions | None]:
    name_pairs = [
        (table.opposites[i], table.conditions[i])
        if flips[i]
        else (table.conditions[i], table.opposites[i])
        for i in members
    ]
    conditions, opposites = zip(*name_pairs, strict=True)
    return min(conditions, key=generality), min(opposites, key=generality)
