"""What is in a person's hand: paths on which HEAD, index and work tree do not agree.

A path is ours only while index and work tree each hold what HEAD holds, or already exactly
what a change writes. Everything else waits.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from skillvault.vault.snapshot import blob_id
from skillvault.vault.trees import Entry


def held(
    root: Path,
    index: Mapping[str, Entry],
    files: Mapping[str, bytes | None],
    base: Mapping[str, str],
    tree: Mapping[str, Entry] | None = None,
) -> dict[str, str]:
    """path -> why it is a person's now; empty when every path is ours.

    `index` are its entries for `files`, `base` HEAD's blobs by path, `tree` its entries where
    a staged mode counts too.
    """
    found: dict[str, str] = {}
    for path, data in files.items():
        fine = {base.get(path), blob_id(data) if data is not None else None}
        if (index[path].id if path in index else None) not in fine:
            found[path] = "staged in the index and not committed"
        elif tree and path in index and path in tree and index[path].mode != tree[path].mode:
            found[path] = "its mode is staged and not committed"
        elif reason := _edited(root, path, fine):
            found[path] = reason
    return found


def taken_away(
    root: Path, index: Mapping[str, Entry], origins: Mapping[str, str]
) -> dict[str, str]:
    """The files to move that a person removed, where we did not begin to move them."""
    return {
        source: "deleted and not committed"
        for target, source in origins.items()
        if not (os.path.lexists(root / source) or os.path.lexists(root / target))
        or (source not in index and target not in index)
    }


def blob_at(root: Path, path: str) -> str | None:
    """The blob id of a file in the work tree; None where there is no regular file."""
    place = root / path
    if place.is_symlink() or not place.is_file():
        return None
    return blob_id(place.read_bytes())


def _edited(root: Path, path: str, fine: set[str | None]) -> str | None:
    place = root / path
    for folder in list(place.parents)[: len(Path(path).parts) - 1]:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            return f"{folder.relative_to(root)} is not a plain folder"
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return "not a regular file"
    if not place.exists():
        return None if None in fine else "deleted in the work tree and not committed"
    if blob_id(place.read_bytes()) in fine:
        return None
    return "edited and not committed" if fine - {None} else "a file of yours stands there"
