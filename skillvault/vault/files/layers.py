"""Find the folders of the shelf's layers, and read their skills.

A layer is an installed package with skills, or a folder named in `shelf.dirs`. The vault's own
`skills/` is not read here, and no folder is written.
"""

import os
import shlex
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

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
# The errors that importlib raises for unreadable metadata.
_INFO_FOLDERS = (".dist-info", ".egg-info", "egg-info")
_METADATA_ERRORS = (OSError, ValueError, TypeError, KeyError, AttributeError)


SEEDS = "seed_skills"
NEVER_SERVED = "skills of this folder of the vault are never served"
_CLOSED_FOLDERS = ("proposed", "archive", layout.QUARANTINE, layout.INBOX)
_MAX_SKILL_BYTES = 1024 * 1024


class ProseFile(Struct, frozen=True):
    """A markdown file in a layer that is not a skill."""


def seed_folder() -> Path:
    """Return the folder of the skills that ship with this package."""
    return layout.resource(SEEDS)


def is_never_served(root: Path, folder: Path) -> bool:
    """Return True if a folder overlaps a folder of the vault that is never served."""
    real_folder = layout.real_path(folder)
    closed_folders = (layout.real_path(root / name) for name in _CLOSED_FOLDERS)
    return any(
        p.is_relative_to(real_folder) or real_folder.is_relative_to(p) for p in closed_folders
    )


def outside_folders(root: Path, dirs: Iterable[str]) -> list[Path]:
    """Return the real paths of the policy's folders that are outside the vault."""
    real_root = layout.real_path(root)
    folders = (layout.real_path(root / name) for name in dirs)
    return [folder for folder in folders if not folder.is_relative_to(real_root)]


