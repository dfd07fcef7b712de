"""What outcomes recorded of what was known before the result."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from skillvault.records import Outcome, Scalar


def unrecorded(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """The antecedents that none of the outcomes recorded, in words for a sentence."""
    recorded = list(outcomes)
    missing = dict(_RECORDED)
    if all(outcome.result.score is None for outcome in recorded):
        del missing["size"]  # what has no score has no size either
    for outcome in recorded:
        missing = {name: has for name, has in missing.items() if not has(outcome)}
        if not missing:
            break
    return tuple(missing)


_RECORDED: Mapping[str, Callable[[Outcome], bool]] = {
    "reasoning": lambda o: bool(o.decision.reasoning.strip()),
    "context": lambda o: any(value is not None for value in o.context.values()),
    "target": lambda o: o.decision.target is not None,
    "confidence": lambda o: o.decision.confidence is not None,
    "decision time": lambda o: o.decision.made_at is not None,
    "size": lambda o: o.result.entry_value is not None,
    "skills applied": lambda o: o.applied is not None,
}


def varying(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """The context keys that not all of the outcomes have with the same value."""
    values: dict[str, list[Scalar]] = defaultdict(list)
    for outcome in outcomes:
        for key, value in outcome.context.items():
            values[key].append(value)
    return frozenset(
        key
        for key, present in values.items()
        if len(present) < len(outcomes) or any(value != present[0] for value in present)
    )


def is_report(outcome: Outcome) -> bool:
    """Whether a reasoning may have been written when the result was known."""
    decision = outcome.decision
    early = decision.made_at is not None and decision.made_at < outcome.occurred_at
    return not early or decision.reasoning_at == "after"
