"""The layers of the shelf as folders: skills that ship with the package, and a domain's own.

The vault's own layer is its committed `skills/`. Folders are read, never written.
"""

import os
import shlex
import stat
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillvault.errors import BadInputError
from skillvault.lazy import LazyModule
from skillvault.records import Problem, Ref, Shelved, Skill
from skillvault.text import is_slug
from skillvault.vault.files import layout, listing
from skillvault.vault.files.work_tree import blob_id

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from skillvault.vault.files import codec
else:  # only who parses pays for yaml
    codec = LazyModule("vault.files.codec")

GROUP = "skillvault.skills"  # entry points that name a package with a folder of skills
SEEDS = "seed_skills"
SHUT = "skills of this folder of the vault are never served"
_SHUT = ("proposed", "archive", layout.QUARANTINE, layout.INBOX)
_MAX_SKILL = 1024 * 1024


def seeds() -> Path:
    """The folder of the skills of the package itself."""
    return layout.resource(SEEDS)


def entry_points(group: str) -> Iterable["EntryPoint"]:
    """The entry points of a group; the modules that find them load when they are asked."""
    from importlib import metadata  # noqa: PLC0415 (18 ms, of a question that takes 200)

    return metadata.entry_points(group=group)


def plugins() -> tuple[list[Path], list[Problem]]:
    """(folders, problems) of installed packages that bring skills, by name; none is run.

    An entry point of the group names a package, whose folder holds the skills.
    """
    folders: list[Path] = []
    problems: list[Problem] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        folder = _folder(point.module)
        if folder is not None:
            folders.append(folder)
        else:
            message = f"no package {point.module} is installed; correct the plugin's entry point"
            problems.append(Problem(point.name, None, "no-package", message))
    return folders, problems


def is_shut(root: Path, folder: Path) -> bool:
    """Whether a folder holds, or lies in, one of the vault's that is never served."""
    place = folder.resolve()
    return any(_overlap(place, (root / shut).resolve()) for shut in _SHUT)


def _overlap(folder: Path, other: Path) -> bool:
    return folder.is_relative_to(other) or other.is_relative_to(folder)


def _folder(package: str) -> Path | None:
    try:
        spec = find_spec(package)
    except ImportError:
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def outside(root: Path, dirs: Iterable[str]) -> list[Path]:
    """Those of the policy's folders that do not lie in the vault, links followed."""
    home = root.resolve()
    places = ((root / name).resolve() for name in dirs)
    return [place for place in places if not place.is_relative_to(home)]


def allowed(root: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """The folders that `git config skillvault.dirs` names, on this machine."""
    return tuple((root / os.path.expanduser(name)).resolve() for name in names)  # noqa: PTH111


def domains(
    root: Path, dirs: Iterable[str], readable: Collection[Path] = ()
) -> tuple[list[Path], list[Problem]]:
    """(folders, problems): those of installed packages by name, then the policy's in its order.

    Folders of the vault that are never served, and what lies in them, are no layer. One outside is
    read if it lies in a `readable` one: what others push must not read this machine.
    """
    places, problems = plugins()
    for name in dirs:
        place = (root / name).resolve()
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
    path: str, layer: str, known: str | None = None, home: Path | None = None
) -> Shelved | Problem | None:
    """The skill in a file of a layer, or the problem that keeps it from being read.

    None if the file is the version that is `known`. `home` is the folder that a symbolic link must
    not lead out of.
    """
    place = Path(path)
    name = place.parent.name if place.name == listing.FILE else place.stem
    try:
        _check_home(place, home)
        content = _skill_bytes(place)
        version = blob_id(content)
        if version == known:
            return None
        return Shelved(_decoded(place, name, content), layer, path, version)
    except BadInputError as error:
        return Problem(path, error.key, error.code, error.message)


def _decoded(path: Path, name: str, content: bytes) -> Skill:
    skill = codec.decode(Ref("skill", name), content)
    if not isinstance(skill, Skill):
        raise TypeError(f"{path} holds no skill")
    skill_name = skill.name.replace("_", "-")
    if not is_slug(skill_name):
        raise BadInputError(
            f"name: {skill.name[:80]!r} cannot be a skill's name; use lower-case letters, digits "
            "and single hyphens, at most 64",
            code="bad-name",
            key="name",
        )
    return msgspec.structs.replace(skill, name=skill_name)


def _check_home(path: Path, home: Path | None) -> None:
    if home is not None and not path.resolve().is_relative_to(home):
        raise BadInputError(
            "a symbolic link that leads out of the vault; put the file itself there",
            code="outside",
        )


def _skill_bytes(path: Path) -> bytes:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_SKILL:
            raise BadInputError(
                f"no regular file of at most {_MAX_SKILL // 1024} KiB", code="not-a-file"
            )
        return path.read_bytes()
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None
