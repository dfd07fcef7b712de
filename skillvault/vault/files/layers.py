"""The layers of the shelf as folders: skills that ship with the package, and a domain's own.

The vault's own layer is its committed `skills/`. Folders are read, never written.
"""

import os
import stat
from collections.abc import Iterable, Iterator, MutableMapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import msgspec

from skillvault.errors import BadInputError
from skillvault.records import Problem, Ref, Shelved, Skill
from skillvault.text import is_slug
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import blob_id

GROUP = "skillvault.skills"  # entry points that name a package with a folder of skills
SEEDS = "seed_skills"
_FILE = "SKILL.md"
_SHUT = ("proposed", "archive", layout.QUARANTINE, layout.INBOX)
SHUT = "skills of this folder of the vault are never served"
_MAX_SKILL = 1024 * 1024

# Skills that were read before, by file name and the id of what the file holds; new ones are added.
Cache = MutableMapping[str, Skill]


def seeds(cache: Cache | None = None) -> tuple[list[Shelved], list[Problem]]:
    """The skills of the package itself."""
    return read_skills(layout.resource(SEEDS), "seed", cache)


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


def domains(
    root: Path, dirs: Iterable[str], cache: Cache | None = None
) -> tuple[list[list[Shelved]], list[Problem]]:
    """(layers, problems): installed packages by name, then the policy's folders in its order.

    Folders of the vault that are never served, and what lies in them, are no layer.
    """
    places, problems = plugins()
    for name in dirs:
        if is_shut(root, root / name):
            message = f"{SHUT}; remove it from `shelf.dirs` in vault.yaml"
            problems.append(Problem(name, "shelf.dirs", "not-served", message))
        else:
            places.append((root / name).resolve())
    layers: list[list[Shelved]] = []
    for place in places:
        skills, unread = read_skills(place, "domain", cache)
        layers.append(skills)
        problems += unread
    return layers, problems


def read_skills(
    folder: Path, layer: str, cache: Cache | None = None
) -> tuple[list[Shelved], list[Problem]]:
    """(skills, problems) of a folder's `SKILL.md` folders and flat `*.md`, by path.

    What cannot be read is a problem and the rest goes on; so is a folder that is not there.
    """
    if not folder.is_dir():
        message = "no such folder; correct `shelf.dirs` in vault.yaml"
        return [], [Problem(str(folder), None, "no-folder", message)]
    skills: list[Shelved] = []
    problems: list[Problem] = []
    for path in _skill_files(folder):
        try:
            skills.append(_shelved(path, layer, {} if cache is None else cache))
        except BadInputError as error:
            problems.append(Problem(str(path), error.key, error.code, error.message))
    return skills, problems


def _skill_files(folder: Path) -> list[Path]:
    return sorted(path for path in _markdown(folder) if path.name == _FILE or _is_flat(path))


def _markdown(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        names[:] = [name for name in names if not name.startswith(".")]
        yield from (Path(place, name) for name in files if name.endswith(".md") and name[0] != ".")


def _is_flat(path: Path) -> bool:
    """A file beside a SKILL.md or below one is a skill's material, not a skill."""
    return not any((parent / _FILE).is_file() for parent in path.parents)


def _shelved(path: Path, layer: str, cache: Cache) -> Shelved:
    content = _skill_bytes(path)
    name = path.parent.name if path.name == _FILE else path.stem
    version = blob_id(content)
    key = f"{name} {version}"
    if key not in cache:
        cache[key] = _decoded(path, name, content)
    return Shelved(cache[key], layer, str(path), version)


def _decoded(path: Path, name: str, content: bytes) -> Skill:
    from skillvault.vault.files import codec  # noqa: PLC0415 (only who parses pays for yaml)

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
