"""The share of each table that is tried: CI takes a part, `make thorough` takes all of it."""

import os
from collections.abc import Sequence
from itertools import product
from typing import TypeVar

import pytest

T = TypeVar("T")
U = TypeVar("U")
THOROUGH = "SKILLVAULT_THOROUGH" in os.environ
only_thorough = pytest.mark.skipif(not THOROUGH, reason="`make thorough` tries it")


def one_of(every: int, cases: Sequence[T]) -> Sequence[T]:
    """Return one case of every `every`, or all cases if everything is tried."""
    return cases if THOROUGH else cases[::every]


def examples(count: int) -> int:
    """Return the number of examples for a property: a quarter of `count`, or all in `thorough`."""
    return count if THOROUGH else -(-count // 4)


def pairs(points: Sequence[T], actions: Sequence[U]) -> list[tuple[T, U]]:
    """Return pairs that use each point and each action, or all pairs if everything is tried."""
    if THOROUGH:
        return list(product(points, actions))
    count = max(len(points), len(actions))
    return [(points[n % len(points)], actions[n % len(actions)]) for n in range(count)]
