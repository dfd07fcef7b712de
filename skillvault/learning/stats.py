"""What `stats` answers of a skill: its evidence, its lift, and the decision that they lead to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from skillvault.learning import assess
from skillvault.learning.assess import Assessed, NextTrial
from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.verdict import Evidence, cap_counters
from skillvault.learning.rules import Rules
from skillvault.model.records import Elsewhere
from skillvault.model.text.text import how_many

_PERSONS = {
    "pinned": "a person keeps it, whatever its evidence",
    "proposed": "it waits for a person",
}


class VersionStats(Struct, frozen=True, kw_only=True):
    """The evidence of one text of a skill. Rates, lift and bounds are fractions.

    `lift` is what having it changes of the rate of success, `error` its standard error,
    `interval` 95 %, `p_helps` is P(lift > 0), `base_rate` that of its decisions without it.
    `recent_lift` and `recent_p_helps` are those of its latest applications, which rank it.
    """

    times_applied: int
    success_count: int
    failure_count: int
    success_rate: float | None
    consecutive_failures: int
    ema: float | None
    wilson: float
    last_applied: datetime | None
    overruled: int
    shown: int
    held_out: int
    lift: float | None = None
    error: float | None = None
    interval: tuple[float, float] | None = None
    p_helps: float | None = None
    base_rate: float | None = None
    recent_lift: float | None = None
    recent_p_helps: float | None = None


class SkillStats(VersionStats, frozen=True, kw_only=True):
    """A skill's numbers. `earlier` are those of its texts before a person rewrote it.

    `merged` are the skills that it stands for: their decisions are counted among its own.
    `selection`: whether any receipt says to which decisions it was offered. `trial` is since when
    it is tried again, or was last, after its use had retired it; `is_trial`: the numbers are
    those since. `next_trial` is when one that its use retired is tried again.
    """

    skill: str
    kind: str
    domain: str | None
    status: str
    verdict: effect.Verdict
    decision: str
    selection: Literal["known", "unknown"]
    trial: str | None
    is_trial: bool
    next_trial: NextTrial | None
    earlier: list[VersionStats]
    merged: list[str]
    elsewhere: Elsewhere | None = None  # of another tool's counters what counts
    qualified_at: datetime | None = None  # when it became proven, as it is now


class StatsSubject(Struct, frozen=True):
    """The skill that is asked about, and how `assess` sees it."""

    kind: str
    domain: str | None
    assessed: Assessed
    merged: Sequence[str] = ()
    elsewhere: Elsewhere | None = None
    qualified_at: datetime | None = None
    trial: str | None = None


def skill_stats(skill: StatsSubject, rules: Rules) -> SkillStats:
    """The numbers of one skill, and what follows."""
    evidence = skill.assessed.evidence
    return SkillStats(
        **_numbers(evidence),
        skill=skill.assessed.name,
        kind=skill.kind,
        domain=skill.domain,
        status=skill.assessed.status,
        verdict=effect.verdict_of(evidence, rules.policy),
        decision=decision(skill.assessed, rules),
        selection="known" if evidence.is_selection_known else "unknown",
        trial=skill.trial,
        is_trial=evidence.trial,
        next_trial=assess.next_trial(skill.assessed, rules),
        earlier=[VersionStats(**_numbers(version)) for version in evidence.earlier],
        merged=sorted(skill.merged),
        elsewhere=cap_counters(skill.elsewhere) if skill.elsewhere else None,
        qualified_at=skill.qualified_at,
    )


def decision(skill: Assessed, rules: Rules) -> str:
    """What follows of the evidence, in words: what the next run does, else what is known."""
    if skill.status in _PERSONS:
        return f"{skill.status}: {_PERSONS[skill.status]}"
    if assess.status_change(skill, rules) is not None:
        following = assess.following_status(skill, rules).status
        if following != skill.status:
            return f"{following} at the next run"
        tried = "tried again" if following == "retired" else "over its trial"
        return f"{tried} at the next run"
    if skill.status == "retired":
        return f"retired: {_retired(skill, rules)}"
    return f"{skill.status}: {rules.open_words(skill.status, skill.evidence, rules.policy)}"


def _retired(skill: Assessed, rules: Rules) -> str:
    """What brings a retired skill back."""
    if not skill.ours:
        return "it comes back if a person brings it back"
    if not rules.tries_again:
        return rules.open_words(skill.status, skill.evidence, rules.policy)
    turned = f"tested again from P(lift > 0) = {rules.policy.effect.restored_above:g} on"
    if skill.is_rejected:
        return f"{turned}; not tried again, for a person touched it since, or its time is over"
    trial = assess.next_trial(skill, rules)
    return turned if trial is None else f"{turned}; tried again {_due(trial)}"


def _due(trial: NextTrial) -> str:
    at, bound = trial.at, trial.not_before
    if bound is not None and (bound >= at or not trial.decisions):
        return f"from its domain's {bound:%Y-%m-%d} on"
    more = how_many(trial.decisions, "more decision")
    due = f"from its domain's {at:%Y-%m-%d} on, or after {more}"
    return due if bound is None else f"{due}, but not before {bound:%Y-%m-%d}"


def _numbers(evidence: Evidence) -> dict[str, Any]:
    names = (name for name in VersionStats.__struct_fields__ if name != "lift")
    numbers = {name: getattr(evidence, name) for name in names if hasattr(evidence, name)}
    if lift := evidence.lift:
        numbers |= {
            "lift": lift.lift,
            "error": lift.error,
            "interval": lift.interval,
            "p_helps": lift.helps,
            "base_rate": lift.base,
            "recent_lift": lift.recent.lift,
            "recent_p_helps": lift.recent.helps,
        }
    return numbers
