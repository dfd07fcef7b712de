"""Disk errors, syncs that make writes last, and names of drafts."""

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


def private_mode(folder: Path) -> int:
    """Return a mode for a new folder that lets in only those who may write to this folder."""
    mode = folder.stat().st_mode
    return 0o700 | (0o070 if mode & 0o020 else 0) | (0o007 if mode & 0o002 else 0)


def is_abandoned(name: str) -> bool:
    """Return True if a draft of this name belongs to a process that has ended."""
    numbers = re.search(r"([0-9]+)-[0-9]+$", name)
    return numbers is not None and not is_alive(int(numbers[1]))


def is_alive(pid: int) -> bool:
    """Return True if a process with this id runs.

    In a container without an init process, one whose parent has ended stays as a zombie.
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


_TROUBLE = {
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "the quota is used up",
    errno.EIO: "an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
}
# The same in the words of git and libgit2, which give no number.
_MESSAGES = {os.strerror(number).lower(): text for number, text in _TROUBLE.items()} | {
    "out of diskspace": "no space left",
    "couldn't write": "a file could not be written",
}


def trouble(error: OSError | GitError | ImportError) -> str | None:
    """Describe the trouble with the disk; None if the error has another cause."""
    if isinstance(error, OSError) and error.errno in _TROUBLE:
        return _TROUBLE[error.errno]
    words = str(error).lower()
    return next((text for message, text in _MESSAGES.items() if message in words), None)


@contextmanager
def pause_on_disk_errors() -> Iterator[None]:
    """Turn an error of the disk into PausedError, until the disk is repaired."""
    try:
        yield
    except (OSError, GitError, ImportError) as error:  # a module is a file too
        reason = trouble(error)
        if reason is None:
            raise
        raise PausedError(
            f"paused: disk: {reason}; free space or repair the disk, inbox/ waits until then"
        ) from error


def sync_disks(*folders: Path) -> None:
    """Make all writes to the file systems of these folders last, with one wait for all."""
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
