"""A process of this program that outlives the hook that started it, and says nothing."""

import subprocess
import sys
from pathlib import Path


def start_detached(root: Path, *words: str) -> None:
    """Run a command on a vault, in a session of its own."""
    subprocess.Popen(
        [sys.executable, "-m", "skillvault", "--vault", str(root), *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
