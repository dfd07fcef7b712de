"""What separates the outcomes of an action: asked once, told by its guide and the strategy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import quantiles

from msgspec.structs import replace

from skillvault.learning.account.reading import last_point
from skillvault.learning.account.significance import bound_words, is_graded, loss_or_gain
from skillvault.learning.contrast import leads as contrast
from skillvault.learning.contrast.recorded_values import is_number
from skillvault.model.brief import Outlier
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Status

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


_STATUS: Mapping[str, Status] = {
    "losses": "failure", "failures": "failure", "wins": "success", "successes": "success",
}  # fmt: skip


def group_by_action(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Action -> its outcomes, the action taken most first."""
    actions: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        actions.setdefault(outcome.decision.action, []).append(outcome)
    return dict(sorted(actions.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def action_rules(outcomes: Sequence[Outcome], policy: Policy) -> tuple[Separation, ...]:
    """Return the rules and leads of one action of a domain, from its outcomes in any order."""
    before = last_point(len(outcomes) - 1)
    rules = contrast.rules_and_leads(
        outcomes, _results(outcomes, policy), policy.evaluate, previous_point=before
    )
    return tuple(replace(rule, action=outcomes[0].decision.action) for rule in rules)


def _results(outcomes: Sequence[Outcome], policy: Policy) -> dict[str, frozenset[str]]:
    """In words, what is asked for -> the outcomes that ended so; what asks the same is left out."""
    losses, wins = ("losses", "wins") if is_graded(outcomes) else ("failures", "successes")
    heavy, great = bound_words("loss", policy), bound_words("gain", policy)
    ids = {
        result: frozenset(o.id for o in outcomes if has_result(o, result, policy))
        for result in (losses, wins, heavy, great)
    }
    every = len(ids[losses]) + len(ids[wins]) == len(outcomes)
    same = {wins} if every else set()  # what separates the ones separates the others
    same |= {result for result in (heavy, great) if ids[result] in (ids[losses], ids[wins])}
    return {result: names for result, names in ids.items() if result not in same}


def has_result(outcome: Outcome, result: str, policy: Policy) -> bool:
    """Return True if an outcome ended as a rule says in words."""
    if result in _STATUS:
        return outcome.result.status == _STATUS[result]
    bound = loss_or_gain(outcome, policy)
    return bound is not None and bound_words(bound, policy) == result
