"""Find the rules and the leads (rules from few outcomes) of an action, and unusual numbers.

`statements` turns them into sentences. The statistics are in `contrast/`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Literal

from msgspec.structs import replace

from skillvault.learning.account.reading import is_graded, last_point, loss_or_gain
from skillvault.learning.contrast import leads
from skillvault.learning.contrast.recorded_values import is_number
from skillvault.model.brief import Outlier
from skillvault.model.conditions import Separation, conditions_of
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Status

_MIN_PEERS = 8  # with fewer numbers of other outcomes, no number is called unusual
# Tukey's "far out" (Exploratory Data Analysis, 1977): distance in interquartile ranges.
_OUTLIER_DISTANCE = 3.0
_STATUS: Mapping[str, Status] = {
    "losses": "failure", "failures": "failure", "wins": "success", "successes": "success",
}  # fmt: skip


def outliers(outcome: Outcome, peers: Iterable[Outcome]) -> Iterator[Outlier]:
    """Yield the numbers of an outcome that are far from the numbers of its peers.

    Only numbers that were recorded before the result are compared.
    """
    peer_numbers = [_numbers_of(peer) for peer in peers if peer.id != outcome.id]
    for key, value in sorted(_numbers_of(outcome).items()):
        values = [numbers[key] for numbers in peer_numbers if key in numbers]
        if len(values) < _MIN_PEERS:
            continue
        low, _, high = quantiles(values, n=4, method="inclusive")
        margin = _OUTLIER_DISTANCE * (high - low)
        if low < high and not low - margin <= value <= high + margin:
            yield Outlier(
                outcome=outcome.id,
                at=outcome.occurred_at,
                key=key,
                value=value,
                low=low,
                high=high,
                of=len(values),
            )


def _numbers_of(outcome: Outcome) -> dict[str, float]:
    numbers = {key: value for key, value in conditions_of(outcome).items() if is_number(value)}
    size = {"size": outcome.result.entry_value}
    return {key: float(value) for key, value in (size | numbers).items() if value is not None}


def group_by_action(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes by action, the most frequent action first."""
    actions: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        actions.setdefault(outcome.decision.action, []).append(outcome)
    return dict(sorted(actions.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def action_rules(outcomes: Sequence[Outcome], policy: Policy) -> tuple[Separation, ...]:
    """Return the rules and leads of one domain and action; `outcomes` may have any order."""
    previous_point = last_point(len(outcomes) - 1)
    results = _ids_by_result(outcomes, policy)
    rules = leads.separations_and_leads(
        outcomes, results, policy.evaluate, previous_point=previous_point
    )
    return tuple(replace(rule, action=outcomes[0].decision.action) for rule in rules)


def _ids_by_result(outcomes: Sequence[Outcome], policy: Policy) -> dict[str, frozenset[str]]:
    """Map each result to the ids of its outcomes; leave out results with the same outcomes."""
    losses, wins = ("losses", "wins") if is_graded(outcomes) else ("failures", "successes")
    bound_results = [*_bounds_by_result(policy)]
    ids = {
        result: frozenset(outcome.id for outcome in outcomes if has_result(outcome, result, policy))
        for result in (losses, wins, *bound_results)
    }
    is_binary = len(ids[losses]) + len(ids[wins]) == len(outcomes)
    duplicates = {wins} if is_binary else set()
    duplicates |= {result for result in bound_results if ids[result] in (ids[losses], ids[wins])}
    return {result: names for result, names in ids.items() if result not in duplicates}


def _bounds_by_result(policy: Policy) -> dict[str, Literal["loss", "gain"]]:
    """Map the names of the results "large loss" and "large gain" to `loss` and `gain`."""
    settings = policy.generate
    return {
        f"losses beyond {-settings.warning_below * 100:g} %": "loss",
        f"gains beyond {settings.pattern_above * 100:g} %": "gain",
    }


def has_result(outcome: Outcome, result: str, policy: Policy) -> bool:
    """Return True if an outcome has the result that a rule names."""
    if result in _STATUS:
        return outcome.result.status == _STATUS[result]
    bound = _bounds_by_result(policy).get(result)
    return bound is not None and loss_or_gain(outcome, policy) == bound
