"""generate by outcome: each significant one becomes a warning or a pattern, named by its title.

As the designs have it; what repeats becomes one skill by `merge`.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from skillvault.learning.account.account import calls_for_skill, findings_about
from skillvault.learning.account.significance import beyond
from skillvault.learning.generate.warning_pattern import (
    STEP,
    Standing,
    addition,
    new_skill,
    skill_text,
)
from skillvault.learning.naming import numbered_name
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Account, Draft, Findings
from skillvault.model.change import Change, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, Ref, Skill, SkillKind, link_of
from skillvault.model.text.text import percent, slug


class OutcomeMaterial(Struct, frozen=True, kw_only=True):
    """What the rule reads of one evaluated outcome.

    `before` is the one before it on its subject. `skill` is what tells it already, `warning` what
    tells an earlier failure of its subject; `rejection`: one was made and taken away.
    """

    outcome: Outcome
    evaluation: Evaluation
    before: Outcome | None = None
    task: str = ""
    skill: Skill | None = None
    warning: str | None = None
    rejection: Rejection | None = None


def significance(
    outcome: Outcome, before: Outcome | None, policy: Policy
) -> tuple[SkillKind | None, str]:
    """(what an outcome becomes or None, why): by its score, without one by what is new."""
    score, rules = outcome.result.score, policy.generate
    if score is not None:
        kinds: dict[str, SkillKind] = {"loss": "warning", "gain": "pattern"}
        low, high = percent(rules.warning_below), percent(rules.pattern_above)
        reason = f"score {percent(score)}; a warning needs less than {low}, a pattern more than"
        return kinds.get(beyond(outcome, policy) or ""), f"{reason} {high}"
    if outcome.result.status == "failure":
        return "warning", "the first failure of its subject"
    if outcome.result.status == "success" and before and before.result.status == "failure":
        return "pattern", f"a success right after the failure {before.id}"
    return None, "without a score a success counts right after a failure, a neutral outcome never"


def standing_alone(material: OutcomeMaterial, policy: Policy) -> tuple[Standing, Findings | None]:
    """Where one outcome stands with its skill, and what that is made of if it is due."""
    outcome = material.outcome
    kind, reason = significance(outcome, material.before, policy)
    if material.skill is not None:
        return Standing("done", f"told by {material.skill.name}"), None
    if kind is None:
        graded = outcome.result.score is not None
        return Standing("between" if graded else "not new", reason), None
    if material.rejection:
        return Standing("rejected", material.rejection.sentence), None
    if outcome.ungraded_failure and material.warning:
        return Standing("counted", f"a repeat of the failure that {material.warning} tells"), None
    findings = findings_about(_alone(material), kind, [outcome], policy)
    if not calls_for_skill(findings, policy):
        return Standing("silent", "nothing that it says would change a decision"), None
    return Standing("due", f"{reason}; `skillvault run`"), findings


def _alone(material: OutcomeMaterial) -> Account:
    """The account of one outcome alone."""
    outcome = material.outcome
    return Account(
        outcomes=(outcome,),
        evaluations={outcome.id: material.evaluation},
        tasks={outcome.id: material.task} if material.task else {},
    )


def outcome_skill_change(
    findings: Findings,
    draft: Draft,
    *,
    taken: Callable[[str], bool],
    now: datetime,
    policy: Policy,
) -> Change:
    """The commit that adds the skill of one outcome, with its link."""
    (outcome,) = findings.account.outcomes
    # A title in another script has no slug.
    about = slug(draft.title) or slug(outcome.decision.action) or outcome.id[-10:]
    name = numbered_name(findings.kind, f"{slug(outcome.domain, limit=32)}-{about}", taken)
    text = skill_text(findings, draft, policy)
    skill = new_skill(findings, draft, text, name=name, at=now, policy=policy)
    return addition(findings, skill, text, sources=[outcome.id], at=now)


def repeats_change(skill: Skill, outcomes: Sequence[str], now: datetime) -> Change:
    """The commit that links repeated failures to the skill that tells of the first."""
    target = Ref("skill", skill.name)
    sources = tuple(Ref("evaluation", name) for name in outcomes)
    links = tuple(link_of("reinforced", source, target, now) for source in sources)
    times = "once more" if len(links) == 1 else f"{len(links)} times more"
    return Change(
        step=STEP,
        subject=f"reinforce {skill.name}",
        commit_with=skill_series(STEP, skill.domain),
        reason=f"The failure that it tells of happened {times}.",
        writes=links,
        sources=sources,
        targets=tuple(Ref("link", link.id) for link in links),
    )
