"""Cost of a clone with and without the files of closed months, side by side in one run.

    python bench/cold.py [OUTCOMES[/DAYS]]...

An outcome is three files, and they spread over so many days up to now (three years). What git pays
in a light clone depends on the files of open months, which the first line of each part counts.
Printed are milliseconds of the processor, children included: the median of a few turns of each
command. The turns in the full clone and in the light one alternate, so that the rest of the
machine slows both.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from learned import JUDGE, POLICY, Dated
from msgspec.structs import replace
from row import median, spent
from stream import shifted, stream
from vaults import known, made

from skillvault import Vault
from skillvault.learning import evaluate
from skillvault.model.brief import BlindCase
from skillvault.model.change import Change
from skillvault.model.intake import parse_outcome
from skillvault.vault.commit.cold import leave_out_months

DAYS = 3 * 365
BATCH = 200  # outcomes of a commit
TURNS = 5
MIB = 1 << 20
_PEAK = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
print(os.wait4(process.pid, 0)[2].ru_maxrss)
"""


def history(count: int, days: int, ends: datetime) -> Iterator[Dated]:
    """Outcomes and their verdicts, all with the same words, a commit for each batch."""
    times = (ends - timedelta(days=days * (count - n) / count) for n in range(count))
    outcomes = (
        parse_outcome(_at(one, time), trust="local", now=ends)
        for one, time in zip(stream(count), times, strict=True)
    )
    first = next(outcomes)
    verdict = JUDGE.verdict(BlindCase(first.domain, first.decision, first.context))
    insight = JUDGE.insight(evaluate.case_of(first), verdict)
    evaluation = evaluate.evaluation_of(first, JUDGE.info, verdict, insight, policy=POLICY)
    while batch := list(islice(outcomes, BATCH)):
        verdicts = [replace(evaluation, outcome=one.id, domain=one.domain) for one in batch]
        change = Change(step="record", subject="a batch", writes=(*batch, *verdicts))
        yield Dated(change, batch[-1].occurred_at)


def _at(one: dict[str, object], moment: datetime) -> dict[str, object]:
    return shifted(one, moment - datetime.fromisoformat(str(one["occurred_at"])))


def commands(root: Path, ends: datetime) -> dict[str, Callable[[], object]]:
    """The work that is compared, by its name."""
    ours = (sys.executable, "-P", "-m", "skillvault", "--vault", str(root))
    fresh = stream(10**6, seed=7)

    def call(*words: str, stdin: bytes = b"") -> None:
        subprocess.run(words, cwd=root, input=stdin, capture_output=True, check=True)

    def commit() -> None:
        with (root / "README.md").open("a") as file:
            file.write("One line more.\n")
        call("git", "add", "README.md")
        call("git", "commit", "--quiet", "--no-verify", "-m", "one file")

    def record() -> None:
        one = _at(next(fresh), ends - timedelta(hours=1))
        one["event_id"] = os.urandom(8).hex()
        call(*ours, "record", "-", stdin=json.dumps(one).encode())

    def learn() -> None:
        record()
        call(*ours, "run", "--now", ends.isoformat())

    return {
        "git status": lambda: call("git", "status", "--porcelain"),
        "git add, git commit": commit,
        "skillvault record": record,
        "record, then run": learn,
        "skillvault status": lambda: call(*ours, "status"),
        "skillvault recommend": lambda: call(
            *ours, "recommend", "Fix the flaky test", "--domain", "coding"
        ),
    }


def peak(root: Path, ends: datetime) -> float:
    """The most memory that `record` takes, in MiB."""
    one = _at(next(stream(1, seed=9)), ends - timedelta(hours=2))
    one["event_id"] = os.urandom(8).hex()
    words = [sys.executable, "-P", "-m", "skillvault", "--vault", str(root), "record", "-"]
    # Of a process as large as this one the child would inherit the figure.
    small = [sys.executable, "-c", _PEAK, *words]
    done = subprocess.run(small, input=json.dumps(one), capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def size_of(root: Path) -> tuple[float, float]:
    """MiB of git's index, and of the work tree."""
    files = (path for path in root.rglob("*") if ".git" not in path.parts)
    tree = sum(path.lstat().st_size for path in files if path.is_file())
    return (root / ".git/index").stat().st_size / MIB, tree / MIB


def count_files(root: Path) -> int:
    """The files of a clone's work tree that git has in its index."""
    lines = subprocess.run(
        ["git", "ls-files", "--sparse", "-t"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    return sum(line[0] == "H" for line in lines.splitlines())


def main(count: int, days: int) -> None:
    """Make a vault, copy it, make the copy light, and print a row for each command."""
    ends = datetime.now(UTC).replace(microsecond=0)
    with tempfile.TemporaryDirectory() as folder:
        full, light = Path(folder) / "full", Path(folder) / "light"
        made(full, history(count, days, ends))
        Vault.open(full).run(now=ends)
        subprocess.run(["git", "gc", "--quiet"], cwd=full, check=True)  # else a commit starts it
        subprocess.run(["cp", "-a", str(full), str(light)], check=True)
        cost = spent(lambda: leave_out_months(Vault.open(light).store, ends.date(), 2))
        sizes = f"{count_files(full):,} files, {count_files(light):,} of them in the light clone"
        print(f"{days:,} days, {sizes}; `cold` took {cost.processor / 1e3:.1f} s of the processor")
        print(f"{'':24}{'full':>10}{'light':>10}{'ratio':>8}")
        sides = commands(full, ends), commands(light, ends)
        for name in sides[0]:
            turns = [[spent(side[name]) for side in sides] for _ in range(TURNS)]
            fulls, lights = (median(column).processor for column in zip(*turns, strict=True))
            print(f"{name:24}{fulls:7.0f} ms{lights:7.0f} ms{fulls / lights:7.1f}x", flush=True)
        rows = {
            "record's memory": (peak(full, ends), peak(light, ends)),
            "git's index": (size_of(full)[0], size_of(light)[0]),
            "work tree": (size_of(full)[1], size_of(light)[1]),
        }
        for name, (large, small) in rows.items():
            print(f"{name:24}{large:6.1f} MiB{small:6.1f} MiB{large / small:7.1f}x")


if __name__ == "__main__":
    known()
    for argument in sys.argv[1:] or ["10000"]:
        outcomes, _, time_span = argument.partition("/")
        main(int(outcomes), int(time_span or DAYS))
