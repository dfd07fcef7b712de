"""Open a source of skills, and read its skills one by one when needed.

In files of a private source, markers replace secrets; files of a public source are not changed.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.exchange import fetch, source_tree
from skillvault.exchange.skills import agent_skills, agents_md, well_known
from skillvault.exchange.skills.agent_skills import ORIGIN, SkillFolder
from skillvault.exchange.skills.folders import DocumentRule, MemoryFact, TreeSkill
from skillvault.exchange.skills.formats import SKILL_FORMATS, format_of
from skillvault.exchange.source_tree import SkillPaths, SkippedFile, SourceTree
from skillvault.exchange.sources import REGISTRY, SkillSource
from skillvault.learning.install import Origin, digest_of
from skillvault.learning.next_version import FILE, Files, metadata_of
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError, GitError, UsageError
from skillvault.model.records import Problem
from skillvault.model.text import front_matter
from skillvault.model.text.text import join_items
from skillvault.vault.files import layout, redact
from skillvault.vault.git import remote


class Offer(Struct, frozen=True):
    """A skill that a source offers: the name of its folder, its address, its files.

    `files` raises BadInputError if they cannot be installed. `path` is its folder in the source,
    `links` are other paths of this folder.
    """

    name: str
    url: str
    version: str
    files: Callable[[], Files]
    path: str = ""
    links: tuple[str, ...] = ()


class SourceContents(Struct):
    """The offers of a source, its problems, and the files that are not installed.

    `skill_files` is the number of SKILL.md files, 0 if the source is not a tree of files.
    """

    offers: list[Offer] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    passed_over: list[SkippedFile] = field(default_factory=list)
    skill_files: int = 0


@contextmanager
def open_source(source: SkillSource) -> Iterator[SourceContents]:
    """Open a source while its skills are read.

    Raise BadInputError, GitError or UsageError if the source does not exist or may not be opened.
    """
    if source.kind == "git":
        with remote.fetch_files(source.url, source.ref) as files:
            tree = SourceTree(files.sizes, files.contents_of, files.unusable, files.links)
            tree = source_tree.follow_links(tree)
            tree = without_secrets(tree) if source.is_private else tree
            yield _tree_contents(tree, source, version=files.commit)
    elif source.kind == "folder":
        folder = layout.real_path(Path(source.url).expanduser())
        if not folder.is_dir():
            learn = ", or `skillvault learn` for a document" if folder.is_file() else ""
            message = "not a folder; name the folder of a skill, or one above it"
            raise UsageError(f"{source.url}: {message}{learn}")
        tree = without_secrets(source_tree.folder_tree(folder))
        yield _tree_contents(tree, SkillSource("folder", str(folder)))
    elif source.kind == "clawhub":
        yield SourceContents([_release_offer(source, fetch.Fetcher(source.url).fetch)])
    else:
        yield _site_contents(source, fetch.Fetcher(source.url).fetch)


def without_secrets(tree: SourceTree) -> SourceTree:
    """Return a tree that replaces secrets by markers when files are read.

    BadInputError for a file whose name holds a secret.
    """

    def read_redacted(paths: Sequence[str]) -> dict[str, bytes]:
        for path in paths:
            if kinds := redact.secret_kinds(path):
                message = f"{path}: the name looks like a secret ({kinds[0]}); rename the file"
                raise BadInputError(message, code="secret")
        return {path: _redact_file(data) for path, data in tree.read(paths).items()}

    return replace(tree, read=read_redacted)


def _redact_file(data: bytes) -> bytes:
    """Return a text file without its secrets; a file with a NUL byte is not text and is kept."""
    text = data.decode(errors="surrogateescape")
    redacted = text if "\0" in text else redact.redact_text(text)
    if redacted == text:
        return data
    content = redacted.encode(errors="surrogateescape")
    return Program(content) if isinstance(data, Program) else content


def _tree_contents(tree: SourceTree, source: SkillSource, version: str = "") -> SourceContents:
    scan = source_tree.scan_skills(tree, source.folder)
    return SourceContents(
        [_offer(tree, source, skill, version) for skill in scan.skills],
        passed_over=list(scan.passed_over),
        skill_files=scan.skill_files,
    )


def _offer(tree: SourceTree, source: SkillSource, skill: SkillPaths, version: str) -> Offer:
    name = skill.folder.rpartition("/")[2] or source.url.rstrip("/").rpartition("/")[2]
    return Offer(
        name.removesuffix(".git"),
        source.skill_address(skill.folder, ""),
        version,
        partial(source_tree.read_skill_files, tree, skill),
        skill.folder,
        skill.links,
    )


def _release_offer(source: SkillSource, get: well_known.Fetch) -> Offer:
    version = fetch.find_version(source, get)
    return Offer(
        source.skill,
        source.address,
        version,
        lambda: _single_skill(fetch.fetch_version(source, version, get)),
    )


def _site_contents(source: SkillSource, get: well_known.Fetch) -> SourceContents:
    skills, errors = well_known.fetch_index(source.url, get)
    problems = [Problem(url, error.key, error.code, error.message) for url, error in errors.items()]
    site_skills = [skill for skill in skills if source.skill in ("", skill.name)]

    def read_site_files(skill: well_known.SiteSkill) -> Files:
        return _single_skill(well_known.fetch_files(skill, get))

    offers = [
        Offer(skill.name, source.skill_address("", skill.name), "", partial(read_site_files, skill))
        for skill in site_skills
    ]
    return SourceContents(offers, problems)


def _single_skill(files: Files) -> Files:
    """Return the files of the only skill in an archive; BadInputError for another count."""
    tree = source_tree.tree_of(files)
    skills = source_tree.find_skills(tree)
    if len(skills) != 1:
        raise BadInputError(
            f"the archive holds {len(skills)} skills; one with a SKILL.md is expected",
            code="no-skill",
        )
    return source_tree.read_skill_files(tree, skills[0])


# ── reading skills ───────────────────────────────────────────────────────────────────

_INTERNAL_KEY = "agent-skills.metadata.internal"
_MAX_EXAMPLES = 20  # skills of a source that a refusal names


class SourceSkill(Struct, frozen=True):
    """A skill read from a source that held exactly the files `published`.

    `path` is its path in the source, `copies` are other paths with the same files, `links` are
    links to it.
    """

    folder: SkillFolder
    published: Files
    origin: Origin
    path: str = ""
    copies: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def skill_file(self) -> str:
        """The path of its SKILL.md in the source."""
        return f"{self.path}/{FILE}".lstrip("/")

    @property
    def name(self) -> str:
        """The name of the skill in its source."""
        return self.folder.skill.name

    @property
    def notes(self) -> list[str]:
        """Return remarks on missing files and on repairs of SKILL.md."""
        lines = [
            f"{path}: a pointer of git LFS, not the file; run `git lfs pull` in the source"
            for path, data in self.published.items()
            if agent_skills.is_pointer(data)
        ]
        content = next(
            self.published[name] for name in source_tree.SKILL_FILES if name in self.published
        )
        text = content.decode("utf-8-sig", errors="replace")
        if not front_matter.has_front_matter(text):
            names = "its folder gives the name, its first paragraph the description"
            lines.append(f"{self.skill_file}: it has no front matter; {names}")
        elif (mended := front_matter.mend(text)) != text:
            what = "not valid YAML, or had anchors or tags"
            lines.append(f"{FILE}: its front matter was {what}; values are put in quotes")
        elif agent_skills.complete(text, self.name) != mended:
            lines.append(f"{self.skill_file}: no description; its first paragraph stands for it")
        return lines

    @property
    def is_internal(self) -> bool:
        """True if the author marked the skill as internal."""
        return metadata_of(self.folder.files).get(_INTERNAL_KEY) == "true"


def read_offers(contents: SourceContents, registry: str) -> list[SourceSkill]:
    """Read the skills that are offered; equal copies for several hosts are one skill.

    Add problems, and versions for other hosts that are left out, to `contents`.
    """
    skills: list[SourceSkill] = []
    for offer in contents.offers:
        try:
            files = offer.files()
        except (BadInputError, GitError) as error:
            contents.problems.append(problem_of(offer.url, error))
            continue
        folder = agent_skills.read_skill(files, offer.name)
        if isinstance(folder, Problem):
            problem = Problem(offer.url, folder.key, folder.code, folder.message)
            contents.problems.append(problem)
            continue
        is_default = registry == REGISTRY or not offer.url.startswith("clawhub:")
        origin_registry = "" if is_default else registry
        digest = digest_of(files)
        origin = Origin(offer.url, offer.version, digest, len(files), origin_registry)
        skills.append(SourceSkill(folder, files, origin, offer.path, links=offer.links))
    return merge_copies(skills, contents.passed_over)


def merge_copies(skills: Iterable[SourceSkill], skipped: list[SkippedFile]) -> list[SourceSkill]:
    """Return the skills, with one entry for skills of equal files.

    The version for one host of a skill that is also elsewhere is left out.
    """
    skill_by_digest: dict[str, SourceSkill] = {}
    paths: dict[tuple[str, ...], str] = {}
    for skill in sorted(skills, key=lambda skill: source_tree.host_rank(skill.path)):
        digest = skill.origin.digest
        path = source_tree.path_outside_host(skill.path)
        if copied := skill_by_digest.get(digest):
            copies, links = (*copied.copies, skill.path or "."), (*copied.links, *skill.links)
            skill_by_digest[digest] = replace(copied, copies=copies, links=links)
        elif path in paths:
            reason = (
                f"a version for one host, other than {paths[path]}; "
                "name its folder as SOURCE to install it"
            )
            skipped.append(SkippedFile(skill.skill_file, reason))
        else:
            skill_by_digest[digest] = skill
            paths.setdefault(path or source_tree.path_without_skills(skill.path), skill.path)
    return list(skill_by_digest.values())


def choose_skills(
    skills: Sequence[SourceSkill],
    names: Collection[str],
    passed_over: list[SkippedFile],
    *,
    is_complete: bool,
) -> list[SourceSkill]:
    """Return the named skills, or all skills that authors did not mark as internal.

    Internal skills are added to `passed_over`. Raise UsageError if a named skill is missing, unless
    only a part of the source could be read.
    """
    source_names = sorted({skill.name for skill in skills})
    missing_names = sorted(set(names) - set(source_names))
    if is_complete and missing_names:
        examples = ", ".join(source_names[:_MAX_EXAMPLES]) or "none"
        raise UsageError(f"{', '.join(missing_names)}: not in the source; it offers {examples}")
    if is_complete and not skills:
        raise UsageError(f"no skill there; a skill is a folder with a {FILE}")
    if names:
        return [skill for skill in skills if skill.name in names]
    passed_over += [
        SkippedFile(s.skill_file, f"its author does not offer it; --skill {s.name} installs it")
        for s in skills
        if s.is_internal
    ]
    return [skill for skill in skills if not skill.is_internal]


def problem_of(address: str, error: BadInputError | GitError | UsageError) -> Problem:
    """Convert an error about a source into a problem."""
    if isinstance(error, BadInputError):
        return Problem(address, error.key, error.code, error.message)
    code = "git" if isinstance(error, GitError) else "source"
    return Problem(address, None, code, str(error))


DOCUMENTS = "documents"  # the format of `learn`
FORMATS = sorted(name for name, f in SKILL_FORMATS.items() if f.read and name != DOCUMENTS)


class ImportContents(Struct):
    """The skills, rules, facts and problems of a folder, file or page, and its skipped files."""

    skills: list[SourceSkill]
    rules: list[DocumentRule]
    facts: list[MemoryFact]
    problems: list[Problem]
    passed_over: list[SkippedFile]


def read_path(path: Path, format_name: str | None, *, judged: bool = False) -> ImportContents:
    """Read the skills and rules of a folder or file.

    Without `format_name` the format is recognized by the files. With `judged`, passages of
    documents whose structure is unclear are read too. UsageError if there is no skill, or no such
    format.
    """
    real_path = layout.real_path(path.expanduser())
    real_path = real_path.parent if real_path.name in source_tree.SKILL_FILES else real_path
    tree = without_secrets(_path_tree(real_path))
    return _read_tree(tree, format_name or format_of(tree), real_path, str(path), judged=judged)


def read_page(url: str, *, judged: bool = False) -> ImportContents:
    """Fetch a document and read its skills and rules; BadInputError for a page of HTML."""
    content = fetch.Fetcher(url).fetch(url)
    if content.lstrip()[:1] == b"<" and b"</" in content:
        message = f"{url}: a page of HTML; name the address of its Markdown"
        raise BadInputError(message, code="html")
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    tree = without_secrets(source_tree.tree_of({name: content}))
    return _read_tree(tree, DOCUMENTS, None, url, judged=judged)


def _read_tree(
    tree: SourceTree, format_name: str | None, path: Path | None, address: str, *, judged: bool
) -> ImportContents:
    """Read a tree in a format; `path` is its folder or file, if there is one."""
    reader = SKILL_FORMATS[format_name].read if format_name in SKILL_FORMATS else None
    if format_name is None or reader is None:
        raise UsageError(
            f"{address}: no skills of a format that is known; name it with --from "
            f"{join_items(FORMATS, last='or')}"
        )
    if judged:
        reader = partial(agents_md.read_documents, judged=True)
    entries = list(reader(tree, path.name.removesuffix(".md") if path else ""))
    contents = ImportContents(
        [],
        [entry for entry in entries if isinstance(entry, DocumentRule)],
        [entry for entry in entries if isinstance(entry, MemoryFact)],
        [entry for entry in entries if isinstance(entry, Problem)],
        [entry for entry in entries if isinstance(entry, SkippedFile)],
    )
    if len(entries) == len(contents.passed_over):
        reasons = "".join(f"; {entry.path}: {entry.reason}" for entry in contents.passed_over[:3])
        raise UsageError(
            f"{address}: no skills of the format {format_name} there{reasons}; name another path"
        )
    root, is_folder = str(path or address), path is not None and path.is_dir()
    skills = [
        _with_origin(root, is_folder, format_name, entry)
        for entry in entries
        if isinstance(entry, TreeSkill)
    ]
    contents.skills = merge_copies(skills, contents.passed_over)
    return contents


def split_address(url: str) -> tuple[str, str]:
    """Return the format in a skill's address ("" if not imported), and the rest of the address."""
    format_name, _, address = url.partition(":")
    return (format_name, address) if format_name in SKILL_FORMATS else ("", url)


