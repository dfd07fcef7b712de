"""Outliers: a number of one outcome that is far from those of the others; no test, no cause."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import quantiles

from skillvault.learning.contrast.recorded import is_number
from skillvault.model.brief import Outlier
from skillvault.model.records import Outcome

_FEWEST = 8  # others that make a middle half
_FAR = 3.0  # times the middle half from its ends: Tukey's far out (Exploratory Data Analysis, 1977)


def outliers(outcome: Outcome, others: Iterable[Outcome]) -> Iterator[Outlier]:
    """The numbers known before the result that stand out, those of the most others first."""
    peers = [other for other in others if other.id != outcome.id]
    for key, value in sorted(_known_before(outcome).items()):
        values = [numbers[key] for numbers in map(_known_before, peers) if key in numbers]
        if len(values) >= _FEWEST:
            yield from _far(outcome, key, value, values)


def _far(outcome: Outcome, key: str, value: float, values: Sequence[float]) -> Iterator[Outlier]:
    low, _, high = quantiles(values, n=4, method="inclusive")
    if not low - _FAR * (high - low) <= value <= high + _FAR * (high - low) and low < high:
        yield Outlier(
            outcome=outcome.id,
            at=outcome.occurred_at,
            key=key,
            value=value,
            low=low,
            high=high,
            of=len(values),
        )


def _known_before(outcome: Outcome) -> dict[str, float]:
    numbers = {key: value for key, value in outcome.context.items() if is_number(value)}
    size = {"size": outcome.result.entry_value}
    return {key: float(value) for key, value in (size | numbers).items() if value is not None}
