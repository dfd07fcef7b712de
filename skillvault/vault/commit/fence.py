"""Git's own locks, held by us while a publication is put in its place: index.lock and gc.pid.

Every git command that changes the index or tracked files takes index.lock. Ours appears whole,
says whose it is, and is flocked as long as its maker lives: one with our mark that nobody holds is
of a killed writer, and the next writer, who has the writer's lock, takes it over.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit.git_activity import clock, open_commit, what_holds
from skillvault.vault.commit.locks import claim
from skillvault.vault.disk import draft_name, is_alive
from skillvault.vault.failpoint import reach

_MARK = b"skillvault "
_PAUSE = 0.01
_GC_OWNER = "gc-owner"  # the file with the words of our gc.pid
_GC_WAIT = 10.0  # seconds that a `git gc` is waited for
_GC_NOTES = 1000  # bytes of gc-owner that are read
_GC_YOUNG, _GC_STALE = 60.0, 12 * 3600.0  # seconds; the second as git itself has it


@contextmanager
def index_lock(root: Path, git_dir: Path, wait: float) -> Iterator[None]:
    """Hold index.lock; VaultBusyError names the git that holds it for `wait` seconds."""
    path = git_dir / "index.lock"
    descriptor = _acquire(path, git_dir / "skillvault" / f"lock-{draft_name()}", wait)
    if descriptor is None:
        holder = what_holds(path, root, git_dir) or "another git was at work"
        raise VaultBusyError(
            f"{holder}; what arrived waits in inbox/ and is taken when that git is done"
        )
    try:
        reach("index-locked")
        yield
        reach("index-unlocking")
    finally:
        if _is_file(path, descriptor):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def git_at_work(root: Path, own: Path, common: Path, *, waiting: bool) -> str | None:
    """The person's git that a publication would wait for, in words; None if there is none.

    `waiting`: something is to be published, which a commit open in an editor would not survive.
    """
    if _is_ours(own / "index.lock"):
        return None
    for lock in (own / "index.lock", own / "HEAD.lock", common / "packed-refs.lock"):
        if sentence := what_holds(lock, root, own, common):
            return sentence
    commit = open_commit(root, own, common) if waiting else None
    return f"a `git commit` is open since {clock(commit.since)} ({commit})" if commit else None


def _is_ours(path: Path) -> bool:
    with suppress(FileNotFoundError), path.open("rb") as lock:
        return lock.read(len(_MARK)) == _MARK
    return False


def is_left_behind(git_dir: Path) -> bool:
    """True if index.lock is of a killed writer of ours."""
    descriptor = _taken_over(git_dir / "index.lock")
    if descriptor is None:
        return False
    os.close(descriptor)  # which gives it back
    return True


def _acquire(path: Path, draft: Path, wait: float) -> int | None:
    """The descriptor of index.lock, once it is ours; None if it is not within `wait` seconds."""
    deadline = time.monotonic() + wait
    descriptor = _drafted(draft)
    try:
        while not _linked(draft, path):
            adopted = _taken_over(path)
            if adopted is not None or time.monotonic() >= deadline:
                os.close(descriptor)
                return adopted
            time.sleep(_PAUSE)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        draft.unlink(missing_ok=True)
    return descriptor


def _linked(draft: Path, path: Path) -> bool:
    """Let a lock appear whole; False if there is one."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True


def _drafted(draft: Path) -> int:
    """A file that says whose it is, flocked."""
    draft.parent.mkdir(exist_ok=True)
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        claim(descriptor)
        os.write(descriptor, _MARK + f"{os.getpid()}\n".encode())
    except OSError:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
        raise
    return descriptor


def _taken_over(path: Path) -> int | None:
    """The lock of a killed writer of ours, now flocked by us; None if it is anybody else's."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        ours = os.pread(descriptor, len(_MARK), 0) == _MARK
        if ours and claim(descriptor) and _is_file(path, descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _is_file(path: Path, descriptor: int) -> bool:
    """True if an open file is the one that stands at a path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False


# ── gc.pid ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def gc_lock(common: Path, wait: float = _GC_WAIT) -> Iterator[None]:
    """Hold git's gc.pid, so that no `git gc` begins; VaultBusyError while one is at work.

    A gc.pid with the words of a gc-owner that nobody held is of a killed writer of ours, whatever
    its process and host are by now.
    """
    path, deadline = common / "gc.pid", time.monotonic() + wait
    with _gc_owner(path, common / "skillvault" / _GC_OWNER, deadline) as owner:
        while not _claim_gc(path):
            _pause_for_gc(path, deadline)
        try:
            yield
        finally:
            _remove_gc(path, owner)


def clear_gc(common: Path) -> bool:
    """Remove the gc.pid of a killed writer of ours; True if there was one."""
    path = common / "gc.pid"
    if not path.exists():
        return False
    with suppress(VaultBusyError), _gc_owner(path, common / "skillvault" / _GC_OWNER, 0.0):
        return not path.exists()
    return False


@contextmanager
def _gc_owner(path: Path, place: Path, deadline: float) -> Iterator[int]:
    """Hold the flock of gc-owner, with our words in it and nothing of a killed writer left."""
    place.parent.mkdir(exist_ok=True)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        while not claim(descriptor):
            _pause_for_gc(path, deadline)
        _remove_gc(path, descriptor)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{_gc_words()}\n".encode())
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _pause_for_gc(path: Path, deadline: float) -> None:
    """Wait a moment; once it is late VaultBusyError names gc.pid, its writer and how to go on."""
    if time.monotonic() >= deadline:
        place = f"{path.parent.name}/{path.name}"
        raise VaultBusyError(
            f"{gc_holder(path) or '`git gc` was at work here'}; try again when it is done, or "
            f"remove {place} if no such process runs; what arrived waits in inbox/"
        )
    time.sleep(_PAUSE)


def gc_holder(path: Path) -> str | None:
    """The process that a gc.pid names, in words; None if there is no such file."""
    try:
        pid, _, host = path.read_text(errors="replace").strip().partition(" ")
    except FileNotFoundError:
        return None
    who = f"process {pid} on {host}" if pid and host else "a process that does not say which"
    return f"{path.parent.name}/{path.name} says that `git gc` is at work ({who})"


def _remove_gc(path: Path, owner: int) -> None:
    """Remove gc.pid if its words are among those of gc-owner."""
    with suppress(FileNotFoundError):
        if path.read_bytes() in os.pread(owner, _GC_NOTES, 0).splitlines():
            path.unlink()


def _gc_words() -> str:
    return f"{os.getpid()} {socket.gethostname()}"


def _claim_gc(path: Path) -> bool:
    """Write gc.pid, if no living `git gc` has; one that is left behind is removed."""
    draft = path.parent / "skillvault" / f"lock-{draft_name()}"
    try:
        draft.write_text(_gc_words())  # it is to appear whole: a half one is taken for git's
        if _linked(draft, path):
            return True
    finally:
        draft.unlink(missing_ok=True)
    if not _gc_lives(path):
        path.unlink(missing_ok=True)
    return False


def _gc_lives(path: Path) -> bool:
    """Whether the `git gc` that wrote a gc.pid is at work, as git itself thinks of it."""
    try:
        age, words = time.time() - path.stat().st_mtime, path.read_text().split()
    except FileNotFoundError:
        return False
    if age > _GC_STALE or len(words) != 2:
        return age <= _GC_YOUNG
    return words[1] != socket.gethostname() or (
        words[0].isdigit() and int(words[0]) != os.getpid() and is_alive(int(words[0]))
    )
