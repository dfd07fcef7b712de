"""A writer that stops itself in the middle, with the lock in its hand.

python tests/machine/stopped.py ROOT POINT FILE
"""

import os
import signal
import sys
from pathlib import Path

from skillvault.api import Vault
from skillvault.vault.commit import locks as lock
from skillvault.vault.commit import publish as writer


def main(root: str, point: str, file: str) -> None:
    """Record a file, and stop where the point is reached."""

    def reach(name: str) -> None:
        if name == point:
            print("held", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)

    for module in (lock, writer):
        vars(module)["reach"] = reach
    Vault.open(root).record([("mine.json", Path(file).read_bytes())])


if __name__ == "__main__":
    main(*sys.argv[1:])
