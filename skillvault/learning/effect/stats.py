"""What `stats` answers of a skill: its evidence, its lift, and the decision that they lead to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.elsewhere import capped
from skillvault.learning.effect.verdict import Evidence
from skillvault.policy import Policy
from skillvault.records import Elsewhere
from skillvault.text import count_of

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
    those since.
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
    earlier: list[VersionStats]
    merged: list[str]
    elsewhere: Elsewhere | None = None  # of another tool's counters what counts
    qualified_at: datetime | None = None  # when it became proven, as it is now


class StatsSubject(Struct, frozen=True):
    """The skill that is asked about."""

    skill: str
    kind: str
    domain: str | None
    status: str
    merged: Sequence[str] = ()
    elsewhere: Elsewhere | None = None
    qualified_at: datetime | None = None
    trial: str | None = None


def skill_stats(skill: StatsSubject, evidence: Evidence, policy: Policy) -> SkillStats:
    """The numbers of one skill, and what follows."""
    return SkillStats(
        **_numbers(evidence),
        skill=skill.skill,
        kind=skill.kind,
        domain=skill.domain,
        status=skill.status,
        verdict=effect.verdict_on(evidence, policy),
        decision=decision(skill.status, evidence, policy),
        selection="known" if evidence.is_selection_known else "unknown",
        trial=skill.trial,
        is_trial=evidence.trial,
        earlier=[VersionStats(**_numbers(version)) for version in evidence.earlier],
        merged=sorted(skill.merged),
        elsewhere=capped(skill.elsewhere) if skill.elsewhere else None,
        qualified_at=skill.qualified_at,
    )


def decision(status: str, evidence: Evidence, policy: Policy) -> str:
    """What follows of the evidence, in words."""
    if status in _PERSONS:
        return f"{status}: {_PERSONS[status]}"
    following = effect.next_status(status, evidence, policy).status
    if following != status:
        return f"{following} at the next run"
    return f"{status}: {_open(status, evidence, policy)}"


def _open(status: str, evidence: Evidence, policy: Policy) -> str:
    """What is known if nothing is to be done."""
    rules = policy.effect
    if status == "retired":
        return f"tested again from P(lift > 0) = {rules.restored_above:g} on"
    if policy.choices.proof != "lift":
        return f"by the rule of the profile {policy.profile}"
    if effect.is_on_trial(evidence, policy):
        shown = count_of(evidence.shown, rules.trial_shown)
        return f"tried again, {shown} decisions that a trial asks for"
    if evidence.times_applied < rules.min_applied:
        return f"{count_of(evidence.times_applied, rules.min_applied)} uses that a verdict asks for"
    explored = rules.explore > 0 and effect.is_new(evidence, policy)
    return {
        "helps": "it helps as far as is known"
        + ("" if status == "proven" else f"; {_unproven(evidence, policy)}"),
        "hurts": f"not recommended, P(lift > 0) is below {rules.hurts_below:g}"
        + ("; still tried as a new one" if explored else ""),
        "open": "whether it helps is open",
    }[effect.verdict_on(evidence, policy)]


def _unproven(evidence: Evidence, policy: Policy) -> str:
    """Why a skill that helps is not proven."""
    rules = policy.effect
    if not evidence.is_selection_known:
        return "not proven, for no receipt says to which decisions it was offered"
    if evidence.lift and evidence.lift.helps > rules.proven_above:
        return "so many looks may have found it by chance"
    return f"proven above {rules.proven_above:g}"


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
