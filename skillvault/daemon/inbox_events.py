"""What watches inbox/, inbox/untrusted/ and LEARNINGS.md: the system's events, or polling.

It only says "look again". An event may be lost, late or our own; none is believed.
"""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog.events import (
    DirDeletedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from skillvault.vault.files import layout
from skillvault.vault.files.inbox import Inbox

_POLL = 1.0  # seconds between two readings of the folders
_PROBE = 1.0  # seconds that an event of our own may take

# Never opened: our own reading would wake us. Never modified: what is still being written
# is looked at again anyway. A link, and a file from another folder, is only "created".
_HEARD: list[type[FileSystemEvent]] = [
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    DirDeletedEvent,
]
_EXHAUSTED = (errno.ENOSPC, errno.EMFILE)  # how watchdog says that inotify has no more
# File systems where others write too: events tell only of what this machine does.
_SHARED = tuple("9p afs ceph cifs fakeowner fuse lustre nfs prl_fs smb vboxsf virtiofs".split())
_MOUNTS = Path("/proc/self/mountinfo")

MakeObserver = Callable[[], BaseObserver]

logging.getLogger("watchdog").addHandler(logging.NullHandler())  # else it writes to stderr


class _Bell(FileSystemEventHandler):
    """Rings at every event; never raises."""

    def __init__(self) -> None:
        self.rung = threading.Event()

    def dispatch(self, _event: FileSystemEvent) -> None:
        """Ring; what happened, a look finds out."""
        self.rung.set()


class _RulesBell(FileSystemEventHandler):
    """Rings a bell at the events of LEARNINGS.md, and of no other file beside it."""

    def __init__(self, bell: _Bell) -> None:
        self._bell = bell

    def dispatch(self, event: FileSystemEvent) -> None:
        """Ring, if it is that file."""
        paths = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path or b""))
        if layout.LEARNINGS in {os.path.basename(path) for path in paths}:  # noqa: PTH119 (a text)
            self._bell.dispatch(event)


class SystemEvents:
    """The inbox folders, watched by the system; OSError if it cannot.

    `arrive`: whether an event of our own did, of a name that the inbox ignores.
    """

    def __init__(self, folders: Sequence[Path], observer: BaseObserver) -> None:
        self._bell = _Bell()
        self._observer = observer
        self._open: dict[Path, int] = {}
        try:
            for folder in folders:
                # Held open, its inode number cannot pass to the folder that replaces it.
                self._open[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                observer.schedule(self._bell, str(folder.resolve()), event_filter=_HEARD)
            root = str(folders[0].parent.resolve())
            observer.schedule(_RulesBell(self._bell), root, event_filter=_HEARD)
            observer.start()
            self.arrive = self._probed(folders[0] / f".skillvault-probe-{os.getpid()}.tmp")
        except OSError:
            self.stop()
            raise

    def _probed(self, probe: Path) -> bool:
        try:
            probe.touch()
            return self._bell.rung.wait(_PROBE)
        finally:
            probe.unlink(missing_ok=True)

    def heard(self, seconds: float) -> bool:
        """Wait so long; whether something happened in a folder."""
        heard = self._bell.rung.wait(seconds)
        if heard:
            self._bell.rung.clear()
        return heard

    def stale(self) -> bool:
        """Whether a folder is not the one that is watched."""
        return not all(_is_same(folder, descriptor) for folder, descriptor in self._open.items())

    def stop(self) -> None:
        """End the watching."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._observer.stop()
        if self._observer.is_alive():
            self._observer.join()


class Polling:
    """The inbox folders, read again and again."""

    def __init__(self, folders: Sequence[Path], inbox: Inbox) -> None:
        self._folders = folders
        self._inbox = inbox
        self._seen = self._look()
        self._next = time.monotonic() + _POLL

    def _look(self) -> tuple[list[str], float | None]:
        """The names that stand there, and when LEARNINGS.md was written."""
        try:
            written = (self._inbox.root / layout.LEARNINGS).stat().st_mtime
        except FileNotFoundError:
            written = None
        return self._inbox.names(), written

    def heard(self, seconds: float) -> bool:
        """Wait so long; whether other names stand there than before."""
        time.sleep(seconds)
        if time.monotonic() < self._next:
            return False
        before, self._seen = self._seen, self._look()
        self._next = time.monotonic() + _POLL
        return self._seen != before

    def stale(self) -> bool:
        """Whether a folder is gone."""
        return not all(folder.is_dir() for folder in self._folders)

    def stop(self) -> None:
        """Hold nothing, as ever."""


InboxEvents = SystemEvents | Polling


def native() -> BaseObserver:
    """What watches folders on this system."""
    return Observer()


def opened(inbox: Inbox, make: MakeObserver = native) -> tuple[InboxEvents, str]:
    """(what watches the inbox, a sentence that says so); makes the folders that are missing."""
    inbox.create_folders()
    folders = [inbox.root / layout.INBOX, inbox.root / layout.UNTRUSTED]
    reason = "this file system gives no events"
    if not is_shared(folders[0]):
        try:
            events = SystemEvents(folders, make())
        except OSError as error:
            if error.errno not in _EXHAUSTED or error.filename:
                raise
            reason = str(error.strerror)
        else:
            if events.arrive:
                return events, "watching inbox/"
            events.stop()
    return Polling(folders, inbox), f"watching inbox/ by polling ({reason})"


def is_shared(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether other machines may write to this folder's file system; False if unknown."""
    if not mounts.exists():
        return False
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.read_text(errors="replace").splitlines():
        mount, _, kind = line.partition(" - ")
        if mount.split(" ")[2] == number:
            return kind.startswith(_SHARED)
    return False


def _is_same(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except OSError:  # gone, or the handle of a network folder that was mounted anew
        return False
