"""The tasks by which skills are found: what was asked when outcomes made or used them.

Kept in the index, which can be deleted at any time; only skills are
looked at whose outcomes, links or uses have changed.
"""

from collections.abc import Iterator, Mapping

from skillvault.learning.recommend import TASK
from skillvault.model.records import Skill
from skillvault.vault.index.snapshot import Staged

_PAGE = 500  # skills that are looked at at once
_LATEST = 50  # different tasks of a skill by which it is found


def follow(head: Staged) -> None:
    """Let skills be found by the tasks behind them now."""
    due = head.due.keys(TASK)
    for start in range(0, len(due), _PAGE):
        page = due[start : start + _PAGE]
        served = {row.name for row in head.skills.candidates_named(page)}
        head.tasks.keep({**dict.fromkeys(page, ""), **dict(_tasks(head, sorted(served)))})
        head.due.mark_done(TASK, page)


def _tasks(head: Staged, skills: list[str]) -> Iterator[tuple[str, str]]:
    # A strategy rests on all of its domain, so that any task there would find it.
    skills = [name for name in skills if not _is_strategy(head.skills.get(name))]
    made, users = head.skills.outcome_ids_behind(skills), head.tasks.users(skills)
    behind = {name: {*made[name], *users.get(name, ())} for name in skills}
    asked = head.tasks.of_outcomes(sorted(set().union(*behind.values())))
    for name, outcomes in behind.items():
        yield name, "\n".join(_latest({id_: asked[id_] for id_ in outcomes if id_ in asked}))


def _is_strategy(skill: Skill | None) -> bool:
    return skill is not None and skill.kind == "strategy"


def _latest(asked: Mapping[str, tuple[int, str]]) -> list[str]:
    """The different tasks, the latest first."""
    ordered = sorted(asked, key=lambda id_: (asked[id_][0], id_), reverse=True)
    return list(dict.fromkeys(" ".join(asked[id_][1].split()) for id_ in ordered))[:_LATEST]
