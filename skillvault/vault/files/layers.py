"""The layers of the shelf as folders: skills that ship with the package, and a domain's own.

The vault's own layer is its committed `skills/`. Folders are read, never written.
"""

import os
import shlex
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem, Shelved, Skill
from skillvault.model.text.text import is_slug
from skillvault.vault.files import layout, listing
from skillvault.vault.files.plugins import plugins
from skillvault.vault.files.work_tree import blob_id

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
    place = folder.resolve()
    return any(_overlap(place, (root / shut).resolve()) for shut in _SHUT)


def _overlap(folder: Path, other: Path) -> bool:
    return folder.is_relative_to(other) or other.is_relative_to(folder)


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
    places: list[Path] = []
    packages, problems = plugins()
    for place in packages:
        if is_shut(root, place):
            message = f"{SHUT}; install the package that brings it elsewhere"
            problems.append(Problem(str(place), None, "not-served", message))
        else:
            places.append(place)
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
    path: str, layer: str, known: str | None = None, folder: str | None = None
) -> Shelved | Problem | Prose | None:
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
        return Shelved(_decoded(name, content), layer, path, version)
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
