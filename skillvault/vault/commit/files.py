"""Write and remove files of the work tree for a publication.

A file is drafted in the git dir and moved into the work tree in one step, never over an edit of a
person. Agents append to some files. When such a file is replaced, the old version gets a second
name in the git dir while a process has it open, so that no late line is lost.
"""

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from skillvault.model.errors import UncommittedEditError
from skillvault.model.lazy import regex
from skillvault.vault.commit.git_activity import writers_of
from skillvault.vault.disk import draft_name, is_abandoned
from skillvault.vault.failpoint import reach
from skillvault.vault.git.objects import EXECUTABLE

_SECOND_NAME = regex(r"late-(?P<size>[0-9]+)-(?P<path>.+)-[0-9]+-[0-9]+")
_LATE_SECONDS = 2.0  # the time that a process has to close a replaced file
_HELD_SECONDS = 1.0  # a file that is open for this long counts as held open
_PAUSE = 0.01


@contextmanager
def draft_files(folder: Path, files: Mapping[str, bytes | None]) -> Iterator[dict[str, Path]]:
    """Write a draft of each new file, yield the drafts by path, and remove them afterwards."""
    drafts: dict[str, Path] = {}
    try:
        for path, content in files.items():
            if content is not None:
                drafts[path] = _draft_file(folder, content)
        reach("draft-written")
        yield drafts
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def write_file(
    root: Path, path: str, content: bytes, folder: Path, *, mode: str | None, replace: bool
) -> None:
    """Draft a file in `folder`, then move it with `place_file`."""
    draft = _draft_file(folder, content)
    try:
        place_file(root, path, draft, mode=mode, replace=replace)
    finally:
        draft.unlink(missing_ok=True)


