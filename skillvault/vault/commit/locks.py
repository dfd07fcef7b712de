"""The locks of a vault that are ours, each held as an flock; of git's see `git_activity`.

One writer at a time, one daemon for its life; the kernel frees an flock on any death, and what
its file says is for messages only.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillvault.model.errors import VaultBusyError
from skillvault.vault.disk import is_alive
from skillvault.vault.failpoint import reach

WRITER, DAEMON = "writer.lock", "daemon.lock"
WAIT_SECONDS = 10.0
_PAUSE = 0.05
_INTRODUCTION_SECONDS = 1.0  # from when a lock is taken until its file says by whom, at most
_PROC = Path("/proc")

# The threads of a process wait for each other here, as long as it takes, and then as one for
# other processes. A forked child has no thread that would let one of these go.
_thread_locks: dict[Path, threading.RLock] = {}
os.register_at_fork(after_in_child=_thread_locks.clear)


@contextmanager
def writer_lock(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[int]:
    """Hold the vault's writer lock and give its descriptor.

    VaultBusyError names the holder after `wait` seconds.
    """
    busy = "another skillvault is writing here ({}); try again when it ends"
    thread_lock = _thread_locks.setdefault(folder, threading.RLock())
    taken = thread_lock.acquire(blocking=wait > 0)
    try:
        with _flock(folder / WRITER, wait, busy) as descriptor:
            reach("lock-taken")
            yield descriptor
    finally:
        if taken:
            thread_lock.release()


@contextmanager
def daemon_lock(folder: Path) -> Iterator[None]:
    """Be the vault's one daemon; VaultBusyError names the one that is already."""
    busy = "another `skillvault watch` runs on this vault ({}); stop it first"
    with _flock(folder / DAEMON, 0.0, busy):
        yield


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold a folder outside of the vault that others may write to, by no file in it.

    VaultBusyError if somebody holds it for long.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _acquire(
            descriptor,
            WAIT_SECONDS,
            lambda: f"{folder}: another skillvault is writing here; try again when it ends",
        )
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _flock(path: Path, wait: float, busy: str) -> Iterator[int]:
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _acquire(descriptor, wait, lambda: busy.format(_owner_of(descriptor)))
        with suppress(OSError):  # a disk may be full, and these words are for messages only
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid()}).encode(), 0)
        try:
            yield descriptor
        finally:
            os.ftruncate(descriptor, 0)  # who takes it next has not said yet who it is
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, wait: float, busy: Callable[[], str]) -> None:
    deadline = time.monotonic() + wait
    while not claim(descriptor):
        if time.monotonic() >= deadline:
            raise VaultBusyError(busy())
        time.sleep(_PAUSE)


def _owner_of(descriptor: int) -> str:
    """The process that holds the flock of an open file, in words.

    Until it has said who it is, the file is empty or names one that was killed.
    """
    deadline = time.monotonic() + _INTRODUCTION_SECONDS
    while True:
        content = os.pread(descriptor, 1000, 0)
        pid = _pid_in(content)
        if (pid is not None and is_alive(pid)) or time.monotonic() >= deadline:
            return process_of(content)
        time.sleep(_PAUSE)


def claim(descriptor: int) -> bool:
    """Take the flock of an open file, if nobody has it; it lasts as long as the file is open."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> str | None:
    """The process that holds this flock, in words; None if nobody does."""
    access = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY  # a disk may be read-only
    try:
        descriptor = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if claim(descriptor) else _owner_of(descriptor)
    finally:
        os.close(descriptor)  # which lets the lock go


def process_of(content: bytes) -> str:
    """The process that a lock's bytes name, with its command."""
    pid = _pid_in(content)
    if pid is None:
        return "a process that does not say which"
    command = " ".join(" ".join(command_line(pid)).split())[:80]
    return f"process {pid}" + (f" ({command})" if command else "")


def _pid_in(content: bytes) -> int | None:
    """The process id that a lock's bytes name; None if they name none."""
    try:
        owner = json.loads(content)
    except ValueError:
        return None
    pid = owner.get("pid") if isinstance(owner, dict) else None
    return pid if isinstance(pid, int) and 0 < pid < 1 << 31 else None


def command_line(pid: int) -> list[str]:
    """The words of a process's command line; none if the system does not tell."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return os.fsdecode(raw.removesuffix(b"\0")).split("\0")
