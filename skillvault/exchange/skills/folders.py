"""Read and write folders of skills for all formats, within a host's budget of characters."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from skillvault.exchange import source_tree
from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import FILE, SkillFolder
from skillvault.exchange.source_tree import SkippedFile, SourceTree
from skillvault.model.errors import BadInputError
from skillvault.model.export import WHOLE_FILE, Export, ExportedPart, OmittedSkill, OutgoingSkill
from skillvault.model.records import Problem
from skillvault.model.text.text import first_sentences

_MAX_PAGE = 1024 * 1024
# Lengths to which descriptions are cut; the shortest still says when to use a skill.
_SHORT_LENGTHS = (600, 400, 300, 250, 200, 150, 100)


class TreeSkill(Struct, frozen=True):
    """A skill of a tree, converted for a vault, with its path in the tree.

    `published` has its files in the tree. If these files change, there is a new version.
    """

    path: str
    folder: SkillFolder
    published: Mapping[str, bytes]


class DocumentRule(Struct, frozen=True):
    """A rule in a document of a tree, with the path of the `page` and the title of its section.

    If it `is_undecided`, the text is a passage, and a judge must say if it states rules.
    """

    page: str
    text: str
    about: str
    is_undecided: bool = False


class MemoryFact(Struct, frozen=True):
    """A fact in a page of another program's memory. `confidence` is from 0 to 1."""

    page: str
    text: str
    domain: str
    confidence: float
    created: str = ""


TreeEntry = TreeSkill | DocumentRule | MemoryFact | Problem | SkippedFile


WriteSkill = Callable[[OutgoingSkill], Mapping[str, bytes]]
Cost = Callable[[OutgoingSkill], int]


def read_folders(
    tree: SourceTree, folder: str, origin: str, adapt: Callable[[bytes], bytes] | None = None
) -> Iterator[TreeEntry]:
    """Yield every skill of a tree. `folder` is the name of the tree.

    `adapt` changes the SKILL.md before it is read.
    """
    scan = source_tree.scan_skills(tree)
    yield from scan.passed_over
    for skill_paths in scan.skills:
        try:
            published = source_tree.read_skill_files(tree, skill_paths)
        except BadInputError as error:
            yield Problem(skill_paths.folder or folder, error.key, error.code, error.message)
            continue
        files = published
        if adapt is not None:
            files = {
                p: adapt(data) if p in source_tree.SKILL_FILES else data
                for p, data in published.items()
            }
        name = skill_paths.folder.rpartition("/")[2] or folder
        skill = agent_skills.read_skill(files, name, origin)
        page = f"{skill_paths.folder}/{FILE}".lstrip("/")
        yield tree_skill(skill, skill_paths.folder, published, page=page)


def tree_skill(
    skill: SkillFolder | Problem, path: str, published: Mapping[str, bytes], *, page: str = ""
) -> TreeSkill | Problem:
    """Add the path in a tree to a skill. A problem gets the path of the skill's page."""
    if isinstance(skill, Problem):
        return Problem(page or path, skill.key, skill.code, skill.message)
    return TreeSkill(path, skill, published)


def read_page(tree: SourceTree, path: str) -> bytes:
    """Read a page. Raise BadInputError if it is too large."""
    if tree.sizes[path] > _MAX_PAGE:
        message = f"more than {_MAX_PAGE // 1024} KiB; split the page"
        raise BadInputError(message, code="too-large")
    return tree.read([path])[path]


def read_pages(tree: SourceTree, fits: Callable[[str], bool]) -> dict[str, bytes]:
    """Read the pages with matching paths, by path. Leave out pages that are too large."""
    return dict(tree.read([p for p, size in tree.sizes.items() if size <= _MAX_PAGE and fits(p)]))


def read_skill_pages(tree: SourceTree) -> dict[str, bytes]:
    """Read the SKILL.md of each skill, by path."""
    folders = {skill.folder for skill in source_tree.find_skills(tree)}
    pages = {
        f"{folder}/{name}".lstrip("/") for folder in folders for name in source_tree.SKILL_FILES
    }
    return read_pages(tree, pages.__contains__)


def write_folders(
    skills: Sequence[OutgoingSkill],
    root: str,
    write: WriteSkill,
    *,
    left_out: Sequence[OmittedSkill],
    part: ExportedPart = WHOLE_FILE,
) -> Export:
    """Write skills as folders below `root`, and report the skills that cannot be written."""
    units: dict[str, Mapping[str, bytes]] = {}
    omitted_skills: list[OmittedSkill] = []
    for skill in skills:
        try:
            units[f"{root}/{skill.name}"] = write(skill)
        except BadInputError as error:
            omitted_skills.append(OmittedSkill(skill.name, error.message))
    names = tuple(skill.name for skill in skills if f"{root}/{skill.name}" in units)
    return Export(units, names, (*omitted_skills, *left_out), part)


def export_folders(
    skills: Sequence[OutgoingSkill],
    budget: int | None,
    *,
    root: str,
    cost: Cost,
    write: WriteSkill = agent_skills.write_valid,
    default_budget: int | None = None,
) -> Export:
    """Write as many skills as a host lists within its budget, as folders below `root`.

    If not all skills fit, all descriptions are cut to one length that still says when to use a
    skill. Skills that still do not fit are left out.
    """
    fitting_skills, left_out, length = fit_descriptions(skills, budget or default_budget, cost)
    return replace(write_folders(fitting_skills, root, write, left_out=left_out), cut=length)


def fit_descriptions(
    skills: Sequence[OutgoingSkill], budget: int | None, cost: Cost
) -> tuple[list[OutgoingSkill], list[OmittedSkill], int | None]:
    """Return the skills that fit, the others, and the length of the cut descriptions."""
    length = _description_limit(skills, budget, cost)
    short_skills = skills if length is None else _cut_descriptions(skills, length)
    return *select_fitting(short_skills, budget, cost), length


def _description_limit(
    skills: Sequence[OutgoingSkill], budget: int | None, cost: Cost
) -> int | None:
    if budget is None or sum(map(cost, skills)) <= budget:
        return None
    if all(len(skill.description) <= _SHORT_LENGTHS[-1] for skill in skills):
        return None  # a cut would save nothing
    lengths = (
        length
        for length in _SHORT_LENGTHS
        if sum(map(cost, _cut_descriptions(skills, length))) <= budget
    )
    return next(lengths, _SHORT_LENGTHS[-1])


def _cut_descriptions(skills: Sequence[OutgoingSkill], length: int) -> list[OutgoingSkill]:
    return [
        replace(skill, description=first_sentences(skill.description, length)) for skill in skills
    ]


def listing_size(skill: OutgoingSkill) -> int:
    """Return the number of characters in a skill's name and description."""
    return len(skill.name) + len(skill.description)


def select_fitting(
    skills: Iterable[OutgoingSkill], budget: int | None, cost: Cost
) -> tuple[list[OutgoingSkill], list[OmittedSkill]]:
    """Return the skills that fit a budget of characters, and the others, in order.

    If a skill does not fit, a later, smaller skill still may.
    """
    if budget is None:
        return [*skills], []
    fitting_skills, omitted_skills = list[OutgoingSkill](), list[OmittedSkill]()
    budget_left = budget
    for skill in skills:
        size = cost(skill)
        if size <= budget_left:
            fitting_skills.append(skill)
            budget_left -= size
        else:
            reason = f"takes {size} characters; {budget_left} of the budget of {budget} are free"
            omitted_skills.append(OmittedSkill(skill.name, reason))
    return fitting_skills, omitted_skills
