"""Names of drafts: no other thread has one, and it tells whether its process is no more."""

import os
import re
from itertools import count

_numbers = count(1)


def draft_name() -> str:
    """A name that no other thread and no other living process gives."""
    return f"{os.getpid()}-{next(_numbers)}"


def is_abandoned(name: str) -> bool:
    """True if a name ends in a draft's and its process is no more."""
    numbers = re.search(r"([0-9]+)-[0-9]+$", name)
    return numbers is not None and not is_alive(int(numbers[1]))


def is_alive(pid: int) -> bool:
    """Whether there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
