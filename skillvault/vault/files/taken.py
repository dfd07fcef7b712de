"""Inbox files that are taken: kept in the git dir until their commit is seen in the branch.

A person's git may bring the branch back to where it stood some milliseconds before. So a file
goes for good only at a later look that finds its commit there; else it returns to the inbox.
Nothing is redacted in them yet: nobody else may read them.
"""

import errno
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from skillvault.vault.disk import private_mode
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import free_names

LOOK_AFTER = 2.0  # seconds from which on a commit is looked for


class Taken:
    """What was taken from one vault's inbox, in a folder a commit."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def keep(self, name: str, commit: str) -> None:
        """Move a file from the inbox to those of a commit."""
        reach("inbox-done")
        mode = private_mode(self._root)
        self._folder.mkdir(mode=mode, parents=True, exist_ok=True)
        _move(self._root / layout.INBOX / name, self._folder / commit / name, mode & 0o666)

    def commits(self, age: float = LOOK_AFTER) -> list[str]:
        """The commits whose files were taken at least so many seconds ago, sorted."""
        if not self._folder.is_dir():
            return []
        now = time.time()
        places = [Path(entry.path) for entry in os.scandir(self._folder)]
        return sorted(place.name for place in places if now - _last_change(place) >= age)

    def forget(self, commit: str) -> None:
        """Remove the files of a commit for good."""
        with suppress(FileNotFoundError):  # another run looks at it too
            shutil.rmtree(self._folder / commit)

    def put_back(self, commit: str) -> None:
        """Return the files of a commit to the inbox."""
        folder = self._folder / commit
        for place in sorted(folder.rglob("*")):
            if place.is_file():
                wish = self._root / layout.INBOX / place.relative_to(folder)
                _move(place, wish, private_mode(self._root) & 0o666)
        self.forget(commit)


def _move(source: Path, wish: Path, mode: int) -> None:
    """Move a file to a free name like this one; it replaces nothing that arrives meanwhile."""
    wish.parent.mkdir(parents=True, exist_ok=True)
    for name in free_names(wish.name):
        try:
            _link(source, wish.with_name(name), mode)
        except FileExistsError:
            continue
        except FileNotFoundError:
            return  # another run took it
        source.unlink(missing_ok=True)
        return


def _link(source: Path, place: Path, mode: int) -> None:
    try:
        os.link(source, place)
        with suppress(PermissionError):  # another user's, who lets it be read
            place.chmod(mode)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM):
            raise
        # The git dir is on another disk, or the file another user's: Linux lets nobody link that.
        place.touch(mode, exist_ok=False)
        place.write_bytes(source.read_bytes())


def _last_change(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # another run looked at it
