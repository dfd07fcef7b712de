"""A skill as `assess` judges it, and `stats` tells of it: its evidence, its clock, its past."""

from datetime import datetime

from msgspec.structs import replace

from skillvault.learning.assess import STEP, Assessed
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.expire import lifetime, time_of
from skillvault.loop.registry import MOVERS, STEPS
from skillvault.model.records import Ref
from skillvault.vault.index.rows import micros
from skillvault.vault.index.skills import SkillStatusRow
from skillvault.vault.index.snapshot import Topics


def assessed(view: Topics, row: SkillStatusRow, evidence: Evidence, clock: datetime) -> Assessed:
    """A skill as it stands at its domain's time; of one that was never retired no file is read."""
    ref = Ref("skill", row.name)
    ours = row.shelf == "archive" and view.history.last_step(ref, MOVERS) == STEP
    shown = Assessed(
        name=row.name,
        shelf=row.shelf,
        status=row.status,
        evidence=evidence,
        clock=clock,
        ours=ours,
    )
    skill = view.skills.find(row.name) if ours or evidence.trial else None
    if skill is None:
        return shown
    retired, life = time_of(skill.retired), lifetime(skill, view.policy)
    last = view.history.commits_touching([ref])[:1]
    return replace(
        shown,
        retired=retired,
        trial=time_of(skill.trial),
        since=view.uses.closed_since(row.domain, micros(retired)) if ours and retired else 0,
        is_rejected=any(commit.step not in STEPS for commit in last)
        or (life is not None and life.ends < clock),
    )
