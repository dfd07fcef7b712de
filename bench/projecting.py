"""Cost of the first read of a whole vault, beside the least possible: bytes and YAML.

Each is measured in a child of its own, without what its imports take.

    python bench/projecting.py built|floor ROOT
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from ground import Ground
from row import Figure, Row, Spent, at_most, median, spent, within

from skillvault import Vault
from skillvault.vault.files import layout

REPEATS = 3
RSS = {10_000: 150, 100_000: 400}  # MB
KB = 1024.0


def rows(ground: Ground) -> Iterator[Row]:
    """Time beside the floor, and peak memory, for each size."""
    for size in ground.sizes[1:] if ground.quick else ground.sizes:
        root = ground.vault(size)
        found = [(_built(root), _child("floor", root)) for _ in range(REPEATS)]
        (ours, memory), (floor, least) = (_middle([pair[i] for pair in found]) for i in (0, 1))
        mine = Figure("Vault.open().status()", ours.wall / 1e3, "s")
        note = f"processor {ours.processor / 1e3:.2f} and {floor.processor / 1e3:.2f} s"
        theirs = Figure("read bytes + CSafeLoader", floor.wall / 1e3, "s")
        yield within(f"cold build, {size:,} records", mine, theirs, 2.5, note)
        most = Figure("peak memory", memory, "MB")
        note = f"the floor's {least:.0f} MB"
        yield at_most(f"cold build, {size:,} records: memory", most, RSS[size], note)


def _middle(found: list[tuple[Spent, float]]) -> tuple[Spent, float]:
    return median([cost for cost, _ in found]), max(memory for _, memory in found)


def _built(root: Path) -> tuple[Spent, float]:
    for path in (root / ".git" / "skillvault").glob("index.db*"):
        path.unlink()
    return _child("built", root)


def _child(work: str, root: Path) -> tuple[Spent, float]:
    """Run the work in a process of its own; return its cost and its peak memory in MB."""
    command = [sys.executable, __file__, work, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, processor, memory = json.loads(done.stdout)
    return Spent(wall, processor), memory


# ── in the child ─────────────────────────────────────────────────────────────────────


def build(root: Path) -> object:
    """Open the vault and ask it how it stands."""
    return Vault.open(root).status()


def floor(root: Path) -> list[Any]:
    """Read every record's bytes, and its YAML with the C loader."""
    return [_loaded(path) for top in layout.FOLDERS for path in (root / top).rglob("*.*")]


def _loaded(path: Path) -> Any:
    text = path.read_bytes()
    if path.suffix == ".md":
        head, _, _ = text.partition(b"\n---\n")
        text = head.removeprefix(b"---\n") if head.startswith(b"---\n") else b""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def main(work: str, root: Path) -> None:
    """Do the work and tell what it cost."""
    does: dict[str, Callable[[Path], object]] = {"built": build, "floor": floor}
    cost = spent(lambda: does[work](root))
    print(json.dumps([*cost, peak()]))


def peak() -> float:
    """The most memory this process ever held, in MB; getrusage would tell its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / KB for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
