"""Take the locks of a vault (writer, daemon, client) and git's locks index.lock and gc.pid.

The locks of the vault are flocks, which the kernel frees when a process dies. An index.lock of
skillvault begins with a mark. If no process holds the flock of such a file, its writer was killed,
and the next writer takes over the lock.
"""

import fcntl
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit.git_activity import clock, command_line, describe_holder, open_commit
from skillvault.vault.disk import draft_name, is_alive
from skillvault.vault.failpoint import reach

WRITER, DAEMON, CLIENT = "writer.lock", "daemon.lock", "client.lock"
WAIT_SECONDS = 10.0
_PAUSE = 0.05
_NAMING_SECONDS = 1.0  # the longest time until the file of a taken lock names the holder

_MARK = b"skillvault "  # the beginning of our index.lock
_GIT_PAUSE = 0.01
_GC_OWNER = "gc-owner"  # the file with the content of our gc.pid
_GC_WAIT_SECONDS = 10.0  # the longest wait for a `git gc`
_GC_OWNER_BYTES = 1000  # of gc-owner that are read
# Seconds until an unreadable gc.pid, and any gc.pid, no longer counts; the second is git's own.
_GC_UNREADABLE_SECONDS, _GC_SECONDS = 60.0, 12 * 3600.0

# The threads of a process wait for each other without limit; then one of them waits for other
# processes. A forked child lacks the threads that would release these locks.
_thread_locks: dict[Path, threading.RLock] = {}
os.register_at_fork(after_in_child=_thread_locks.clear)


