"""Matrices are multiplied on one thread, for as long as anybody is inside."""

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from skillvault.one_thread import one_thread


def threads() -> set[int]:
    """On how many threads numpy would multiply now."""
    np.ones((2, 2)) @ np.ones((2, 2))
    found = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in found}


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    """However many a machine has."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def test_within_there_is_one_and_before_is_back_after_the_last() -> None:
    if threads() != {2}:
        pytest.skip("numpy came with a BLAS whose threads nobody can set")
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {2}


def test_an_error_within_ends_it_too() -> None:
    before = threads()
    with pytest.raises(ValueError, match="inside"), one_thread():
        raise ValueError("inside")
    assert threads() == before
