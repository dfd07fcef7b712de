"""Matrices are multiplied on one thread.

The threads of a BLAS wait for each other in a busy loop. For matrices as small as ours they save
nothing on an idle machine; on a busy one they take a hundred times as long.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_INSIDE: list[None] = []  # one a block that is open: the first sets the limit, the last lifts it
_LIMIT = ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the process to one thread for each product; whoever enters has loaded numpy.

    Blocks of several threads may overlap: what held before holds again once the last one ended.
    """
    with _LOCK:
        if not _INSIDE:
            _LIMIT.enter_context(_libraries().limit(limits=1, user_api="blas"))
        _INSIDE.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.pop()
            if not _INSIDE:
                _LIMIT.close()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
