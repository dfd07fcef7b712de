"""A folder or a file of skills in another program's format, read for the vault.

What cannot be read is a problem in a list, and the others go on.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import ORIGIN, SkillFolder
from skillvault.exchange.skills.folders import NAMES, TreeSkill
from skillvault.exchange.skills.formats import SKILL_FORMATS, format_of
from skillvault.exchange.source_tree import SourceTree, folder_tree, tree_of
from skillvault.exchange.sources import REGISTRY
from skillvault.learning.install import Origin, digest_of
from skillvault.learning.next_version import FILE, Files, metadata_of
from skillvault.model.errors import BadInputError, GitError, UsageError
from skillvault.model.records import Problem, Skill
from skillvault.model.text.text import join_items
from skillvault.review.skill_sources import Offer, without_secrets
from skillvault.vault.files import layout

_INTERNAL = "agent-skills.metadata.internal"
_NAMED = 20  # skills of a source that a refusal names


class Incoming(Struct, frozen=True):
    """A skill that was read of its source, which held exactly `published`."""

    folder: SkillFolder
    published: Files
    origin: Origin

    @property
    def name(self) -> str:
        """What it is called where it comes from."""
        return self.folder.skill.name

    def is_said_by(self, other: Skill | None) -> bool:
        """Whether another skill says the same, as one does that was exported and comes back."""
        if other is None:
            return False
        said = (other.description.split(), other.body.strip())
        return said == (self.folder.skill.description.split(), self.folder.skill.body.strip())

    @property
    def is_internal(self) -> bool:
        """Whether its author keeps it from being offered."""
        return metadata_of(self.folder.files).get(_INTERNAL) == "true"


def read_offers(
    offers: Sequence[Offer], registry: str, problems: list[Problem]
) -> Iterator[Incoming]:
    """The skills that are offered, the same content once."""
    digests: set[str] = set()
    for offer in offers:
        try:
            files = offer.files()
        except (BadInputError, GitError) as error:
            problems.append(problem_of(offer.url, error))
            continue
        folder = agent_skills.read_skill(files, offer.name)
        if isinstance(folder, Problem):
            problems.append(Problem(offer.url, folder.key, folder.code, folder.message))
            continue
        digest = digest_of(files)
        if digest not in digests:
            digests.add(digest)
            own = registry if registry != REGISTRY and offer.url.startswith("clawhub:") else ""
            origin = Origin(offer.url, offer.version, digest, len(files), own)
            yield Incoming(folder, files, origin)


def chosen(skills: Sequence[Incoming], names: Collection[str], *, whole: bool) -> list[Incoming]:
    """Those that are named, or all that their authors offer.

    UsageError if one is not there, unless not the `whole` source could be read.
    """
    offered = sorted({skill.name for skill in skills})
    missing = sorted(set(names) - set(offered))
    if whole and missing:
        known = ", ".join(offered[:_NAMED]) or "none"
        raise UsageError(f"{', '.join(missing)}: not there; the source offers {known}")
    if whole and not skills:
        raise UsageError(f"no skill there; a skill is a folder with a {FILE}")
    return [
        skill for skill in skills if skill.name in names or (not names and not skill.is_internal)
    ]


def problem_of(place: str, error: BadInputError | GitError | UsageError) -> Problem:
    """Why something of a source cannot be taken."""
    if isinstance(error, BadInputError):
        return Problem(place, error.key, error.code, error.message)
    code = "git" if isinstance(error, GitError) else "source"
    return Problem(place, None, code, str(error))


FORMATS = sorted(name for name, format_ in SKILL_FORMATS.items() if format_.read)


def read_path(path: Path, format_name: str | None = None) -> tuple[list[Incoming], list[Problem]]:
    """(the skills of a folder or file, what of it cannot be read); the format that it looks like.

    UsageError where there is no skill, or no such format.
    """
    place = layout.real_path(path.expanduser())
    place = place.parent if place.name in NAMES else place
    tree = without_secrets(_tree(place))
    name = format_name or format_of(tree)
    reader = SKILL_FORMATS[name].read if name in SKILL_FORMATS else None
    if name is None or reader is None:
        raise UsageError(
            f"{path}: no skills of a format that is known; name it with --from "
            f"{join_items(FORMATS, last='or')}"
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
