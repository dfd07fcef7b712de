"""Which outcomes a warning or a pattern is about."""

from collections.abc import Sequence
from typing import Literal

from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, SkillKind


def loss_or_gain(outcome: Outcome, policy: Policy) -> Literal["loss", "gain"] | None:
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


def bound_words(of: Literal["loss", "gain"], policy: Policy) -> str:
    """In words, which outcomes are beyond the bound."""
    if of == "loss":
        return f"losses beyond {-policy.generate.warning_below * 100:g} %"
    return f"gains beyond {policy.generate.pattern_above * 100:g} %"


def significant(outcomes: Sequence[Outcome], kind: SkillKind, policy: Policy) -> list[Outcome]:
    """Return the losses that a subject's warning is about, or the gains of its pattern.

    Oldest first: those whose score is beyond the bound.
    """
    bound = "loss" if kind == "warning" else "gain"
    return [outcome for outcome in outcomes if loss_or_gain(outcome, policy) == bound]
