"""Watch the inbox, LEARNINGS.md and the branch, by events of the system or by polling.

An event only means "scan again": it may be lost, late, or caused by the daemon itself. The daemon
calls `open_events`, which chooses between events and polling.
"""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
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

_POLL_SECONDS = 1.0  # between two checks of the folders
_PROBE_SECONDS = 1.0  # the longest wait for a test event

# No "opened" events, because the daemon itself opens files. No "modified" events, because a file
# that is being written is scanned again anyway. A link or a moved file is only "created".
_EVENT_TYPES: list[type[FileSystemEvent]] = [
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    DirDeletedEvent,
]
_NO_WATCHES = (errno.ENOSPC, errno.EMFILE)  # the errors if inotify has no more watches
# Network file systems: events cover only this machine.
_NETWORK = tuple("9p afs ceph cifs fakeowner fuse lustre nfs prl_fs smb vboxsf virtiofs".split())
_MOUNTS_FILE = Path("/proc/self/mountinfo")

MakeObserver = Callable[[], BaseObserver]

logging.getLogger("watchdog").addHandler(logging.NullHandler())  # keeps stderr clean


class _Signal(FileSystemEventHandler):
    """A handler that only records that an event came."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def dispatch(self, _event: FileSystemEvent) -> None:
        self.event.set()


class _FileSignal(FileSystemEventHandler):
    """A handler that forwards only the events of some files."""

    def __init__(self, signal: _Signal, files: Iterable[Path]) -> None:
        self._signal = signal
        self._files = {str(file) for file in files}

    def dispatch(self, event: FileSystemEvent) -> None:
        paths = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path or b""))
        if not self._files.isdisjoint(paths):
            self._signal.dispatch(event)


class SystemEvents:
    """A watch of folders and single files by events of the system.

    `is_working` is True if a test event arrived. The constructor raises OSError if the system has
    no events.
    """

    def __init__(
        self, folders: Sequence[Path], files: Sequence[Path], observer: BaseObserver
    ) -> None:
        self._signal = _Signal()
        self._observer = observer
        self._open: dict[Path, int] = {}
        try:
            for folder in folders:
                # An open folder keeps its inode number, so that a new folder has another one.
                self._open[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                observer.schedule(self._signal, str(folder.resolve()), event_filter=_EVENT_TYPES)
            paths = [file.parent.resolve() / file.name for file in files]
            handler = _FileSignal(self._signal, paths)
            for folder in {path.parent for path in paths if path.parent.is_dir()}:
                observer.schedule(handler, str(folder), event_filter=_EVENT_TYPES)
            observer.start()
            self.is_working = self._probe(folders[0] / f".skillvault-probe-{os.getpid()}.tmp")
        except OSError:
            self.stop()
            raise

    def _probe(self, probe: Path) -> bool:
        try:
            probe.touch()
            return self._signal.event.wait(_PROBE_SECONDS)
        finally:
            probe.unlink(missing_ok=True)

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds`; return True if an event came."""
        has_event = self._signal.event.wait(seconds)
        if has_event:
            self._signal.event.clear()
        return has_event

    def is_stale(self) -> bool:
        """Return True if a folder was replaced."""
        return not all(_is_same(folder, descriptor) for folder, descriptor in self._open.items())

    def stop(self) -> None:
        """Stop watching."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._observer.stop()
        if self._observer.is_alive():
            self._observer.join()


class Polling:
    """A watch of folders and single files that reads them once a second."""

    def __init__(self, folders: Sequence[Path], files: Sequence[Path], inbox: Inbox) -> None:
        self._folders = folders
        self._files = files
        self._inbox = inbox
        self._state = self._read_state()
        self._next = time.monotonic() + _POLL_SECONDS

    def _read_state(self) -> tuple[list[str], list[float | None]]:
        return self._inbox.names(), [_modification_time(file) for file in self._files]

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`; return True if the files have changed."""
        time.sleep(seconds)
        if time.monotonic() < self._next:
            return False
        old_state, self._state = self._state, self._read_state()
        self._next = time.monotonic() + _POLL_SECONDS
        return self._state != old_state

    def is_stale(self) -> bool:
        """Return True if a folder is missing."""
        return not all(folder.is_dir() for folder in self._folders)

    def stop(self) -> None:
        """Do nothing, because polling has no resources."""


InboxEvents = SystemEvents | Polling


def native() -> BaseObserver:
    """Return the observer for this operating system."""
    return Observer()


def branch_files(common_dir: Path, branch: str) -> list[Path]:
    """Return the files of a git dir that change when the branch moves, for example by a pull."""
    return [common_dir / "refs/heads" / branch, common_dir / "packed-refs"]


def open_events(
    inbox: Inbox, refs: Sequence[Path], make_observer: MakeObserver = native
) -> tuple[InboxEvents, str]:
    """Watch the inbox and the files of the branch; return the watch and a sentence for the user.

    Create missing folders of the inbox.
    """
    inbox.create_folders()
    files = [inbox.root / layout.LEARNINGS, *refs]
    folders = [inbox.root / layout.INBOX, inbox.root / layout.UNTRUSTED]
    reason = "this file system gives no events"
    if not is_shared(folders[0]):
        try:
            events = SystemEvents(folders, files, make_observer())
        except OSError as error:
            if error.errno not in _NO_WATCHES or error.filename:
                raise
            reason = str(error.strerror)
        else:
            if events.is_working:
                return events, "watching inbox/"
            events.stop()
    return Polling(folders, files, inbox), f"watching inbox/ by polling ({reason})"


def is_shared(folder: Path, mounts: Path = _MOUNTS_FILE) -> bool:
    """Return True if other machines may write to the file system of a folder."""
    if not mounts.exists():
        return False
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.read_text(errors="replace").splitlines():
        mount, _, kind = line.partition(" - ")
        if mount.split(" ")[2] == number:
            return kind.startswith(_NETWORK)
    return False


def _modification_time(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return None


def _is_same(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except OSError:  # the folder was removed, or mounted again
        return False
