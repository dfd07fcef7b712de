"""A file that arrives: what it is called, how it looks, what it holds.

Nothing is decided here; `inbox` takes such files and `quarantine` keeps those that cannot be taken.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from skillvault.model.records import Trust
from skillvault.model.text.hidden_characters import escape_hidden, has_hidden

MAX_OUTCOME = 256 * 1024
DRAFT = re.compile(
    r"\.(?P<pid>[0-9]{1,9})(?:-[0-9]+)?\.tmp"
)  # as drafts in these folders are named
IGNORED = re.compile(r"^\.|\.tmp$|\.part$|~$")
ERROR = ".error.json"  # how the name of a quarantined file's reason ends
_MAX_NAME = 200  # bytes of a file name, so that what is added to it still fits

Identity = tuple[int, int, int]  # inode number, size, nanoseconds of its modification


class Received(Struct, frozen=True):
    """One file that arrived: its name below inbox/, its bytes, how far its folder is trusted.

    `is_attested`: the program hands it over itself, not an agent; see `attestation`.
    """

    name: str
    data: bytes
    trust: Trust = "local"
    is_attested: bool = False


def identity_of(state: os.stat_result) -> Identity:
    """What tells a file from one that was written since."""
    return state.st_ino, state.st_size, state.st_mtime_ns


def digest_of(path: Path) -> str | None:
    """sha256 of a regular file's bytes; None for anything else, or one that is gone."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def free_names(name: str) -> Iterator[str]:
    """`name.ext`, `name-2.ext`, … without end."""
    path = Path(name)
    yield path.name
    number = 2
    while True:
        yield f"{path.stem}-{number}{path.suffix}"
        number += 1


def plain_name(name: str) -> str:
    """A file name that can be printed, leaves room to add to, and is no reason's."""
    plain = (c if c.isprintable() and not has_hidden(c) else "_" for c in name)
    path = Path("".join(plain))
    if path.name.endswith(ERROR):
        path = Path(path.name.removesuffix(ERROR) + "-error.json")
    room = _MAX_NAME - len(path.suffix.encode())
    if room < 1:
        return path.name.encode()[:_MAX_NAME].decode(errors="ignore")
    return path.stem.encode()[:room].decode(errors="ignore") + path.suffix


def is_untrusted(origin: str) -> bool:
    """Whether a name below inbox/ is one of inbox/untrusted/."""
    return origin.startswith("untrusted/")


def shown(value: object) -> str:
    """A foreign text on one line that does nothing to a terminal and fits into JSON."""
    return escape_hidden(str(value)).replace("\r", "\\r").replace("\n", "\\n")
