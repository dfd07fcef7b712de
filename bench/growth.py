"""Cost of an outcome as a vault grows: a generated stream, a thousand at a time.

One vault is kept open, as the daemon does. Printed are each step's processor seconds (git's
included) per thousand outcomes, and how much the last thousand cost against the first. Those two
are measured again in turns, each in a vault of its own, and the least of each is what counts: the
machine's own pace drifts by more than is looked for.

    python bench/growth.py [COUNT] [BATCH]
"""

import gc
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from msgspec.structs import replace
from stream import START, STEP, stream

from skillvault import Vault
from skillvault.loop.registry import STEPS, Step
from skillvault.loop.run import Run
from skillvault.model.change import Change

DOMAINS = ("perps", "coding")
TURNS = 3


def spent() -> float:
    """Processor seconds of this process and its finished children."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def fed(
    vault: Vault, outcomes: list[dict[str, object]], first: int
) -> tuple[dict[str, float], int]:
    """(what each step costs for these outcomes, how many commits they make after the intake).

    In one run of the loop. What a step leaves to be published is its own; what `record` takes in
    is published with its verdicts.
    """
    now = START + (first + len(outcomes)) * STEP + timedelta(days=1)
    for number, one in enumerate(outcomes, first):
        (vault.root / "inbox" / f"{number}.json").write_text(json.dumps(one))
    begun: dict[str, float] = {}

    def marked(name: str, step: Step) -> Step:
        def run(state: Run) -> Iterator[Change]:
            begun[name] = spent()
            yield from step.run(state)

        return replace(step, run=run)

    with patch.dict(STEPS, {name: marked(name, step) for name, step in STEPS.items()}):
        report = vault.run(now=now)
    times = [*begun.values(), spent()]
    costs = (end - start for start, end in pairwise(times))
    made = sum(done.change.step not in ("record", "evaluate") for done in report.done)
    return dict(zip(begun, costs, strict=True)), made


def main(count: int, batch: int) -> None:
    """Feed the stream and print the table."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        os.environ[f"GIT_{name}"] = "bench@localhost"
    outcomes = list(stream(count))
    print(f"{'outcomes':>9}", *(f"{name:>9}" for name in STEPS), "   commits   wall", sep="")
    with tempfile.TemporaryDirectory() as folder:
        grown = Path(folder) / "vault"
        kept, _ = Vault.init(grown, DOMAINS, now=START)
        last = count - batch
        for first in range(0, last - batch, batch):
            measured(kept, outcomes, first, batch)
        least = {0: dict.fromkeys(STEPS, math.inf), last: dict.fromkeys(STEPS, math.inf)}
        for turn in range(TURNS):
            new, _ = Vault.init(Path(folder) / f"new-{turn}", DOMAINS, now=START)
            old = Path(folder) / f"old-{turn}"
            shutil.copytree(grown, old, symlinks=True)
            # The copies have times of their own, of which git's index knows nothing yet.
            subprocess.run(["git", "-C", old, "update-index", "-q", "--refresh"], check=True)
            kept = Vault.open(old)
            for one, first in ((new, 0), (kept, last - batch), (kept, last)):
                row = measured(one, outcomes, first, batch)
                if first in least:
                    least[first] = {name: min(row[name], least[first][name]) for name in STEPS}
    ratios = (least[last][name] / least[0][name] for name in STEPS)
    print(f"{'growth':>9}", *(f"{ratio:8.2f}x" for ratio in ratios), sep="")


def measured(
    vault: Vault, outcomes: list[dict[str, object]], first: int, batch: int
) -> dict[str, float]:
    """Feed one batch and print its row."""
    os.sync()  # what was written before is not this batch's to wait for
    gc.collect()
    started = time.monotonic()
    row, made = fed(vault, outcomes[first : first + batch], first)
    cells = (f"{row[name]:9.2f}" for name in STEPS)
    last = f"{made:10}{time.monotonic() - started:7.1f}"
    print(f"{first + batch:9}", *cells, last, sep="", flush=True)
    return row


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [10_000, 1_000][len(given) :]))
