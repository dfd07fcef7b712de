"""Compute the output of `stats` about a skill: its evidence, its lift, and the next decision.

`decision` says in words what the next run will do. The fields are the keys of `stats --json`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from skillvault.learning import assess
from skillvault.learning.assess import AssessedSkill, NextTrial
from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.verdict import Evidence, cap_counters
from skillvault.learning.rules import Rules
from skillvault.model.records import ExternalUse, Skill
from skillvault.model.text.text import pluralize

_DECISIONS_OF_PERSONS = {
    "pinned": "a person keeps it, whatever its evidence",
    "proposed": "it waits for a person",
}


class VersionStats(Struct, frozen=True, kw_only=True):
    """The evidence of one text of a skill. Rates, lift and bounds are fractions.

    `lift` is the change of the rate of success by the skill, with its standard `error`, its 95 %
    `interval` and the probability `p_helps` that it is positive. `base_rate` is the rate without
    the skill. `recent_lift` and `recent_p_helps` are about the latest uses, which rank the skill.
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
    """The numbers of a skill.

    `earlier` has the numbers of the texts before a person rewrote the skill. `merged` names the
    merged skills, whose decisions count for this skill. `selection` is `known` if a receipt tells
    which decisions were offered the skill. `trial` is the start of the last trial of a retired
    skill, and `next_trial` the time of the next. If `is_trial`, the numbers count from `trial` on.
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
    elsewhere: ExternalUse | None = None  # the counters of other tools, as far as they count
    qualified_at: datetime | None = None  # the time at which the skill became proven


def skill_stats(
    skill: Skill,
    assessed: AssessedSkill,
    rules: Rules,
    *,
    merged: Iterable[str] = (),
    qualified_at: datetime | None = None,
) -> SkillStats:
    """Return the numbers of one skill, and the next decision; `assessed` is its state."""
    evidence = assessed.evidence
    return SkillStats(
        **_numbers(evidence),
        skill=assessed.name,
        kind=skill.kind,
        domain=skill.domain,
        status=assessed.status,
        verdict=effect.verdict_of(evidence, rules.policy),
        decision=decision(assessed, rules),
        selection="known" if evidence.is_selection_known else "unknown",
        trial=skill.trial,
        is_trial=evidence.trial,
        next_trial=assess.next_trial(assessed, rules),
        earlier=[VersionStats(**_numbers(version)) for version in evidence.earlier],
        merged=sorted(merged),
        elsewhere=cap_counters(skill.elsewhere) if skill.elsewhere else None,
        qualified_at=qualified_at,
    )


def decision(skill: AssessedSkill, rules: Rules) -> str:
    """Describe the decision of the next run, or the evidence so far."""
    if skill.status in _DECISIONS_OF_PERSONS:
        return f"{skill.status}: {_DECISIONS_OF_PERSONS[skill.status]}"
    if assess.status_change(skill, rules) is not None:
        next_status = assess.earned_status(skill, rules).status
        if next_status != skill.status:
            return f"{next_status} at the next run"
        event = "tried again" if next_status == "retired" else "over its trial"
        return f"{event} at the next run"
    if skill.status == "retired":
        return f"retired: {_return_condition(skill, rules)}"
    return f"{skill.status}: {rules.open_words(skill.status, skill.evidence, rules.policy)}"


def _return_condition(skill: AssessedSkill, rules: Rules) -> str:
    if not skill.is_archived_here:
        return "only a person can restore it"
    if not rules.tries_again:
        return rules.open_words(skill.status, skill.evidence, rules.policy)
    condition = (
        f"tested again if the chance that it helps reaches {rules.policy.effect.restored_above:g}"
    )
    if skill.is_rejected:
        return f"{condition}; not tried again: a person changed it since, or it is too old"
    trial = assess.next_trial(skill, rules)
    return condition if trial is None else f"{condition}; tried again {_trial_time(trial)}"


def _trial_time(trial: NextTrial) -> str:
    at, bound = trial.at, trial.not_before
    if bound is not None and (bound >= at or not trial.decisions):
        return f"when its domain reaches {bound:%Y-%m-%d}"
    decision_words = pluralize(trial.decisions, "more decision")
    time = f"when its domain reaches {at:%Y-%m-%d}, or after {decision_words}"
    return time if bound is None else f"{time}, but not before {bound:%Y-%m-%d}"


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
