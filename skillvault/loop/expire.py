"""The step `expire`: archive skills at the end of their time to live, or renew them.

This module finds skills whose time may be over; `learning/expire.py` decides about each.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache, partial

from skillvault.learning import expire
from skillvault.learning.naming import with_folder_name
from skillvault.loop.clock import clock
from skillvault.loop.managed_skills import find_archived_file
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import SKILL_KINDS, Skill, stamp
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record

_TIME_ZONE_MARGIN = timedelta(days=2)  # the query compares times as texts, in any time zone


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each skill to archive or renew."""
    run.shelf.follow(run.store.staging)
    for change in list(_find_changes(run)):
        # A next version disappears with the skill that it replaces.
        if change.targets[0] in run.snapshot.records:
            yield change


def count_work(run: Run) -> int:
    """Return the number of skills to archive or renew."""
    return len(list(_find_changes(run)))


def _find_changes(run: Run) -> Iterator[Change]:
    snapshot, policy = run.snapshot, run.policy
    clock_of = cache(partial(clock, snapshot, now=run.now, rules=run.profile))
    latest_time = clock_of(None)  # of all domains
    if latest_time is None:
        return
    load_evidence = cache(lambda: run.shelf.uses.evidence(snapshot))
    shortest = min(filter(None, map(policy.days, SKILL_KINDS)))
    created_before = stamp(latest_time - timedelta(days=shortest) + _TIME_ZONE_MARGIN)
    for folder in ("skills", "proposed"):
        names = snapshot.skills.expiring(
            folder, stamp(latest_time + _TIME_ZONE_MARGIN), created_before
        )
        skills = (snapshot.skills if folder == "skills" else snapshot.skills.proposed).get_many(
            names
        )
        for name, skill in skills.items():
            domain_time, evidence = clock_of(skill.domain), load_evidence().get(name)
            change = domain_time and expire.expiry_change(
                with_folder_name(name, skill),
                folder,
                load_archived=partial(_find_archived, run, name),
                last_applied=evidence.latest if evidence else None,
                clock=domain_time,
                policy=policy,
            )
            if change:
                yield change


def _find_archived(run: Run, name: str) -> Skill | None:
    """Return a skill as this step archived it, or None if another commit came later."""
    content = find_archived_file(run, name, {expire.STEP})
    skill = parse_record(layout.skill_path(name), content) if content is not None else None
    return skill if isinstance(skill, Skill) else None
