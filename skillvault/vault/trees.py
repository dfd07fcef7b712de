"""Git's tree objects as values: read, changed along some paths, encoded.

A commit then costs what its own folders cost, not what the vault holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

FOLDER, SUBMODULE = "40000", "160000"  # the modes of what is no file
REGULAR, EXECUTABLE = "100644", "100755"
_ID_BYTES = 20


class Entry(NamedTuple):
    """An entry of a tree or an index: its mode and the id of what it names."""

    mode: str
    id: str


Tree = dict[str, Entry]


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


def parsed(raw: bytes) -> Tree:
    """The entries of a tree object."""
    return dict(_nodes(raw))


def _nodes(raw: bytes) -> Iterator[tuple[str, Entry]]:
    at = 0
    while at < len(raw):
        nul = raw.index(b"\0", at)
        mode, _, name = raw[at:nul].partition(b" ")
        at = nul + 1 + _ID_BYTES
        yield name.decode(errors="surrogateescape"), Entry(mode.decode(), raw[nul + 1 : at].hex())


def put(found: dict[str, Tree], nodes: Mapping[str, Entry | None]) -> None:
    """Set or (None) remove the files of these paths in their folders."""
    for path, node in nodes.items():
        folder, _, name = path.rpartition("/")
        if node is None:
            found[folder].pop(name, None)
        else:
            found[folder][name] = node


def hang(found: dict[str, Tree], level: Sequence[str], ids: Mapping[str, str]) -> None:
    """Enter the written folders of a level into their parents; an empty one leaves its own."""
    for folder in filter(None, level):
        parent, _, name = folder.rpartition("/")
        if folder in ids:
            found[parent][name] = Entry(FOLDER, ids[folder])
        else:
            found[parent].pop(name, None)


def encoded(tree: Tree) -> bytes:
    """A tree object; in git's order a folder counts as if its name ended with a slash."""
    return b"".join([line for _, line in sorted(map(_line, tree, tree.values()))])


@lru_cache(maxsize=1 << 13)  # of a wide folder all lines but one are those of the last commit
def _line(name: str, entry: Entry) -> tuple[bytes, bytes]:
    """(the place in git's order, the bytes) of one entry."""
    place = _encoded(name) + (b"/" if entry.mode == FOLDER else b"")
    line = b"%s %s\0%s" % (entry.mode.encode(), _encoded(name), bytes.fromhex(entry.id))
    return place, line


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogateescape")
