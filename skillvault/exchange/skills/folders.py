"""What the formats of skill folders share: skills looked for in a tree, placed in one, a budget."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.errors import BadInputError
from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import FILE, SkillFolder
from skillvault.export import WHOLE, Export, LeftOut, OutgoingSkill, OwnPart
from skillvault.records import Problem
from skillvault.text import lead

NAMES = (FILE, "skill.md")
_CUTS = (600, 400, 300, 250, 200, 150, 100)  # in the last one it still says when to use a skill


class Fit(NamedTuple):
    """The skills that fit a budget, and those that do not."""

    skills: list[OutgoingSkill]
    left_out: list[LeftOut]


Written = Callable[[OutgoingSkill], Mapping[str, bytes]]
Cost = Callable[[OutgoingSkill], int]


def skill_folders(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The folders with a SKILL.md, by path: their files. One inside another is its material."""
    roots = sorted({_split(path)[0] for path in files if _split(path)[1] in NAMES}, key=len)
    folders: dict[str, dict[str, bytes]] = {}
    for root in roots:
        if not any(_is_below(root, other) for other in folders):
            folders[root] = {
                path[len(root) + bool(root) :]: content
                for path, content in files.items()
                if _is_below(path, root)
            }
    return dict(sorted(folders.items()))


def read_folders(
    files: Mapping[str, bytes], folder: str, origin: str
) -> Iterator[SkillFolder | Problem]:
    """Every skill of a tree; `folder` is what the tree itself is called."""
    for root, below in skill_folders(files).items():
        skill = agent_skills.read_skill(below, _split(root)[1] or folder, origin)
        yield skill if isinstance(skill, SkillFolder) else _placed(skill, root)


def read_plain(files: Mapping[str, bytes], folder: str) -> Iterator[SkillFolder | Problem]:
    """Every skill of a tree of plain folders."""
    return read_folders(files, folder, agent_skills.ORIGIN)


def _placed(problem: Problem, root: str) -> Problem:
    path = f"{root}/{FILE}" if root else FILE
    return Problem(path, problem.key, problem.code, problem.message)


def write_folders(
    skills: Sequence[OutgoingSkill], root: str, written: Written, own: OwnPart = WHOLE
) -> Export:
    """The skills as folders below `root`; what cannot be written is left out."""
    units: dict[str, Mapping[str, bytes]] = {}
    left_out: list[LeftOut] = []
    for skill in skills:
        try:
            units[f"{root}/{skill.name}"] = written(skill)
        except BadInputError as error:
            left_out.append(LeftOut(skill.name, error.message))
    lost = {skill.skill for skill in left_out}
    names = tuple(skill.name for skill in skills if skill.name not in lost)
    return Export(units, names, tuple(left_out), own)


def export_folders(
    skills: Sequence[OutgoingSkill], root: str, written: Written, budget: int | None, *, cost: Cost
) -> Export:
    """The skills as folders below `root`, as much of them as a host lists within a budget.

    Where not all fit, all descriptions are cut alike, but never below where it is said when to use
    a skill; what does not fit then is left out.
    """
    cut = _cut_of(skills, budget, cost)
    fit = fitting(skills if cut is None else _cut(skills, cut), budget, cost)
    export = write_folders(fit.skills, root, written)
    return replace(export, left_out=(*export.left_out, *fit.left_out), cut=cut)


def _cut_of(skills: Sequence[OutgoingSkill], budget: int | None, cost: Cost) -> int | None:
    """To how many characters descriptions are cut; None: all are whole."""
    if budget is None or sum(map(cost, skills)) <= budget:
        return None
    lengths = (length for length in _CUTS if sum(map(cost, _cut(skills, length))) <= budget)
    return next(lengths, _CUTS[-1])


def _cut(skills: Sequence[OutgoingSkill], length: int) -> list[OutgoingSkill]:
    return [replace(skill, description=lead(skill.description, length)) for skill in skills]


def valid(keys: Collection[str] = ()) -> Written:
    """Writes a skill by the specification, with what its author wrote under these keys beside."""

    def written(skill: OutgoingSkill) -> Mapping[str, bytes]:
        return agent_skills.write_valid(skill, keys)

    return written


def fitting(skills: Iterable[OutgoingSkill], budget: int | None, cost: Cost) -> Fit:
    """Those that fit a budget of characters, the first ones first, and the others.

    One that does not fit makes place for a smaller one behind it.
    """
    fit = Fit([], [])
    room = budget
    for skill in skills:
        size = cost(skill)
        if room is None:
            fit.skills.append(skill)
        elif size <= room:
            fit.skills.append(skill)
            room -= size
        else:
            reason = f"takes {size} characters; {room} of the budget of {budget} are free"
            fit.left_out.append(LeftOut(skill.name, reason))
    return fit


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")
