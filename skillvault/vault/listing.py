"""The entries of git's index at one moment, as git lists them; read once and asked many times."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

from skillvault.vault.trees import Entry

# `<mode> <id> <stage>\t<path>`: all but the path is of one width.
_STAGE, _PATH = 48, 50
_MERGED = ord("0")


class Listing:
    """An index, of the output of `ls-files --stage -z`, which stands in the order of the paths."""

    def __init__(self, said: bytes) -> None:
        self._lines = said.split(b"\0")[:-1]

    @cached_property
    def unmerged(self) -> bool:
        """Whether files wait to be merged."""
        return any(line[_STAGE] != _MERGED for line in self._lines)

    def entries(self, paths: Iterable[str] | None = None) -> dict[str, Entry]:
        """path -> entry of these files and of those below them, of all files without paths."""
        lines = self._lines if paths is None else self._of(paths)
        return dict(map(_entry, (line for line in lines if line[_STAGE] == _MERGED)))

    def _of(self, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            name = path.encode(errors="surrogateescape")
            yield from self._span(name, name + b"\0")
            yield from self._span(name + b"/", name + b"0")  # "0" is next to "/"

    def _span(self, start: bytes, end: bytes) -> Iterator[bytes]:
        """The lines whose paths stand from `start` to before `end`."""
        at = bisect_left(self._lines, start, key=_path)
        while at < len(self._lines) and _path(self._lines[at]) < end:
            yield self._lines[at]
            at += 1


def _path(line: bytes) -> bytes:
    return line[_PATH:]


def _entry(line: bytes) -> tuple[str, Entry]:
    mode, blob, _ = line[: _PATH - 1].decode().split(" ")
    return _path(line).decode(errors="surrogateescape"), Entry(mode, blob)
