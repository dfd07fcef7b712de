"""The speed of the program as one table: every figure beside what it stands against, in one run.

    python bench/table.py [--quick] [--only FAMILY]... [--json FILE]

Each row has a ratio, and the ratio counts: both sides are measured in the same run on the same
vaults or files, one after the other where they take turns. `>= 20x faster` is theirs through
ours, `<= 0.5x` ours through theirs. Times are on the wall; a note tells the processor's. What
others measured elsewhere is quoted as given, and their method, written anew, is measured here.
The vaults come from `vaults.py`: of 10,000 and 100,000 records (`--quick`: 1,000 and 10,000),
in a temporary folder, which needs 3 GB.

A family is a module: commits, loop, packing, projecting, clustering, explaining, finding,
recommending, assessing, hooking, reporting, watching.
Rows that do not meet what is asked are told below the table: how busy a machine is decides
too much for an exit code.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import assessing
import capturing
import clustering
import commits
import comparing
import explaining
import finding
import hooking
import loop
import packing
import projecting
import recommending
import reporting
import watching
from ground import Ground
from rich.console import Console
from rich.table import Table
from row import Figure, Row
from vaults import known

FAMILIES: dict[str, Callable[[Ground], Iterator[Row]]] = {
    "commits": commits.rows,
    "loop": loop.rows,
    "packing": packing.rows,
    "projecting": projecting.rows,
    "clustering": clustering.rows,
    "comparing": comparing.rows,
    "assessing": assessing.rows,
    "capturing": capturing.rows,
    "explaining": explaining.rows,
    "finding": finding.rows,
    "recommending": recommending.rows,
    "reporting": reporting.rows,
    "hooking": hooking.rows,
    "watching": watching.rows,
}


def measured(families: Sequence[str], *, quick: bool) -> Iterator[Row]:
    """The rows, each as soon as it is known."""
    known()
    with tempfile.TemporaryDirectory(prefix="skillvault-bench-") as folder:
        ground = Ground(Path(folder), quick=quick)
        for family in families:
            yield from FAMILIES[family](ground)


def machine() -> dict[str, Any]:
    """Return the properties of the machine that measures."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    return {
        "python": platform.python_version(),
        "git": git.stdout.split()[-1],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def as_json(rows: Sequence[Row], where: dict[str, Any], *, quick: bool) -> str:
    """All that was measured."""
    plain = [
        row._asdict()
        | {side: f._asdict() if f else None for side, f in zip(_SIDES, row[1:3], strict=True)}
        for row in rows
    ]
    found = {"machine": where, "quick": quick, "rows": plain}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


_SIDES = ("ours", "theirs")


def drawn(rows: Sequence[Row], console: Console) -> None:
    """The table, for a person."""
    table = Table("work", "ours", "against", "ratio", "asked", "met", "note", show_lines=False)
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)


def missed(rows: Sequence[Row]) -> str:
    """The rows that do not meet what is asked, a line each, below their count."""
    lines = [
        f"  {row.work}: asked {row.asked}, measured {_measured(row)}" for row in rows if not row.met
    ]
    return "\n".join([f"missed: {len(lines)} of {len(rows)} rows", *lines])


def _measured(row: Row) -> str:
    return _said(row.ours) if row.ratio is None else f"{_times(row.ratio)} ({_said(row.ours)})"


def cells(row: Row) -> tuple[str, ...]:
    """A row as the table shows it."""
    ratio = "" if row.ratio is None else _times(row.ratio)
    met = "yes" if row.met else "NO"
    return (row.work, _said(row.ours), _said(row.theirs), ratio, row.asked, met, row.note)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def _said(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
    return f"{value} {figure.unit} ({figure.what})"


def main(given: Sequence[str]) -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(description="Every figure beside what it stands against.")
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 records only")
    parser.add_argument("--only", action="append", choices=FAMILIES, help="a family; repeatable")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    args = parser.parse_args(given)
    where = machine()
    rows = []
    for row in measured(args.only or list(FAMILIES), quick=args.quick):
        rows.append(row)
        print(*cells(row), sep="  ", file=sys.stderr, flush=True)
    drawn(rows, Console(width=max(Console().width, 160)))
    print(missed(rows))
    if args.json:
        args.json.write_text(as_json(rows, where, quick=args.quick), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
