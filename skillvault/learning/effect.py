"""How the decisions that applied a skill ended: counts, averages, bounds; what is proven.

Computed from all uses each time, nothing is kept; every use counts once, whatever the order
in which it became known.
"""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from msgspec import Struct

from skillvault.records import Status

Profile = Literal["seed", "wilson"]
Z = 1.645  # one-sided 95 %


class Use(Struct, frozen=True, order=True):
    """One outcome of a decision that applied a skill."""

    at: datetime
    outcome: str
    status: Status


class Evidence(Struct, frozen=True):
    """What is known of a skill's use. Rates are fractions, None where nothing was applied."""

    times_applied: int = 0
    success_count: int = 0
    failure_count: int = 0
    success_rate: float | None = None
    consecutive_failures: int = 0
    ema: float | None = None
    last_applied: datetime | None = None


def counted(uses: Iterable[Use]) -> Evidence:
    """The evidence of all uses; a neutral one counts as an application and as nothing else."""
    ordered = sorted({use.outcome: use for use in uses}.values())
    statuses = [use.status for use in ordered]
    streak, average = 0, None
    for status in statuses:
        if status != "neutral":
            streak = 0 if status == "success" else streak + 1
            average = ema(average, status == "success")
    successes = statuses.count("success")
    return Evidence(
        times_applied=len(ordered),
        success_count=successes,
        failure_count=statuses.count("failure"),
        success_rate=successes / len(ordered) if ordered else None,
        consecutive_failures=streak,
        ema=average,
        last_applied=ordered[-1].at if ordered else None,
    )


def ema(previous: float | None, success: bool) -> float:
    """The moving average after one more result, in this form and not rounded."""
    x = 1.0 if success else 0.0
    return x if previous is None else 0.7 * previous + 0.3 * x


def wilson_lower(successes: float, total: float, z: float = Z) -> float:
    """The lower end of Wilson's interval of a rate; 0.0 of nothing."""
    if total <= 0:
        return 0.0
    rate = successes / total
    spread = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    return max(0.0, (rate + z * z / (2 * total) - spread) / (1 + z * z / total))


def proven(evidence: Evidence, profile: Profile) -> bool:
    """True where the evidence is enough to call a skill proven.

    seed: 3 applications at a rate of 0.5; wilson: 5 at 0.55 with a lower bound of 0.45.
    """
    rate, times = evidence.success_rate or 0.0, evidence.times_applied
    if profile == "seed":
        return times >= 3 and rate >= 0.5
    return times >= 5 and rate >= 0.55 and wilson_lower(evidence.success_count, times) >= 0.45
