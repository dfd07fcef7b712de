"""promote across domains: what facts of several domains say becomes one skill of none.

Floor 3, beside the step `promote`, which gives the material.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from msgspec import Struct

from skillvault.change import Change
from skillvault.learning.naming import is_general
from skillvault.learning.promote import GENERAL, general
from skillvault.learning.promote.facts import STEP, PromotionMaterial, PromotionState
from skillvault.learning.promote.general import GeneralPattern, Recurring
from skillvault.learning.promote.skills import leave_change
from skillvault.learning.rejection import Rejection
from skillvault.records import Fact, Outcome, Ref, Skill, Status
from skillvault.steps.derived_skills import derived_skills, may_leave, shelf_of
from skillvault.steps.judge_replies import draft_by, told_by
from skillvault.steps.run import Run
from skillvault.vault.index.snapshot import Topics

_TRUST = "local"  # of the facts that are looked at
OfFacts = Callable[[Run, Iterable[str]], PromotionMaterial]


class _Runs:
    """The runs behind facts, as the vault knows them."""

    def __init__(self, view: Topics) -> None:
        self._view = view

    def makers(self, facts: Collection[str]) -> dict[str, Outcome]:
        """Fact -> the outcome of the run that made it, of those that a run made."""
        makers = self._view.facts.makers(facts)
        outcomes = self._view.outcomes.get_many(set(makers.values()))
        return {fact: outcomes[name] for fact, name in makers.items() if name in outcomes}

    def ended_as(self, runs: Collection[str]) -> dict[str, Status]:
        """How these runs ended."""
        return self._view.outcomes.statuses(runs)


class GeneralPlan(Struct, frozen=True):
    """What is to be made or told anew of facts of several domains; the skills that leave."""

    due: tuple[tuple[PromotionMaterial, GeneralPattern], ...] = ()
    left: tuple[Skill, ...] = ()


def general_changes(run: Run, of_facts: OfFacts) -> Iterator[Change]:
    """One change a skill that leaves, comes of it or is told anew."""
    plan = general_plan(run, of_facts)
    for skill in plan.left:
        yield leave_change(skill, shelf_of(run, skill), general.NOT_SHOWN)
    is_changed = bool(plan.left)
    for material, pattern in plan.due:
        name = pattern.skill.name if pattern.skill else f"general-{pattern.recurring.facts[0].id}"
        for change in run.written(partial(_general_skill, run, material, pattern), name):
            is_changed = True
            yield change
    if not is_changed and not run.report.unavailable:
        run.settle(GENERAL, run.view.due.keys(GENERAL))


def general_plan(run: Run, of_facts: OfFacts) -> GeneralPlan:
    """What is to be done, if facts changed; settles if nothing is."""
    keys = run.view.due.keys(GENERAL)
    material = _material(run, of_facts) if _TRUST in keys else None
    plan = _planned(run, material) if material else GeneralPlan()
    if not plan.due and not plan.left:
        run.settle(GENERAL, keys)
    return plan


def general_state(run: Run, fact: Fact, of_facts: OfFacts) -> PromotionState | None:
    """Where a fact stands with other domains; None if there is but one."""
    material = _material(run, of_facts)
    if material is None:
        return None
    groups = general.recurrences(material, _Runs(run.view))
    own = next((group for group in groups if fact in group.facts), None)
    made = _general_skills(run, [fact.id]).get(fact.id)
    return general.general_state(fact, own, made, run.policy)


def _material(run: Run, of_facts: OfFacts) -> PromotionMaterial | None:
    """What the rule reads of all domains; None if facts are of less than two."""
    domains = run.view.facts.domains_with_facts()
    return of_facts(run, domains) if len(domains) > 1 else None


def _planned(run: Run, material: PromotionMaterial) -> GeneralPlan:
    groups: list[Recurring] = list(general.recurrences(material, _Runs(run.view)))
    made = _general_skills(run, list(material.facts))
    skills = derived_skills(run, set(made.values()))
    by_fact = {fact: skills[name] for fact, name in made.items() if name in skills}
    due: list[tuple[PromotionMaterial, GeneralPattern]] = []
    standing: set[str] = set()
    for group in groups:
        if any(fact.id in made and fact.id not in by_fact for fact in group.facts):
            continue  # it expired, or somebody put it away
        if general.is_shown(group, material, run.policy.promote):
            standing.update(by_fact[fact.id].name for fact in group.facts if fact.id in by_fact)
        pattern = general.general_pattern(group, material, by_fact, run.policy)
        if isinstance(pattern, Rejection):
            run.report.rejected.append(pattern)
        elif pattern is not None:
            due.append((material, pattern))
    left = (skill for name, skill in sorted(skills.items()) if name not in standing)
    return GeneralPlan(tuple(due), tuple(skill for skill in left if may_leave(run, skill)))


def told_everywhere(
    run: Run, of_facts: OfFacts
) -> Iterator[tuple[PromotionMaterial, GeneralPattern]]:
    """What the living skills of no domain tell as it is counted now."""
    material = _material(run, of_facts)
    if material is None:
        return
    made = _general_skills(run, list(material.facts))
    skills = run.view.skills.live(set(made.values()))
    by_fact = {fact: skills[name] for fact, name in made.items() if name in skills}
    for group in general.recurrences(material, _Runs(run.view)):
        pattern = general.told_pattern(group, material, by_fact)
        if pattern is not None:
            yield material, pattern


def _general_skills(run: Run, facts: Collection[str]) -> dict[str, str]:
    """Fact -> the skill that it made across domains, whatever became of the link."""
    refs = [Ref("fact", name) for name in facts]
    pairs = list(run.view.history.targets_of(STEP, "skill", refs))
    links = run.view.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.type == "derived"]
    present = run.view.records.existing(Ref("skill", name) for _, name in pairs)
    return {f: name for f, name in pairs if is_general(name) and Ref("skill", name) in present}


def _general_skill(run: Run, material: PromotionMaterial, pattern: GeneralPattern) -> Change | None:
    """The skill, new or told anew; None where the judge writes no text."""
    draft = draft_by(run.judge, general.general_brief(pattern, material))
    if draft is None:
        return None
    if pattern.skill is None:
        taken = run.view.skills.is_name_taken
        change = general.general_change(pattern, draft, taken=taken, policy=run.policy)
        return told_by(change, draft, run.view)
    written = run.versions(pattern.skill.name)
    shelf = shelf_of(run, pattern.skill)
    change = general.retold_change(
        pattern, draft, pattern.skill, written, shelf=shelf, policy=run.policy
    )
    return told_by(change, draft, run.view)