def allowed_folders(root: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders that `git config skillvault.dirs` names on this machine."""
    return tuple(layout.real_path(root / os.path.expanduser(name)) for name in names)  # noqa: PTH111


def find_layers(
    root: Path, dirs: Iterable[str], readable: Collection[Path] = ()
) -> tuple[list[Path], list[Problem]]:
    """Return (folders, problems): installed packages by name, then the policy's folders in order.

    Folders of the vault that are never served are not layers. A folder outside the vault must be in
    a `readable` folder, because a pushed policy must not read files of this machine.
    """
    folders: list[Path] = []
    packages, problems = plugins()
    for folder in packages:
        if is_never_served(root, folder):
            message = f"{NEVER_SERVED}; install the package that brings it elsewhere"
            problems.append(Problem(str(folder), None, "not-served", message))
        else:
            folders.append(folder)
    for name in dirs:
        folder = layout.real_path(root / name)
        if is_never_served(root, folder):
            message = f"{NEVER_SERVED}; remove it from `shelf.dirs` in vault.yaml"
            problems.append(Problem(name, "shelf.dirs", "not-served", message))
        elif outside_folders(root, [name]) and not any(map(folder.is_relative_to, readable)):
            message = (
                "lies outside the vault, so it is not read; to allow it on this machine run "
                f"`git config --add skillvault.dirs {shlex.quote(str(folder))}`"
            )
            problems.append(Problem(name, "shelf.dirs", "outside", message))
        elif not folder.is_dir():
            message = "no such folder; correct `shelf.dirs` in vault.yaml"
            problems.append(Problem(str(folder), None, "no-folder", message))
        else:
            folders.append(folder)
    return folders, problems


def read_layer_file(
    path: str, layer: str, known_version: str | None = None, folder: str | None = None
) -> ShelfSkill | Problem | ProseFile | None:
    """Read the skill in a file of a layer, or return the problem with the file.

    Return None for the `known_version`. A link may only lead into the repository of `folder`.
    """
    file = Path(path)
    is_skill_file = listing.is_skill_file(file.name)
    name = file.parent.name if is_skill_file else file.stem
    try:
        _check_link(file, Path(folder) if folder else file.parent)
        content = skill_bytes(file)
        version = blob_id(content)
        if version == known_version:
            return None
        return ShelfSkill(_decode_skill(name, content), layer, path, version)
    except BadInputError as error:
        if error.code == "no-front-matter" and not is_skill_file:
            return ProseFile()
        return Problem(path, error.key, error.code, error.message)


def _check_link(path: Path, folder: Path) -> None:
    """Raise BadInputError for a link to a file that must not be read."""
    target = Path(os.path.realpath(path))
    if target == path or target.is_relative_to(folder):
        return
    repository = next((f for f in (folder, *folder.parents) if (f / ".git").exists()), folder)
    if not target.is_relative_to(repository):
        raise BadInputError(
            f"a link to {target.parent}, outside {repository}; add that folder to `shelf.dirs`",
            code="link-outside",
        )
    vaults = (parent for parent in target.parents if (parent / layout.VAULT_FILE).is_file())
    if any(is_never_served(vault, target) for vault in vaults):
        raise BadInputError(
            f"a link to {target.parent}: {NEVER_SERVED}; remove it", code="not-served"
        )


def _decode_skill(name: str, content: bytes) -> Skill:
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
    """Read a skill's file. Raise BadInputError unless it is a regular file of at most 1 MiB."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_SKILL_BYTES:
            message = f"not a regular file of at most {_MAX_SKILL_BYTES // 1024} KiB"
            raise BadInputError(message, code="not-a-file")
        return path.read_bytes()
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None


def distributions() -> Iterable["Distribution"]:
    """Return the installed packages; none if no file of entry points names the group."""
    if not any(map(_names_group, sys.path)):
        return ()
    from importlib import metadata  # noqa: PLC0415 (18 ms, and as much to read all packages)

    return metadata.distributions()


def _names_group(place: str) -> bool:
    """Return True if an entry of `sys.path` is no folder, or a package there may name the group."""
    folder = place or "."
    if not os.path.isdir(folder):  # noqa: PTH112 (a zip file, or missing)
        return os.path.exists(folder)  # noqa: PTH110
    with suppress(OSError):
        infos = [name for name in os.listdir(folder) if name.lower().endswith(_INFO_FOLDERS)]  # noqa: PTH208
        return any(_reads_group(f"{folder}/{name}/entry_points.txt") for name in infos)
    return False


def _reads_group(file: str) -> bool:
    with suppress(OSError), open(file, "rb") as stream:  # noqa: PTH123 (a hundred packages)
        return GROUP.encode() in stream.read()
    return False


def plugins() -> tuple[list[Path], list[Problem]]:
    """Return (folders, problems) of installed packages with skills, without running a package."""
    folders: list[Path] = []
    problems: list[Problem] = []
    points, distribution_problems = _find_entry_points()
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            # Remove an object or extras from the value.
            package = point.value.partition(":")[0].partition("[")[0].strip()
            folders.append(_find_package(package))
        except BadInputError as error:
            problems.append(Problem(point.name, None, error.code, error.message))
    return folders, distribution_problems + problems


def _find_entry_points() -> tuple[list["EntryPoint"], list[Problem]]:
    """Return skillvault's (entry points, problems), from the first copy of each package.

    Unreadable entry points are a problem only if their text names the group.
    """
    entry_points: list[EntryPoint] = []
    problems: list[Problem] = []
    names: set[str] = set()
    for distribution in distributions():
        text, name = "", "a package without a name"
        with suppress(*_METADATA_ERRORS):  # its group cannot be read
            text = distribution.read_text("entry_points.txt") or ""
        if GROUP not in text:
            continue
        with suppress(*_METADATA_ERRORS):  # late, because it parses all metadata
            name = str(distribution.metadata["Name"] or name).lower()
        if name in names:
            continue
        names.add(name)
        try:
            entry_points += [point for point in distribution.entry_points if point.group == GROUP]
        except _METADATA_ERRORS:
            message = "its entry points cannot be read; install the package again, or remove it"
            problems.append(Problem(name, None, "bad-entry-points", message))
    return entry_points, problems


def _find_package(package: str) -> Path:
    """Return the folder of a package without importing it. Raise BadInputError if it has none."""
    top, *subfolders = package.split(".")
    if not all(part.isidentifier() for part in (top, *subfolders)):
        raise _package_error(package, "no package has such a name")
    folders = [base.joinpath(*subfolders) for base in _list_package_folders(top)]
    if folder := next(filter(Path.is_dir, folders), None):
        return folder
    files = [part for folder in folders for part in (folder, *folder.parents) if part.is_file()]
    from zipfile import is_zipfile  # noqa: PLC0415 (3 ms, for an error alone)

    if any(map(is_zipfile, files)):
        raise _package_error(package, "lies in a zip file, where its skills cannot be read")
    reason = "is a module without a folder" if files else "no such package is installed"
    raise _package_error(package, reason)


def _list_package_folders(name: str) -> Iterator[Path]:
    """Yield the folders of a top-level package. `find_spec` would import a dotted name."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return
    if spec is not None and spec.submodule_search_locations is not None:
        yield from map(Path, spec.submodule_search_locations)
    elif spec is not None and spec.origin:
        yield Path(spec.origin)


def _package_error(package: str, reason: str) -> BadInputError:
    message = f"{package}: {reason}; correct the plugin's entry point, or install it unzipped"
    return BadInputError(message, code="no-package")
