"""Read the values that an outcome recorded before its result, and check conditions on them."""

from datetime import UTC

from skillvault.model.conditions import Condition
from skillvault.model.records import Outcome, Scalar
from skillvault.model.text.text import terms

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def is_report(outcome: Outcome) -> bool:
    """Return True if a reasoning may have been written after the result."""
    decision = outcome.decision
    is_early = decision.made_at is not None and decision.made_at < outcome.occurred_at
    return not is_early or decision.reasoning_at == "after"


def is_met(condition: Condition, outcome: Outcome) -> bool | None:
    """Return True if an outcome meets a condition, or None if it did not record the value."""
    value, expected = _recorded_value(condition, outcome), condition.value
    if value is None:
        return False if condition.op == "is" and condition.kind in ("context", "target") else None
    if condition.op in ("is", "mentions", "is not", "does not mention"):
        is_equal = expected in value if isinstance(value, frozenset) else value == expected
        return is_equal == (condition.op in ("is", "mentions"))
    if not isinstance(value, int | float):
        return None
    if isinstance(expected, tuple):
        return (expected[0] <= value < expected[1]) == (condition.op == "between")
    return (value >= float(expected or 0)) == (condition.op == "at least")


def _recorded_value(condition: Condition, outcome: Outcome) -> Scalar | frozenset[str]:
    decision = outcome.decision
    if condition.kind == "context":
        value = normalize_value(outcome.context.get(condition.key))
        is_name = condition.op in ("is", "is not")
        return None if value is None or is_number(value) == is_name else value
    if condition.kind in ("target", "agent"):
        name = decision.target if condition.kind == "target" else outcome.source.agent
        return normalize_value(name)
    if condition.kind == "number":
        return outcome.result.entry_value
    if condition.kind == "word":
        text = "" if is_report(outcome) else decision.reasoning.strip()
        return terms(text) if text else None
    at = decision.made_at and decision.made_at.astimezone(UTC)
    if at is None:
        return None
    return at.hour if condition.kind == "window" else DAYS[at.weekday()]


def is_number(value: Scalar) -> bool:
    """Return True for an integer or a float, and False for a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def normalize_value(value: Scalar) -> Scalar:
    """Collapse the spaces in a text for comparison; return other values as they are."""
    return " ".join(value.split()) if isinstance(value, str) else value
