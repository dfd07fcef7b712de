"""Vaults of a given size for the measurements, through one pass of `git fast-import`.

    python bench/vaults.py FOLDER [RECORDS] [BATCH]

makes one to look at: a vault like any other, with a history, and its work tree and index filled.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from learned import DOMAINS, Dated, learned
from stream import START

from skillvault import Vault
from skillvault.model import codec
from skillvault.model.change import Change
from skillvault.model.link_lists import edit_links, owner_of
from skillvault.model.records import Evaluation, Link, Ref, ref_of
from skillvault.vault.commit import marks
from skillvault.vault.files import layout

AUTHOR = "bench <bench@localhost>"


def known() -> None:
    """Let git know who commits, in this process and its children."""
    for name in ("AUTHOR", "COMMITTER"):
        os.environ[f"GIT_{name}_NAME"], os.environ[f"GIT_{name}_EMAIL"] = "bench", "bench@localhost"


def empty(root: Path) -> Vault:
    """A new vault."""
    known()
    return Vault.init(root, DOMAINS, now=START)[0]


def made(root: Path, changes: Iterable[Dated]) -> Path:
    """A vault at `root` whose history these changes are."""
    empty(root)
    command = ["git", "fast-import", "--quiet", "--done"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE) as git:
        if git.stdin is None:
            raise ValueError("fast-import has no input")
        git.stdin.writelines(_instructions(changes))
    if git.returncode:
        raise subprocess.CalledProcessError(git.returncode, command)
    subprocess.run(["git", "reset", "--quiet", "--hard"], cwd=root, check=True)
    return root


def _instructions(changes: Iterable[Dated]) -> Iterator[bytes]:
    """Yield the instructions for git fast-import."""
    first = b"from refs/heads/main^0\n"
    kept: dict[str, bytes] = {}
    places: dict[Ref, str] = {}
    for change, at in changes:
        yield _commit(change.message.encode(), at) + first
        first = b""
        yield from _files(change, kept)
        yield from _lists(change, kept, places)
    yield b"done\n"


def _commit(message: bytes, at: datetime) -> bytes:
    who = f"{AUTHOR} {at.timestamp():.0f} +0000"
    lead = f"commit refs/heads/main\nauthor {who}\ncommitter {who}\n"
    return lead.encode() + _data(message)


def _files(change: Change, kept: dict[str, bytes]) -> Iterator[bytes]:
    """Yield the files that a change writes and moves; `kept` maps each path to its content."""
    for move in change.moves:
        yield f"R {move.source} {move.target}\n".encode()
        moved = kept.pop(f"{move.source}/SKILL.md", None)
        if moved is not None:
            yield from _file(f"{move.target}/SKILL.md", moved, kept)
    records = [record for record in change.writes if not isinstance(record, Link)]
    written = [(layout.path_of(record), codec.encode(record)) for record in records]
    for path, content in (*written, *change.files):
        yield from _file(path, content, kept)


def _lists(change: Change, kept: dict[str, bytes], places: dict[Ref, str]) -> Iterator[bytes]:
    """The lists of links that a change alters; `places` says where their records stand."""
    lists: dict[str, None] = {}
    for record in change.writes:
        if not isinstance(record, Link):
            places[ref_of(record)] = layout.links_path(layout.path_of(record))
        if isinstance(record, Evaluation):
            lists[places[ref_of(record)]] = None
    for link in change.writes:
        if isinstance(link, Link):
            owner = owner_of(link)
            path = places[owner]
            kept[path] = edit_links(kept.get(path, b""), owner, [link], []) or b""
            lists[path] = None
    for path in lists:
        yield from _file(path, kept.get(path, b""), kept)


def _file(path: str, content: bytes, kept: dict[str, bytes]) -> Iterator[bytes]:
    """One file, with the mark of its folder if it is a skill's."""
    if layout.is_skill(path):
        kept[path] = content
        if layout.top_folder(path) != layout.SERVED:
            content = marks.mark_internal(path, content)
    yield f"M 100644 inline {path}\n".encode() + _data(content)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def main(folder: str, records: int, batch: int) -> None:
    """Make one and tell how it stands."""
    root = made(Path(folder), learned(records, batch=batch))
    print(Vault.open(root).status())


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[2:]]
    main(sys.argv[1], *(given + [10_000, 50][len(given) :]))
