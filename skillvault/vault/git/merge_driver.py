"""What a person's own git runs where both sides of a merge changed a record: its setting."""

import shlex
import sys

DRIVER = "merge.skillvault.driver"
ATTRIBUTE = "merge=skillvault"
_CALL = "-P -m skillvault merge-driver %O %A %B %P"


def driver_command() -> str:
    """The command, with the Python that runs now."""
    return f"{shlex.quote(sys.executable)} {_CALL}"


def is_own_driver(command: str) -> bool:
    """Whether a command is, but for the Python it names, what `init` sets."""
    python = command.removesuffix(f" {_CALL}")
    try:
        return python != command and shlex.quote(*shlex.split(python)) == python
    except (ValueError, TypeError):  # no quoted word, or not one alone
        return False
