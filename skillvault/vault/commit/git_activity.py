"""Find the lock files and processes of git in a vault, and remove stale lock files.

A lock file is removed only if no visible process uses it, and if it is old or a killed writer of
skillvault made it. Without /proc no process is visible and nothing is removed.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from math import inf
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.text.text import shorten
from skillvault.vault.git.process import is_own_git

_PROC = Path("/proc")
_LOCK_SECONDS = 60.0  # an older lock that nobody uses was left behind
_OPEN_COMMIT_SECONDS = 600.0  # an older commit is forgotten in its editor
_OPTIONS_WITH_VALUE = frozenset(
    "-c -C --git-dir --work-tree --namespace --config-env --exec-path".split()
)
_COMMAND_CHARACTERS = 60  # of a command line in a message


class GitLock(Struct, frozen=True):
    """A lock file of git with its age in seconds; `is_used` if a process seems to use it."""

    path: Path
    age: float
    is_used: bool

    @property
    def is_stale(self) -> bool:
        """True if the lock file is old and unused, so that it may be removed."""
        return self.age > _LOCK_SECONDS and not self.is_used


def git_locks(root: Path, git_dir: Path, common_dir: Path, time_now: float) -> list[GitLock]:
    """Return the lock files in the git dirs, ordered by path."""
    names = ("index.lock", "HEAD.lock", "config.lock", "config.worktree.lock", "packed-refs.lock",
             "shallow.lock", "objects/maintenance.lock")  # fmt: skip
    paths = {folder / name for folder in (git_dir, common_dir) for name in names}
    for folder in {git_dir, common_dir}:
        paths.update((folder / "refs").rglob("*.lock"))
    saved_at = dict(_read_saving_times(sorted(paths)))
    has_process = bool(saved_at) and any(git_processes(root, git_dir, common_dir))
    open_files = set(opened_files()) if saved_at else set()
    return [
        GitLock(path, max(0.0, time_now - saved_time), has_process or str(path) in open_files)
        for path, saved_time in saved_at.items()
    ]


def _read_saving_times(paths: Iterable[Path]) -> Iterator[tuple[Path, float]]:
    for path in paths:
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # that git has ended
        if stat.S_ISREG(state.st_mode):
            yield path, state.st_mtime


def clear_git_locks(
    root: Path, git_dir: Path, common_dir: Path, time_now: float, *, since: float = inf
) -> None:
    """Remove the unused lock files that are stale or were made after `since`."""
    locks = git_locks(root, git_dir, common_dir, time_now) if _PROC.is_dir() else []
    for lock in locks:
        if not lock.is_used and (lock.is_stale or time_now - lock.age >= since):
            lock.path.unlink(missing_ok=True)


def opened_files() -> Iterator[str]:
    """Yield the files that visible processes hold open."""
    links = (f"{_PROC}/{pid}/fd/{name}" for pid, name in _list_descriptors())
    yield from filter(None, map(_read_link, links))


def writers_of(state: os.stat_result) -> set[int]:
    """Return the visible processes that have a file open for writing."""
    return {
        int(pid)
        for pid, name in _list_descriptors()
        if _is_file(f"{_PROC}/{pid}/fd/{name}", state) and _is_writable(pid, name)
    }


def _list_descriptors() -> Iterator[tuple[str, str]]:
    for pid in _list_process_ids():
        try:
            names = os.listdir(f"{_PROC}/{pid}/fd")  # noqa: PTH208 (no paths: see `git_processes`)
        except OSError:  # the process ended, or belongs to somebody else
            continue
        yield from ((pid, name) for name in names)


def _list_process_ids() -> Iterator[str]:
    return filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ())  # noqa: PTH208


def _is_file(link: str, state: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(link), state)  # noqa: PTH116
    except OSError:  # closed meanwhile
        return False


def _is_writable(pid: str, descriptor: str) -> bool:
    try:
        text = (_PROC / pid / "fdinfo" / descriptor).read_text()
    except OSError:
        return False
    match = re.search(r"^flags:\s*([0-7]+)", text, re.MULTILINE)
    return match is not None and int(match[1], 8) & os.O_ACCMODE != os.O_RDONLY


class GitProcess(NamedTuple):
    """A running git, with its start in unix time."""

    pid: int
    arguments: tuple[str, ...]
    since: float

    @property
    def command(self) -> str:
        """The git command, such as `commit` or `gc`, or ""."""
        arguments = iter(self.arguments[1:])
        for argument in arguments:
            if argument in _OPTIONS_WITH_VALUE:
                next(arguments, None)
            elif not argument.startswith("-"):
                return argument
        return ""

    def __str__(self) -> str:
        line = " ".join(["git", *self.arguments[1:]])
        return f"process {self.pid}, `{shorten(' '.join(line.split()), _COMMAND_CHARACTERS)}`"


def git_processes(*folders: Path) -> Iterator[GitProcess]:
    """Yield the visible git processes that work in these folders."""
    # Path objects would be slow, and a person's git waits meanwhile.
    prefixes = tuple(f"{folder}/" for folder in folders)
    for pid in map(int, _list_process_ids()):
        folder = _read_link(f"{_PROC}/{pid}/cwd")
        if folder is None or not f"{folder}/".startswith(prefixes):
            continue
        arguments, since = tuple(command_line(pid)), _read_start_time(pid)
        if arguments and Path(arguments[0]).name == "git" and since is not None:
            yield GitProcess(pid, arguments, since)


def open_commit(*folders: Path) -> GitProcess | None:
    """Return a `git commit` that is open in the user's editor, unless it is open for too long.

    A git that started this process as its hook does not count.
    """
    earliest_start = time.time() - _OPEN_COMMIT_SECONDS
    for process in git_processes(*folders):
        is_open = process.command == "commit" and process.since > earliest_start
        if is_open and process.pid not in _list_ancestors():
            return process
    return None


def _read_start_time(pid: int) -> float | None:
    """Return the start of a process in unix time, or None if the process has ended."""
    fields = _read_stat(pid)
    if not fields:
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def _list_ancestors() -> set[int]:
    pids: set[int] = set()
    pid = os.getpid()
    while pid > 1:
        pids.add(pid)
        fields = _read_stat(pid)
        pid = int(fields[1]) if fields else 0
    return pids


def _read_stat(pid: int) -> list[str]:
    """Return `/proc/<pid>/stat` from the third field on, or [] if the file cannot be read."""
    try:
        # `pid (name) state ppid …`; a name may hold anything, a parenthesis too.
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _read_link(link: str) -> str | None:
    try:
        return os.readlink(link)  # noqa: PTH115 (no path object: see `git_processes`)
    except OSError:  # the process ended, or belongs to somebody else
        return None


def describe_holder(lock: Path, *folders: Path) -> str | None:
    """Return a sentence about the git that holds a lock file, or None without a lock file.

    A git that skillvault started is not named.
    """
    since = dict(_read_saving_times([lock])).get(lock)
    if since is None:
        return None
    persons = [process for process in git_processes(*folders) if not is_own_git(process.arguments)]
    holders = [process for process in persons if process.since <= since + 1]
    process = f" ({max(holders, key=lambda git: git.since)})" if holders else ""
    return f"git holds {lock.parent.name}/{lock.name} since {clock(since)}{process}"


def clock(moment: float) -> str:
    """Format a unix time as local time, with the date unless it is today."""
    local_time = datetime.fromtimestamp(moment).astimezone()
    is_today = local_time.date() == datetime.now().astimezone().date()
    return local_time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process, or [] if the process cannot be read."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return os.fsdecode(raw.removesuffix(b"\0")).split("\0")
