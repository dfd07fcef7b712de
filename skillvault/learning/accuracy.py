"""The accuracy of a judge's blind verdicts, compared with the results and with chance."""

import math
from collections.abc import Mapping

from msgspec import Struct

from skillvault.learning.effect.verdict import wilson_lower

ENOUGH = 20  # successes and failures from which on a judge can be no better than chance
_Z = 1.96  # two-sided 95 %
_CHANCE = 0.5
_BOTH = (True, False)


class Accuracy(Struct, frozen=True):
    """A judge's balanced accuracy with its 95 % interval, and the counts behind it."""

    balanced: float
    low: float
    high: float
    successes: int
    failures: int

    @property
    def is_chance(self) -> bool:
        """True if enough verdicts were compared and they are no better than chance."""
        return min(self.successes, self.failures) >= ENOUGH and self.low <= _CHANCE


def accuracy(agreements: Mapping[tuple[bool, bool], int]) -> Accuracy | None:
    """Return the balanced accuracy from (succeeded, verdict was right) -> count.

    None if only successes or only failures were judged. The accuracy is the mean of two rates; the
    interval combines the distances of Wilson's limits (MOVER: Zou and Donner, Statistics in
    Medicine 27, 2008), which holds for few results too.
    """
    sides = [
        (agreements.get((ended, True), 0), agreements.get((ended, False), 0)) for ended in _BOTH
    ]
    if not all(map(sum, sides)):
        return None
    rates = [hits / (hits + errors) for hits, errors in sides]
    lows = [wilson_lower(hits, hits + errors, _Z) for hits, errors in sides]
    highs = [1 - wilson_lower(errors, hits + errors, _Z) for hits, errors in sides]
    balanced = sum(rates) / 2
    return Accuracy(
        balanced=round(balanced, 4),
        low=round(balanced - math.dist(rates, lows) / 2, 4),
        high=round(balanced + math.dist(rates, highs) / 2, 4),
        successes=sum(sides[0]),
        failures=sum(sides[1]),
    )
