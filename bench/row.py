"""A row of the table: a figure of ours, what it stands against, and what is asked of it."""

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """A measured value with its name and its unit."""

    what: str
    value: float
    unit: str


class Row(NamedTuple):
    """One line of the table; `theirs` and `ratio` are None if there is nothing to compare."""

    work: str
    ours: Figure
    theirs: Figure | None
    ratio: float | None
    asked: str
    met: bool
    note: str = ""


def faster(work: str, ours: Figure, theirs: Figure, times: float, note: str = "") -> Row:
    """Return a row: ours must take less time than theirs by this factor or more."""
    ratio = theirs.value / ours.value
    return Row(work, ours, theirs, ratio, f">= {times:g}x faster", ratio >= times, note)


def within(work: str, ours: Figure, theirs: Figure, share: float, note: str = "") -> Row:
    """Return a row: ours may be at most this share of theirs."""
    ratio = ours.value / theirs.value
    return Row(work, ours, theirs, ratio, f"<= {share:g}x", ratio <= share, note)


def at_most(work: str, ours: Figure, limit: float, note: str = "") -> Row:
    """Return a row: ours may be at most the limit."""
    return Row(work, ours, None, None, f"<= {limit:g} {ours.unit}", ours.value <= limit, note)


def at_least(work: str, ours: Figure, limit: float, note: str = "") -> Row:
    """Return a row: ours must be at least the limit."""
    return Row(work, ours, None, None, f">= {limit:g} {ours.unit}", ours.value >= limit, note)


# ── measuring ────────────────────────────────────────────────────────────────────────


class Spent(NamedTuple):
    """Milliseconds on the wall, and of the processor (finished children included)."""

    wall: float
    processor: float


def spent(work: Callable[[], object]) -> Spent:
    """Do one piece of work and return its cost."""
    processor, wall = _processor(), time.perf_counter()
    work()
    return Spent(1e3 * (time.perf_counter() - wall), 1e3 * (_processor() - processor))


def median(found: Sequence[Spent]) -> Spent:
    """Return the medians of wall time and processor time."""
    return Spent(*(statistics.median(column) for column in zip(*found, strict=True)))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _processor() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)  # in microseconds; `os.times` in ticks
