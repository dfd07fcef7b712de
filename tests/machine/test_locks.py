"""Many at once on one vault: one daemon, one writer at a time, and nothing is lost between them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.learning import record
from skillvault.loop.registry import AGENDA
from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit import files as work_tree
from skillvault.vault.commit import git_activity, journal
from skillvault.vault.commit import publish as writer
from skillvault.vault.commit.store import Store
from tests import forked
from tests.conftest import NOW, Person
from tests.given import as_file, outcome, raw
from tests.machine.given import command, until
from tests.thorough import THOROUGH

BUSY = 4
STOPPED = Path(__file__).with_name("stopped.py")
WAIT_SECONDS = 3.0  # for which a writer waits for another one here
WRITERS = 20 if THOROUGH else 8
IMPATIENT = f"""
from skillvault.cli import main
from skillvault.vault.commit import locks
locks.WAIT_SECONDS = {WAIT_SECONDS}
main()
"""


class Process:
    """A process of ours with its words in a file."""

    def __init__(self, args: list[str], root: Path, said: Path) -> None:
        self._said = said
        with said.open("wb") as file:
            self.child = subprocess.Popen(args, cwd=root, stdout=file, stderr=file)

    @property
    def said(self) -> str:
        """Its words so far."""
        return self._said.read_text()

    def ended(self) -> int:
        """Its exit code."""
        return self.child.wait(60)

    def watches(self) -> bool:
        """Return True if the process is the daemon."""
        return "watching inbox/" in self.said

    def kill(self) -> None:
        """End it, stopped or not."""
        self.child.kill()
        self.child.wait()


Start = Callable[..., Process]


@pytest.fixture
def start(vault: Vault, tmp_path: Path) -> Iterator[Start]:
    """Start processes in the vault, and kill those that are left at the end."""
    with ExitStack() as stack:

        def started(*args: str) -> Process:
            said = tmp_path / f"said-{time.monotonic_ns()}"
            process = Process(list(args), vault.root, said)
            stack.callback(process.kill)
            return process

        yield started


def watch(start: Start) -> Process:
    """A daemon at work."""
    daemon = start(*command("watch"))
    until(daemon.watches)
    return daemon


def any_ended(processes: list[Process]) -> bool:
    """Return True if one of the processes has ended."""
    return any(one.child.poll() is not None for one in processes)


def given(number: int) -> bytes:
    """Return an outcome that differs from every other one."""
    return as_file(raw(number % 18, event_id=f"event-{number}", decision__target=f"t-{number}"))


def events(vault: Vault) -> list[str]:
    """The recorded outcomes, in order."""
    return sorted(one.event_id or "" for one in vault.store.snapshot().outcomes.values())


def files(place: Path, numbers: range) -> list[str]:
    """Outcomes as files outside of the vault."""
    paths = [place / f"{number}.json" for number in numbers]
    for path, number in zip(paths, numbers, strict=True):
        path.write_bytes(given(number))
    return [str(path) for path in paths]


# ── one daemon ───────────────────────────────────────────────────────────────────────


def test_a_second_daemon_is_told_who_is_the_first(start: Start) -> None:
    first = watch(start)
    second = start(*command("watch"))
    assert second.ended() == BUSY
    (line,) = second.said.splitlines()
    assert str(first.child.pid) in line
    assert first.child.poll() is None


def test_after_a_kill_a_new_daemon_starts_at_once(start: Start) -> None:
    first = watch(start)
    first.child.send_signal(signal.SIGKILL)
    first.child.wait()
    second = start(*command("watch"))
    until(second.watches)
    assert "paused" not in second.said


def test_of_two_daemons_started_together_exactly_one_goes_on(start: Start) -> None:
    for _ in range(3 if THOROUGH else 1):
        both = [start(*command("watch")) for _ in range(2)]
        until(partial(any_ended, both))
        (loser,) = [one for one in both if one.child.poll() is not None]
        (winner,) = [one for one in both if one is not loser]
        until(winner.watches)
        assert (loser.child.returncode, winner.child.poll()) == (BUSY, None)
        assert str(winner.child.pid) in loser.said
        winner.kill()


def test_a_daemon_and_four_writers_at_once_lose_nothing(
    vault: Vault, person: Person, start: Start, tmp_path: Path
) -> None:
    daemon = watch(start)
    paths = files(tmp_path, range(WRITERS))
    for first in range(0, len(paths), 4):
        writers = [start(*command("record", path)) for path in paths[first : first + 4]]
        assert [one.ended() for one in writers] == [0, 0, 0, 0], [one.said for one in writers]
    until(lambda: not vault.inbox.names())
    until(lambda: len(vault.store.snapshot().evaluations) == len(paths))
    daemon.child.send_signal(signal.SIGTERM)
    assert daemon.ended() == 0
    assert events(vault) == sorted(f"event-{n}" for n in range(len(paths)))
    assert vault.check().problems == []
    assert vault.inbox.quarantine.file_names() == []
    assert person.status() == ""


# ── one writer at a time ─────────────────────────────────────────────────────────────


@contextmanager
def stopped(start: Start, vault: Vault, mine: str, point: str) -> Iterator[Process]:
    """Stop a writer at a point at which it holds the lock, and continue it at the end."""
    writing = start(sys.executable, str(STOPPED), str(vault.root), point, mine)
    until(lambda: writing.said == "held\n")
    until(lambda: _state(writing.child.pid) == "T")
    yield writing
    writing.child.send_signal(signal.SIGCONT)
    assert writing.ended() == 0


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.parametrize("point", ["lock-taken", "before-swap"])
def test_a_writer_waits_for_a_stopped_one_then_names_it_and_nothing_is_lost(
    vault: Vault, person: Person, start: Start, tmp_path: Path, point: str
) -> None:
    mine, other = files(tmp_path, range(2))
    with stopped(start, vault, mine, point) as holder:
        waiting = start(sys.executable, "-c", IMPATIENT, "record", other)
        took = until(lambda: waiting.child.poll() is not None)
        assert took > WAIT_SECONDS
        assert waiting.child.returncode == BUSY
        (line,) = waiting.said.splitlines()
        assert str(holder.child.pid) in line
        assert "1.json" in vault.inbox.names()
    assert "event-0" in events(vault)
    vault.run(now=NOW)
    assert events(vault) == ["event-0", "event-1"]
    assert (vault.inbox.names(), person.status()) == ([], "")


@pytest.mark.parametrize("point", ["lock-taken", "before-swap"])
def test_who_only_reads_does_not_wait_for_a_writer(
    vault: Vault, start: Start, tmp_path: Path, point: str
) -> None:
    mine, known = files(tmp_path, range(2))
    vault.record([("known.json", Path(known).read_bytes())], now=NOW)
    (name,) = vault.store.snapshot().outcomes
    with stopped(start, vault, mine, point):
        for args in (("status",), ("why", name), ("skill", "list"), ("check",)):
            reading = forked.program(*args, folder=vault.root)
            # One that waits gives up, names the writer, and ends with another code.
            assert reading.returncode == 0, reading.stderr
            assert b"another skillvault" not in reading.stderr


# ── the swap is the fence ────────────────────────────────────────────────────────────


@pytest.fixture
def lockless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the program's locks by locks that let everybody in; git's own locks stay."""

    @contextmanager
    def lying(folder: Path, _wait: float) -> Iterator[int]:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / "lying.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def lying_owner(_path: Path, place: Path, _deadline: float) -> Iterator[int]:
        with lying(place.parent, 0.0) as descriptor:
            yield descriptor

    monkeypatch.setattr("skillvault.vault.commit.locks.writer_lock", lying)
    monkeypatch.setattr("skillvault.vault.commit.locks._hold_gc_owner", lying_owner)


