"""The layers of the shelf as folders: skills that ship with packages, and a domain's own.

The vault's own layer is its committed `skills/`. Folders are read, never written.
"""

import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import is_zipfile

import msgspec
from msgspec import Struct

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem, ShelfSkill, Skill
from skillvault.model.text.text import is_slug
from skillvault.vault.files import layout, listing
from skillvault.vault.files.work_tree import blob_id

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


GROUP = "skillvault.skills"  # entry points that name a package with a folder of skills
# What unreadable metadata makes importlib raise.
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError)


SEEDS = "seed_skills"
SHUT = "skills of this folder of the vault are never served"
_SHUT = ("proposed", "archive", layout.QUARANTINE, layout.INBOX)
_MAX_SKILL = 1024 * 1024


class Prose(Struct, frozen=True):
    """A text of a team's folder that is no skill and does not mean to be one."""


def seeds() -> Path:
    """The folder of the skills of the package itself."""
    return layout.resource(SEEDS)


def is_shut(root: Path, folder: Path) -> bool:
    """Whether a folder holds, or lies in, one of the vault's that is never served."""
    place = layout.real_path(folder)
    others = [layout.real_path(root / shut) for shut in _SHUT]
    return any(place.is_relative_to(one) or one.is_relative_to(place) for one in others)


def outside(root: Path, dirs: Iterable[str]) -> list[Path]:
    """Those of the policy's folders that do not lie in the vault, links followed."""
    home = layout.real_path(root)
    places = (layout.real_path(root / name) for name in dirs)
    return [place for place in places if not place.is_relative_to(home)]


def allowed(root: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """The folders that `git config skillvault.dirs` names, on this machine."""
    return tuple(layout.real_path(root / os.path.expanduser(name)) for name in names)  # noqa: PTH111


def domains(
    root: Path, dirs: Iterable[str], readable: Collection[Path] = ()
) -> tuple[list[Path], list[Problem]]:
    """(folders, problems): those of installed packages by name, then the policy's in its order.

    Folders of the vault that are never served, and what lies in them, are no layer. One outside is
    read if it lies in a `readable` one: what others push must not read this machine.
    """
    places: list[Path] = []
    packages, problems = plugins()
    for place in packages:
        if is_shut(root, place):
            message = f"{SHUT}; install the package that brings it elsewhere"
            problems.append(Problem(str(place), None, "not-served", message))
        else:
            places.append(place)
    for name in dirs:
        place = layout.real_path(root / name)
        if is_shut(root, place):
            message = f"{SHUT}; remove it from `shelf.dirs` in vault.yaml"
            problems.append(Problem(name, "shelf.dirs", "not-served", message))
        elif outside(root, [name]) and not any(map(place.is_relative_to, readable)):
            problems.append(Problem(name, "shelf.dirs", "outside", _not_read(place)))
        elif not place.is_dir():
            message = "no such folder; correct `shelf.dirs` in vault.yaml"
            problems.append(Problem(str(place), None, "no-folder", message))
        else:
            places.append(place)
    return places, problems


def _not_read(place: Path) -> str:
    return (
        "lies outside the vault, so it is not read; to allow it on this machine run "
        f"`git config --add skillvault.dirs {shlex.quote(str(place))}`"
    )


def read(
    path: str, layer: str, known: str | None = None, folder: str | None = None
) -> ShelfSkill | Problem | Prose | None:
    """The skill in a file of a layer, or the problem that keeps it from being read.

    None if the file is the version that is `known`. `folder` is the layer's, from which no link
    leads out but into the repository that it is in.
    """
    place = Path(path)
    is_whole = listing.is_skill_file(place.name)
    name = place.parent.name if is_whole else place.stem
    try:
        _check_link(place, Path(folder) if folder else place.parent)
        content = skill_bytes(place)
        version = blob_id(content)
        if version == known:
            return None
        return ShelfSkill(_decoded(name, content), layer, path, version)
    except BadInputError as error:
        if error.code == "no-front-matter" and not is_whole:
            return Prose()
        return Problem(path, error.key, error.code, error.message)


def _check_link(place: Path, folder: Path) -> None:
    """BadInputError for a file that a link puts into the layer from where it may not come."""
    real = Path(os.path.realpath(place))
    if real == place or real.is_relative_to(folder):
        return
    repository = next((at for at in (folder, *folder.parents) if (at / ".git").exists()), folder)
    if not real.is_relative_to(repository):
        raise BadInputError(
            f"a link to {real.parent}, outside {repository}; add that folder to `shelf.dirs`",
            code="link-outside",
        )
    if any((at / layout.MARK).is_file() and is_shut(at, real) for at in real.parents):
        raise BadInputError(f"a link to {real.parent}: {SHUT}; remove it", code="not-served")


def _decoded(name: str, content: bytes) -> Skill:
    skill = codec.foreign_skill(name, content)
    skill_name = skill.name.replace("_", "-")
    if not is_slug(skill_name):
        raise BadInputError(
            f"name: {skill.name[:80]!r} cannot be a skill's name; use lower-case letters, digits "
            "and single hyphens, at most 64",
            code="bad-name",
            key="name",
        )
    return msgspec.structs.replace(skill, name=skill_name)


def skill_bytes(path: Path) -> bytes:
    """A skill's file; BadInputError for what is none of a size that one has."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_SKILL:
            raise BadInputError(
                f"no regular file of at most {_MAX_SKILL // 1024} KiB", code="not-a-file"
            )
        return path.read_bytes()
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None


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
            # Without an object or extras behind the package.
            package = point.value.partition(":")[0].partition("[")[0].strip()
            folders.append(_folder(package))
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