def source_root(url: str) -> str:
    """Return the document, repository, site or folder with the skill of an address."""
    _, address = split_address(url)
    root, sign, _ = address.partition("#")
    return root if sign else address.rpartition("/")[0]


def explain_no_source(name: str, origin: Origin) -> str | None:
    """Return the reason why an imported skill has no source for updates; None if it has one."""
    format_name, address = split_address(origin.url)
    if not format_name:
        return None
    command = "learn" if format_name == DOCUMENTS else "import skills"
    return f"{name}: was imported; `skillvault {command} {address.partition('#')[0]}` renews it"


def _path_tree(path: Path) -> SourceTree:
    if path.is_dir():
        return source_tree.folder_tree(path)
    if not path.is_file():
        raise UsageError(f"{path}: no such file or folder; check the path")
    # By the name, since to look for an archive in a large file would read it whole.
    if path.name.endswith(tuple(chain.from_iterable(f[1] for f in shutil.get_unpack_formats()))):
        raise UsageError(f"{path}: an archive; unpack it, and name its folder")
    # Read only when its size is known to be allowed.
    return SourceTree(
        {path.name: path.stat().st_size}, lambda names: {name: path.read_bytes() for name in names}
    )


def _with_origin(root: str, is_folder: bool, format_name: str, skill: TreeSkill) -> SourceSkill:
    """Return a skill with its origin; for a plain folder the origin that `install` writes."""
    url = f"{root}/{skill.path}" if skill.path and is_folder else root
    if not is_folder and "#" in skill.path:
        url = f"{root}#{skill.path.partition('#')[2]}"
    if format_name != ORIGIN:
        url = f"{format_name}:{url}"
    digest = digest_of(skill.published)
    origin = Origin(url, "", digest, len(skill.folder.files))
    return SourceSkill(skill.folder, skill.published, origin, skill.path)
