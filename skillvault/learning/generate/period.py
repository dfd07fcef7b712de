"""What a strategy is made of: the latest outcomes of a domain, and what separates them.

All questions that one strategy asks share one allowance for false alarms, so that a domain
in which nothing separates gets a strategy that names a condition as seldom as one question
would. Actions are compared each with itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from skillvault.brief import Comparison, Period
from skillvault.learning.contrast.conditions import unrecorded, varying
from skillvault.learning.contrast.contrast import contrasts
from skillvault.learning.evaluate import group_of
from skillvault.policy import Policy
from skillvault.records import Evaluation, Outcome, Status

FEW = 20  # losses, for which one question is enough
GRADED, UNGRADED = "Market Context", "Context"


class _Question(NamedTuple):
    """A group to compare with all others but those that stand `aside`, which are counted only.

    `part` is 1, or its part of what one question would have where two ask the same.
    """

    group: str
    members: list[Outcome]
    aside: frozenset[str] = frozenset()
    part: float = 1.0


def period(
    domain: str,
    outcomes: Sequence[Outcome],
    evaluations: Mapping[str, Evaluation],
    policy: Policy,
) -> Period:
    """The brief of a strategy from these outcomes, oldest first."""
    graded = _graded(outcomes)
    losses, wins = ("losses", "wins") if graded else ("failures", "successes")
    avoid = list(_losses(losses, outcomes, policy))
    seek = [_Question(wins, _ended(outcomes, "success"))]
    weights = {q.group: _weight(q, outcomes, policy) for q in (*avoid, *seek)}
    whole = sum(weights.values()) or 1.0
    shares = {group: weight / whole for group, weight in weights.items()}
    heading = policy.generate.context_headings.get(domain, GRADED if graded else UNGRADED)
    return Period(
        domain=domain,
        heading=heading,
        outcomes=tuple(outcomes),
        evaluations={o.id: evaluations[o.id] for o in outcomes if o.id in evaluations},
        graded=graded,
        avoid=tuple(_answered(q, outcomes, shares[q.group], policy) for q in avoid),
        seek=tuple(_answered(q, outcomes, shares[q.group], policy) for q in seek),
        varying=varying(outcomes),
        unrecorded=unrecorded(outcomes),
    )


def _graded(outcomes: Sequence[Outcome]) -> bool:
    """Whether most have a score."""
    return 2 * sum(o.result.score is not None for o in outcomes) > len(outcomes)


def _ended(outcomes: Sequence[Outcome], status: Status) -> list[Outcome]:
    return [o for o in outcomes if o.result.status == status]


def _losses(name: str, outcomes: Sequence[Outcome], policy: Policy) -> Iterator[_Question]:
    """The losses, and the heavy ones among them; of few that are mostly heavy only these.

    Small ones among so few tell neither of what to avoid nor of what to seek.
    """
    losses = _ended(outcomes, "failure")
    below = policy.generate.warning_below
    heavy = [o for o in losses if o.result.score is not None and o.result.score < below]
    if not policy.evaluate.contrast_support <= len(heavy) < len(losses):
        yield _Question(name, losses)
        return
    heavily = group_of(heavy[0], policy)
    if len(losses) < FEW and 2 * len(heavy) > len(losses):
        small = frozenset(o.id for o in losses) - {o.id for o in heavy}
        yield _Question(heavily, heavy, aside=small)
    else:
        yield _Question(name, losses, part=0.5)
        yield _Question(heavily, heavy, part=0.5)


def _weight(question: _Question, outcomes: Sequence[Outcome], policy: Policy) -> float:
    """A question's part of the allowance, in proportion to the other questions'.

    The smaller of its two sides decides: a few can never be as surely different as many, and
    need more of it. How many there are says nothing of the conditions.
    """
    inside, others = len(question.members), len(outcomes) - len(question.aside)
    if inside < policy.evaluate.contrast_support or inside == others:
        return 0.0
    return question.part / min(inside, others - inside)


def _answered(
    question: _Question, outcomes: Sequence[Outcome], share: float, policy: Policy
) -> Comparison:
    """A question with the conditions that separate its group, none without an allowance."""
    members = frozenset(o.id for o in question.members)
    if not share:
        return Comparison(group=question.group, members=members)
    found = contrasts(
        question.members,
        [o for o in outcomes if o.id not in members],
        policy.evaluate,
        share=share,
        stratum=lambda o: None if o.id in question.aside else o.decision.action,
    )
    return Comparison(group=question.group, members=members, contrasts=tuple(found))
