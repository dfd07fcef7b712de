"""Cost of a commit: one outcome, and a thousand of them in the inbox, beside plain git."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ground import Ground, arriving, head
from row import Figure, Row, Spent, at_least, faster, median, spent, within

from skillvault import Vault
from skillvault.vault.files import layout

REPEATS = 20
MANY = 1_000
COMMITS = 50  # of git, from which the thousand is told
LONG = timedelta(days=60)  # in which all that arrives happened
SETTLED = 0.6  # seconds after which the inbox takes a file


def rows(ground: Ground) -> Iterator[Row]:
    """Yield the cost of one outcome at a time, its growth, and the cost of the inbox."""
    yield from _single(ground)
    yield from _inbox(ground, ground.new("inbox-new"), "new vault", 10)
    many = ground.copy(ground.vault(10_000), "inbox-many")
    yield from _inbox(ground, many, "10,000 files", 20)


# ── one outcome ──────────────────────────────────────────────────────────────────────


def _single(ground: Ground) -> Iterator[Row]:
    found = {size: _one_by_one(ground, size) for size in ground.sizes}
    ours, theirs = found[10_000]
    note = f"processor {ours.processor:.1f} and {theirs.processor:.1f} ms"
    mine = Figure("record and run evaluate: 2 commits", ours.wall, "ms")
    git = Figure("git add + git commit", theirs.wall, "ms")
    yield within("one outcome, in 10,000 files", mine, git, 0.5, note)
    (less, small), (more, large) = ((size, found[size][0]) for size in ground.sizes)
    grown = Figure(f"in {more:,} files", large.wall, "ms")
    before = Figure(f"in {less:,} files", small.wall, "ms")
    note = f"processor x{large.processor / small.processor:.2f}"
    yield within(f"one outcome, {less:,} -> {more:,} files", grown, before, 3, note)


def _one_by_one(ground: Ground, size: int) -> tuple[Spent, Spent]:
    """Return our cost and git's, measured in turns on the same files."""
    root = ground.copy(ground.vault(size), "single-ours")
    _normal(root)
    git = ground.repository(root, "single-git")
    vault = Vault.open(root)
    vault.status()  # the vault is open and was asked before, as a daemon's is
    ours, theirs = [], []
    for file in arriving(REPEATS, ground.ends, "single"):
        before = head(root)
        ours.append(spent(partial(_taken, vault, [file], ground.ends + LONG)))
        theirs.append(spent(partial(committed, git, _new(root, before))))
    ground.drop(root, git)
    return median(ours), median(theirs)


def _normal(root: Path) -> None:
    with (root / layout.VAULT_FILE).open("a") as mark:
        mark.write("durability: normal\nrecord:\n  settle_seconds: 0\n")
    command = [
        "git",
        "commit",
        "--quiet",
        "--no-verify",
        "-am",
        "Ask for less durability and no quiet time",
    ]
    subprocess.run(command, cwd=root, check=True)


def _taken(vault: Vault, files: list[tuple[str, bytes]], now: datetime) -> None:
    list(vault.inbox.drop(files))
    vault.run(["record", "evaluate"], now=now)


def _new(root: Path, before: str) -> dict[str, bytes]:
    """The files that came since a commit."""
    command = ["git", "diff", "--name-only", "--diff-filter=A", before, "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return {path: (root / path).read_bytes() for path in done.stdout.splitlines()}


def committed(root: Path, files: Mapping[str, bytes | None]) -> None:
    """Write (None: remove), add and commit them, as an agent with git would."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (root / path).unlink()
        else:
            (root / path).write_bytes(content)
    listed = "\0".join(files)
    command = ["git", "add", "--pathspec-from-file=-", "--pathspec-file-nul"]
    subprocess.run(command, cwd=root, input=listed, text=True, check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "An outcome"], cwd=root, check=True)


# ── a thousand in the inbox ──────────────────────────────────────────────────────────


def _inbox(ground: Ground, root: Path, where: str, times: float) -> Iterator[Row]:
    vault = _warm(root, ground.ends)
    git = ground.repository(root, "inbox-git")
    before = head(root)
    for name, content in arriving(MANY, ground.ends, "inbox"):
        (root / layout.INBOX / name).write_bytes(content)
    time.sleep(SETTLED)
    now = ground.ends + LONG
    ours = spent(lambda: vault.run(["record", "evaluate"], now=now))
    pairs = _pairs(_new(root, before))
    theirs = _one_each(git, pairs)
    ground.drop(root, git)
    scale = MANY / COMMITS / 1e3
    note = f"processor {ours.processor / 1e3:.1f} and {theirs.processor * scale:.1f} s; "
    note += f"a warm vault; git's told from {COMMITS} commits"
    mine = Figure("run record evaluate", ours.wall / 1e3, "s")
    other = Figure("git add + git commit each", theirs.wall * scale, "s")
    work = f"1,000 outcomes in the inbox, {where}"
    yield faster(work, mine, other, times, note)
    yield at_least(f"{work}: pace", Figure("run record evaluate", MANY / mine.value, "/s"), 300)


def _warm(root: Path, ends: datetime) -> Vault:
    """Return an open vault that has already taken in an outcome, like a daemon's."""
    vault = Vault.open(root)
    (root / layout.INBOX / "first.json").write_bytes(arriving(1, ends, "first")[0][1])
    time.sleep(SETTLED)
    vault.run(["record", "evaluate"], now=ends + LONG)
    return vault


def _one_each(git: Path, pairs: list[dict[str, bytes]]) -> Spent:
    """Return the cost of the first and last commits; those between are made at once."""
    half = COMMITS // 2
    found = [spent(partial(committed, git, pair)) for pair in pairs[:half]]
    committed(git, {path: data for pair in pairs[half:-half] for path, data in pair.items()})
    found += [spent(partial(committed, git, pair)) for pair in pairs[-half:]]
    return Spent(*map(sum, zip(*found, strict=True)))


def _pairs(files: dict[str, bytes]) -> list[dict[str, bytes]]:
    """Each outcome with its evaluation."""
    found: dict[str, dict[str, bytes]] = {}
    for path, content in files.items():
        found.setdefault(path.rsplit("/", 1)[-1], {})[path] = content
    return list(found.values())