def apply(root: Path, number: int) -> str:
    """Commit one more outcome through a new store."""
    store = Store(root, AGENDA)
    head = store.snapshot()
    change = record.record_change("coding", [outcome(raw(number))], [])
    policy, base = head.policy, head.commit
    (commit,) = store.apply([store.stage(change)], base, now=NOW, policy=policy)
    return commit


def are_in_a_line(person: Person, commits: list[str]) -> None:
    """Assert that the branch has all commits, no fork and nothing half-made."""
    line = person.git("log", "--format=%H", "main").split()
    assert set(commits) < set(line)
    assert person.git("rev-list", "--merges", "main") == ""
    assert len(Vault.open(person.root).store.snapshot().outcomes) == len(commits)
    assert person.status() == ""
    assert not list((person.root / ".git/skillvault").glob("intent*"))


@pytest.mark.usefixtures("lockless")
def test_two_writers_at_once_without_a_lock_are_kept_apart_by_git_s_own(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The late one has looked around before the early one begins, and finds the index locked.
    me, looked, placed, refused = threading.local(), *(threading.Event() for _ in range(3))

    def reach(name: str) -> None:
        if name == "objects-written" and me.late and not looked.is_set():
            looked.set()
            assert placed.wait(30)
        elif name == "before-swap" and not me.late and not placed.is_set():
            placed.set()
            assert refused.wait(30)

    def early() -> str:
        me.late = False
        assert looked.wait(30)
        return apply(vault.root, 0)

    def late() -> str:
        me.late = True
        try:
            with pytest.raises(VaultBusyError, match=r"index\.lock"):
                apply(vault.root, 1)
        finally:
            refused.set()
        return apply(vault.root, 1)

    monkeypatch.setattr(writer, "reach", reach)
    monkeypatch.setattr(writer, "_LOCK_SECONDS", 2.0)
    with ThreadPoolExecutor(2) as pool:
        commits = [pool.submit(early), pool.submit(late)]
    are_in_a_line(person, [commit.result() for commit in commits])


def interrupted(monkeypatch: pytest.MonkeyPatch, point: str, act: Callable[[], object]) -> None:
    """Let `act` run once when a writer reaches a point."""
    waiting = [act]

    def reach(name: str) -> None:
        if name == point and waiting:
            waiting.pop()()

    monkeypatch.setattr(writer, "reach", reach)
    monkeypatch.setattr(journal, "reach", reach)
    monkeypatch.setattr(work_tree, "reach", reach)


POINTS = ["objects-written", "intent-written", "file-placed", "before-index", "index-written",
          "before-swap", "branch-moved", "index-unlocked", "intent-done"]  # fmt: skip


@pytest.mark.usefixtures("lockless")
@pytest.mark.parametrize("point", POINTS)
def test_a_writer_that_comes_in_the_middle_of_another_one_without_a_lock_loses_nothing(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    commits: list[str] = []

    def come_in() -> None:
        with suppress(VaultBusyError):  # the other one holds git's locks
            commits.append(apply(vault.root, 1))

    monkeypatch.setattr(writer, "_LOCK_SECONDS", 0.1)
    interrupted(monkeypatch, point, come_in)
    commits.append(apply(vault.root, 0))
    if len(commits) == 1:
        commits.append(apply(vault.root, 1))
    are_in_a_line(person, commits)


@pytest.mark.usefixtures("lockless")
@pytest.mark.parametrize("point", ["file-placed", "before-swap"])
def test_who_settles_without_a_lock_leaves_a_writer_its_work(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    interrupted(monkeypatch, point, Store(vault.root, AGENDA).recover)
    are_in_a_line(person, [apply(vault.root, 0)])


# ── beside a person's git ────────────────────────────────────────────────────────────


def test_a_git_that_read_the_index_before_us_and_wrote_it_after_us_takes_nothing_away(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `git commit` reads the index, locks it, and writes what it read; then it fails at the
    # branch that we moved, and the person tries again.
    index = vault.root / ".git/index"
    read: list[bytes] = []

    def reach(name: str) -> None:
        if name == "before-index":
            read.append(index.read_bytes())
        elif name == "index-unlocked":
            (vault.root / ".git/index.lock").write_bytes(read[0])
            (vault.root / ".git/index.lock").rename(index)

    monkeypatch.setattr(writer, "reach", reach)
    apply(vault.root, 0)
    person.write("notes.md", "mine\n")
    person.git("add", "notes.md")
    person.git("commit", "-qm", "mine, once more")
    assert person.git("show", "--name-status", "--format=") == "A\tnotes.md"
    assert len(vault.store.snapshot().outcomes) == 1


def test_a_lock_of_a_persons_git_that_goes_while_it_is_looked_at_is_no_trouble(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = vault.root / ".git/index.lock"
    lock.touch()

    def ending(*_folders: Path) -> Iterator[git_activity.GitProcess]:
        lock.unlink(missing_ok=True)  # their git is done while /proc is read
        return iter(())

    monkeypatch.setattr(git_activity, "git_processes", ending)
    vault.record([("one.json", given(1))], now=NOW)
    assert events(vault) == ["event-1"]
