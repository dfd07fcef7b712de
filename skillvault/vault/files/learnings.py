"""LEARNINGS.md in the work tree: what agents wrote there, and how a rule is appended."""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from skillvault.model.errors import BadInputError
from skillvault.vault.files import layout

_MOST = 8 << 20  # bytes that are read at all


class WrittenFile(NamedTuple):
    """The bytes of a file, and how many seconds ago it was written last."""

    content: bytes
    age: float


def read_file(root: Path) -> WrittenFile | None:
    """The file as it stands; None if there is none, BadInputError for one that is not read."""
    try:
        descriptor = os.open(root / layout.LEARNINGS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise BadInputError("not a regular file", code="not-a-file")
        if state.st_size > _MOST:
            raise BadInputError(
                f"{state.st_size >> 20} MiB; remove rules that are not needed", code="too-large"
            )
        return WrittenFile(file.read(_MOST), time.time() - state.st_mtime)


def append(root: Path, addition: Callable[[str], str]) -> None:
    """Append what is made of the file's text, in one piece; a new file begins as the template's."""
    place = root / layout.LEARNINGS
    written = read_file(root)
    text = written.content.decode(errors="replace") if written else template()
    content = ("" if written else text) + addition(text)
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with open(descriptor, "ab") as file:  # noqa: PTH123 (a descriptor, not a path)
        file.write(content.encode())


def template() -> str:
    """The text that a vault's file begins with."""
    place = layout.resource("vault_template") / layout.LEARNINGS
    return place.read_text(encoding="utf-8")
