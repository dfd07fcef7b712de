"""The work tree: files put in their place and removed, never over what a person saves.

A file appears whole, under its name, in one step; its draft lies beside it.
"""

import os
import shutil
from pathlib import Path

from skillvault.errors import EditedError
from skillvault.vault.failpoint import reach
from skillvault.vault.git.trees import EXECUTABLE


def place_file(
    root: Path, path: str, content: bytes, *, mode: str | None, replace: bool, draft: str
) -> None:
    """Put a file in its place; EditedError if another one appeared there.

    `mode` is git's for a new file; one that is replaced keeps its own. `draft` is the name
    under which it is written first.
    """
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.parent / draft
    try:
        beside.write_bytes(content)
        reach("draft-written")
        if replace:
            shutil.copymode(place, beside)
            beside.replace(place)
        else:
            if mode == EXECUTABLE:
                beside.chmod(beside.stat().st_mode | 0o111)
            os.link(beside, place)
    except FileExistsError:
        raise EditedError(f"{path}: a file of yours appeared there; run again") from None
    finally:
        beside.unlink(missing_ok=True)
    reach("file-placed")


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
