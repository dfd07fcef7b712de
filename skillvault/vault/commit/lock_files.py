"""Who holds a lock of this vault, and which locks of git were left behind.

An flock is probed and let go at once. A lock file of git is removed where it is old or of a
writer of ours that was killed, and nobody can be seen to use it.
"""

import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_STALE = 60.0  # seconds from which on a lock that nobody uses was left behind


class LockFile(Struct, frozen=True):
    """A lock file of git: its age in seconds, and whether somebody seems to be at work."""

    path: Path
    age: float
    used: bool

    @property
    def stale(self) -> bool:
        """Whether it may be removed."""
        return self.age > _STALE and not self.used


def claimed(descriptor: int) -> bool:
    """Take the flock of an open file, if nobody has it; it lasts as long as the file is open."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> str | None:
    """What is known of the process that holds this flock; None where nobody does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if claimed(descriptor) else named(os.pread(descriptor, 1000, 0))
    finally:
        os.close(descriptor)  # which lets the lock go


def named(data: bytes) -> str:
    """The process that a lock's bytes tell of."""
    try:
        said = json.loads(data)
    except ValueError:
        return "a process that does not say which"
    pid = said.get("pid") if isinstance(said, dict) else None
    words = " ".join(_command(pid).split())[:80] if isinstance(pid, int) else ""
    return f"process {pid}" + (f" ({words})" if words else "")


def _command(pid: int) -> str:
    """The command line of a process; empty where the system does not tell."""
    try:
        return os.fsdecode((_PROC / str(pid) / "cmdline").read_bytes()).replace("\0", " ").strip()
    except OSError:
        return ""


def lock_files(root: Path, own: Path, common: Path, now: float) -> list[LockFile]:
    """The lock files of git that stand in the git dirs, by path."""
    names = ("index.lock", "HEAD.lock", "config.lock", "config.worktree.lock", "packed-refs.lock",
             "shallow.lock")  # fmt: skip
    places = {folder / name for folder in (own, common) for name in names}
    places |= {path for folder in {own, common} for path in (folder / "refs").rglob("*.lock")}
    found = dict(_made(sorted(places)))
    working = bool(found) and any(_working_in(root, own, common))
    opened = set(_open_files()) if found else set()
    return [
        LockFile(path, max(0.0, now - made), working or str(path) in opened)
        for path, made in found.items()
    ]


def _made(paths: Iterable[Path]) -> Iterator[tuple[Path, float]]:
    """When each of these files was made, of those that are there."""
    for path in paths:
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # a git that was at work there is done
        if stat.S_ISREG(state.st_mode):
            yield path, state.st_mtime


def clear(root: Path, own: Path, common: Path, now: float, *, since: float = inf) -> None:
    """Remove the lock files that were left behind: the stale ones, and those made since a time.

    Nothing where the system does not tell who uses what.
    """
    found = lock_files(root, own, common, now) if _PROC.is_dir() else []
    for lock in found:
        if not lock.used and (lock.stale or now - lock.age >= since):
            lock.path.unlink(missing_ok=True)


def _open_files() -> Iterator[str]:
    """The files that processes hold open, as far as this one may see; none without /proc."""
    for link in _PROC.glob("[0-9]*/fd/*"):
        if target := _target(link):
            yield target


def _working_in(*folders: Path) -> Iterator[str]:
    """The git processes at work in these folders.

    While a person writes a commit message git keeps index.lock, and does not hold it open.
    """
    for link in _PROC.glob("[0-9]*/cwd"):
        target = _target(link)
        inside = target and any(Path(target).is_relative_to(folder) for folder in folders)
        if inside and Path(_command(int(link.parent.name)).partition(" ")[0]).name == "git":
            yield link.parent.name


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except OSError:  # the process ended, or belongs to somebody else
        return None
