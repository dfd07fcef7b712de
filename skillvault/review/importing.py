"""A folder or a file of skills in another program's format, read for the vault.

What cannot be read is a problem in a list, and the others go on.
"""

from pathlib import Path

from skillvault.exchange.folder import folder_tree
from skillvault.exchange.skills.agent_skills import ORIGIN
from skillvault.exchange.skills.folders import NAMES, TreeSkill
from skillvault.exchange.skills.formats import SKILL_FORMATS, format_of
from skillvault.exchange.source_tree import SourceTree, tree_of
from skillvault.learning.install import Origin, digest_of
from skillvault.model.errors import UsageError
from skillvault.model.records import Problem
from skillvault.model.text.text import listed
from skillvault.review.incoming import Incoming

FORMATS = sorted(name for name, format_ in SKILL_FORMATS.items() if format_.read)


def read_path(path: Path, format_name: str | None = None) -> tuple[list[Incoming], list[Problem]]:
    """(the skills of a folder or file, what of it cannot be read); the format that it looks like.

    UsageError where there is no skill, or no such format.
    """
    place = path.expanduser().resolve()
    place = place.parent if place.name in NAMES else place
    tree = _tree(place)
    name = format_name or format_of(tree)
    reader = SKILL_FORMATS[name].read if name in SKILL_FORMATS else None
    if name is None or reader is None:
        raise UsageError(
            f"{path}: no skills of a format that is known; name it with --from "
            f"{listed(FORMATS, last='or')}"
        )
    found = list(reader(tree, place.name.removesuffix(".md")))
    if not found:
        raise UsageError(f"{path}: no skills of the format {name} there; name another path")
    skills = [_incoming(place, name, skill) for skill in found if isinstance(skill, TreeSkill)]
    return skills, [problem for problem in found if isinstance(problem, Problem)]


def is_no_source(name: str, origin: Origin) -> str | None:
    """That a skill was imported and has no source to ask, in words; None if it was installed."""
    format_name, _, place = origin.url.partition(":")
    if format_name not in SKILL_FORMATS:
        return None
    return f"{name}: was imported; `skillvault import skills {place.partition('#')[0]}` renews it"


def _tree(place: Path) -> SourceTree:
    if place.is_dir():
        return folder_tree(place)
    if not place.is_file():
        raise UsageError(f"{place}: no such file or folder; check the path")
    return tree_of({place.name: place.read_bytes()})


def _incoming(place: Path, format_name: str, skill: TreeSkill) -> Incoming:
    """A skill with where it came from: plain folders as `install` writes them."""
    url = f"{place}/{skill.place}" if skill.place and place.is_dir() else str(place)
    if not place.is_dir() and "#" in skill.place:
        url = f"{place}#{skill.place.partition('#')[2]}"
    if format_name != ORIGIN:
        url = f"{format_name}:{url}"
    digest = digest_of(skill.published)
    origin = Origin(url, "", digest, len(skill.folder.files))
    return Incoming(skill.folder, skill.published, origin)
