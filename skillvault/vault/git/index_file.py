"""The entries of git's index at one moment, as git lists them; read once and asked many times."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from skillvault.vault.git.trees import Entry

# `<mode> <id> <stage>\t<path>`: all but the path is of one width.
_STAGE, _PATH = 48, 50
_MERGED = ord("0")


class Listing:
    """An index, of the output of `ls-files --stage -z`, which stands in the order of the paths.

    Of a hundred thousand lines a few are asked for, so that they are not taken apart.
    """

    def __init__(self, said: bytes) -> None:
        self._said = said

    @cached_property
    def unmerged(self) -> bool:
        """Whether files wait to be merged."""
        # Hardly any path holds a tab, so that each is one behind a stage.
        if self._said.count(b"\t") == self._said.count(b" 0\t"):
            return False
        return any(line[_STAGE] != _MERGED for line in self._lines())

    def entries(self, paths: Iterable[str] | None = None) -> dict[str, Entry]:
        """path -> entry of these files and of those below them, of all files without paths."""
        lines = self._lines() if paths is None else self._of(paths)
        return dict(map(_entry, (line for line in lines if line[_STAGE] == _MERGED)))

    def _lines(self) -> list[bytes]:
        return self._said.split(b"\0")[:-1]

    def _of(self, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            name = path.encode(errors="surrogateescape")
            at = self._place(name)
            line = self._line(at)
            if _path(line) == name:
                yield line
                at += len(line) + 1
                line = self._line(at)
            # "0" is next to "/"; what stands between a name and what is below it is not read.
            if line and _path(line) < name + b"0":
                yield from self._span(name + b"/", name + b"0")

    def _span(self, start: bytes, end: bytes) -> Iterator[bytes]:
        """The lines whose paths stand from `start` to before `end`."""
        at = self._place(start)
        while (line := self._line(at)) and _path(line) < end:
            yield line
            at += len(line) + 1

    def _place(self, name: bytes) -> int:
        """Where the first line begins whose path does not stand before a name."""
        low, high = 0, len(self._said)
        while low < high:
            # The line in the middle begins behind the end of the one before it.
            middle = max(low, self._said.rfind(b"\0", low, (low + high) // 2) + 1)
            line = self._line(middle)
            if _path(line) < name:
                low = middle + len(line) + 1
            else:
                high = middle
        return low

    def _line(self, at: int) -> bytes:
        """The line that begins there; nothing behind the last one."""
        return self._said[at : self._said.find(b"\0", at)]


def _path(line: bytes) -> bytes:
    return line[_PATH:]


def _entry(line: bytes) -> tuple[str, Entry]:
    mode, blob, _ = line[: _PATH - 1].decode().split(" ")
    return _path(line).decode(errors="surrogateescape"), Entry(mode, blob)
