"""The files of a publication: drafted in the git dir, then put in their place or taken away.

A file appears whole, in one step, and never over what a person saves. A file that agents append to
stays under a second name in the git dir until nobody has it open, so that late lines are kept.
"""

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from skillvault.model.errors import EditedError
from skillvault.vault.commit.git_activity import writers_of
from skillvault.vault.disk import draft_name, is_abandoned
from skillvault.vault.failpoint import reach
from skillvault.vault.git.objects import EXECUTABLE


@contextmanager
def drafted(folder: Path, files: Mapping[str, bytes | None]) -> Iterator[dict[str, Path]]:
    """path -> the draft of each file that is written, while it is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    drafts: dict[str, Path] = {}
    try:
        for path, content in files.items():
            if content is not None:
                drafts[path] = draft_file(folder, content)
        reach("draft-written")
        yield drafts
    finally:
        for place in drafts.values():
            place.unlink(missing_ok=True)


def draft_file(folder: Path, content: bytes) -> Path:
    """One file, whole, in a folder of drafts."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / draft_name()
    try:
        place.write_bytes(content)
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place


def place_file(root: Path, path: str, source: Path, *, mode: str | None, replace: bool) -> None:
    """Put a drafted file in its place; EditedError if another one appeared there.

    `mode` is git's for a new file, or one that changes; None: one that is replaced keeps its own.
    """
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        _into_place(place, source, mode=mode, replace=replace)
    except FileExistsError:
        raise EditedError(f"{path}: a file of yours appeared there; run again") from None
    reach("file-placed")


def _into_place(place: Path, source: Path, *, mode: str | None, replace: bool) -> None:
    if replace:
        shutil.copymode(place, source)
    if mode:
        bits = source.stat().st_mode
        runs = (bits & 0o444) >> 2  # who may read it may run it, as git has it
        source.chmod(bits | runs if mode == EXECUTABLE else bits & ~0o111)
    try:
        if replace:
            source.replace(place)
        else:
            os.link(source, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The work tree is on another disk than the git dir: the draft is copied beside its place.
        beside = place.parent / f".skillvault-{draft_name()}.tmp"
        try:
            shutil.copy2(source, beside)
            if replace:
                beside.replace(place)
            else:
                os.link(beside, place)
        finally:
            beside.unlink(missing_ok=True)


def remove_file(root: Path, path: str) -> None:
    """Remove a file and the folders that it leaves empty, below the top one."""
    (root / path).unlink()
    reach("file-removed")
    prune_folders(root, path)


def prune_folders(root: Path, path: str) -> None:
    """Remove the empty folders on a path, below the top one."""
    for folder in list((root / path).parents)[: len(Path(path).parts) - 2]:
        if not folder.is_dir():
            continue
        if any(folder.iterdir()):
            return
        folder.rmdir()


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


def find_open_writer(root: Path, path: str) -> int | None:
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


class AppendedFile:
    """A file of the work tree that agents append to; `folder` is ours, in the git dir."""

    def __init__(self, root: Path, path: str, folder: Path) -> None:
        self._root = root
        self._path = path
        self._folder = folder

    def grow(self, growth: Growth, content: bytes) -> Late | None:
        """Let it begin with `content` where it began with the growth's start.

        None if nothing had to be replaced; EditedError if it begins otherwise.
        """
        if not os.path.lexists(self._root / self._path):
            draft = draft_file(self._folder / "drafts", content + growth.left)
            place_file(self._root, self._path, draft, mode=None, replace=False)
            draft.unlink(missing_ok=True)
            return None

        def begun(old: bytes) -> bytes:
            if not old.startswith(growth.start):
                raise EditedError(f"{self._path}: a file of yours appeared there; run again")
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


def has_abandoned_files(folder: Path) -> bool:
    """Whether a writer that is no more left a file that it replaced."""
    return any(True for _ in _abandoned(folder))


def recover_appended(root: Path, folder: Path) -> None:
    """Append what arrived late where a writer was killed; the caller has the writer's lock."""
    for kept in _abandoned(folder):
        if match := _KEPT.fullmatch(kept.name):
            descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
            place, taken = root / unquote(match["path"]), int(match["taken"])
            Late(place, descriptor, kept, taken).recover()


def _abandoned(folder: Path) -> Iterator[Path]:
    return (kept for kept in sorted(folder.glob("late-*")) if is_abandoned(kept.name))
