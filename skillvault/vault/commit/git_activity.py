"""What git is doing in a vault, as far as the system tells: its lock files and its processes.

A lock file is removed if it is old or a killed writer's of ours, and nobody can be seen to use it.
"""

import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from math import inf
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.text.text import shorten
from skillvault.vault.git.process import is_own_git

_PROC = Path("/proc")
_STALE = 60.0  # seconds from which on a lock that nobody uses was left behind
_OPEN_COMMIT_SECONDS = 600.0  # from which on an editor counts as forgotten
_VALUED = {"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}
_WORDS = 60  # characters of a command


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
             "shallow.lock", "objects/maintenance.lock")  # fmt: skip
    places = {folder / name for folder in (own, common) for name in names}
    places |= {path for folder in {own, common} for path in (folder / "refs").rglob("*.lock")}
    saved_at = dict(_saved(sorted(places)))
    working = bool(saved_at) and any(git_processes(root, own, common))
    opened = set(opened_files()) if saved_at else set()
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


def opened_files() -> Iterator[str]:
    """The files that processes hold open, as far as this one may see; none without /proc."""
    places = (f"{_PROC}/{pid}/fd/{name}" for pid, name in _descriptors())
    yield from filter(None, map(_target, places))


def writers_of(state: os.stat_result) -> set[int]:
    """The processes that have a file open for writing, as far as this one may see.

    None without /proc.
    """
    return {
        int(pid)
        for pid, name in _descriptors()
        if _is_file(f"{_PROC}/{pid}/fd/{name}", state) and _writes(pid, name)
    }


def _descriptors() -> Iterator[tuple[str, str]]:
    """(process, descriptor) of all that may be seen; none without /proc."""
    for pid in filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ()):  # noqa: PTH208
        try:
            names = os.listdir(f"{_PROC}/{pid}/fd")  # noqa: PTH208 (no paths: see `_processes_in`)
        except OSError:  # the process ended, or belongs to somebody else
            continue
        yield from ((pid, name) for name in names)


def _is_file(link: str, state: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(link), state)  # noqa: PTH116
    except OSError:  # closed meanwhile
        return False


def _writes(pid: str, descriptor: str) -> bool:
    """Whether a process may write by a descriptor."""
    try:
        text = (_PROC / pid / "fdinfo" / descriptor).read_text()
    except OSError:
        return False
    flags = re.search(r"^flags:\s*([0-7]+)", text, re.MULTILINE)
    return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY


class GitProcess(NamedTuple):
    """A git that is at work: its process id, its command line, and since when (unix time)."""

    pid: int
    words: tuple[str, ...]
    since: float

    @property
    def command(self) -> str:
        """What it was asked for: `commit`, `gc`; empty if it was asked for nothing."""
        words = iter(self.words[1:])
        for word in words:
            if word in _VALUED:
                next(words, None)
            elif not word.startswith("-"):
                return word
        return ""

    def __str__(self) -> str:
        line = " ".join(["git", *self.words[1:]])
        return f"process {self.pid}, `{shorten(' '.join(line.split()), _WORDS)}`"


def git_processes(*folders: Path) -> Iterator[GitProcess]:
    """The git processes at work in these folders, as far as this one may see; none without /proc.

    While a person writes a commit message git keeps index.lock, and does not hold it open.
    """
    places = [str(folder) for folder in folders]
    for pid in _processes_in(places):
        words = tuple(command_line(pid))
        since = _started_at(pid)
        if words and Path(words[0]).name == "git" and since is not None:
            yield GitProcess(pid, words, since)


def _processes_in(folders: Collection[str]) -> Iterator[int]:
    """The processes whose working directory is one of these folders or below it.

    It is asked while a person's git waits for us, so without a path object for each.
    """
    for pid in filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ()):  # noqa: PTH208
        place = _target(f"{_PROC}/{pid}/cwd")
        if place and any(place == top or place.startswith(f"{top}/") for top in folders):
            yield int(pid)


def open_commit(*folders: Path) -> GitProcess | None:
    """A person's `git commit` that is not done, unless it is forgotten in its editor.

    Not one that this process was started by, as a hook of it.
    """
    started_after = time.time() - _OPEN_COMMIT_SECONDS
    for process in git_processes(*folders):
        recent = process.command == "commit" and process.since > started_after
        if recent and process.pid not in _ancestors():
            return process
    return None


def _started_at(pid: int) -> float | None:
    """When a process was started, in unix time; None if it is no more."""
    fields = _stat(pid)
    if not fields:
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def _ancestors() -> set[int]:
    """The processes that this one was started by, as far as the system tells."""
    pids: set[int] = set()
    pid = os.getpid()
    while pid > 1:
        pids.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return pids


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/<pid>/stat` from the third on; none if the system does not tell."""
    try:
        # `pid (name) state ppid …`; a name may hold anything, a parenthesis too.
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)  # noqa: PTH115 (no path object: see `_processes_in`)
    except OSError:  # the process ended, or belongs to somebody else
        return None


# ── what a publication waits for ──────────────────────────────────────────────────────────


def describe_holder(lock: Path, *folders: Path) -> str | None:
    """The git that holds a lock file, in words; None if there is no such file.

    Processes of ours are not named: those that write hold the index under our own lock.
    """
    saved = dict(_saved([lock]))
    if lock not in saved:
        return None
    persons = [process for process in git_processes(*folders) if not is_own_git(process.words)]
    holders = [process for process in persons if process.since <= saved[lock] + 1]
    who = f" ({max(holders, key=lambda process: process.since)})" if holders else ""
    return f"git holds {lock.parent.name}/{lock.name} since {clock(saved[lock])}{who}"


def clock(moment: float) -> str:
    """A unix time as a clock of today shows it; with its date if it was not today."""
    then = datetime.fromtimestamp(moment).astimezone()
    today = then.date() == datetime.now().astimezone().date()
    return then.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


def command_line(pid: int) -> list[str]:
    """The words of a process's command line; none if the system does not tell."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return os.fsdecode(raw.removesuffix(b"\0")).split("\0")
