"""Which outcomes a warning or a pattern is about."""

from collections.abc import Sequence
from typing import Literal

from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, SkillKind


def beyond(outcome: Outcome, policy: Policy) -> Literal["loss", "gain"] | None:
    """Whether a score is a loss or a gain beyond the bound for one."""
    score, rules = outcome.result.score, policy.generate
    if score is None:
        return None
    if rules.makes_warning(score):
        return "loss"
    return "gain" if rules.makes_pattern(score) else None


def is_graded(outcomes: Sequence[Outcome]) -> bool:
    """Whether most have a score."""
    return 2 * sum(outcome.result.score is not None for outcome in outcomes) > len(outcomes)


def words_beyond(of: Literal["loss", "gain"], policy: Policy) -> str:
    """In words, which outcomes are beyond the bound."""
    if of == "loss":
        return f"losses beyond {-policy.generate.warning_below * 100:g} %"
    return f"gains beyond {policy.generate.pattern_above * 100:g} %"


def significant(outcomes: Sequence[Outcome], kind: SkillKind, policy: Policy) -> list[Outcome]:
    """The outcomes of a subject that its warning or its pattern is about, oldest first.

    Graded ones count by their score; a failure without one always, a success without one if the
    subject failed at all.
    """
    if kind == "warning":
        return [o for o in outcomes if o.ungraded_failure or beyond(o, policy) == "loss"]
    failed = any(o.result.status == "failure" for o in outcomes)
    return [
        o
        for o in outcomes
        if beyond(o, policy) == "gain"
        or (failed and o.result.score is None and o.result.status == "success")
    ]
