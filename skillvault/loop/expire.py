"""expire: skills whose time to live is over leave for archive/, or get another time."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache, partial

from skillvault.learning import expire
from skillvault.learning.naming import with_folder_name
from skillvault.loop.clock import clock
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import SKILL_KINDS, Ref, Skill, stamp
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record

_CLOSE = timedelta(days=2)  # times are compared as texts, whatever a person's time zone


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    run.shelf.follow(run.store.staging)
    for expiry in list(due(run)):
        if Ref("skill", expiry.name) in run.view.records:  # a version goes with what it replaces
            yield expire.expiry_change(expiry)


def waiting(run: Run) -> int:
    """How many skills leave or get another time."""
    return len(list(due(run)))


def due(run: Run) -> Iterator[expire.Expiry]:
    """The skills whose time is over by the clock of their domain."""
    view, policy = run.view, run.policy
    clock_of = cache(partial(clock, view, now=run.now, rules=run.rules))
    latest = clock_of(None)  # no domain's is later
    if latest is None:
        return
    known = cache(lambda: run.shelf.uses.evidence(view))
    shortest = min(filter(None, map(policy.days, SKILL_KINDS)))
    made = stamp(latest - timedelta(days=shortest) + _CLOSE)
    for shelf in ("skills", "proposed"):
        names = view.skills.expiring(shelf, stamp(latest + _CLOSE), made)
        skills = (view.skills if shelf == "skills" else view.skills.proposed).get_many(names)
        for name, skill in skills.items():
            at = clock_of(skill.domain)
            found = at and expire.find_expiry(
                with_folder_name(name, skill),
                shelf,
                archived=partial(_archived, run, name),
                applied=known()[name].latest if name in known() else None,
                clock=at,
                policy=policy,
            )
            if found:
                yield found


def _archived(run: Run, name: str) -> Skill | None:
    """A skill as this step's last commit put it into archive/; None if that kept it."""
    commits = run.commits_on(Ref("skill", name), {expire.STEP})
    places = [(commit.sha, layout.skill_path(name)) for commit in commits[-1:]]
    for shelf, content in skill_files(run.store.git, places).values():
        skill = parse_record(layout.skill_path(name), content)
        return skill if shelf == "archive" and isinstance(skill, Skill) else None
    return None
