"""Compute and write the cone of a light clone: the folders that git keeps in the work tree.

`cold` calls this to close months; `publish` extends the cone by the folders of new files.
"""

import os
import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import compress
from pathlib import Path

from skillvault.vault.disk import write_whole
from skillvault.vault.files import layout
from skillvault.vault.git.repository import Git

_FOLDERS = ("outcomes", "evaluations", "recommendations")  # each with a folder for each month
_MONTH = re.compile(rf"(?:{'|'.join(_FOLDERS)})/[^/]+/(?P<month>[0-9]{{4}}/[0-9]{{2}})/")
_MONTH_DEPTH = 4  # names in the path of a month's folder
_FILES, _NO_FOLDER = "/*", "!/*/"


def list_months(today: date, count: int) -> tuple[str, ...]:
    """Return the open months as `yyyy/mm`, and the next month, which may begin at any time."""
    number = today.year * 12 + today.month
    months = range(number - count, number + 1)
    return tuple(f"{month // 12:04}/{month % 12 + 1:02}" for month in months)


class Window:
    """The folders that stay in the work tree: open months, and months with the user's edits."""

    def __init__(self, months: tuple[str, ...] | None, edits: Iterable[str] = ()) -> None:
        self._months = months  # None: all
        self._folders: set[str] = set()
        self._folders = {_month_folder(path) for path in edits if self.is_closed(path)}

    def is_closed(self, path: str) -> bool:
        """Return True if a file is in a folder that is left out."""
        match = _MONTH.match(path)
        if self._months is None or match is None or match["month"] >= self._months[0]:
            return False
        return _month_folder(path) not in self._folders

    def closed_files(self, root: Path) -> Iterator[str]:
        """Yield the files that are in the work tree although their folder is closed."""
        for top in _FOLDERS:
            for folder, _, names in os.walk(root / top):
                path = Path(folder).relative_to(root).as_posix()
                if self.is_closed(f"{path}/"):
                    yield from (f"{path}/{name}" for name in names)

    def write(self, git: Git) -> None:
        """Write the cone, with all top folders and domains of HEAD."""
        if self._months is None:
            _write_lines(git, [_FILES])
            return
        head = git.head() or "HEAD"
        tops = _list_subfolders(git, head)
        areas = {top for top in tops if top not in _FOLDERS}
        for top in set(_FOLDERS).intersection(tops):
            areas |= {f"{top}/{domain}" for domain in _list_subfolders(git, f"{head}:{top}")}
        _write_cone(git, set(map(_escape, _list_open_folders(areas, self._months) | self._folders)))


def extend_cone(git: Git, paths: Iterable[str], today: date) -> None:
    """Add the folders and domains of new files to the cone of a light clone.

    Otherwise the next `git switch` or `git stash` of the person would hide these files.
    """
    open_months, file = git.settings().open_months, cone_file(git)
    if open_months is None or not file.exists():
        return
    lines = os.fsdecode(file.read_bytes()).splitlines()
    areas = {_area_of(path) for path in paths if "/" in path}
    areas = {area for area in areas if f"/{_escape(area)}/" not in lines}
    if areas and _NO_FOLDER in lines:  # without this line the cone has all folders
        is_leaf = (
            line[0] == "/" and line != _FILES and f"!{line}*/" not in lines for line in lines
        )
        leaves = {line.strip("/") for line in compress(lines, is_leaf)}
        new_leaves = _list_open_folders(areas, list_months(today, open_months))
        _write_cone(git, leaves.union(map(_escape, new_leaves)))


def cone_file(git: Git) -> Path:
    """Return the path of the file in which git finds the cone."""
    return git.dirs()[0] / "info/sparse-checkout"


def _area_of(path: str) -> str:
    """Return the domain's folder for a file that belongs to a month, else the top folder."""
    top, domain, *_ = path.split("/")
    return f"{top}/{domain}" if top in _FOLDERS else top


def _list_open_folders(areas: Iterable[str], months: Iterable[str]) -> set[str]:
    """Return the folders that stay: the open months of a domain, or the whole area."""
    return {
        leaf
        for area in areas
        for leaf in ([f"{area}/{month}" for month in months] if "/" in area else [area])
    }


def _write_cone(git: Git, leaves: set[str]) -> None:
    parents = {folder for leaf in leaves for folder in layout.folders_above(leaf)} - leaves
    lines = [_FILES, _NO_FOLDER]
    for parent in sorted(parents):
        lines += [f"/{parent}/", f"!/{parent}/*/"]
    _write_lines(git, [*lines, *(f"/{leaf}/" for leaf in sorted(leaves))])


def _write_lines(git: Git, lines: list[str]) -> None:
    file = cone_file(git)
    file.parent.mkdir(exist_ok=True)
    write_whole(file, os.fsencode("\n".join([*lines, ""])))


def _list_subfolders(git: Git, tree: str) -> list[str]:
    output = git.run("ls-tree", "-d", "-z", "--name-only", tree, ok=(0, 128))
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _escape(folder: str) -> str:
    return re.sub(r"([*?\[\\])", r"\\\1", folder)


def _month_folder(path: str) -> str:
    return "/".join(path.split("/")[:_MONTH_DEPTH])
