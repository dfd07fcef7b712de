"""`why` in a long history, beside `git log -- path`."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ground import Ground
from row import Figure, Row, at_most, faster, quantile, spent

from skillvault import Vault

ASKED = 5  # records
AGAIN = 4  # times each


def rows(ground: Ground) -> Iterator[Row]:
    """The answer in process, warm, beside git's own."""
    commits = 10_000 if ground.quick else 100_000
    root = ground.long(commits)
    vault = Vault.open(root)
    paths = _paths(root)
    cold = spent(partial(vault.why, paths[0])).wall
    ours, theirs = [], []
    for path in paths:
        ours += [spent(partial(vault.why, path)).wall for _ in range(AGAIN)]
        theirs.append(spent(partial(_logged, root, path)).wall)
    work = f"why, {commits:,} commits"
    mine = Figure("why, median", quantile(ours, 0.5), "ms")
    git = Figure("git log -- path, median", quantile(theirs, 0.5), "ms")
    yield faster(work, mine, git, 20, f"the first of a vault just opened {cold:.0f} ms")
    yield at_most(f"{work}: p95", Figure("why, p95", quantile(ours, 0.95), "ms"), 50)


def _paths(root: Path) -> list[str]:
    """Skills and facts, spread over the history."""
    command = ["git", "ls-files", "skills", "archive", "memory"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    paths = done.stdout.splitlines()
    found = [path for path in paths if path.endswith(".md") and "/references/" not in path]
    return found[:: len(found) // ASKED][:ASKED]


def _logged(root: Path, path: str) -> None:
    command = ["git", "log", "--format=%H %cs %s", "--", path]
    subprocess.run(command, cwd=root, capture_output=True, check=True)
