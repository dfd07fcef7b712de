"""Cost of a running daemon: memory, descriptors, threads, children, and lost outcomes.

`skillvault watch` runs on a vault of its own while outcomes arrive a few per second. Now and then
come a file that is no outcome, a file that is written slowly, and a commit of a person. Every ten
seconds a row is printed; at the end come the conditions, and the exit code is 1 if one fails.

    python bench/soak.py [MINUTES]
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stream import START, STEP, shifted, stream

from skillvault import Vault

EVERY = 10.0  # seconds between two rows
PAUSE = 0.3  # seconds between two outcomes
BAD, SLOW, COMMIT = 40, 60, 50  # outcomes between two bad files, slow writers, commits
SLICES = 12  # pieces in which a slow writer writes
PATIENCE = 180.0  # seconds after which what is not recorded counts as lost
RATIO = 1.25  # memory is flat up to this: last quarter to the second, or to a new daemon's
STEADY = 3  # descriptors and threads of a git call that a look may meet
MB = 1024 * 1024


class Row(NamedTuple):
    """One look at the daemon and its vault."""

    seconds: float
    sent: int
    outcomes: int
    records: int
    rss: float
    descriptors: int
    threads: int
    children: int


class Soak:
    """A vault, its daemon, the agents and the person."""

    def __init__(self, root: Path) -> None:
        self.root = root / "vault"
        self.vault, _ = Vault.init(self.root, ["perps", "coding"])
        self.said = root / "said"
        self.started = time.monotonic()
        self.rows: list[Row] = []
        self.sent = self.bad = self.commits = 0
        self.slow: tuple[BinaryIO, Iterator[bytes]] | None = None
        self.refusals: Counter[str] = Counter()  # what git told the person

    def start(self) -> subprocess.Popen[bytes]:
        """`skillvault watch`, its words in a file."""
        with self.said.open("wb") as said:
            command = [sys.executable, "-m", "skillvault", "watch"]
            return subprocess.Popen(command, cwd=self.root, stdout=said, stderr=said)

    # ── the agents and the person ────────────────────────────────────────────────────

    def feed(self, given: dict[str, Any]) -> None:
        """Drop one outcome, and whatever else is due."""
        self.sent += 1
        data = json.dumps(given).encode()
        self._write_on()
        if self.sent % SLOW == 0 and self.slow is None:
            self._begin_slowly(data)
        else:
            self._drop(f"{self.sent}.json", data)
        if self.sent % BAD == 0:
            self.bad += 1
            self._drop(f"bad-{self.sent}.json", b'{"domain": ["%d"' % self.sent)
        if self.sent % COMMIT == 0:
            self._commit()

    def _drop(self, name: str, data: bytes) -> None:
        draft = self.root / "inbox" / f".{name}.tmp"
        draft.write_bytes(data)
        draft.rename(self.root / "inbox" / name)

    def _begin_slowly(self, data: bytes) -> None:
        size = len(data) // SLICES + 1
        pieces = (data[at : at + size] for at in range(0, len(data), size))
        path = self.root / "inbox" / f"slow-{self.sent}.json"
        self.slow = path.open("wb", buffering=0), pieces

    def _write_on(self) -> None:
        if self.slow is None:
            return
        file, pieces = self.slow
        if piece := next(pieces, None):
            file.write(piece)
        else:
            file.close()
            self.slow = None

    def end_slowly(self) -> None:
        """Let the slow writer finish its file."""
        while self.slow is not None:
            self._write_on()
            time.sleep(PAUSE)

    def _commit(self) -> None:
        """Let a person save and commit a file; try again while git reports a lock."""
        self.commits += 1
        (self.root / "notes.md").write_text(f"note {self.commits}\n")
        for _ in range(20):
            if self._git("add", "notes.md") and self._git("commit", "-qm", f"note {self.commits}"):
                return
            time.sleep(0.1)

    def _git(self, *args: str) -> bool:
        command = ["git", *args]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().partition("\n")[0]
            self.refusals[said.partition(" is at ")[0]] += 1
        return done.returncode == 0

    # ── looking ──────────────────────────────────────────────────────────────────────

    def look(self, pid: int) -> None:
        """Add a row and print it."""
        paths = self.paths()
        place = Path("/proc") / str(pid)
        row = Row(
            time.monotonic() - self.started,
            self.sent,
            sum("/outcomes/" in f"/{path}" for path in paths),
            sum(path.endswith((".yaml", ".md")) for path in paths),
            _resident(place) / MB,
            sum(1 for _ in (place / "fd").iterdir()),
            sum(1 for _ in (place / "task").iterdir()),
            len(children(pid)),
        )
        self.rows.append(row)
        shown = (f"{row.seconds:8.0f}{row.sent:8}{row.outcomes:10}{row.records:9}{row.rss:8.1f}",)
        rest = (f"{1000 * row.rss / max(row.records, 1):10.1f}{row.descriptors:8}{row.threads:9}",)
        print(*shown, *rest, f"{row.children:10}", sep="", flush=True)

    def paths(self) -> list[str]:
        """Every path that is committed."""
        command = ["git", "ls-tree", "-r", "--name-only", "HEAD"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def idle(self) -> bool:
        """Return True if everything that was sent is recorded and evaluated."""
        head = Vault.open(self.root).store.snapshot()
        done = len(head.outcomes) >= self.sent and len(head.evaluations) == len(head.outcomes)
        return done and not self.vault.inbox.names()


def _resident(place: Path) -> int:
    pages = int((place / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """Return the child processes of a process, zombies included."""
    found: list[int] = []
    for task in (Path("/proc") / str(pid) / "task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def fed(soak: Soak, pid: int, minutes: float) -> None:
    """Feed outcomes for some minutes and print a row every ten seconds."""
    count = int(minutes * 60 / PAUSE) + 1
    ahead = datetime.now(UTC) - timedelta(hours=1) - (START + count * STEP)
    given = (shifted(one, ahead) for one in stream(count))
    end = soak.started + minutes * 60
    due, row = time.monotonic(), 1
    while time.monotonic() < end:
        soak.feed(next(given))
        if time.monotonic() - soak.started >= row * EVERY:
            soak.look(pid)
            row += 1
        due = max(due + PAUSE, time.monotonic() - PAUSE)
        time.sleep(max(0.0, due - time.monotonic()))
    soak.end_slowly()


def settled(soak: Soak, pid: int) -> int:
    """Wait until all is done and the daemon sleeps; return the number of its children."""
    end = time.monotonic() + PATIENCE
    while not soak.idle() and time.monotonic() < end:
        time.sleep(1)
    left = children(pid)
    while left and time.monotonic() < end:
        time.sleep(0.2)
        left = children(pid)
    soak.look(pid)
    return len(left)


def ended(child: subprocess.Popen[bytes]) -> float:
    """End the daemon and return the seconds it took; kill it after ten."""
    asked = time.monotonic()
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    return time.monotonic() - asked


def anew(soak: Soak) -> float:
    """Return the memory of a new daemon on the whole vault after one more outcome."""
    child = soak.start()
    try:
        for given in islice(stream(soak.sent + 1), soak.sent, None):
            soak.feed(given)
        soak.end_slowly()
        settled(soak, child.pid)
        return _resident(Path("/proc") / str(child.pid)) / MB
    finally:
        ended(child)


# ── what must hold ───────────────────────────────────────────────────────────────────

Verdict = tuple[str, str, bool]


def steadiness(rows: list[Row], new: float) -> list[Verdict]:
    """Memory, descriptors and threads of the second and the last quarter.

    `new`: the memory of a daemon that was started at the end, which the vault's size explains.
    """
    size = max(1, len(rows) // 4)
    second, last = rows[size : 2 * size] or rows[:1], rows[-size:]
    before, after = _medians(second), _medians(last)
    ratio = after.rss / before.rss
    grown = (after.records - before.records) or 1
    growth = 1000 * (after.rss - before.rss) / grown
    per = (1000 * one.rss / max(one.records, 1) for one in (before, after))
    beside = after.rss / new
    flat = min(ratio, beside) <= RATIO
    told = f"{before.rss:.1f} -> {after.rss:.1f} MB, ratio {ratio:.2f}"
    return [
        ("memory, second and last quarter", told, flat),
        ("memory beside a new daemon's", f"{new:.1f} MB, ratio {beside:.2f}", flat),
        ("memory for 1,000 more records", f"{growth:.1f} MB", flat),
        ("memory per 1,000 records", "{:.1f} -> {:.1f} MB".format(*per), flat),
        ("descriptors", *_level(before.descriptors, after.descriptors)),
        ("threads", *_level(before.threads, after.threads)),
    ]


def _level(before: float, after: float) -> tuple[str, bool]:
    return f"{before:.0f} -> {after:.0f}", after <= before + STEADY


def _medians(rows: list[Row]) -> Row:
    return Row(*(statistics.median(column) for column in zip(*rows, strict=True)))


def losses(soak: Soak) -> list[Verdict]:
    """Return the verdicts on the end state: everything that was sent is there once."""
    vault = Vault.open(soak.root)
    head = vault.store.snapshot()
    events = sorted(one.event_id or "" for one in head.outcomes.values())
    wanted = sorted(f"event-{number}" for number in range(soak.sent))
    judged = sorted(head.evaluations) == sorted(head.outcomes)
    held = len(vault.inbox.quarantine.file_names())
    log = ["git", "log", "--format=%s", "--", "notes.md"]
    notes = subprocess.run(log, cwd=soak.root, capture_output=True, text=True, check=True)
    fsck = ["git", "fsck", "--strict", "--no-dangling", "--no-progress"]
    sound = subprocess.run(fsck, cwd=soak.root, capture_output=True, text=True, check=False)
    mine = len(notes.stdout.splitlines())
    removed = ["git", "log", "--diff-filter=D", "--format=", "--name-only", "--grep=^note "]
    taken = subprocess.run(removed, cwd=soak.root, capture_output=True, text=True, check=True)
    gone = len(taken.stdout.split())
    problems = len(vault.check().problems)
    return [
        ("outcomes recorded once", f"{len(events)} of {soak.sent}", events == wanted),
        ("evaluated once", f"{len(head.evaluations)}", judged),
        ("left in the inbox", f"{len(vault.inbox.names())}", not vault.inbox.names()),
        ("bad files in quarantine", f"{held} of {soak.bad}", held == soak.bad),
        ("commits of the person", f"{mine} of {soak.commits}", mine == soak.commits),
        ("removed by the person's commits", str(gone), gone == 0),
        ("problems that `check` finds", str(problems), problems == 0),
        ("git fsck --strict", sound.stdout.strip() or "clean", not sound.stdout + sound.stderr),
    ]


def main(minutes: float) -> int:
    """Run it and print the table; 1 where something does not hold."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        os.environ[f"GIT_{name}"] = "bench@localhost"
    names = " seconds    sent  outcomes  records  RSS MB  MB/1,000     fds  threads  children"
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder))
        child = soak.start()
        try:
            print(names)
            fed(soak, child.pid, minutes)
            rows = list(soak.rows)
            left = settled(soak, child.pid)
            took = ended(child)
            new = anew(soak)
        finally:
            child.kill()
            child.wait()
        verdicts = [
            *steadiness(rows, new),
            ("children left", str(left), left == 0),
            ("seconds from SIGTERM to the end", f"{took:.2f}", took <= 1.0),
            ("exit code", str(child.returncode), child.returncode == 0),
            *losses(soak),
        ]
    print()
    for what, told, holds in verdicts:
        print(f"{what:34}{told:36}{'holds' if holds else 'BROKEN'}")
    for words, count in soak.refusals.items():
        print(f"a person's git, {count} times, and then again: {words}")
    return 0 if all(holds for _, _, holds in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 20.0))
