"""Two locks: one writer at a time, one daemon for its life. Freed by the kernel on any death.

Each is an flock on a file in the git common dir. What the file says is for messages only; the
lock is the truth.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillvault.errors import VaultBusyError
from skillvault.vault.commit.lock_files import claimed, named
from skillvault.vault.failpoint import reach

WRITER, DAEMON = "writer.lock", "daemon.lock"
WAIT_SECONDS = 10.0
_PAUSE = 0.05


@contextmanager
def writer_lock(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[int]:
    """Hold the vault's writer lock and give its descriptor.

    VaultBusyError names the holder after `wait` seconds.
    """
    told = "another skillvault is writing here ({}); try again when it is done"
    with _held(folder / WRITER, wait, told) as descriptor:
        reach("lock-taken")
        yield descriptor


@contextmanager
def daemon_lock(folder: Path) -> Iterator[None]:
    """Be the vault's one daemon; VaultBusyError names the one that is already."""
    told = "another `skillvault watch` is at work on this vault ({}); stop it first"
    with _held(folder / DAEMON, 0.0, told):
        yield


@contextmanager
def _held(path: Path, wait: float, told: str) -> Iterator[int]:
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _acquire(descriptor, wait, told)
        with suppress(OSError):  # a disk may be full, and these words are for messages only
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid()}).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, wait: float, told: str) -> None:
    deadline = time.monotonic() + wait
    while not claimed(descriptor):
        if time.monotonic() >= deadline:
            said = os.pread(descriptor, 1000, 0)
            if not said:  # it has just taken the lock, and is about to say who it is
                time.sleep(_PAUSE)
                said = os.pread(descriptor, 1000, 0)
            raise VaultBusyError(told.format(named(said)))
        time.sleep(_PAUSE)
