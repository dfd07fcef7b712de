"""One file through the intake in a process of its own, whose processor time is limited.

python -m tests.intake.timed FILE [SECONDS]

A regular expression that runs away listens to no signal of Python's; the system ends it.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from tests.given import redacted


def taken(name: str, data: bytes) -> str:
    """What becomes of a file: the code of its refusal, or `taken`."""
    try:
        redacted(codec.parse_incoming(name, data))
    except BadInputError as error:
        return error.code
    return "taken"


def seconds(path: Path, most: int = 2) -> float | None:
    """How long a file takes, in seconds of the processor; None where it is beyond `most`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.intake.timed", path, str(most)],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode <= 0, done.stderr
    return float(done.stdout) if done.returncode == 0 else None


def main(path: Path, most: int) -> None:
    """Print how long it took."""
    start = time.process_time()
    limit = int(start) + 1 + most
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    taken(path.name, path.read_bytes())
    print(time.process_time() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
