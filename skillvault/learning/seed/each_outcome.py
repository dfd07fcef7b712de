"""generate by outcome: each significant one becomes a warning or a pattern, named by its title.

As the designs have it; what repeats becomes one skill by `merge`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from skillvault.learning.account.reading import loss_or_gain
from skillvault.learning.account.statements import account_of, calls_for_skill, graded_findings
from skillvault.learning.generate.warning_pattern import (
    STEP,
    SkillState,
    addition_change,
    new_skill,
    skill_text,
)
from skillvault.learning.naming import numbered_name
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Account, Draft, Findings
from skillvault.model.change import Change, skill_series
from skillvault.model.policy import MergePolicy, Policy
from skillvault.model.records import Evaluation, Outcome, Ref, Skill, SkillKind, link_of
from skillvault.model.text import markdown
from skillvault.model.text.text import jaccard, percent, slug, words


class Wording(Struct, frozen=True, kw_only=True, order=True):
    """The words of a living skill's statements.

    One that is `evolved` stands for others: `texts` are then theirs too, the latest ones.
    """

    created: str
    name: str
    texts: tuple[frozenset[str], ...]
    evolved: bool = False

    def is_like(self, other: "Wording", above: float) -> bool:
        """Whether any text of the one shares more than this part of its words with the other's."""
        pairs = ((mine, theirs) for mine in self.texts for theirs in other.texts)
        return any(jaccard(mine, theirs) > above for mine, theirs in pairs)


class Gathering(Struct, frozen=True, kw_only=True):
    """Skills that are to become one: a new one, or (`into`) the evolved one that takes them in."""

    names: tuple[str, ...]
    into: str | None = None


def statement_words(body: str) -> frozenset[str]:
    """The words over three letters of a text's statements, its headings and head left out."""
    return words("\n".join(markdown.statements(body)))


def gatherings(
    wordings: Iterable[Wording],
    fresh: Collection[str],
    is_ours: Callable[[str], bool],
    rules: MergePolicy,
) -> list[Gathering]:
    """What the fresh ones of these skills become part of, oldest first.

    One similar evolved skill takes it in; else it takes so many similar ones (`min_similar`). What
    a person decided on or wrote in is not ours, and stays.
    """
    ordered = sorted(wordings)
    gathered: set[str] = set()
    taken: dict[str, list[str]] = {}
    new: list[Gathering] = []
    for wording in ordered:
        if wording.evolved or wording.name not in fresh or wording.name in gathered:
            continue
        near = [
            other
            for other in ordered
            if other.name != wording.name and other.name not in gathered
            if wording.is_like(other, rules.similarity)
        ]
        evolved = next((other.name for other in near if other.evolved), None)
        if not near or not is_ours(wording.name):
            continue
        names = [other.name for other in near if not other.evolved and is_ours(other.name)]
        if evolved:
            taken.setdefault(evolved, []).append(wording.name)
            gathered.add(wording.name)
        elif len(names) >= rules.min_similar:
            members = (*names, wording.name)
            new.append(Gathering(names=tuple(sorted(members))))
            gathered.update(members)
    return [*new, *_growths(taken)]


def _growths(taken: Mapping[str, list[str]]) -> Iterable[Gathering]:
    for evolved, names in sorted(taken.items()):
        yield Gathering(names=tuple(names), into=evolved)


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
        return kinds.get(loss_or_gain(outcome, policy) or ""), f"{reason} {high}"
    if outcome.result.status == "failure":
        return "warning", "the first failure of its subject"
    if outcome.result.status == "success" and before and before.result.status == "failure":
        return "pattern", f"a success right after the failure {before.id}"
    return None, "without a score a success counts right after a failure, a neutral outcome never"


def standing_alone(material: OutcomeMaterial, policy: Policy) -> tuple[SkillState, Findings | None]:
    """Where one outcome stands with its skill, and what that is made of if it is due."""
    outcome = material.outcome
    kind, reason = significance(outcome, material.before, policy)
    if material.skill is not None:
        return SkillState("done", f"told by {material.skill.name}"), None
    if kind is None:
        graded = outcome.result.score is not None
        return SkillState("between" if graded else "not new", reason), None
    if material.rejection:
        return SkillState("rejected", material.rejection.sentence), None
    if outcome.ungraded_failure and material.warning:
        return SkillState("counted", f"a repeat of the failure that {material.warning} tells"), None
    findings = graded_findings(_alone(material), kind, [outcome])
    if not calls_for_skill(findings):
        return SkillState("silent", "nothing that it says would change a decision"), None
    return SkillState("due", f"{reason}; `skillvault run`"), findings


def _alone(material: OutcomeMaterial) -> Account:
    """The account of one outcome alone."""
    outcome = material.outcome
    tasks = {outcome.id: material.task} if material.task else {}
    return account_of([outcome], {outcome.id: material.evaluation}, tasks)


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
    return addition_change(findings, skill, text, sources=[outcome.id], at=now)


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
