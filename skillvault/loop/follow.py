"""The step `follow`: a skill whose folder a person renamed keeps its links and its uses.

Here the old name is found in git; `learning/curate.py` builds the change.
"""

from collections.abc import Iterable, Iterator

from skillvault.learning.curate import FOLLOW, follow_rename
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Link, Ref, Skill
from skillvault.model.text.text import is_slug
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.index.snapshot import Topics


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each skill with a former name that its file or a link lacks."""
    keys = run.view.due.keys(FOLLOW)
    skills = run.view.skills.live(keys) | run.view.skills.archived.get_many(keys)
    moves = _find_moves(run, skills)
    for name, skill in skills.items():
        new_aliases = [a for a in _trace_names(name, moves) if a not in skill.formerly]
        former_names = [*skill.formerly, *new_aliases]
        gone_names = [a for a in former_names if Ref("skill", a) not in run.view.records]
        links = links_of(run.view, gone_names)
        proposals = run.view.skills.proposed if gone_names else {}
        versions = [key for key, version in proposals.items() if version.replaces in gone_names]
        if links or new_aliases or versions:
            shelf = layout.shelf_of(run.view.records.path_of(Ref("skill", name)) or "")
            yield follow_rename(shelf, name, former_names, links, versions=versions)
    run.settle(FOLLOW, keys)


def links_of(view: Topics, names: Iterable[str]) -> list[Link]:
    """Return the links from and to these skills."""
    refs = [Ref("skill", name) for name in names]
    return [
        *{
            link.id: link
            for find in (view.links.by_source, view.links.by_target)
            for link in find(refs)
        }.values()
    ]


def _trace_names(name: str, moves: dict[str, str]) -> list[str]:
    """Return the former names of a skill, oldest first."""
    names: list[str] = []
    while (name := moves.get(name, "")) and name not in names:
        names.insert(0, name)
    return names


def _find_moves(run: Run, names: Iterable[str]) -> dict[str, str]:
    """Map each skill that a person renamed to its old name, also the skills in `names`."""
    moves: dict[str, str] = {}
    names_left = [name for name in names if is_slug(name)]  # else its file cannot be found by it
    while names_left:
        first_touches = run.view.history.first_touches(names_left)
        names_left = []
        for name, (sha, made_by) in first_touches.items():
            if not made_by and (old_name := _find_old_name(run, name, sha)):
                moves[name] = old_name
                names_left.append(old_name)
    return moves


def _find_old_name(run: Run, name: str, sha: str) -> str | None:
    """Return the old name of a skill that a commit moved: same id or text; None without one."""
    view, git = run.view, run.store.git
    gone_names = [
        ref.id
        for ref in view.history.touched_refs(sha)
        if ref.kind == "skill" and is_slug(ref.id) and ref.id != name and ref not in view.records
    ]
    if not gone_names:
        return None
    keys = {(f"{sha}^", layout.skill_path(alias)): alias for alias in gone_names}
    new_place = (sha, layout.skill_path(name))
    skills = {
        key: skill
        for key, (_, content) in skill_files(git, [new_place, *keys], {}).items()
        if isinstance(skill := parse_record(key[1], content), Skill)
    }
    new_skill = skills.pop(new_place, None)
    likeness = {keys[key]: _likeness(new_skill, skill) for key, skill in skills.items()}
    nearest_name = max(likeness, key=likeness.__getitem__, default=None)
    return nearest_name if nearest_name and likeness[nearest_name] else None


def _likeness(new_skill: Skill | None, old_skill: Skill) -> int:
    """Score two versions of a skill by equal names, subjects and texts; 0 if nothing is equal."""
    if new_skill is None:
        return 0
    has_name = new_skill.name == old_skill.name
    has_subject = new_skill.subject is not None and new_skill.subject == old_skill.subject
    return 4 * has_name + 2 * has_subject + (new_skill.body.strip() == old_skill.body.strip())
