"""A folder of this machine as a source of skills: plain files only, no link is followed."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillvault.exchange.source_tree import MAX_BYTES, SourceTree, too_large
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError

_MAX_ENTRIES = 200_000  # of a whole source: a home folder named by mistake is not walked to its end
_PRUNED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folder_tree(root: Path) -> SourceTree:
    """What stands below a folder; BadInputError if that is no source anybody means."""
    states: dict[str, os.stat_result] = {}
    unfit: dict[str, str] = {}
    for path, state in _walked(root):
        if len(states) + len(unfit) > _MAX_ENTRIES:
            raise BadInputError(
                f"{root}: more than {_MAX_ENTRIES} files; name the folder of the skills",
                code="too-large",
            )
        if stat.S_ISREG(state.st_mode):
            states[path] = state
        else:
            unfit[path] = "a link" if stat.S_ISLNK(state.st_mode) else "a device or a socket"

    def read(paths: Sequence[str]) -> dict[str, bytes]:
        return {path: _as_listed(root, path, states[path]) for path in paths}

    return SourceTree({path: state.st_size for path, state in states.items()}, read, unfit)


def _walked(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below a folder that is no folder, and how it is listed."""
    for folder, folders, names in os.walk(root, followlinks=False):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = sorted(set(folders) - _PRUNED - set(links))
        for name in (*names, *links):
            place = Path(folder) / name
            yield place.relative_to(root).as_posix(), place.lstat()


def _as_listed(root: Path, path: str, listed: os.stat_result) -> bytes:
    """A file's bytes; BadInputError if it is not the one that was listed, as it was then."""
    try:
        handle = os.open(root / path, _OPENED)
        with os.fdopen(handle, "rb") as file:
            before = os.fstat(handle)
            content = file.read(MAX_BYTES + 1)
            after = os.fstat(handle)
    except OSError as error:
        raise BadInputError(
            f"{path}: cannot be read ({error.strerror}); check the path and its rights",
            code="unreadable",
        ) from None
    if len(content) > MAX_BYTES:
        raise too_large()
    if len({_identity(state) for state in (listed, before, after)}) > 1:
        raise BadInputError(f"{path}: changed while it was read; try again", code="changed")
    return Program(content) if listed.st_mode & stat.S_IXUSR else content


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_dev, state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns)
