"""Cost of `skillvault watch` while nothing happens, and its delay from a file to the commit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ground import Ground, arriving, head
from row import Figure, Row, at_most, quantile

from skillvault.vault.files import layout

RECORDS = 10_000
QUIET = 0.5  # seconds for which a file must be still
STILL = 2.0  # seconds without a commit after which a daemon has done what was due
PATIENCE = 120.0
MB = 1024 * 1024


def rows(ground: Ground) -> Iterator[Row]:
    """One daemon on one vault: first nothing happens, then files come one at a time."""
    root = ground.copy(ground.vault(RECORDS), "watched")
    with watched(root) as child:
        settled(root, child)
        yield from _idle(root, child, 10.0 if ground.quick else 60.0)
        yield _latency(root, child, 8 if ground.quick else 30)
    ground.drop(root)


@contextmanager
def watched(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon, ended afterwards."""
    command = [sys.executable, "-m", "skillvault", "watch"]
    with (root / ".git" / "said").open("wb") as said:
        child = subprocess.Popen(command, cwd=root, stdout=said, stderr=said)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(10)


def settled(root: Path, child: subprocess.Popen[bytes], still: float = STILL) -> None:
    """Wait until the daemon has done what was due: no commit and no work for a while."""
    end = time.monotonic() + PATIENCE
    state, since = None, time.monotonic()
    while time.monotonic() - since < still:
        if time.monotonic() > end:
            raise TimeoutError("the daemon does not come to rest")
        now = (tip(root), round(processor(child.pid), 1))
        if now != state:
            state, since = now, time.monotonic()
        time.sleep(0.05)


def _idle(root: Path, child: subprocess.Popen[bytes], seconds: float) -> Iterator[Row]:
    before, used, memory = head(root), processor(child.pid), resident(child.pid)
    time.sleep(seconds)
    share = 100 * (processor(child.pid) - used) / seconds
    made = float(_commits_since(root, before))
    grown = (resident(child.pid) - memory) / MB
    note = f"over {seconds:.0f} s, in {RECORDS:,} files; memory {memory / MB:.0f} MB"
    yield at_most("idle daemon: share of a core", Figure("skillvault watch", share, "%"), 1, note)
    yield at_most("idle daemon: judge calls", Figure("each makes one", made, "commits"), 0)
    yield at_most("idle daemon: growth of memory", Figure("skillvault watch", grown, "MB"), 1)


def _commits_since(root: Path, before: str) -> int:
    command = ["git", "rev-list", "--count", f"{before}..HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return int(done.stdout)


def _latency(root: Path, child: subprocess.Popen[bytes], count: int) -> Row:
    found = []
    for name, content in arriving(count, datetime.now(UTC) - timedelta(hours=12), "late"):
        found.append(_committed_after(root, name, content))
        settled(root, child, 0.5)
    nearly, half = quantile(found, 0.95), quantile(found, 0.5)
    note = f"median {half:.0f} ms of {count}; {1e3 * QUIET:.0f} ms of it is the quiet time"
    mine = Figure("file closed -> committed, p95", nearly, "ms")
    return at_most(f"one outcome through the daemon, {RECORDS:,} files", mine, 1_000, note)


def _committed_after(root: Path, name: str, content: bytes) -> float:
    """Milliseconds from a file's closing to the commit that holds it."""
    draft = root / layout.INBOX / f".{name}.tmp"
    draft.write_bytes(content)
    before = tip(root)
    started = time.perf_counter()
    draft.rename(root / layout.INBOX / name)
    while tip(root) == before:
        if time.perf_counter() - started > PATIENCE:
            raise TimeoutError(f"{name} was not committed")
        time.sleep(0.002)
    return 1e3 * (time.perf_counter() - started)


def tip(root: Path) -> str:
    """The commit of the branch, read without git."""
    return (root / ".git" / "refs" / "heads" / "main").read_text()


def processor(pid: int) -> float:
    """Processor seconds of a process and its finished children."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    pages = int((Path("/proc") / str(pid) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
