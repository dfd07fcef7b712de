"""Read the files that agents drop into inbox/, and move them away when they are committed.

The truth is a scan of the folder, never an event. Only regular files within limits are read. Other
files move to quarantine/ with a reason. A file is deleted once its commit is in the branch.
"""

import errno
import hashlib
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from skillvault.model.errors import BadInputError
from skillvault.model.records import Trust
from skillvault.vault.disk import draft_name, is_alive, private_mode, read_state
from skillvault.vault.failpoint import reach
from skillvault.vault.files import arrival, layout
from skillvault.vault.files.quarantine import Quarantine, RefusedFile

ENDINGS = (".yaml", ".yml", ".json", ".md")
WRITING = "still being written"  # the reason why a young file waits
# The reasons why an entry that is not a file stays in the inbox.
_OBSTACLES = {
    stat.S_IFDIR: "a folder; move its files into inbox/ itself",
    stat.S_IFIFO: "a FIFO, and no file; remove it",
    stat.S_IFSOCK: "a socket, and no file; remove it",
}
_DEVICE = "a device, and no file; remove it"
_DRAFT_SECONDS = 60.0  # an older draft of an ended process is deleted
_CHANGING_SECONDS = 10.0  # the longest wait for a file that changes all the time
_PAUSE = 0.05


class WaitingFile(NamedTuple):
    """An untrusted file that waits, with its time in ns, its name, and its size in bytes."""

    written: int
    name: str
    size: int


