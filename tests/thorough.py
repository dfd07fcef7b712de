"""How much is tried: CI tries a part of each table, `make thorough` all of it."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
THOROUGH = "SKILLVAULT_THOROUGH" in os.environ


def one_of(every: int, cases: Sequence[T]) -> Sequence[T]:
    """One case of so many; all of them if everything is tried."""
    return cases if THOROUGH else cases[::every]
