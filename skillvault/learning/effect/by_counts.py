"""What the counts of a skill's uses say by themselves, where its lift decides nothing."""

from msgspec import Struct

from skillvault.learning.effect.verdict import Evidence
from skillvault.model.policy import Policy

_STREAK = 5  # failures in a row that retire a skill


class CountRule(Struct, frozen=True):
    """The uses and the rate that prove a skill.

    `lower` is the least lower bound of the rate, `margin` what a proven skill may lose of both.
    """

    uses: int
    rate: float
    lower: float = 0.0
    margin: float = 0.0

    def proves(self, evidence: Evidence, _policy: Policy, *, already: bool = False) -> bool:
        """Return True if the uses prove a skill, or (`already`) leave it proven."""
        rate, less = evidence.success_rate or 0.0, self.margin * already
        is_often = evidence.times_applied >= self.uses
        return is_often and rate >= self.rate - less and evidence.wilson >= self.lower - less


RATE = CountRule(uses=3, rate=0.5)
WILSON = CountRule(uses=5, rate=0.55, lower=0.45, margin=0.1)


def retires(evidence: Evidence, _policy: Policy, **_already: bool) -> str | None:
    """Return why a skill is retired, or stays so; None if nothing says so."""
    return "5 failures in a row" if evidence.consecutive_failures >= _STREAK else None


def qualifies(_status: str, evidence: Evidence, _policy: Policy) -> bool:
    """Return True if a skill is new or helped often enough, and does not fail all the time."""
    often = evidence.times_applied < 3 or (evidence.success_rate or 0.0) >= 0.5
    return often and evidence.consecutive_failures < _STREAK
