"""Installed packages that bring skills: where their folders are. None of them is imported.

An entry point of the group names a package, whose folder holds the skills.
"""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import is_zipfile

from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "skillvault.skills"  # entry points that name a package with a folder of skills
# What unreadable metadata makes importlib raise.
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError)


def distributions() -> Iterable["Distribution"]:
    """What is installed; the modules that find it load when they are asked."""
    from importlib import metadata  # noqa: PLC0415 (18 ms, of a question that takes 200)

    return metadata.distributions()


def plugins() -> tuple[list[Path], list[Problem]]:
    """(folders, problems) of installed packages that bring skills, by name; none is run."""
    folders: list[Path] = []
    problems: list[Problem] = []
    points, broken = _entry_points()
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            folders.append(_folder(_package(point.value)))
        except BadInputError as error:
            problems.append(Problem(point.name, None, error.code, error.message))
    return folders, broken + problems


def _entry_points() -> tuple[list["EntryPoint"], list[Problem]]:
    """The entry points of the group, of a distribution that is installed twice the first's.

    A distribution whose entry points cannot be read is a problem if it names the group.
    """
    points: list[EntryPoint] = []
    problems: list[Problem] = []
    names: set[str] = set()
    for distribution in distributions():
        if GROUP not in _entry_points_text(distribution):
            continue
        name = _distribution_name(distribution)  # a mail is parsed for it, so of those alone
        if name in names:
            continue
        names.add(name)
        try:
            points += [point for point in distribution.entry_points if point.group == GROUP]
        except _UNREADABLE:
            message = "its entry points cannot be read; install the package anew, or remove it"
            problems.append(Problem(name, None, "bad-entry-points", message))
    return points, problems


def _entry_points_text(distribution: "Distribution") -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except _UNREADABLE:
        return ""  # not even its group can be read


def _distribution_name(distribution: "Distribution") -> str:
    try:
        return str(distribution.metadata["Name"] or "a package without a name").lower()
    except _UNREADABLE:
        return "a package without a name"


def _package(value: str) -> str:
    """The package that an entry point names, without an object or extras behind it."""
    return value.partition(":")[0].partition("[")[0].strip()


def _folder(package: str) -> Path:
    """Where a package lies, found by its path; BadInputError if it is no folder on this disk."""
    first, *rest = package.split(".")
    if not all(part.isidentifier() for part in (first, *rest)):
        raise _refused(package, "no package has such a name")
    places = [place.joinpath(*rest) for place in _package_places(first)]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise _refused(package, _why_none(places))
    return folder


def _why_none(places: Iterable[Path]) -> str:
    """Why no folder is at any of these places."""
    files = [part for place in places for part in (place, *place.parents) if part.is_file()]
    if any(map(is_zipfile, files)):
        return "lies in a zip file, where its skills cannot be read"
    return "is a module without a folder" if files else "no such package is installed"


def _package_places(name: str) -> Iterator[Path]:
    """Where a top-level package lies. Only a dotted name would make `find_spec` import one."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return
    if spec is not None and spec.submodule_search_locations is not None:
        yield from map(Path, spec.submodule_search_locations)
    elif spec is not None and spec.origin:
        yield Path(spec.origin)


def _refused(package: str, reason: str) -> BadInputError:
    message = f"{package}: {reason}; correct the plugin's entry point, or install it unzipped"
    return BadInputError(message, code="no-package")
