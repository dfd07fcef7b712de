"""expire: skills whose time to live is over leave for archive/, or get another time."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from skillvault.change import Change
from skillvault.learning import expire
from skillvault.learning.merge.groups import renamed
from skillvault.records import SKILL_KINDS, Ref, stamp
from skillvault.steps.run import Run

_CLOSE = timedelta(days=2)  # times are compared as texts, whatever a person's time zone


def step(run: Run) -> Iterator[Change]:
    """One commit a skill."""
    run.shelf.follow(run.store.staged)
    for expiry in list(due(run)):
        yield expire.expiry_change(expiry, run.now)


def waiting(run: Run) -> int:
    """How many skills leave or get another time."""
    return len(list(due(run)))


def due(run: Run) -> Iterator[expire.Expiry]:
    """The skills whose time is over now."""
    view, policy = run.view, run.policy
    known = run.shelf.uses.evidence(view)
    shortest = min(filter(None, map(policy.days, SKILL_KINDS)))
    made = stamp(run.now - timedelta(days=shortest) + _CLOSE)
    for shelf in ("skills", "proposed"):
        names = view.skills.expiring(shelf, stamp(run.now + _CLOSE), made)
        skills = (view.skills if shelf == "skills" else view.skills.proposed).get_many(names)
        for name, skill in skills.items():
            found = expire.expiry(
                renamed(name, skill),
                shelf,
                commits=partial(run.commits_on, Ref("skill", name), {expire.STEP}),
                applied=known[name].latest if name in known else None,
                now=run.now,
                policy=policy,
            )
            if found:
                yield found
