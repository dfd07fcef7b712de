"""What separates the outcomes of an action: asked once, told by its strategy and its skills."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillvault.brief import Rule
from skillvault.conditions import Separation
from skillvault.lazy import LazyModule
from skillvault.learning.account.significance import beyond, is_graded, words_beyond
from skillvault.policy import Policy
from skillvault.records import Outcome, SkillKind

if TYPE_CHECKING:
    from skillvault.learning.contrast import separations as contrast
else:
    contrast = LazyModule("learning.contrast.separations")  # numpy is loaded to compute alone


def action_rules(outcomes: Sequence[Outcome], policy: Policy) -> tuple[Separation, ...]:
    """The rules of one action of a domain, from its outcomes in any order."""
    return contrast.separations(outcomes, _results(outcomes, policy), policy.evaluate)


def _results(outcomes: Sequence[Outcome], policy: Policy) -> dict[str, frozenset[str]]:
    """In words, what is asked for -> the outcomes that ended so; what asks the same is left out."""
    losses, wins = ("losses", "wins") if is_graded(outcomes) else ("failures", "successes")
    lost, won = (
        frozenset(o.id for o in outcomes if o.result.status == status)
        for status in ("failure", "success")
    )
    results = {losses: lost}
    if len(lost) + len(won) < len(outcomes):  # else what separates the ones separates the others
        results[wins] = won
    for bound in ("loss", "gain"):
        heavy = frozenset(o.id for o in outcomes if beyond(o, policy) == bound)
        if heavy not in (lost, won):
            results[words_beyond(bound, policy)] = heavy
    return results


def told_rules(
    rules: Sequence[Separation], account: Sequence[Outcome], members: Sequence[Outcome]
) -> list[Rule]:
    """Those that a subject's warning tells, or its pattern, which is about these members.

    The action itself tells them whole; a target only what its own outcomes met.
    """
    about = {outcome.id for outcome in members}
    is_action = account[0].decision.target is None
    told: list[Rule] = []
    for rule in rules:
        met = {outcome.id for outcome in account} & rule.holds_for
        if is_action or about & met:
            own = None if is_action else (len(met & rule.shown_by), len(met))
            told.append(Rule(separation=rule, own=own))
    return told


def rules_for(rules: Sequence[Separation], kind: SkillKind) -> list[Separation]:
    """The rules about losses for a warning, about wins for a pattern."""
    return [rule for rule in rules if rule.is_loss == (kind == "warning")]
