"""What an outcome costs as a vault grows: a generated stream, a thousand at a time.

One vault is kept open, as the daemon does. Printed are each step's processor seconds (git's
included) per thousand outcomes, and how much the last thousand cost against the first.

    python bench/growth.py [COUNT] [BATCH]
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from stream import START, STEP, stream

from skillvault import Vault
from skillvault.steps import STEPS


def spent() -> float:
    """Processor seconds of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def timed(work: Callable[[], object]) -> float:
    """What a piece of work costs."""
    before = spent()
    work()
    return spent() - before


def main(count: int, batch: int) -> None:
    """Feed the stream and print the table."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        os.environ[f"GIT_{name}"] = "bench@localhost"
    with tempfile.TemporaryDirectory() as folder:
        vault, _ = Vault.init(Path(folder) / "vault", ["perps", "coding"], now=START)
        outcomes = list(stream(count))
        names = (f"{name:>9}" for name in STEPS)
        print(f"{'outcomes':>9}", *names, "   commits   wall", sep="")
        rows: list[dict[str, float]] = []
        for first in range(0, count, batch):
            now = START + (first + batch) * STEP + timedelta(days=1)
            files = [
                (f"{number}.json", json.dumps(one).encode())
                for number, one in enumerate(outcomes[first : first + batch])
            ]
            started = time.monotonic()
            row = {"record": timed(lambda: vault.record(files, now=now))}  # noqa: B023
            made = 0
            for name in STEPS:
                if name != "record":
                    before = spent()
                    made += len(vault.run([name], now=now).done)
                    row[name] = spent() - before
            rows.append(row)
            cells = (f"{row[name]:9.2f}" for name in STEPS)
            last = f"{made:10}{time.monotonic() - started:7.1f}"
            print(f"{first + batch:9}", *cells, last, sep="", flush=True)
        ratios = (f"{rows[-1][name] / rows[0][name]:8.2f}x" for name in STEPS)
        print(f"{'growth':>9}", *ratios, sep="")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [10_000, 1_000][len(given) :]))
