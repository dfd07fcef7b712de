"""A file that agents append to all day, replaced so that nothing is lost which arrives late.

Who opened it before it was replaced writes into the old one. That one stays under a second name in
the git dir until nobody has it open, and what arrived there is appended to the new one.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from skillvault.model.errors import UncommittedEditError
from skillvault.vault.commit.files import draft_file, place_file
from skillvault.vault.commit.git_activity import writers_of
from skillvault.vault.disk import draft_name, is_abandoned
from skillvault.vault.failpoint import reach

_KEPT = re.compile(r"late-(?P<taken>[0-9]+)-(?P<path>.+)-[0-9]+-[0-9]+")
_LATE_SECONDS = 2.0  # that somebody may take to close the file that was replaced
_HELD_SECONDS = 1.0  # for which a file must be open all the time to count as held open
_PAUSE = 0.01


class Growth(Struct, frozen=True):
    """What a change stands for of a file that agents append to.

    The work tree's file begins with `start`; what is behind that stays. Without the change it would
    begin with `before`, which is committed or is going to be. `left` stays behind the new text.
    """

    start: bytes
    before: bytes
    left: bytes = b""


class Late:
    """A file that was replaced, while somebody may still append to it.

    It is open as `descriptor`, and `kept` is its second name, None if it has none. `taken`: so many
    bytes of it are in the new file, or stand for what is.
    """

    def __init__(self, place: Path, descriptor: int, kept: Path | None, taken: int) -> None:
        self._place = place
        self._descriptor = descriptor
        self._kept = kept
        self._taken = taken

    def settle(self) -> None:
        """Wait until nobody has it open, and append what arrived; not for ever."""
        try:
            end = time.monotonic() + _LATE_SECONDS
            while writers_of(os.fstat(self._descriptor)) and time.monotonic() < end:
                self._append_late()
                time.sleep(_PAUSE)
            self._append_late()  # what was written before it was closed
            reach("late-appended")
            self.let_go()
        finally:
            os.close(self._descriptor)

    def recover(self) -> None:
        """The same for a writer that was killed, which may have appended it already."""
        try:
            late = self._late()
            if late and late not in _whole_bytes(self._place):
                _append(self._place, late)
            self.let_go()
        finally:
            os.close(self._descriptor)

    def let_go(self) -> None:
        """Let go of the second name."""
        if self._kept:
            self._kept.unlink(missing_ok=True)

    def _append_late(self) -> None:
        late = self._late()
        if late:
            _append(self._place, late)
            self._taken += len(late)

    def _late(self) -> bytes:
        size = os.fstat(self._descriptor).st_size
        return os.pread(self._descriptor, max(0, size - self._taken), self._taken)


def held_open(root: Path, path: str) -> int | None:
    """A process that has a file open for longer than it takes to append to it; None for none.

    What it appends after the file is replaced could come at any time.
    """
    place = root / path
    end = time.monotonic() + _HELD_SECONDS
    holders = writers_of(place.stat()) if place.is_file() else set[int]()
    while holders and time.monotonic() < end:
        time.sleep(_PAUSE)
        holders &= writers_of(place.stat())
    return min(holders, default=None)


class GrowingFile:
    """A file of the work tree that agents append to; `folder` is ours, in the git dir."""

    def __init__(self, root: Path, path: str, folder: Path) -> None:
        self._root = root
        self._path = path
        self._folder = folder

    def grow(self, growth: Growth, content: bytes) -> Late | None:
        """Let it begin with `content` where it began with the growth's start.

        None if nothing had to be replaced; UncommittedEditError if it begins otherwise.
        """
        if not os.path.lexists(self._root / self._path):
            draft = draft_file(self._folder / "drafts", content + growth.left)
            place_file(self._root, self._path, draft, mode=None, replace=False)
            draft.unlink(missing_ok=True)
            return None

        def begun(old: bytes) -> bytes:
            if not old.startswith(growth.start):
                raise UncommittedEditError(
                    f"{self._path}: a file of yours appeared there; run again"
                )
            return content + growth.left + old[len(growth.start) :]

        return self._replace(begun)

    def put_back(self, before: bytes, after: bytes) -> None:
        """If it begins as a publication left it, let it begin as before, whatever came since."""

        def begun(old: bytes) -> bytes:
            is_left = old.startswith(after) and not old.startswith(before)
            return before + old[len(after) :] if is_left else old

        if late := self._replace(begun):
            late.settle()

    def _replace(self, change: Callable[[bytes], bytes]) -> Late | None:
        """Put what becomes of its bytes in its place; None if they stay."""
        place = self._root / self._path
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        late = None
        try:
            old = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            new = change(old)
            if new != old:
                # The second name says how much of the file the new one stands for.
                name = f"late-{len(old)}-{quote(self._path, safe='')}-{draft_name()}"
                late = Late(place, descriptor, _keep(place, self._folder / name), len(old))
                self._put(new)
        except BaseException:
            if late:
                late.let_go()
            os.close(descriptor)
            raise
        if late is None:
            os.close(descriptor)
        return late

    def _put(self, content: bytes) -> None:
        draft = draft_file(self._folder / "drafts", content)
        try:
            reach("late-kept")
            place_file(self._root, self._path, draft, mode=None, replace=True)
        finally:
            draft.unlink(missing_ok=True)


def _keep(place: Path, kept: Path) -> Path | None:
    """Give a file a second name; None if that cannot be, as on another disk than the git dir."""
    try:
        os.link(place, kept)
    except OSError:
        return None
    return kept


def _whole_bytes(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return b""


def _append(place: Path, content: bytes) -> None:
    """Append in one piece; other writers do so at the same time."""
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def has_abandoned(folder: Path) -> bool:
    """Whether a writer that is no more left a file that it replaced."""
    return any(True for _ in _abandoned(folder))


def recover(root: Path, folder: Path) -> None:
    """Append what arrived late where a writer was killed; the caller has the writer's lock."""
    for kept in _abandoned(folder):
        if match := _KEPT.fullmatch(kept.name):
            descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
            place, taken = root / unquote(match["path"]), int(match["taken"])
            Late(place, descriptor, kept, taken).recover()


def _abandoned(folder: Path) -> Iterator[Path]:
    return (kept for kept in sorted(folder.glob("late-*")) if is_abandoned(kept.name))
