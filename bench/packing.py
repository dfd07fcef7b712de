"""The disk that git takes in a vault that a daemon looks after, and what git itself does there.

A commit packs when it finds many loose objects. Measured are the loose objects at the end of each
run of a day, the size of `.git` beside what `git gc` makes of it, and `git status` and
`git log -- PATH` beside the same in a clone that has none of the settings that `init` makes.
"""

import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ground import Ground, arriving
from row import Figure, Row, at_most, faster, median, spent, within

from skillvault import Vault
from skillvault.vault.commit.pack import count_loose, pack

DAY = 500  # outcomes
LOOSE = 4_000  # objects that a day may leave
AGAIN = 5
_PLAIN = ("-c", "core.commitGraph=false", "-c", "core.untrackedCache=false")


def rows(ground: Ground) -> Iterator[Row]:
    """Yield the loose objects, size and speed of a repository after a day of outcomes."""
    outcomes = 1_000 if ground.quick else 15_000
    root = ground.copy(ground.recorded(outcomes), "packing")
    vault = Vault.open(root)
    git = vault.store.git
    vault.run(now=ground.ends + timedelta(days=1))  # what is due once, and no part of the day
    pack(git)
    most, spans = 0, []
    for file in arriving(DAY // 5 if ground.quick else DAY, ground.ends, "day"):
        spans.append(spent(partial(_learn, vault, file, ground.ends)).processor)
        most = max(most, count_loose(git))
    work = f"a day of {len(spans)} outcomes on {outcomes:,}"
    note = f"an outcome took at most {max(spans) / 1e3:.1f} s, packing included"
    yield at_most(f"{work}: loose objects", Figure("at most", most, "objects"), LOOSE, note)
    gc = ground.copy(root, "packing-gc")
    _git(gc, "gc", "--quiet", "--prune=now")
    ours, theirs = Figure(".git", _size(root), "MB"), Figure("after git gc", _size(gc), "MB")
    yield within(f"{work}: the repository", ours, theirs, 1.5)
    ground.drop(gc)
    yield from _asked(root, f"{outcomes:,} outcomes")


def _learn(vault: Vault, file: tuple[str, bytes], ends: datetime) -> None:
    """Record and learn from one more outcome."""
    vault.record([file], now=ends + timedelta(days=60))
    vault.run(now=ends + timedelta(days=60))


def _asked(root: Path, vault: str) -> Iterator[Row]:
    """Yield git's speed with the settings and the commit graph, beside git without them."""
    paths = _git(root, "ls-files", "outcomes").splitlines()
    plain = root / ".git" / "plain-index"
    _git(root, "-c", "index.version=2", "read-tree", f"--index-output={plain}", "HEAD")
    for name, command in (
        ("git status", ("status", "--porcelain")),
        ("git log -- PATH", ("log", "--format=%H", "--", paths[len(paths) // 2])),
    ):
        for settings in ((), _PLAIN):
            _git(root, *settings, *command)  # writes the index that it then finds
        ours = median([spent(partial(_git, root, *command)) for _ in range(AGAIN)])
        theirs = median([spent(partial(_git, root, *_PLAIN, *command)) for _ in range(AGAIN)])
        mine, git = Figure(name, ours.wall, "ms"), Figure("without", theirs.wall, "ms")
        yield faster(f"{name}, {vault}", mine, git, 1)
    index = Figure("version 4", (root / ".git" / "index").stat().st_size / 1e6, "MB")
    yield within(
        f"git's index, {vault}", index, Figure("version 2", plain.stat().st_size / 1e6, "MB"), 0.75
    )


def _size(root: Path) -> float:
    """Megabytes of the repository on the disk, without the program's own."""
    command = ["du", "-sk", "--exclude=skillvault", str(root / ".git")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1e3


def _git(root: Path, *words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
