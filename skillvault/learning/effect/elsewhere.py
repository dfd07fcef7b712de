"""What another tool counted of a skill: evidence before any of ours, and never much of it."""

from skillvault.model.records import Elsewhere

MOST = 5  # applications that it counts as, however many it tells
_VARIANCE = 0.25  # of one result, at most: that of a fair coin
_USUAL = 0.5  # the rate of success where nothing is known


def capped(counters: Elsewhere) -> Elsewhere:
    """The applications that count, at the rate that is told."""
    return Elsewhere(min(MOST, counters.times_applied), counters.success_rate)


def expected_lift(counters: Elsewhere, scale: float) -> float:
    """The lift that the applications that count lead to expect; `scale`: how far lifts spread.

    Source: the mean of a normal effect with a normal prior, after so many results.
    """
    if counters.success_rate is None:
        return 0.0
    weight = capped(counters).times_applied * scale**2
    return weight / (weight + _VARIANCE) * (counters.success_rate - _USUAL)
