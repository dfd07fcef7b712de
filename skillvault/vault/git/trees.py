"""Git's tree objects as values: read, changed along some paths, encoded.

A commit then costs what its own folders cost, not what the vault holds.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from skillvault.model.change import Program

FOLDER, SUBMODULE = "40000", "160000"  # the modes of what is no file
REGULAR, EXECUTABLE = "100644", "100755"
_ID_BYTES = 20


class Entry(NamedTuple):
    """An entry of a tree or an index: its mode and the id of what it names."""

    mode: str
    id: str


def mode_of(content: bytes, before: Entry | None) -> str:
    """The mode of a file with this content; one that is no program keeps the one it had before."""
    if isinstance(content, Program):
        return EXECUTABLE
    return before.mode if before else REGULAR


def with_mode(content: bytes, entry: Entry | None) -> bytes:
    """What a file holds, as a program if its entry says that it may be run."""
    return Program(content) if entry and entry.mode == EXECUTABLE else content


class Tree:
    """The entries of one folder by name, held in git's order and as git encodes them.

    Of a wide folder a commit changes an entry or two; the others are not touched.
    """

    __slots__ = ("_entries", "_lines", "_places")

    def __init__(self, nodes: Iterable[tuple[str, Entry]] = ()) -> None:
        self._entries = dict(nodes)
        placed = sorted((_sort_key(*node), _encoded_entry(*node)) for node in self._entries.items())
        self._places = [place for place, _ in placed]
        self._lines = [line for _, line in placed]

    def __bool__(self) -> bool:
        return bool(self._entries)

    def get(self, name: str) -> Entry | None:
        """The entry of this name, where there is one."""
        return self._entries.get(name)

    def set(self, name: str, entry: Entry | None) -> None:
        """Set or (None) remove an entry."""
        before = self._entries.pop(name, None)
        if before is not None:
            at = bisect_left(self._places, _sort_key(name, before))
            del self._places[at], self._lines[at]
        if entry is not None:
            self._entries[name] = entry
            place = _sort_key(name, entry)
            at = bisect_left(self._places, place)
            self._places.insert(at, place)
            self._lines.insert(at, _encoded_entry(name, entry))

    def copy(self) -> "Tree":
        """The same entries, to be changed apart."""
        twin = Tree()
        twin._entries = self._entries.copy()
        twin._places, twin._lines = self._places.copy(), self._lines.copy()
        return twin

    @property
    def encoded(self) -> bytes:
        """The tree object."""
        return b"".join(self._lines)


def levels(paths: Mapping[str, object]) -> list[list[str]]:
    """The folders on these paths, the deepest level first, the root ("") last."""
    folders = {""}
    for path in paths:
        parts = path.split("/")
        folders.update("/".join(parts[:i]) for i in range(1, len(parts)))
    by_depth: dict[int, list[str]] = {}
    for folder in sorted(folders):
        by_depth.setdefault(folder.count("/") + bool(folder), []).append(folder)
    return [by_depth[depth] for depth in sorted(by_depth, reverse=True)]


def nodes_of(raw: bytes) -> Iterator[tuple[str, Entry]]:
    """The entries of a tree object."""
    at = 0
    while at < len(raw):
        nul = raw.index(b"\0", at)
        mode, _, name = raw[at:nul].partition(b" ")
        at = nul + 1 + _ID_BYTES
        yield name.decode(errors="surrogateescape"), Entry(mode.decode(), raw[nul + 1 : at].hex())


def _sort_key(name: str, entry: Entry) -> bytes:
    """In git's order a folder counts as if its name ended with a slash."""
    return _encoded_name(name) + (b"/" if entry.mode == FOLDER else b"")


def _encoded_entry(name: str, entry: Entry) -> bytes:
    return b"%s %s\0%s" % (entry.mode.encode(), _encoded_name(name), bytes.fromhex(entry.id))


def _encoded_name(name: str) -> bytes:
    return name.encode(errors="surrogateescape")
