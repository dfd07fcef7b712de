"""The locks of a vault: ours, which are held as an flock, and git's lock files.

One writer at a time, one daemon for its life; the kernel frees an flock on any death, and what
its file says is for messages only. A lock file of git is removed if it is old or a killed
writer's of ours, and nobody can be seen to use it.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.errors import VaultBusyError
from skillvault.vault.failpoint import reach

WRITER, DAEMON = "writer.lock", "daemon.lock"
WAIT_SECONDS = 10.0
_PAUSE = 0.05
_PROC = Path("/proc")
_STALE = 60.0  # seconds from which on a lock that nobody uses was left behind


# ── ours ──────────────────────────────────────────────────────────────────────────────────


@contextmanager
def writer_lock(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[int]:
    """Hold the vault's writer lock and give its descriptor.

    VaultBusyError names the holder after `wait` seconds.
    """
    busy = "another skillvault is writing here ({}); try again when it ends"
    with _flock(folder / WRITER, wait, busy) as descriptor:
        reach("lock-taken")
        yield descriptor


@contextmanager
def daemon_lock(folder: Path) -> Iterator[None]:
    """Be the vault's one daemon; VaultBusyError names the one that is already."""
    busy = "another `skillvault watch` runs on this vault ({}); stop it first"
    with _flock(folder / DAEMON, 0.0, busy):
        yield


@contextmanager
def _flock(path: Path, wait: float, busy: str) -> Iterator[int]:
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _acquire(descriptor, wait, busy)
        with suppress(OSError):  # a disk may be full, and these words are for messages only
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid()}).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, wait: float, busy: str) -> None:
    deadline = time.monotonic() + wait
    while not claim(descriptor):
        if time.monotonic() >= deadline:
            owner = os.pread(descriptor, 1000, 0)
            if not owner:  # it has just taken the lock, and is about to say who it is
                time.sleep(_PAUSE)
                owner = os.pread(descriptor, 1000, 0)
            raise VaultBusyError(busy.format(process_of(owner)))
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
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if claim(descriptor) else process_of(os.pread(descriptor, 1000, 0))
    finally:
        os.close(descriptor)  # which lets the lock go


def process_of(content: bytes) -> str:
    """The process that a lock's bytes name, with its command."""
    try:
        owner = json.loads(content)
    except ValueError:
        return "a process that does not say which"
    pid = owner.get("pid") if isinstance(owner, dict) else None
    command = " ".join(_command(pid).split())[:80] if isinstance(pid, int) else ""
    return f"process {pid}" + (f" ({command})" if command else "")


def _command(pid: int) -> str:
    """The command line of a process; empty if the system does not tell."""
    try:
        return os.fsdecode((_PROC / str(pid) / "cmdline").read_bytes()).replace("\0", " ").strip()
    except OSError:
        return ""


# ── git's ─────────────────────────────────────────────────────────────────────────────────


class GitLock(Struct, frozen=True):
    """A lock file of git: its age in seconds, and whether somebody seems to be at work."""

    path: Path
    age: float
    used: bool

    @property
    def stale(self) -> bool:
        """Whether it may be removed."""
        return self.age > _STALE and not self.used


def git_locks(root: Path, own: Path, common: Path, now: float) -> list[GitLock]:
    """The lock files of git that stand in the git dirs, by path."""
    names = ("index.lock", "HEAD.lock", "config.lock", "config.worktree.lock", "packed-refs.lock",
             "shallow.lock")  # fmt: skip
    places = {folder / name for folder in (own, common) for name in names}
    places |= {path for folder in {own, common} for path in (folder / "refs").rglob("*.lock")}
    saved_at = dict(_saved(sorted(places)))
    working = bool(saved_at) and any(git_processes(root, own, common))
    opened = set(_open_files()) if saved_at else set()
    return [
        GitLock(path, max(0.0, now - saved), working or str(path) in opened)
        for path, saved in saved_at.items()
    ]


def _saved(paths: Iterable[Path]) -> Iterator[tuple[Path, float]]:
    """(path, when it was saved) of those of these files that are there."""
    for path in paths:
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # a git that was at work there is done
        if stat.S_ISREG(state.st_mode):
            yield path, state.st_mtime


def clear_git_locks(root: Path, own: Path, common: Path, now: float, *, since: float = inf) -> None:
    """Remove the lock files that were left behind: the stale ones, and those made since a time.

    Nothing if the system does not tell who uses what.
    """
    locks = git_locks(root, own, common, now) if _PROC.is_dir() else []
    for lock in locks:
        if not lock.used and (lock.stale or now - lock.age >= since):
            lock.path.unlink(missing_ok=True)


def _open_files() -> Iterator[str]:
    """The files that processes hold open, as far as this one may see; none without /proc."""
    for link in _PROC.glob("[0-9]*/fd/*"):
        if target := _target(link):
            yield target


class GitProcess(NamedTuple):
    """A git that is at work: its process id, its command line, and since when (unix time)."""

    pid: int
    words: tuple[str, ...]
    since: float


def git_processes(*folders: Path) -> Iterator[GitProcess]:
    """The git processes at work in these folders, as far as this one may see; none without /proc.

    While a person writes a commit message git keeps index.lock, and does not hold it open.
    """
    for link in _PROC.glob("[0-9]*/cwd"):
        target = _target(link)
        if not target or not any(Path(target).is_relative_to(folder) for folder in folders):
            continue
        pid = int(link.parent.name)
        words = tuple(_command(pid).split(" "))
        if Path(words[0]).name == "git":
            with suppress(FileNotFoundError):
                yield GitProcess(pid, words, link.parent.stat().st_mtime)


def ancestors() -> set[int]:
    """The processes that this one was started by, as far as the system tells."""
    pids: set[int] = set()
    pid = os.getpid()
    while pid > 1:
        pids.add(pid)
        try:
            # `pid (name) state ppid …`; a name may hold anything, a parenthesis too.
            stat_line = (_PROC / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            return pids
        pid = int(stat_line.rpartition(")")[2].split()[1])
    return pids


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except OSError:  # the process ended, or belongs to somebody else
        return None
