"""Detection of the causes of outcomes in simulated streams, and false alarms without a cause.

    python bench/quality/causes.py [BENCH [FIRST]]

FIRST is the first of the forty seeds. The streams are read from the labelled data, the rule is the
program's own. Decoys are conditions that neither are the cause nor follow it.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from effects import defined

from skillvault.learning.account.reading import points
from skillvault.learning.contrast.separations import find_separations
from skillvault.model.conditions import Separation
from skillvault.model.intake import parse_outcome
from skillvault.model.records import Outcome

Stream = tuple[list[dict[str, Any]], list[str], list[str]]

SEEDS = 40
SIZES = (60, 200)
WITHOUT = ("none", "many-keys", "streaks", "sessions", "agents")
BOTH = ("and", "xor")  # kinds whose two keys must both be named; of `and` in one rule
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class _Answer(NamedTuple):
    """The causes that were named of a stream."""

    is_right: bool
    names_follower: bool
    names_decoy: bool
    rules: int


def told(bench: Path, first: int = 0) -> Iterator[str]:
    """The lines of the table."""
    script = defined(bench / "simulator/causes.py")
    seeds = range(first, first + SEEDS)
    for kind in script["KINDS"]:
        for size in SIZES:
            answers = [_answer(script["stream"], seed, kind, size) for seed in seeds]
            yield _row(kind, size, answers)
        if kind in WITHOUT:
            looks = list(takewhile(lambda point: point <= SIZES[-1], points()))
            alarms = sum(_alarms(script["stream"], seed, kind, looks) for seed in seeds)
            yield f"| causes, {kind}, {len(looks)} looks | ours | {alarms} of {SEEDS} | | |"
    yield from _timed(script["stream"])


def _row(kind: str, size: int, answers: Sequence[_Answer]) -> str:
    right = sum(answer.is_right for answer in answers)
    counts = f"{right} of {len(answers)}" if kind not in WITHOUT else "none to find"
    followers, decoys = (sum(a[i] for a in answers) for i in (1, 2))
    some = sum(answer.rules > 0 for answer in answers)
    more = f"follower or dead cause {followers}, decoy {decoys}, anything {some}"
    return f"| causes, {kind}, {size} outcomes | ours | {counts} | | {more} |"


def _answer(stream: Callable[..., Stream], seed: int, kind: str, size: int) -> _Answer:
    outcomes, causes, followers = _recorded(stream, seed, kind, size)
    followers = [*followers, *(["regime"] if kind == "drift" else [])]
    rules = _rules(outcomes)
    names = set(chain.from_iterable(rules))
    right = bool(names & set(causes)) if kind not in BOTH else names >= set(causes)
    if kind == "and":
        right = any(set(rule) == set(causes) for rule in rules)
    decoys = names - set(causes) - set(followers)
    return _Answer(right, not names.isdisjoint(followers), bool(decoys), len(rules))


def _rules(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """The keys or words of each rule."""
    return [_keys(separation) for separation in _separations(outcomes)]


def _separations(outcomes: Sequence[Outcome]) -> tuple[Separation, ...]:
    failures = frozenset(o.id for o in outcomes if o.result.status == "failure")
    return find_separations(outcomes, {"failure": failures})


def _keys(separation: Separation) -> tuple[str, ...]:
    return tuple(str(c.value) if c.kind == "word" else c.key for c in separation.conditions)


@lru_cache(maxsize=1)
def _recorded(
    stream: Callable[..., Stream], seed: int, kind: str, size: int
) -> tuple[list[Outcome], list[str], list[str]]:
    raw, causes, followers = stream(seed, kind, size)
    return [parse_outcome(outcome, trust="local", now=NOW) for outcome in raw], causes, followers


def _alarms(stream: Callable[..., Stream], seed: int, kind: str, looks: Sequence[int]) -> bool:
    outcomes, _, _ = _recorded(stream, seed, kind, SIZES[-1])
    return any(_separations(outcomes[:look]) for look in looks)


def _timed(stream: Callable[..., Stream]) -> Iterator[str]:
    for kind in ("and", "many-keys"):
        for size in (*SIZES, 2000):
            outcomes, _, _ = _recorded(stream, 1, kind, size)
            began = time.perf_counter()
            _separations(outcomes)
            milliseconds = (time.perf_counter() - began) * 1000
            yield f"| causes, {kind}, {size} outcomes at once | ours | {milliseconds:.0f} ms | | |"


if __name__ == "__main__":
    from run import BENCH

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else BENCH
    for line in told(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        print(line, flush=True)
