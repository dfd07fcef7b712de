"""Detection of leads in few outcomes of simulated streams, and false alarms without a cause.

    python bench/quality/leads.py [STREAMS [FIRST]]

The rule reads every stream at the program's reading points, the last of which is the end. With
sessions, about three decisions share a session and, if the shape says so, their luck.
"""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from skillvault.learning.account.reading import points
from skillvault.learning.contrast.leads import find_leads
from skillvault.model.records import Decision, Outcome, Result, Scalar, Source

STREAMS = 400
END = 40
START = datetime(2026, 3, 2, tzinfo=UTC)
Context = dict[str, Scalar]
Rng = np.random.Generator


class _Shape(NamedTuple):
    """Settings of a stream without a cause: its named and numeric keys, its luck, its numbers."""

    named: int = 6
    numeric: int = 6
    keys_by_session: bool = False
    drift: float = 0.0
    walk: float = 0.0
    luck: bool = False
    luck_walks: bool = False


SHAPES = {
    "noise": _Shape(),
    "keys by session": _Shape(keys_by_session=True, luck=True),
    "drifting rate": _Shape(drift=0.6),
    "many named keys": _Shape(named=24, numeric=2),
    "numbers that walk": _Shape(named=2, numeric=8, walk=0.9),
    "numbers and luck that walk": _Shape(named=2, numeric=8, walk=0.9, luck_walks=True),
}
PLANTED = {  # failures and successes with it, then without; whether it is a number; least share
    "named 6:0 against 0:4": ((6, 0, 0, 4), False, 0.80),
    "named 10:0 against 5:17": ((10, 0, 5, 17), False, 0.95),
    "number 6:0 against 0:6": ((6, 0, 0, 6), True, 0.90),
}


def outcome(number: int, at: datetime, failed: bool, context: Context, session: str) -> Outcome:
    """An outcome of a decision a quarter of an hour ago."""
    decision = Decision(action="open", target=f"t{number % 3}", made_at=at - timedelta(minutes=15))
    return Outcome(
        id=f"o{number:06}",
        domain="fx",
        occurred_at=at,
        decision=decision,
        result=Result(status="failure" if failed else "success"),
        context=context,
        source=Source(agent="bench", session=session),
        received="",
    )


def noise(rng: Rng, count: int, shape: _Shape) -> list[Context]:
    """Keys that have nothing to do with the results."""
    contexts: list[Context] = [{} for _ in range(count)]
    for j in range(shape.named):
        values = rng.integers(0, (2, 2, 3, 4)[j % 4], count)
        for context, value in zip(contexts, values.tolist(), strict=True):
            context[f"flag_{j}"] = f"v{value}"
    for j in range(shape.numeric):
        steps = rng.normal(size=count)
        for i in range(1, count):
            steps[i] += shape.walk * steps[i - 1]
        for context, value in zip(contexts, steps.tolist(), strict=True):
            context[f"num_{j}"] = round(value, 2)
    return contexts


def stream(seed: int, shape: _Shape, sessions: str) -> list[Outcome]:
    """A stream without a cause; `sessions` are none, "short" (one episode) or "long" (hours)."""
    rng = np.random.default_rng(seed)
    places: list[int] = []
    while len(places) < END:
        places += [len(set(places))] * (int(rng.integers(1, 7)) if sessions else 1)
    places = places[:END]
    contexts = noise(rng, END, shape)
    if shape.keys_by_session and sessions:
        contexts = [contexts[places.index(place)] for place in places]
    base = rng.choice([0.3, 0.5, 0.7])
    luck = rng.beta(0.8, 0.8, END)
    outcomes, at, walk = [], START, 0.0
    for i, place in enumerate(places):
        inside = i > 0 and places[i - 1] == place
        at += timedelta(
            minutes=4 if inside and sessions == "short" else 90 + 60 * int(rng.integers(9))
        )
        chance = luck[place] if shape.luck and sessions else base
        chance += shape.drift * (i / END - 0.5)
        if shape.luck_walks:
            walk = 0.95 * walk + 0.5 * float(rng.normal())
            chance = 1 / (1 + np.exp(-walk))
        outcomes.append(outcome(i, at, bool(rng.random() < chance), contexts[i], f"s{place}"))
    return outcomes


def planted(
    seed: int, counts: tuple[int, int, int, int], is_number: bool, order: str
) -> list[Outcome]:
    """A stream with a key that separates just so, among six named and six numeric keys."""
    rng = np.random.default_rng(seed)
    pairs = [(i < 2, i % 2 == 0) for i, count in enumerate(counts) for _ in range(count)]
    if order == "mixed":
        pairs = [pairs[i] for i in rng.permutation(len(pairs)).tolist()]
    outcomes = []
    for i, (met, failed) in enumerate(pairs):
        value = round(10 * met + float(rng.normal()), 2) if is_number else bool(met)
        contexts = noise(np.random.default_rng([seed, i]), 1, _Shape())
        context = {**contexts[0], "planted": value}
        outcomes.append(outcome(i, START + timedelta(hours=7 * i), failed, context, f"s{i}"))
    return outcomes


def looks(count: int) -> list[int]:
    """The reading points up to a count, and the count."""
    return sorted({*takewhile(lambda point: point <= count, points()), count})


def alarms(seed: int, make: Callable[[int], list[Outcome]]) -> tuple[bool, bool]:
    """Return (whether any look at a stream tells a lead, whether the last look does)."""
    outcomes = make(seed)
    told = [bool(find_leads(outcomes[:look])) for look in looks(len(outcomes))]
    return any(told), told[-1]


def is_told(seed: int, make: Callable[[int], list[Outcome]]) -> bool:
    """Return True if the planted key is told first."""
    told = find_leads(make(seed))
    return bool(told) and told[0].conditions[0].key == "planted"


def rows(streams: int, first: int) -> Iterator[str]:
    """The lines of the table."""
    seeds = range(first, first + streams)
    with ProcessPoolExecutor(2) as pool:
        for name, shape in SHAPES.items():
            for sessions in ("", "short", "long"):
                make = partial(stream, shape=shape, sessions=sessions)
                told = list(pool.map(partial(alarms, make=make), seeds, chunksize=20))
                any_look, end = (100 * sum(t[i] for t in told) / streams for i in (0, 1))
                words = f"{sessions} sessions" if sessions else "no sessions"
                yield f"| {name}, {words} | at the end {end:.1f} % | at any look {any_look:.1f} % |"
        for name, (counts, is_number, least) in PLANTED.items():
            for order in ("mixed", "in blocks"):
                make = partial(planted, counts=counts, is_number=is_number, order=order)
                right = sum(pool.map(partial(is_told, make=make), seeds, chunksize=20))
                yield f"| {name}, {order} | told {right} of {streams} | at least {least:.0%} |"
    yield from timed()


def timed() -> Iterator[str]:
    """Yield the time that a test takes, for two numbers of outcomes."""
    for count in (40, 200):
        contexts = noise(np.random.default_rng(1), count, _Shape())
        outcomes = [
            outcome(i, START + timedelta(hours=7 * i), i % 2 == 0, context, f"s{i}")
            for i, context in enumerate(contexts)
        ]
        took = []
        for _ in range(9):
            began = time.perf_counter()
            find_leads(outcomes)
            took.append(time.perf_counter() - began)
        yield f"| {count} outcomes, 12 keys | {1000 * sorted(took)[4]:.0f} ms | |"


if __name__ == "__main__":
    arguments: list[Any] = [int(argument) for argument in sys.argv[1:3]]
    for line in rows(*(arguments + [STREAMS, 0][len(arguments) :])):
        print(line, flush=True)
