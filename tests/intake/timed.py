"""One file through the intake in a process whose processor time is limited.

A regular expression that runs away listens to no signal of Python's; the system ends it.
"""

import resource
import signal
import time
from functools import cache, partial
from pathlib import Path

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from tests import forked
from tests.given import redacted


def taken(name: str, data: bytes) -> str:
    """Take a file in; return the code of its refusal, or `taken`."""
    try:
        redacted(codec.parse_incoming(name, data))
    except BadInputError as error:
        return error.code
    return "taken"


@cache
def loop_seconds() -> float:
    """Return the processor time of a fixed loop, to compare with on a fast and a slow machine."""
    start = time.process_time()
    for _ in range(3_000_000):
        pass
    return time.process_time() - start


def seconds(path: Path, most: int = 2) -> float | None:
    """Return the processor seconds that a file takes; None if it takes more than `most`."""
    code = forked.called(partial(_take, most), path)
    said = forked.log_of(path).read_text()
    assert code in (0, -signal.SIGXCPU), said
    return float(said) if code == 0 else None


def _take(most: int, path: Path) -> None:
    """Take a file in, and print how long it took."""
    start = time.process_time()
    limit = int(start) + 1 + most
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    taken(path.name, path.read_bytes())
    print(time.process_time() - start)
