"""Named points in the code at which a test can kill the process or raise an error.

`SKILLVAULT_FAILPOINT=NAME[:N]=kill|raise|enospc` acts when the point NAME is reached the N-th time
(by default the first). tests/crash visits every call of `reach`.
"""

import errno
import os
import signal

from skillvault.model.errors import UsageError

VARIABLE = "SKILLVAULT_FAILPOINT"
_ERRORS = {"raise": errno.EIO, "enospc": errno.ENOSPC}
_counts: dict[str, int] = {}


def reach(name: str) -> None:
    """Kill the process or raise an error if the environment names this point.

    Raises OSError for `raise` (EIO) and `enospc` (ENOSPC), UsageError for a wrong setting.
    """
    setting = os.environ.get(VARIABLE)
    if not setting:
        return
    point, _, action = setting.partition("=")
    point_name, _, number = point.partition(":")
    if point_name != name:
        return
    _counts[name] = _counts.get(name, 0) + 1
    if _counts[name] == int(number or 1):
        _act(action, name)


def _act(action: str, name: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action in _ERRORS:
        raise OSError(_ERRORS[action], f"failpoint {name}")
    else:
        raise UsageError(f"{VARIABLE}: {action!r} is not an action; write kill, raise or enospc")