@contextmanager
def writer_lock(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[int]:
    """Hold the writer lock of the vault and yield its descriptor.

    Raises VaultBusyError after `wait` seconds.
    """
    message = "another skillvault is writing here ({}); try again when it ends"
    thread_lock = _thread_locks.setdefault(folder, threading.RLock())
    has_thread_lock = thread_lock.acquire(blocking=wait > 0)
    try:
        with _hold_flock(folder / WRITER, wait, message) as descriptor:
            reach("lock-taken")
            yield descriptor
    finally:
        if has_thread_lock:
            thread_lock.release()


def daemon_lock(folder: Path) -> AbstractContextManager[int]:
    """Hold the daemon's lock. Raise VaultBusyError if another daemon runs."""
    message = "another `skillvault watch` runs on this vault ({}); stop it first"
    return _hold_flock(folder / DAEMON, 0.0, message)


def client_lock(folder: Path, wait: float) -> AbstractContextManager[int]:
    """Hold the lock for asking the judge's client, and yield its descriptor.

    A child that inherits the descriptor shares the lock. Raises VaultBusyError after `wait`
    seconds.
    """
    message = "the client is being asked already ({}); try again when it has answered"
    return _hold_flock(folder / CLIENT, wait, message)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder outside the vault without creating a file there.

    Raises VaultBusyError if another process holds the lock for long.
    """
    message = f"{folder}: another skillvault is writing here; try again when it ends"
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _acquire(descriptor, WAIT_SECONDS, lambda: message)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _hold_flock(path: Path, wait: float, message: str) -> Iterator[int]:
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _acquire(descriptor, wait, lambda: message.format(_describe_owner(descriptor)))
        with suppress(OSError):  # a disk may be full, and the pid is only for messages
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid()}).encode(), 0)
        try:
            yield descriptor
        finally:
            os.ftruncate(descriptor, 0)  # until the next holder writes its pid
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, wait: float, describe: Callable[[], str]) -> None:
    deadline = time.monotonic() + wait
    while not claim(descriptor):
        if time.monotonic() >= deadline:
            raise VaultBusyError(describe())
        time.sleep(_PAUSE)


def claim(descriptor: int) -> bool:
    """Take the flock of an open file and return True, or return False if it is not free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> str | None:
    """Return a text that names the process with this flock, or None if it is free."""
    access = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY  # a disk may be read-only
    try:
        descriptor = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if claim(descriptor) else _describe_owner(descriptor)
    finally:
        os.close(descriptor)  # this releases the lock


def _describe_owner(descriptor: int) -> str:
    """Return a text that names the process with the flock of an open file.

    At first the file is empty or has the pid of a killed process.
    """
    deadline = time.monotonic() + _NAMING_SECONDS
    pid = _read_pid(descriptor)
    while (pid is None or not is_alive(pid)) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        pid = _read_pid(descriptor)
    if pid is None:
        return "a process that does not say which"
    command = " ".join(" ".join(command_line(pid)).split())[:80]
    return f"process {pid}" + (f" ({command})" if command else "")


def _read_pid(descriptor: int) -> int | None:
    match = re.fullmatch(rb'\{"pid": ([1-9][0-9]{0,8})\}', os.pread(descriptor, 1000, 0))
    return int(match[1]) if match else None


# ── index.lock ────────────────────────────────────────────────────────────────────────────


@contextmanager
def index_lock(root: Path, git_dir: Path, wait: float) -> Iterator[None]:
    """Hold index.lock. Raise VaultBusyError if another git has it for `wait` seconds."""
    path = git_dir / "index.lock"
    descriptor = _acquire_index(path, git_dir / "skillvault" / f"lock-{draft_name()}", wait)
    if descriptor is None:
        reason = describe_holder(path, root, git_dir) or "another git was at work"
        raise VaultBusyError(
            f"{reason}; what arrived waits in inbox/ and is taken when that git is done"
        )
    try:
        reach("index-locked")
        yield
        reach("index-unlocking")
    finally:
        if _is_open_file(path, descriptor):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def describe_busy_git(root: Path, git_dir: Path, common_dir: Path, *, waiting: bool) -> str | None:
    """Return a sentence about the user's git that a publication would wait for, or None.

    With `waiting` changes, a commit that is open in an editor counts, too.
    """
    index = git_dir / "index.lock"
    with suppress(FileNotFoundError), index.open("rb") as lock:
        if lock.read(len(_MARK)) == _MARK:
            return None
    for path in (index, git_dir / "HEAD.lock", common_dir / "packed-refs.lock"):
        if sentence := describe_holder(path, root, git_dir, common_dir):
            return sentence
    commit = open_commit(root, git_dir, common_dir) if waiting else None
    return f"a `git commit` is open since {clock(commit.since)} ({commit})" if commit else None


def has_abandoned_lock(git_dir: Path) -> bool:
    """Return True if a killed writer of skillvault left index.lock."""
    descriptor = _take_over(git_dir / "index.lock")
    if descriptor is None:
        return False
    os.close(descriptor)  # this releases the lock
    return True


def _acquire_index(path: Path, draft: Path, wait: float) -> int | None:
    """Take index.lock and return its descriptor, or None after `wait` seconds."""
    deadline = time.monotonic() + wait
    draft.parent.mkdir(exist_ok=True)
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        claim(descriptor)
        os.write(descriptor, _MARK + f"{os.getpid()}\n".encode())
        while not _link_lock(draft, path):
            abandoned_lock = _take_over(path)
            if abandoned_lock is not None or time.monotonic() >= deadline:
                os.close(descriptor)
                return abandoned_lock
            time.sleep(_GIT_PAUSE)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        draft.unlink(missing_ok=True)
    return descriptor


def _link_lock(draft: Path, path: Path) -> bool:
    """Create a lock file together with its content. Return False if the file exists."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True


def _take_over(path: Path) -> int | None:
    """Return the descriptor of a lock that a killed writer left, or None for any other lock."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        is_marked = os.pread(descriptor, len(_MARK), 0) == _MARK
        if is_marked and claim(descriptor) and _is_open_file(path, descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _is_open_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False


# ── gc.pid ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def gc_lock(common_dir: Path, wait: float = _GC_WAIT_SECONDS) -> Iterator[None]:
    """Hold git's gc.pid, so that no `git gc` begins. Raise VaultBusyError while one runs.

    The file gc-owner has a copy of gc.pid. If nobody holds the flock of gc-owner and both files
    agree, a killed writer of skillvault left gc.pid, even if its process id is in use again.
    """
    path, deadline = common_dir / "gc.pid", time.monotonic() + wait
    with _hold_gc_owner(path, common_dir / "skillvault" / _GC_OWNER, deadline) as owner:
        while not _claim_gc(path):
            _pause_for_gc(path, deadline)
        try:
            yield
        finally:
            _remove_gc(path, owner)


def clear_gc(common_dir: Path) -> bool:
    """Remove the gc.pid that a killed writer left. Return False if there is none."""
    path = common_dir / "gc.pid"
    if not path.exists():
        return False
    with suppress(VaultBusyError), _hold_gc_owner(path, common_dir / "skillvault" / _GC_OWNER, 0.0):
        return not path.exists()
    return False


@contextmanager
def _hold_gc_owner(path: Path, owner_file: Path, deadline: float) -> Iterator[int]:
    """Lock gc-owner, clean up after a killed writer, and write the content of gc.pid to it."""
    owner_file.parent.mkdir(exist_ok=True)
    descriptor = os.open(owner_file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        while not claim(descriptor):
            _pause_for_gc(path, deadline)
        _remove_gc(path, descriptor)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{_gc_content()}\n".encode())
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _pause_for_gc(path: Path, deadline: float) -> None:
    """Wait a moment. Raise VaultBusyError after the deadline."""
    if time.monotonic() >= deadline:
        raise VaultBusyError(
            f"{gc_holder(path) or '`git gc` was at work here'}; try again when it is done, or "
            f"remove {path.parent.name}/{path.name} if no such process runs; what arrived waits in "
            "inbox/"
        )
    time.sleep(_GIT_PAUSE)


def gc_holder(path: Path) -> str | None:
    """Return a sentence about the process in gc.pid, or None if the file does not exist."""
    try:
        pid, _, host = path.read_text(errors="replace").strip().partition(" ")
    except FileNotFoundError:
        return None
    process = f"process {pid} on {host}" if pid and host else "a process that does not say which"
    return f"{path.parent.name}/{path.name} says that `git gc` is at work ({process})"


def _remove_gc(path: Path, owner: int) -> None:
    """Remove gc.pid if gc-owner has the same content."""
    with suppress(FileNotFoundError):
        if path.read_bytes() in os.pread(owner, _GC_OWNER_BYTES, 0).splitlines():
            path.unlink()


def _gc_content() -> str:
    return f"{os.getpid()} {socket.gethostname()}"


def _claim_gc(path: Path) -> bool:
    """Write gc.pid and return True; if one exists, remove it if it is stale and return False."""
    draft = path.parent / "skillvault" / f"lock-{draft_name()}"
    try:
        draft.write_text(_gc_content())  # a half-written gc.pid would be taken for git's
        if _link_lock(draft, path):
            return True
    finally:
        draft.unlink(missing_ok=True)
    if not _is_gc_running(path):
        path.unlink(missing_ok=True)
    return False


def _is_gc_running(path: Path) -> bool:
    """Return True if the `git gc` that wrote a gc.pid still runs, by git's own rule."""
    try:
        age, fields = time.time() - path.stat().st_mtime, path.read_text().split()
    except FileNotFoundError:
        return False
    if age > _GC_SECONDS or len(fields) != 2:
        return age <= _GC_UNREADABLE_SECONDS
    return fields[1] != socket.gethostname() or (
        fields[0].isdigit() and int(fields[0]) != os.getpid() and is_alive(int(fields[0]))
    )