def _draft_file(folder: Path, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / draft_name()
    try:
        draft.write_bytes(content)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def place_file(root: Path, path: str, source: Path, *, mode: str | None, replace: bool) -> None:
    """Move a draft into the work tree.

    `mode` is git's mode of the file; with None, a replaced file keeps its mode. Raises
    UncommittedEditError if another file appeared at the path.
    """
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if replace:
        shutil.copymode(target, source)
    if mode:
        bits = source.stat().st_mode
        run_bits = (bits & 0o444) >> 2  # git makes a file executable for everybody who may read it
        source.chmod(bits | run_bits if mode == EXECUTABLE else bits & ~0o111)
    try:
        _move(source, target, replace=replace)
    except FileExistsError:
        raise UncommittedEditError(f"{path}: a file of yours appeared there; run again") from None
    reach("file-placed")


def _move(source: Path, target: Path, *, replace: bool) -> None:
    """Move a draft to its target. Copy the draft first if the target is on another disk."""
    try:
        if replace:
            source.replace(target)
        else:
            os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = target.parent / f".skillvault-{draft_name()}.tmp"
        try:
            shutil.copy2(source, copy)
            _move(copy, target, replace=replace)
        finally:
            copy.unlink(missing_ok=True)


def remove_file(root: Path, path: str) -> None:
    """Remove a file, and each folder above that becomes empty, except the top folder."""
    (root / path).unlink()
    reach("file-removed")
    prune_folders(root, path)


def prune_folders(root: Path, path: str) -> None:
    """Remove the empty folders above a path, except the top folder."""
    for folder in list((root / path).parents)[: len(Path(path).parts) - 2]:
        if not folder.is_dir():
            continue
        if any(folder.iterdir()):
            return
        folder.rmdir()


# ── files that agents append to ───────────────────────────────────────────────────────────


class AppendedPrefix(Struct, frozen=True):
    """The beginning of a file that a change replaces while agents append to the file.

    The file in the work tree begins with `start`, and the text that follows stays. `base` is the
    beginning that the vault would have without the change. `left` is text that follows the new
    content, but is not committed.
    """

    start: bytes
    base: bytes
    left: bytes = b""


class ReplacedFile:
    """The old version of a file that was replaced while a process may still append to it.

    `descriptor` is the open old file. The new file replaces its first `size` bytes.
    """

    def __init__(self, path: Path, descriptor: int, second_name: Path, size: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._second_name = second_name
        self._size = size

    def settle(self) -> None:
        """Move late lines to the new file until nobody has the old file open or time is up."""
        try:
            deadline = time.monotonic() + _LATE_SECONDS
            while writers_of(os.fstat(self._descriptor)) and time.monotonic() < deadline:
                self._append_late()
                time.sleep(_PAUSE)
            self._append_late()  # the lines written before the file was closed
            reach("late-appended")
            self.drop_second_name()
        finally:
            os.close(self._descriptor)

    def recover(self) -> None:
        """Move late lines to the new file for a writer that was killed."""
        try:
            late_bytes = self._read_late()
            content = self._path.read_bytes() if self._path.exists() else b""
            if late_bytes not in content:
                _append(self._path, late_bytes)
            self.drop_second_name()
        finally:
            os.close(self._descriptor)

    def drop_second_name(self) -> None:
        """Remove the name that the old file has in the git dir."""
        self._second_name.unlink(missing_ok=True)

    def _append_late(self) -> None:
        if late_bytes := self._read_late():
            _append(self._path, late_bytes)
            self._size += len(late_bytes)

    def _read_late(self) -> bytes:
        size = os.fstat(self._descriptor).st_size
        return os.pread(self._descriptor, max(0, size - self._size), self._size)


def find_open_writer(root: Path, path: str) -> int | None:
    """Return a process that keeps a file open for longer than one append takes, or None.

    Such a process could append at any time after the file is replaced.
    """
    file = root / path
    deadline = time.monotonic() + _HELD_SECONDS
    writers = writers_of(file.stat()) if file.is_file() else set[int]()
    while writers and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        writers &= writers_of(file.stat())
    return min(writers, default=None)


class AppendedFile:
    """A file of the work tree that agents append to. Its copies are in `folder` in the git dir."""

    def __init__(self, root: Path, path: str, folder: Path) -> None:
        self._root = root
        self._path = path
        self._folder = folder

    def replace_prefix(self, prefix: AppendedPrefix, content: bytes) -> ReplacedFile | None:
        """Replace the beginning of the file with `content`.

        Return None if the file stays the same. Raises UncommittedEditError if the file does not
        begin with `prefix.start`.
        """
        if not os.path.lexists(self._root / self._path):
            self._save(content + prefix.left, replace=False)
            return None

        def edit(text: bytes) -> bytes:
            if not text.startswith(prefix.start):
                message = f"{self._path}: a file of yours appeared there; run again"
                raise UncommittedEditError(message)
            return content + prefix.left + text[len(prefix.start) :]

        return self._edit(edit)

    def switch_prefix(self, old_prefix: bytes, new_prefix: bytes) -> None:
        """Replace `old_prefix` with `new_prefix` if the file begins with it."""

        def edit(text: bytes) -> bytes:
            is_old = text.startswith(old_prefix) and not text.startswith(new_prefix)
            return new_prefix + text[len(old_prefix) :] if is_old else text

        if replaced_file := self._edit(edit):
            replaced_file.settle()

    def _edit(self, edit: Callable[[bytes], bytes]) -> ReplacedFile | None:
        """Replace the file with its edited bytes. Return None if they are the same."""
        file = self._root / self._path
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        replaced_file = None
        try:
            old_text = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            new_text = edit(old_text)
            if new_text == old_text:
                os.close(descriptor)
                return None
            name = f"late-{len(old_text)}-{quote(self._path, safe='')}-{draft_name()}"
            second_name = self._folder / name
            with suppress(OSError):  # the git dir is on another disk
                os.link(file, second_name)
            replaced_file = ReplacedFile(file, descriptor, second_name, len(old_text))
            self._save(new_text, replace=True)
        except BaseException:
            if replaced_file:
                replaced_file.drop_second_name()
            os.close(descriptor)
            raise
        return replaced_file

    def _save(self, content: bytes, *, replace: bool) -> None:
        if replace:
            reach("late-kept")
        drafts = self._folder / "drafts"
        write_file(self._root, self._path, content, drafts, mode=None, replace=replace)


def _append(path: Path, content: bytes) -> None:
    """Append with one system call, because other processes append at the same time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def has_abandoned_files(folder: Path) -> bool:
    """Return True if a killed writer left the old version of a file that agents append to."""
    return any(is_abandoned(path.name) for path in folder.glob("late-*"))


def recover_appended(root: Path, folder: Path) -> None:
    """Append late lines for killed writers; the caller holds the writer's lock."""
    for second_name in sorted(folder.glob("late-*")):
        match = _SECOND_NAME.fullmatch(second_name.name)
        if match and is_abandoned(second_name.name):
            descriptor = os.open(second_name, os.O_RDONLY | os.O_CLOEXEC)
            target = root / unquote(match["path"])
            ReplacedFile(target, descriptor, second_name, int(match["size"])).recover()
