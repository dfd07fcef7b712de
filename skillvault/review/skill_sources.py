"""A source of skills, opened: what it offers, and the files of each when they are asked for.

Sources are exchange's words, git is the vault's. What comes of a private source has a marker in
place of each secret; of a public one the bytes stay.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.exchange import fetch, well_known
from skillvault.exchange import source_tree as folder
from skillvault.exchange.source_tree import SkillPaths, SourceTree, files_of, skills_in, tree_of
from skillvault.exchange.sources import SkillSource
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Problem
from skillvault.vault.files import layout, redact
from skillvault.vault.git import remote

Files = Mapping[str, bytes]


class Offer(Struct, frozen=True):
    """A skill that a source offers: how its folder is called, how a person writes it, its files.

    `files` raises BadInputError if they cannot be taken.
    """

    name: str
    url: str
    version: str
    files: Callable[[], Files]


class Opened(Struct):
    """What a source offers, and what of it is no skill."""

    offers: list[Offer] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@contextmanager
def opened(source: SkillSource) -> Iterator[Opened]:
    """A source, while its skills are read.

    BadInputError, GitError or UsageError if there is none, or none that may be asked.
    """
    if source.kind == "git":
        with remote.fetch_files(source.url, source.ref, source.folder) as files:
            tree = SourceTree(files.sizes, files.read, files.unfit)
            tree = without_secrets(tree) if source.is_private else tree
            yield _in_tree(tree, source, version=files.commit)
    elif source.kind == "folder":
        yield _in_tree(without_secrets(folder.folder_tree(_folder_of(source))), source)
    elif source.kind == "clawhub":
        yield Opened([_released(source, fetch.Fetcher(source.url).fetch)])
    else:
        yield _at_site(source, fetch.Fetcher(source.url).fetch)


def without_secrets(tree: SourceTree) -> SourceTree:
    """Return a tree that is read with a marker in place of each secret.

    BadInputError for a file whose name holds one.
    """

    def read(paths: Sequence[str]) -> dict[str, bytes]:
        for path in paths:
            if kinds := redact.secret_kinds(path):
                message = f"{path}: the name looks like a secret ({kinds[0]}); rename the file"
                raise BadInputError(message, code="secret")
        return {path: _redact_file(data) for path, data in tree.read(paths).items()}

    return replace(tree, read=read)


def _redact_file(data: bytes) -> bytes:
    """Return a text file without its secrets; a file with a NUL is no text."""
    text = data.decode(errors="surrogateescape")
    redacted = text if "\0" in text else redact.redact_text(text)
    if redacted == text:
        return data
    content = redacted.encode(errors="surrogateescape")
    return Program(content) if isinstance(data, Program) else content


def _folder_of(source: SkillSource) -> Path:
    place = layout.real_path(Path(source.url).expanduser())
    if not place.is_dir():
        raise UsageError(f"{source.url}: no folder; name the folder of a skill, or one above it")
    return place


def _in_tree(tree: SourceTree, source: SkillSource, version: str = "") -> Opened:
    """The skills in a tree of files; a folder is written as it is from everywhere."""
    if source.kind == "folder":
        source = SkillSource("folder", str(_folder_of(source)))
    skills = skills_in(tree, source.folder)
    return Opened([_offer(tree, source, skill, version) for skill in skills])


def _offer(tree: SourceTree, source: SkillSource, skill: SkillPaths, version: str) -> Offer:
    name = skill.folder.rpartition("/")[2] or source.url.rstrip("/").rpartition("/")[2]
    return Offer(
        name.removesuffix(".git"),
        source.naming(skill.folder, ""),
        version,
        partial(files_of, tree, skill),
    )


def _released(source: SkillSource, get: well_known.Fetch) -> Offer:
    release = fetch.latest(source.url, source.owner, source.skill, get)

    def released() -> Files:
        return _alone(fetch.files_of_release(source.url, release, get))

    return Offer(source.skill, source.naming("", ""), release.version, released)


def _at_site(source: SkillSource, get: well_known.Fetch) -> Opened:
    skills, refused = well_known.index_of(source.url, get)
    problems = [
        Problem(place, error.key, error.code, error.message) for place, error in refused.items()
    ]
    named = [skill for skill in skills if source.skill in ("", skill.name)]

    def checked(skill: well_known.SiteSkill) -> Files:
        return _alone(well_known.files_at(skill, get))

    offers = [
        Offer(skill.name, source.naming("", skill.name), "", partial(checked, skill))
        for skill in named
    ]
    return Opened(offers, problems)


def _alone(files: Files) -> Files:
    """The one skill in an archive; BadInputError where there are none or several."""
    tree = tree_of(files)
    skills = skills_in(tree)
    if len(skills) != 1:
        raise BadInputError(
            f"the archive holds {len(skills)} skills; one with a SKILL.md is expected",
            code="no-skill",
        )
    return files_of(tree, skills[0])
