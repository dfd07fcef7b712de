"""Git's index: its entries at one moment, read once and asked many times, and how they are set."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from skillvault.model.errors import GitError
from skillvault.vault.disk import draft_name
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT
from skillvault.vault.git.trees import Entry

QUIET_SECONDS = 0.2  # that index and HEAD must have been still: a git may be half-way
_OWN = "own-index"  # the file with the checksum of the index as we left it
_SUM = 20  # bytes of the checksum at the end of an index

# `<mode> <id> <stage>\t<path>`: all but the path is of one width.
_STAGE, _PATH = 48, 50
_MERGED = ord("0")


class Listing:
    """An index, of the output of `ls-files --stage -z`, which stands in the order of the paths.

    Of a hundred thousand lines a few are asked for, so that they are not taken apart.
    """

    def __init__(self, listing: bytes) -> None:
        self._listing = listing

    @cached_property
    def unmerged(self) -> bool:
        """Whether files wait to be merged."""
        # Hardly any path holds a tab, so that each is one behind a stage.
        if self._listing.count(b"\t") == self._listing.count(b" 0\t"):
            return False
        return any(line[_STAGE] != _MERGED for line in self._all_lines())

    def entries(self, paths: Iterable[str] | None = None) -> dict[str, Entry]:
        """path -> entry of these files and of those below them, of all files without paths."""
        lines = self._all_lines() if paths is None else self._below(paths)
        return dict(map(_entry, (line for line in lines if line[_STAGE] == _MERGED)))

    def _all_lines(self) -> list[bytes]:
        return self._listing.split(b"\0")[:-1]

    def _below(self, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            name = path.encode(errors="surrogateescape")
            at = self._start_of(name)
            line = self._line_at(at)
            if _path(line) == name:
                yield line
                at += len(line) + 1
                line = self._line_at(at)
            # "0" is next to "/"; what stands between a name and what is below it is not read.
            if line and _path(line) < name + b"0":
                yield from self._between(name + b"/", name + b"0")

    def _between(self, start: bytes, end: bytes) -> Iterator[bytes]:
        """The lines whose paths stand from `start` to before `end`."""
        at = self._start_of(start)
        while (line := self._line_at(at)) and _path(line) < end:
            yield line
            at += len(line) + 1

    def _start_of(self, name: bytes) -> int:
        """Where the first line begins whose path does not stand before a name."""
        low, high = 0, len(self._listing)
        while low < high:
            # The line in the middle begins behind the end of the one before it.
            middle = max(low, self._listing.rfind(b"\0", low, (low + high) // 2) + 1)
            line = self._line_at(middle)
            if _path(line) < name:
                low = middle + len(line) + 1
            else:
                high = middle
        return low

    def _line_at(self, at: int) -> bytes:
        """The line that begins there; nothing behind the last one."""
        return self._listing[at : self._listing.find(b"\0", at)]


def _path(line: bytes) -> bytes:
    return line[_PATH:]


def _entry(line: bytes) -> tuple[str, Entry]:
    mode, blob, _ = line[: _PATH - 1].decode().split(" ")
    return _path(line).decode(errors="surrogateescape"), Entry(mode, blob)


class IndexFile:
    """The index of one repository, which git lists once in each state."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._git = runner
        self._place = folder / "index"
        self._folder = folder / "skillvault"
        self._listed: tuple[bytes, Listing] | None = None  # a checksum of it, its entries

    def listing(self) -> Listing:
        """The index as it is now; git lists each state of it once."""
        before = None if self._git.index else self.checksum()
        if self._listed and self._listed[0] == before:
            return self._listed[1]
        listing = Listing(self._git.run("ls-files", "--stage", "-z"))
        same = before if before == self.checksum() else None
        self._listed = (same, listing) if same else None
        return listing

    def entries(self, paths: Iterable[str] | None = None) -> dict[str, Entry]:
        """path -> entry of these paths and of what is below them, of all without paths."""
        return self.listing().entries(paths)

    def checksum(self) -> bytes | None:
        """The checksum that stands at the end of the index; None if it has none."""
        try:
            with self._place.open("rb") as index:
                index.seek(-_SUM, os.SEEK_END)
                checksum = index.read(_SUM)
        except OSError:
            return None
        return checksum if any(checksum) else None

    def skipped(self) -> frozenset[str]:
        """The paths that a sparse checkout leaves out of the work tree."""
        if not (self._place.parent / "info/sparse-checkout").exists():
            return frozenset()
        lines = self._git.run("ls-files", "-t", "-z").decode(errors="surrogateescape").split("\0")
        return frozenset(line[2:] for line in lines if line.startswith("S "))

    def draw(
        self,
        entries: Mapping[str, Entry | None],
        env: Mapping[str, str],
        draft: Path | None = None,
    ) -> Path:
        """A copy of the index in the git dir, with exactly these entries set; drawn anew there."""
        draft = draft or self._folder / f"index-{draft_name()}"
        draft.parent.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        try:
            with suppress(FileNotFoundError):  # a new repository has no index
                # With its time, by which git knows what was saved in the second of its making.
                shutil.copy2(self._place, draft)
            settings = {**env, "GIT_INDEX_FILE": str(draft)}
            args = ("update-index", "-z", "--index-info")
            left_out = sorted(self.skipped() & {path for path in entries if entries[path]})
            self._git.run(*args, stdin=_index_info(entries), env=settings, fenced=True)
            if left_out:
                names = "\0".join([*left_out, ""]).encode(errors="surrogateescape")
                flag = ("update-index", "--skip-worktree", "-z", "--stdin")
                self._git.run(*flag, stdin=names, env=settings, fenced=True)
        except (OSError, GitError):
            draft.unlink(missing_ok=True)  # a full disk is not filled with drafts
            raise
        return draft

    def install(self, draft: Path) -> None:
        """Let a drawn index be the index; the caller holds index.lock."""
        self._listed = None  # what it takes at 100,000 files is not held between commits
        draft.replace(self._place)
        (self._folder / _OWN).write_bytes(self.checksum() or b"")

    def set_entries(self, entries: Mapping[str, Entry | None], env: Mapping[str, str]) -> None:
        """Set exactly these entries; the caller holds index.lock.

        In an index that a hook was handed git sets them itself: who made it waits for the hook.
        """
        if self._git.index:
            self._git.run("update-index", "-z", "--index-info", stdin=_index_info(entries), env=env)
        else:
            self.install(self.draw(entries, env))

    def is_own(self) -> bool:
        """True if the index is as we left it."""
        with suppress(FileNotFoundError):
            return (self._folder / _OWN).read_bytes() == self.checksum()
        return False

    def unrest(self) -> float:
        """Seconds until index and HEAD have been still long enough; 0.0 if they are.

        Git gives index.lock back some ms before it moves HEAD. Our own writing is no unrest.
        """
        if self.is_own():
            return 0.0
        now = time.time()
        places = [place for place in (self._place, self._place.with_name("HEAD")) if place.exists()]
        ages = [now - place.stat().st_mtime for place in places]
        youngest = min((age for age in ages if age >= 0), default=QUIET_SECONDS)
        return max(0.0, QUIET_SECONDS - youngest)


def _index_info(entries: Mapping[str, Entry | None]) -> bytes:
    lines = (
        f"{entry.mode} {entry.id}\t{path}\0" if entry else f"0 {ABSENT}\t{path}\0"
        for path, entry in entries.items()
    )
    return "".join(lines).encode(errors="surrogateescape")
