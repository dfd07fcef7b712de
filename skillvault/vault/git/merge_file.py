"""Three versions of one text made one by `git merge-file`; a conflict never leaves a marker.

And the setting that makes a person's own git run our merge where both sides changed a record.
"""

import shlex
import sys
import tempfile
from pathlib import Path

from skillvault.vault.git.repository import Git

DRIVER = "merge.skillvault.driver"
ATTRIBUTE = "merge=skillvault"
_CALL = "-P -m skillvault merge-driver %O %A %B %P"


def driver_command() -> str:
    """The command, with the Python that runs now."""
    return f"{shlex.quote(sys.executable)} {_CALL}"


def is_own_driver(command: str) -> bool:
    """Whether a command is, but for the Python it names, what `init` sets."""
    python = command.removesuffix(f" {_CALL}")
    try:
        return python != command and shlex.quote(*shlex.split(python)) == python
    except (ValueError, TypeError):  # no quoted word, or not one alone
        return False


_BINARY = 255
_MOST = 127  # conflicts that git counts
_NAMES = ("ours", "base", "theirs")


def merged_text(git: Git, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, int] | None:
    """(a text with the changes of both sides, ours where they differ; in how many places they do).

    None of what is no text.
    """
    with tempfile.TemporaryDirectory(prefix="skillvault-") as place:
        paths = [Path(place) / name for name in _NAMES]
        for path, content in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(content)
        names = [str(path) for path in paths]
        codes = (*range(_MOST + 1), _BINARY)
        conflicts, _ = git.answer("merge-file", "-p", "-q", "--", *names, ok=codes)
        if conflicts == _BINARY:
            return None
        return git.run("merge-file", "-p", "-q", "--ours", "--", *names), conflicts
