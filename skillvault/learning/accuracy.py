"""Measure how often the blind verdicts of a judge were right, and compare this with chance.

`status` shows the accuracy, and `judge` gives no advice if it is no better than chance. A
calibration is the summary that the judge reads before its next verdict.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from skillvault.learning.effect.verdict import wilson_lower
from skillvault.model.records import Evaluation, Outcome
from skillvault.model.text.text import flatten, shorten

MIN_RESULTS = 20  # successes and failures each, before a judge counts as no better than chance
_Z = 1.96  # two-sided 95 %
_CHANCE = 0.5
MAX_VERDICTS = 20  # verdicts of a domain in a calibration, the latest
_MAX_ERRORS = 2  # wrong verdicts that a calibration quotes
_MAX_QUOTE = 240  # characters of a reasoning


class Accuracy(Struct, frozen=True):
    """The balanced accuracy of a judge with its 95 % interval, and the counts of results."""

    balanced: float
    low: float
    high: float
    successes: int
    failures: int

    @property
    def is_chance(self) -> bool:
        """True if there are enough verdicts and they are no better than chance."""
        return min(self.successes, self.failures) >= MIN_RESULTS and self.low <= _CHANCE


def accuracy(agreements: Mapping[tuple[bool, bool], int]) -> Accuracy | None:
    """Return the balanced accuracy, or None if only successes or only failures were judged.

    `agreements` maps (succeeded, verdict was right) to a count. The accuracy is the mean of the
    rates for successes and failures. The interval combines Wilson's limits (MOVER: Zou and Donner,
    Statistics in Medicine 27, 2008), which also works with few results.
    """
    tally = [
        (agreements.get((succeeded, True), 0), agreements.get((succeeded, False), 0))
        for succeeded in (True, False)
    ]
    if not all(map(sum, tally)):
        return None
    rates = [hits / (hits + errors) for hits, errors in tally]
    lows = [wilson_lower(hits, hits + errors, _Z) for hits, errors in tally]
    highs = [1 - wilson_lower(errors, hits + errors, _Z) for hits, errors in tally]
    mean_rate = sum(rates) / 2
    return Accuracy(
        balanced=round(mean_rate, 4),
        low=round(mean_rate - math.dist(rates, lows) / 2, 4),
        high=round(mean_rate + math.dist(rates, highs) / 2, 4),
        successes=sum(tally[0]),
        failures=sum(tally[1]),
    )


def calibration(
    evaluations: Sequence[Evaluation], outcomes: Mapping[str, Outcome]
) -> dict[str, Any]:
    """Return the right and the most wrong of some verdicts, or {} if no result tests them."""
    verdicts = [e for e in evaluations if e.judge_was_right is not None and e.id in outcomes]
    if not verdicts:
        return {}
    errors = [verdict for verdict in verdicts if not verdict.judge_was_right]
    # The farther a wrong verdict is from the middle, the more wrong it is.
    worst = sorted(errors, key=lambda e: (-abs(e.quality_score - _CHANCE), e.id))[:_MAX_ERRORS]
    return {
        "your_latest_verdicts_here": len(verdicts),
        "right": len(verdicts) - len(errors),
        "most_wrong": [_quote(verdict, outcomes[verdict.id]) for verdict in worst],
    }


def _quote(evaluation: Evaluation, outcome: Outcome) -> dict[str, Any]:
    decision = outcome.decision
    return {
        "decision": " on ".join(filter(None, (decision.action, decision.target))),
        "reasoning": shorten(flatten(decision.reasoning), _MAX_QUOTE),
        "your_quality_score": evaluation.quality_score,
        "ended_as": outcome.result.status,
    }
