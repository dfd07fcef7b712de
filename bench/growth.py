"""What an outcome costs as a vault grows: a generated stream, a thousand at a time.

One vault is kept open, as the daemon does. Printed are each step's processor seconds (git's
included) per thousand outcomes, and how much the last thousand cost against the first, which
is measured before and after.

    python bench/growth.py [COUNT] [BATCH]
"""

import json
import os
import resource
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
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def timed(work: Callable[[], object]) -> float:
    """What a piece of work costs."""
    before = spent()
    work()
    return spent() - before


def fed(
    vault: Vault, outcomes: list[dict[str, object]], first: int
) -> tuple[dict[str, float], int]:
    """(what each step costs for these outcomes, how many commits they make after the intake)."""
    now = START + (first + len(outcomes)) * STEP + timedelta(days=1)
    files = [(f"{n}.json", json.dumps(one).encode()) for n, one in enumerate(outcomes, first)]
    row = {"record": timed(lambda: vault.record(files, now=now))}
    made = 0
    for name in STEPS:
        if name != "record":
            before = spent()
            made += len(vault.run([name], now=now).done)
            row[name] = spent() - before
    return row, made


def main(count: int, batch: int) -> None:
    """Feed the stream and print the table."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        os.environ[f"GIT_{name}"] = "bench@localhost"
    outcomes = list(stream(count))
    print(f"{'outcomes':>9}", *(f"{name:>9}" for name in STEPS), "   commits   wall", sep="")
    with tempfile.TemporaryDirectory() as folder:
        vault, _ = Vault.init(Path(folder) / "vault", ["perps", "coding"], now=START)
        rows = [measured(vault, outcomes, first, batch) for first in range(0, count, batch)]
        # The machine's own pace drifts, so that the first is measured once more at the end.
        again, _ = Vault.init(Path(folder) / "again", ["perps", "coding"], now=START)
        rows.append(measured(again, outcomes, 0, batch))
    ratios = (2 * rows[-2][name] / (rows[0][name] + rows[-1][name]) for name in STEPS)
    print(f"{'growth':>9}", *(f"{ratio:8.2f}x" for ratio in ratios), sep="")


def measured(
    vault: Vault, outcomes: list[dict[str, object]], first: int, batch: int
) -> dict[str, float]:
    """Feed one batch and print its row."""
    started = time.monotonic()
    row, made = fed(vault, outcomes[first : first + batch], first)
    cells = (f"{row[name]:9.2f}" for name in STEPS)
    last = f"{made:10}{time.monotonic() - started:7.1f}"
    print(f"{first + batch:9}", *cells, last, sep="", flush=True)
    return row


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [10_000, 1_000][len(given) :]))
