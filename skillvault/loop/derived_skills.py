"""The skills that facts made: which are in service, which this program may put away."""

from collections.abc import Collection

from skillvault.learning import sections
from skillvault.learning.promote.facts import STEP
from skillvault.loop.next_versions import with_waiting_accounts
from skillvault.loop.run import Run
from skillvault.model.records import Ref, Skill


def derived_skills(run: Run, names: Collection[str]) -> dict[str, Skill]:
    """Those of these skills that live, and those that `promote` archived, by name."""
    view = run.view
    live = view.skills.live(names)
    for name in sorted(view.skills.names_on_shelf("archive", set(names).difference(live))):
        skill = view.skills.find(name)
        touching = view.history.commits_touching([Ref("skill", name)])
        ours = touching and touching[0].step == STEP
        if skill and ours and skill.status != "retired":
            live[name] = skill
    return with_waiting_accounts(view, live)


def shelf_of(run: Run, skill: Skill) -> str:
    """The folder in which a skill stands."""
    return (run.view.records.path_of(Ref("skill", skill.name)) or "skills/").partition("/")[0]


def may_leave(run: Run, skill: Skill) -> bool:
    """Whether a skill is in service, and the program's to put away."""
    if shelf_of(run, skill) == "archive" or not run.accounts.is_ours(skill):
        return False
    return not sections.edited_sections(run.versions(skill.name).bodies, skill.body)
