"""The files of a publication: drafted in the git dir, then put in their place or taken away.

A file appears whole, under its name, in one step, and never over what a person saves. Its draft
lies where no `git add`, `stash` or `clean` of theirs sees it.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from skillvault.model.errors import UncommittedEditError
from skillvault.vault.disk import draft_name
from skillvault.vault.failpoint import reach
from skillvault.vault.git.trees import EXECUTABLE


@contextmanager
def drafted(folder: Path, files: Mapping[str, bytes | None]) -> Iterator[dict[str, Path]]:
    """path -> the draft of each file that is written, while it is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    drafts: dict[str, Path] = {}
    try:
        for path, content in files.items():
            if content is not None:
                drafts[path] = draft_file(folder, content)
        reach("draft-written")
        yield drafts
    finally:
        for place in drafts.values():
            place.unlink(missing_ok=True)


def draft_file(folder: Path, content: bytes) -> Path:
    """One file, whole, in a folder of drafts."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / draft_name()
    try:
        place.write_bytes(content)
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place


def place_file(root: Path, path: str, source: Path, *, mode: str | None, replace: bool) -> None:
    """Put a drafted file in its place; UncommittedEditError if another one appeared there.

    `mode` is git's for a new file, or one that changes; None: one that is replaced keeps its own.
    """
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        _into_place(place, source, mode=mode, replace=replace)
    except FileExistsError:
        raise UncommittedEditError(f"{path}: a file of yours appeared there; run again") from None
    reach("file-placed")


def _into_place(place: Path, source: Path, *, mode: str | None, replace: bool) -> None:
    if replace:
        shutil.copymode(place, source)
    if mode:
        bits = source.stat().st_mode
        runs = (bits & 0o444) >> 2  # who may read it may run it, as git has it
        source.chmod(bits | runs if mode == EXECUTABLE else bits & ~0o111)
    try:
        if replace:
            source.replace(place)
        else:
            os.link(source, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The work tree is on another disk than the git dir: the draft is copied beside its place.
        beside = place.parent / f".skillvault-{draft_name()}.tmp"
        try:
            shutil.copy2(source, beside)
            if replace:
                beside.replace(place)
            else:
                os.link(beside, place)
        finally:
            beside.unlink(missing_ok=True)


def remove_file(root: Path, path: str) -> None:
    """Remove a file and the folders that it leaves empty, below the top one."""
    (root / path).unlink()
    reach("file-removed")
    prune_folders(root, path)


def prune_folders(root: Path, path: str) -> None:
    """Remove the empty folders on a path, below the top one."""
    for folder in list((root / path).parents)[: len(Path(path).parts) - 2]:
        if not folder.is_dir():
            continue
        if any(folder.iterdir()):
            return
        folder.rmdir()
