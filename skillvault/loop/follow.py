"""The step `follow`: give a skill that a person renamed the links and uses of its old name.

This module finds the old name in git; `learning/curate.py` builds the change.
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
from skillvault.vault.index.snapshot import Snapshot


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each renamed skill whose file or links still have the old name."""
    keys = run.snapshot.due.keys(FOLLOW)
    skills = run.snapshot.skills.live(keys) | run.snapshot.skills.archived.get_many(keys)
    moves = _find_moves(run, skills)
    for name, skill in skills.items():
        new_names = [n for n in _trace_names(name, moves) if n not in skill.formerly]
        former_names = [*skill.formerly, *new_names]
        gone_names = [n for n in former_names if Ref("skill", n) not in run.snapshot.records]
        links = links_of(run.snapshot, gone_names)
        proposals = run.snapshot.skills.proposed if gone_names else {}
        versions = [key for key, version in proposals.items() if version.replaces in gone_names]
        if links or new_names or versions:
            folder = layout.top_folder(run.snapshot.records.path_of(Ref("skill", name)) or "")
            yield follow_rename(folder, name, former_names, links, versions=versions)
    run.settle(FOLLOW, keys)


def links_of(snapshot: Snapshot, names: Iterable[str]) -> list[Link]:
    """Return the links from and to these skills."""
    refs = [Ref("skill", name) for name in names]
    return [
        *{
            link.id: link
            for find in (snapshot.links.by_source, snapshot.links.by_target)
            for link in find(refs)
        }.values()
    ]


def _trace_names(name: str, moves: dict[str, str]) -> list[str]:
    names: list[str] = []
    while (name := moves.get(name, "")) and name not in names:
        names.insert(0, name)
    return names


def _find_moves(run: Run, names: Iterable[str]) -> dict[str, str]:
    """Map the name of each renamed skill to its old name, and old names to older names."""
    moves: dict[str, str] = {}
    remaining_names = [name for name in names if is_slug(name)]  # others are no names of folders
    while remaining_names:
        first_touches = run.snapshot.history.first_touches(remaining_names)
        remaining_names = []
        for name, (sha, made_by) in first_touches.items():
            if not made_by and (old_name := _find_old_name(run, name, sha)):
                moves[name] = old_name
                remaining_names.append(old_name)
    return moves


def _find_old_name(run: Run, name: str, sha: str) -> str | None:
    snapshot, git = run.snapshot, run.store.git
    gone_names = [
        ref.id
        for ref in snapshot.history.touched_refs(sha)
        if ref.kind == "skill"
        and is_slug(ref.id)
        and ref.id != name
        and ref not in snapshot.records
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
    """Score two versions of a skill by equal names, subjects and texts, from 0 to 7."""
    if new_skill is None:
        return 0
    has_name = new_skill.name == old_skill.name
    has_subject = new_skill.subject is not None and new_skill.subject == old_skill.subject
    return 4 * has_name + 2 * has_subject + (new_skill.body.strip() == old_skill.body.strip())
