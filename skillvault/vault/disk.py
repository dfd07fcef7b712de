"""Name draft files, recognize errors of the disk, and sync writes to the disk.

A draft is a file that is renamed when it is complete. Its name has the id of its process, so that
drafts of killed processes can be removed.
"""

import ctypes
import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from skillvault.model.errors import GitError, PausedError

_numbers = count(1)


def draft_name() -> str:
    """Return a file name that no other thread and no other living process uses."""
    return f"{os.getpid()}-{next(_numbers)}"


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file that appears complete or not at all."""
    draft = path.with_name(f".{draft_name()}.tmp")
    try:
        draft.touch(mode)
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_state(path: Path | str) -> os.stat_result | None:
    """Return `os.lstat` of a path, or None if nothing is there."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def private_mode(folder: Path) -> int:
    """Return a mode for a new folder that only users who may write to `folder` can read."""
    mode = folder.stat().st_mode
    return 0o700 | (0o070 if mode & 0o020 else 0) | (0o007 if mode & 0o002 else 0)


def is_abandoned(name: str) -> bool:
    """Return True if the process that made the draft of this name has ended."""
    match = re.search(r"([0-9]+)-[0-9]+$", name)
    return match is not None and not is_alive(int(match[1]))


def is_alive(pid: int) -> bool:
    """Return True if a process with this id runs.

    A zombie does not count: in a container without an init process, zombies stay.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2]
    except OSError:  # no Linux
        return True
    return not state.startswith("Z")


_REASONS = {
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "the quota is used up",
    errno.EIO: "an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
}
# The same errors in messages of git and libgit2, which have no number.
_MESSAGES = {os.strerror(number).lower(): text for number, text in _REASONS.items()} | {
    "out of diskspace": "no space left",
    "couldn't write": "a file could not be written",
}


UNSAVED = "then record it again: it is not saved"


def describe_disk_error(error: OSError | GitError | ImportError) -> str | None:
    """Describe an error of the disk. Return None if the error has another cause."""
    if isinstance(error, OSError) and error.errno in _REASONS:
        return _REASONS[error.errno]
    error_text = str(error).lower()
    return next((text for message, text in _MESSAGES.items() if message in error_text), None)


@contextmanager
def pause_on_disk_errors(state: str = "inbox/ waits until then") -> Iterator[None]:
    """Raise PausedError for errors of the disk in the block; `state` says what is saved."""
    try:
        yield
    except (OSError, GitError, ImportError) as error:  # an import reads a file, too
        if (reason := describe_disk_error(error)) is None:
            raise
        advice = f"free space or repair the disk, {state}"
        raise PausedError(f"paused: disk: {reason}; {advice}") from error


def sync_disks(*folders: Path) -> None:
    """Sync the file systems of these folders, so that their writes survive a power failure."""
    if not sys.platform.startswith("linux"):
        os.sync()
        return
    system = ctypes.CDLL(None, use_errno=True)
    devices = {folder.stat().st_dev: folder for folder in folders}
    for folder in devices.values():
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if system.syncfs(descriptor) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(folder))
        finally:
            os.close(descriptor)