class Inbox:
    """The inbox of one vault, with its quarantine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.quarantine = Quarantine(root)
        # The identities and digests of the files that were read, by name.
        self._read: dict[str, arrival.Identity] = {}
        self._digests: dict[str, str] = {}
        self._dropping = threading.Lock()
        self._reserved: set[str] = set()  # files that another thread dropped and will take itself

    def create_folders(self) -> bool:
        """Create the missing folders. Return True if any was missing."""
        return self.quarantine.create_folders()

    def names(self) -> list[str]:
        """Return the names of all waiting files below inbox/, sorted."""
        with self._dropping:
            names = {name for name, entry in self._entries() if _is_file(entry)}
            return sorted(names - self._reserved)

    def obstacles(self) -> dict[str, list[str]]:
        """Return the names of entries that are not files and cannot be taken, by reason."""
        reasons: dict[str, list[str]] = {}
        for name, entry in self._entries():
            is_untrusted_folder = name == "untrusted" and entry.is_dir(follow_symlinks=False)
            if _is_file(entry) or is_untrusted_folder:
                continue
            with suppress(FileNotFoundError):  # another process removed the entry
                kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                reasons.setdefault(_OBSTACLES.get(kind, _DEVICE), []).append(name)
        return {reason: sorted(names) for reason, names in reasons.items()}

    def _entries(self) -> "Iterator[tuple[str, os.DirEntry[str]]]":
        for folder, prefix in ((layout.INBOX, ""), (layout.UNTRUSTED, "untrusted/")):
            path = self.root / folder
            for entry in os.scandir(path) if path.is_dir() else ():
                if not arrival.IGNORED.search(entry.name):
                    yield prefix + entry.name, entry

    def arrivals(self, names: Iterable[str]) -> list[WaitingFile]:
        """Return the untrusted files among these names, the oldest first."""
        waiting_files: list[WaitingFile] = []
        for name in filter(arrival.is_untrusted, names):
            if state := read_state(self.root / layout.INBOX / name):  # else another run took it
                size = min(state.st_size, arrival.MAX_OUTCOME)
                waiting_files.append(WaitingFile(state.st_mtime_ns, name, size))
        return sorted(waiting_files)

    def wait_until_stable(
        self, seconds: float, patience: float | None = None, *, names: Sequence[str] | None = None
    ) -> tuple[list[str], list[str]]:
        """Wait until files are at least `seconds` old, and return the names (stable, unstable).

        With `names`, only these files are awaited. The age is the time since the modification; a
        time in the future counts from the start of the wait. The wait ends after `patience`
        seconds, but for untrusted files after `seconds`, so that they cannot delay trusted files.
        """
        names = self.names() if names is None else names
        start = time.monotonic()
        limit = seconds + _CHANGING_SECONDS if patience is None else patience
        deadlines = {False: start + limit, True: start + min(limit, seconds + _PAUSE)}
        first_seen: dict[tuple[str, int, int], float] = {}
        while True:
            young_names = [name for name in names if self._is_young(name, seconds, first_seen)]
            now = time.monotonic()
            if all(now >= deadlines[arrival.is_untrusted(name)] for name in young_names):
                return [name for name in names if name not in young_names], young_names
            time.sleep(_PAUSE)

    def _is_young(
        self, name: str, seconds: float, first_seen: dict[tuple[str, int, int], float]
    ) -> bool:
        state = read_state(self.root / layout.INBOX / name)
        if state is None:
            return False
        age = time.time() - state.st_mtime
        version = name, state.st_size, state.st_mtime_ns
        seen_at = first_seen.setdefault(version, time.monotonic())
        return age < seconds if age >= 0 else time.monotonic() - seen_at < seconds

    def read_file(self, name: str) -> arrival.ReceivedFile | None:
        """Read a waiting file, or return None if it is gone.

        Raises BadInputError if the file cannot be taken.
        """
        path = self.root / layout.INBOX / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None  # another run took it
        except OSError as error:
            if error.errno == errno.ELOOP:
                message = "a symbolic link; drop the file itself"
                raise BadInputError(message, code="not-a-file") from None
            raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None
        state = os.fstat(descriptor)
        self._read[name] = arrival.identity_of(state)
        if not stat.S_ISREG(state.st_mode):
            os.close(descriptor)
            raise BadInputError("not a regular file", code="not-a-file")
        with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
            _check_size(state.st_size)
            content = file.read(arrival.MAX_OUTCOME + 1)
        _check_size(len(content))
        self._digests[name] = hashlib.sha256(content).hexdigest()
        if not name.endswith(ENDINGS):
            message = f"the name must end with {', '.join(ENDINGS)}; rename it"
            raise BadInputError(message, code="unknown-ending")
        trust: Trust = "untrusted" if arrival.is_untrusted(name) else "local"
        return arrival.ReceivedFile(name, content, trust)

    def drop(self, files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
        """Write files to the inbox under free names, and yield each name."""
        self.create_folders()
        for name, content in files:
            yield self._drop(name, content)

    @contextmanager
    def drop_reserved(self, files: Iterable[tuple[str, bytes]]) -> Iterator[list[str]]:
        """Write files to the inbox, and keep other threads from taking them during the block."""
        self.create_folders()
        names: list[str] = []
        try:
            for name, content in files:
                with self._dropping:
                    names.append(self._drop(name, content))
                    self._reserved.add(names[-1])
            yield names
        finally:
            with self._dropping:
                self._reserved.difference_update(names)

    def _drop(self, name_hint: str, content: bytes) -> str:
        folder = self.root / layout.INBOX
        name_hint = arrival.plain_name(name_hint).lstrip(".") or "outcome"
        draft = folder / f".{draft_name()}.tmp"
        try:
            draft.touch(mode=private_mode(folder) & 0o666)  # its content is not redacted yet
            draft.write_bytes(content)
            reach("inbox-drafted")
            name = arrival.link_to_free_name(draft, folder, name_hint)
            reach("inbox-filled")
            return name
        finally:
            draft.unlink(missing_ok=True)

    def sweep_drafts(self) -> None:
        """Remove the drafts of processes that were killed."""
        folders = [self.root / name for name in (layout.INBOX, layout.QUARANTINE)]
        for entry in chain.from_iterable(os.scandir(f) for f in folders if f.is_dir()):
            match = arrival.DRAFT.fullmatch(entry.name)
            try:
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            except FileNotFoundError:
                continue
            if match and age > _DRAFT_SECONDS and not is_alive(int(match["pid"])):
                Path(entry.path).unlink(missing_ok=True)

    def mark_done(self, names: Iterable[str], taken_files: "TakenFiles", commit: str) -> None:
        """Move committed files out of the inbox. A file that changed meanwhile stays."""
        for name in names:
            with suppress(FileNotFoundError):  # a person removed it
                state = (self.root / layout.INBOX / name).lstat()
                if arrival.identity_of(state) == self._read.get(name):
                    taken_files.keep(name, commit)

    def refuse(self, name: str, error: BadInputError, at: datetime) -> RefusedFile:
        """Move a file to quarantine/ with its reason, unless the file is gone."""
        identity, digest = self._read.get(name), self._digests.get(name)
        return self.quarantine.take(name, error, at, identity=identity, digest=digest)


def _is_file(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_symlink()


def _check_size(size: int) -> None:
    if size > arrival.MAX_OUTCOME:
        raise BadInputError(
            f"{size / 1024:.0f} KiB; an outcome may have {arrival.MAX_OUTCOME // 1024} KiB, "
            "shorten result.evidence to the lines that show the error",
            code="too-large",
        )


CHECK_AFTER = 2.0  # seconds from the taking of a file to the check of its commit


class TakenFiles:
    """The files that were taken from the inbox of a vault, with a folder for each commit.

    A person's git may move the branch back, so the files are deleted only after a later check finds
    their commit in the branch. Otherwise they return to the inbox. They are private, not redacted.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def keep(self, name: str, commit: str) -> None:
        """Move a file from the inbox to the folder of a commit."""
        reach("inbox-done")
        mode = private_mode(self._root)
        self._folder.mkdir(mode=mode, parents=True, exist_ok=True)
        _move(self._root / layout.INBOX / name, self._folder / commit / name, mode & 0o666)

    def commits(self, age: float = CHECK_AFTER) -> list[str]:
        """Return the commits whose files were taken at least `age` seconds ago, sorted."""
        if not self._folder.is_dir():
            return []
        latest_time = time.time() - age
        commits = []
        for entry in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another run handled the commit
                if entry.stat().st_mtime <= latest_time:
                    commits.append(entry.name)
        return sorted(commits)

    def forget(self, commit: str) -> None:
        """Delete the files of a commit."""
        with suppress(FileNotFoundError):  # another run deletes it, too
            shutil.rmtree(self._folder / commit)

    def put_back(self, commit: str) -> None:
        """Move the files of a commit back to the inbox."""
        folder = self._folder / commit
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target = self._root / layout.INBOX / path.relative_to(folder)
                _move(path, target, private_mode(self._root) & 0o666)
        self.forget(commit)


def _move(source: Path, target: Path, mode: int) -> None:
    """Move a file to this name, with a number added if the name is taken."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for name in arrival.free_names(target.name):
        try:
            _link_or_copy(source, target.with_name(name), mode)
        except FileExistsError:
            continue
        except FileNotFoundError:
            return  # another run took it
        source.unlink(missing_ok=True)
        return


def _link_or_copy(source: Path, target: Path, mode: int) -> None:
    try:
        os.link(source, target)
        with suppress(PermissionError):  # another user's readable file
            target.chmod(mode)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM):
            raise
        # The git dir is on another disk, or the file is another user's, which Linux does not link.
        target.touch(mode, exist_ok=False)
        target.write_bytes(source.read_bytes())
