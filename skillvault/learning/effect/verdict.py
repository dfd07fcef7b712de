"""Count the decisions that applied a skill, and decide if the skill is proven or retired.

`loop/effects.py` counts with this module, and the steps and recommendations decide with it. The
profile `lift` decides by the lift; `seed` and `wilson` decide by the counts, near the end.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.effect.lift import Lift
from skillvault.learning.rules import Rules
from skillvault.model.policy import Policy
from skillvault.model.records import ExternalUse, Status
from skillvault.model.text.text import count_of

Verdict = Literal["helps", "hurts", "open"]
Z = 1.645  # one-sided 95 %
_MAX_EXTERNAL_USES = 5  # uses counted by other tools; more are ignored
_RESULT_VARIANCE = 0.25  # the highest variance that one result can have
_USUAL_RATE = 0.5  # the rate of success if nothing is known
_EVEN_CHANCE = 0.5  # probability that a skill helps, if it may as well hurt
_MAX_FAILURES = 5  # failures in a row that retire a skill by its counts


class ClosedDecision(Struct, frozen=True):
    """A closed decision that applied, overruled or was offered a skill.

    `offer` is "" if the skill was neither shown nor held out. `made` is the time in microseconds
    since 1970. `look` is the number of the commit that added the outcome, or 0 if a bulk import
    goes on after it.
    """

    outcome: str
    at: datetime
    status: Status
    made: int
    applied: bool
    offer: str = ""
    overruled: bool = False
    look: int = 0


class Evidence(Struct, frozen=True):
    """The counts and the lift of a skill.

    Rates are fractions, or None without uses. All counts are for the current text; `earlier` has
    the evidence of the texts before a person rewrote the skill, oldest first. `shown` and
    `held_out` count closed decisions. `looks` is the number of commits that added these decisions
    (a bulk import counts once), because the skill may have been judged after each. `last_look` is
    the latest such commit. `trial` is True if the skill was retired and is tried again.
    """

    times_applied: int = 0
    success_count: int = 0
    failure_count: int = 0
    success_rate: float | None = None
    consecutive_failures: int = 0
    ema: float | None = None
    last_applied: datetime | None = None
    overruled: int = 0
    shown: int = 0
    held_out: int = 0
    looks: int = 1
    last_look: int = 0
    lift: Lift | None = None
    earlier: tuple["Evidence", ...] = ()
    trial: bool = False

    @property
    def is_selection_known(self) -> bool:
        """True if a receipt tells which decisions could have applied the skill."""
        return any(version.shown or version.held_out for version in (self, *self.earlier))

    @property
    def has_decisions(self) -> bool:
        """True if a decision applied, overruled or was offered any version of the skill."""
        return any(
            e.times_applied or e.overruled or e.shown or e.held_out for e in (self, *self.earlier)
        )

    @property
    def latest(self) -> datetime | None:
        """The last time at which a version of the skill was applied."""
        times = [version.last_applied for version in (self, *self.earlier)]
        return max(filter(None, times), default=None)

    @property
    def wilson(self) -> float:
        """The Wilson lower bound of the rate of success."""
        return wilson_lower(self.success_count, self.times_applied)


NO_EVIDENCE = Evidence()


class NextStatus(Struct, frozen=True):
    """The status that a skill gets, and the reason in words."""

    status: str
    reason: str


def count_uses(uses: Iterable[ClosedDecision], base: Evidence = NO_EVIDENCE) -> Evidence:
    """Add the decisions that applied a skill to the counts in `base`.

    A neutral result counts as a use, but neither as a success nor as a failure.
    """
    by_outcome = {use.outcome: use for use in uses}
    unique_uses = [by_outcome[outcome_id] for outcome_id in sorted(by_outcome)]
    statuses = [use.status for use in unique_uses]
    streak, average = base.consecutive_failures, base.ema
    for status in statuses:
        if status != "neutral":
            streak = 0 if status == "success" else streak + 1
            average = ema(average, status == "success")
    successes = base.success_count + statuses.count("success")
    times = base.times_applied + len(unique_uses)
    return replace(
        base,
        times_applied=times,
        success_count=successes,
        failure_count=base.failure_count + statuses.count("failure"),
        success_rate=successes / times if times else None,
        consecutive_failures=streak,
        ema=average,
        last_applied=unique_uses[-1].at if unique_uses else base.last_applied,
    )


def evidence_by_version(
    decisions: Iterable[ClosedDecision], version_starts: Sequence[int], *, trial: bool = False
) -> Evidence:
    """Return the evidence of a skill whose text changed at the times `version_starts`.

    With `trial`, the last of these times is the start of a new trial of the same text.
    """
    earlier = (NO_EVIDENCE,) * (len(version_starts) + 1)
    return _add_later(earlier, _split_by_version(decisions, version_starts), trial=trial)


def evidence_with_later(
    evidence: Evidence,
    decisions: Iterable[ClosedDecision],
    version_starts: Sequence[int],
    *,
    trial: bool = False,
) -> Evidence | None:
    """Add later decisions to evidence, or return None if all decisions must be counted again."""
    earlier, versions = (*evidence.earlier, evidence), _split_by_version(decisions, version_starts)
    if len(earlier) != len(versions):
        return None
    pairs = zip(earlier, versions, strict=True)
    if any(0 < decision.look < evidence.last_look for evidence, part in pairs for decision in part):
        return None
    return _add_later(earlier, versions, trial=trial)


def _split_by_version(
    decisions: Iterable[ClosedDecision], version_starts: Sequence[int]
) -> list[list[ClosedDecision]]:
    versions: list[list[ClosedDecision]] = [[] for _ in range(len(version_starts) + 1)]
    for decision in decisions:
        versions[bisect_right(version_starts, decision.made)].append(decision)
    return versions


def _add_later(
    earlier: Sequence[Evidence], later_decisions: Iterable[Sequence[ClosedDecision]], *, trial: bool
) -> Evidence:
    *earlier_versions, last_version = map(_version_evidence, earlier, later_decisions)
    return replace(last_version, earlier=tuple(earlier_versions), trial=trial)


def _version_evidence(base: Evidence, decisions: Sequence[ClosedDecision]) -> Evidence:
    offers = Counter({decision.outcome: decision.offer for decision in decisions}.values())
    overruled_ids = {decision.outcome for decision in decisions if decision.overruled}
    looks = {decision.look for decision in decisions} - {0, base.last_look}
    earlier_looks = base.looks if base.last_look else 0
    return replace(
        count_uses((decision for decision in decisions if decision.applied), base),
        overruled=base.overruled + len(overruled_ids),
        shown=base.shown + offers["shown"],
        held_out=base.held_out + offers["held"],
        looks=max(1, earlier_looks + len(looks)),
        last_look=max([base.last_look, *looks]),
    )


def with_lifts(evidence: Evidence, lifts: Sequence[Lift | None]) -> Evidence:
    """Return the evidence with the lift of each version, oldest version first."""
    *earlier_lifts, lift = lifts
    pairs = zip(evidence.earlier, earlier_lifts, strict=True)
    earlier = tuple(replace(version, lift=earlier_lift) for version, earlier_lift in pairs)
    return replace(evidence, lift=lift, earlier=earlier)


def ema(previous: float | None, success: bool) -> float:
    """Return the exponential moving average after one more result."""
    x = 1.0 if success else 0.0
    return x if previous is None else 0.7 * previous + 0.3 * x


def wilson_lower(successes: float, total: float, z: float = Z) -> float:
    """Return the lower end of the Wilson interval of a rate, or 0.0 without results."""
    if total <= 0:
        return 0.0
    rate = successes / total
    spread = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    return max(0.0, (rate + z * z / (2 * total) - spread) / (1 + z * z / total))


# ── decisions by the lift ───────────────────────────────────────────────────────────


def proves(evidence: Evidence, policy: Policy, *, already: bool = False) -> bool:
    """Return True if the lift proves a skill, or keeps an `already` proven skill proven."""
    if evidence.lift is None or evidence.times_applied < policy.effect.min_applied:
        return False
    lift, settings = evidence.lift, policy.effect
    if already:
        return lift.helps >= settings.proven_below and lift.recent.helps >= settings.hurts_below
    # Without receipts nothing is proven.
    return (
        evidence.is_selection_known
        and lift.helps > settings.proven_above
        and lift.chance_of_none(settings.scale, evidence.looks) < settings.proven_chance
        and lift.recent.helps >= settings.hurts_below
    )


def retires(evidence: Evidence, policy: Policy, *, already: bool = False) -> str | None:
    """Return the reason to retire a skill or to keep it retired, or None."""
    lift, settings = evidence.lift, policy.effect
    if lift is None or evidence.times_applied < settings.retire_after:
        return None
    if already:
        bound = recent_bound = settings.restored_above
    else:
        bound, recent_bound = settings.retired_below, settings.retired_lately
    if lift.latest and lift.recent.helps < recent_bound:
        return "It hurts of late"
    # Old failures do not retire a skill that helps now.
    if lift.helps >= bound or lift.recent.helps > _EVEN_CHANCE:
        return None
    chance = lift.chance_of_none(settings.scale, evidence.looks)
    return "It hurts" if already or chance < settings.retired_chance else None


def is_on_trial(evidence: Evidence, policy: Policy) -> bool:
    """Return True if a retired skill has a new trial and was not shown often enough yet."""
    return evidence.trial and evidence.shown < policy.effect.trial_shown


def status_after_trial(evidence: Evidence, policy: Policy) -> NextStatus:
    """Return the status after a second trial, by the evidence of all trials."""
    numbers = evidence_line(evidence)
    if evidence.lift is not None and evidence.lift.helps < policy.effect.restored_above:
        return NextStatus("retired", f"It was tried again and still hurts: {numbers}.")
    return NextStatus("testing", f"It was tried again and stays: {numbers}.")


def verdict_of(evidence: Evidence, policy: Policy) -> Verdict:
    """Return `helps` or `hurts` from less evidence than a new status needs, or `open`."""
    settings = policy.effect
    if evidence.lift is None or evidence.times_applied < settings.min_applied:
        return "open"
    help_chance = evidence.lift.recent.helps
    if help_chance > settings.helps_above:
        return "helps"
    return "hurts" if help_chance < settings.hurts_below else "open"


def is_new(evidence: Evidence, policy: Policy) -> bool:
    """Return True if a skill has few uses, which do not yet show that it hurts."""
    times, lift, settings = evidence.times_applied, evidence.lift, policy.effect
    if is_on_trial(evidence, policy):
        return True
    if times >= settings.explore_until:
        return False
    if lift is None or times < settings.min_applied:
        return True
    return lift.recent.helps >= settings.restored_above


def next_status(status: str, evidence: Evidence, rules: Rules) -> NextStatus:
    """Return the next status of a skill that is testing, proven or retired."""
    numbers = evidence_line(evidence)
    retire_reason = rules.retires(evidence, rules.policy, already=status == "retired")
    if retire_reason:
        return NextStatus("retired", f"{retire_reason}: {numbers}.")
    if status == "retired":
        return NextStatus("testing", f"The evidence turned: {numbers}.")
    if rules.proves(evidence, rules.policy, already=status == "proven"):
        return NextStatus("proven", f"It helps: {numbers}.")
    if status == "proven":
        # A skill that a person called proven stays so until there is evidence.
        return NextStatus(
            "testing" if evidence.times_applied else "proven", f"It is no longer proven: {numbers}."
        )
    return NextStatus("testing", f"Nothing is decided: {numbers}.")


def evidence_line(evidence: Evidence) -> str:
    """Format the numbers of the evidence on one line."""
    parts = [f"{count_of(evidence.success_count, evidence.times_applied)} uses succeeded"]
    if evidence.consecutive_failures > 1:
        parts.append(f"the last {evidence.consecutive_failures} failed")
    if lift := evidence.lift:
        parts.append(describe_lift(lift.lift, lift.interval))
        note = f" ({lift.recent.helps:.3f} by its latest uses)" if lift.latest else ""
        parts.append(f"the chance that it helps is {lift.helps:.3f}{note}")
    return "; ".join(parts)


def describe_lift(lift: float, interval: tuple[float, float]) -> str:
    """Describe the effect of a skill on 100 decisions, with the 95 % interval."""
    low, high = (f"{100 * bound:+.0f}" for bound in interval)
    change = round(100 * lift)
    words = f"{abs(change)} {'more' if change > 0 else 'fewer'} end well than without it"
    if not change:
        words = "as many end well as without it"
    return f"of 100, {words} ({low} to {high})"


def qualifies(status: str, evidence: Evidence, policy: Policy) -> bool:
    """Return True if a skill neither hurts nor is about to be retired."""
    is_retired = retires(evidence, policy, already=status == "retired")
    return not is_retired and verdict_of(evidence, policy) != "hurts"


def gains(
    evidence: Evidence, elsewhere: float, draw: Callable[[], float] | None, policy: Policy
) -> dict[str, float]:
    """Return the gain in rank from a skill's lift, or from the lift that other tools measured.

    `draw` returns a normally distributed random number; it is None if nothing is explored.
    """
    settings, lift = policy.effect, evidence.lift
    if lift is None:
        return {"elsewhere": settings.bonus * elsewhere} if elsewhere else {}
    parts = {"effect": settings.bonus * lift.recent.lift}
    if draw is not None and settings.sampling:
        parts["sampling"] = settings.bonus * (settings.sampling * lift.recent.error * draw())
    return parts


def open_words(status: str, evidence: Evidence, policy: Policy) -> str:
    """Describe the evidence of a skill that keeps its status."""
    settings = policy.effect
    if is_on_trial(evidence, policy):
        progress = count_of(evidence.shown, settings.trial_shown)
        return f"tried again, {progress} decisions that a trial asks for"
    if evidence.times_applied < settings.min_applied:
        progress = count_of(evidence.times_applied, settings.min_applied)
        return f"{progress} uses that a verdict asks for"
    verdict = verdict_of(evidence, policy)
    if verdict == "open":
        return "whether it helps is open"
    if verdict == "helps":
        doubt = "" if status == "proven" else f"; {_reason_not_proven(evidence, policy)}"
        return f"it seems to help{doubt}"
    is_explored = settings.explore > 0 and is_new(evidence, policy)
    note = "; still tried as a new one" if is_explored else ""
    return f"not recommended, the chance that it helps is below {settings.hurts_below:g}{note}"


def _reason_not_proven(evidence: Evidence, policy: Policy) -> str:
    settings = policy.effect
    if not evidence.is_selection_known:
        return "not proven: no receipt says which decisions it was offered to"
    if evidence.lift and evidence.lift.helps > settings.proven_above:
        return "after so many looks it may be chance"
    return f"proven above {settings.proven_above:g}"


# ── decisions by the counts, in the profiles `seed` and `wilson` ─────────────────────


def proves_by_rate(evidence: Evidence, _policy: Policy, **_already: bool) -> bool:
    """Return True if at least half of three or more uses succeeded."""
    return evidence.times_applied >= 3 and (evidence.success_rate or 0.0) >= 0.5


def proves_by_bound(evidence: Evidence, _policy: Policy, *, already: bool = False) -> bool:
    """Return True if rate and lower bound prove a skill; a proven skill may lose 0.1 of both."""
    rate, margin = evidence.success_rate or 0.0, 0.1 * already
    is_high = rate >= 0.55 - margin and evidence.wilson >= 0.45 - margin
    return evidence.times_applied >= 5 and is_high


def retires_by_count(evidence: Evidence, _policy: Policy, **_already: bool) -> str | None:
    """Return the reason to retire a skill or to keep it retired, or None."""
    return "5 failures in a row" if evidence.consecutive_failures >= _MAX_FAILURES else None


def qualifies_by_count(_status: str, evidence: Evidence, _policy: Policy) -> bool:
    """Return True if a skill is new or helped often enough, and does not always fail."""
    is_good = evidence.times_applied < 3 or (evidence.success_rate or 0.0) >= 0.5
    return is_good and evidence.consecutive_failures < _MAX_FAILURES


# ── the counters of other tools ──────────────────────────────────────────────────────


def cap_counters(counters: ExternalUse) -> ExternalUse:
    """Limit the number of uses; the rate of success stays."""
    return ExternalUse(min(_MAX_EXTERNAL_USES, counters.times_applied), counters.success_rate)


def expected_lift(counters: ExternalUse, scale: float) -> float:
    """Return the expected lift of a skill that other tools counted.

    `scale` is the standard deviation of lifts. The result is the posterior mean with a normal
    prior.
    """
    if counters.success_rate is None:
        return 0.0
    weight = cap_counters(counters).times_applied * scale**2
    return weight / (weight + _RESULT_VARIANCE) * (counters.success_rate - _USUAL_RATE)
