"""What an outcome recorded of what was known before the result."""

from datetime import UTC

from skillvault.model.conditions import Condition
from skillvault.model.records import Outcome, Scalar
from skillvault.model.text.text import terms

STRATA = ("client", "model", "branch")  # compared within, never a condition
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def is_report(outcome: Outcome) -> bool:
    """Whether a reasoning may have been written when the result was known."""
    decision = outcome.decision
    early = decision.made_at is not None and decision.made_at < outcome.occurred_at
    return not early or decision.reasoning_at == "after"


def is_met(condition: Condition, outcome: Outcome) -> bool | None:
    """Whether an outcome meets a condition; None if nothing of the kind was recorded."""
    value, against = _recorded(condition, outcome), condition.value
    if value is None:
        return False if condition.op == "is" and condition.kind in ("context", "target") else None
    if condition.op in ("is", "mentions"):
        return _holds_value(value, against)
    if condition.op in ("is not", "does not mention"):
        return not _holds_value(value, against)
    if not isinstance(value, int | float):
        return None
    if isinstance(against, tuple):
        return (against[0] <= value < against[1]) == (condition.op == "between")
    return (value >= float(against or 0)) == (condition.op == "at least")


def _holds_value(value: object, against: object) -> bool:
    return against in value if isinstance(value, frozenset) else value == against


def _recorded(condition: Condition, outcome: Outcome) -> Scalar | frozenset[str]:
    """What an outcome says of what a condition asks: a value, or the words of a reasoning."""
    decision = outcome.decision
    if condition.kind == "context":
        value = normalize_value(outcome.context.get(condition.key))
        named = condition.op in ("is", "is not")
        return None if value is None or is_number(value) == named else value
    if condition.kind in ("target", "agent"):
        return normalize_value(
            decision.target if condition.kind == "target" else outcome.source.agent
        )
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
    """Whether a value is compared by its size."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def normalize_value(value: Scalar) -> Scalar:
    """A value as it is compared."""
    return " ".join(value.split()) if isinstance(value, str) else value
