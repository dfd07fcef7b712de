"""promote across domains: what facts of several domains say becomes one skill of none.

Floor 3, beside the step `promote`, which gives the material.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from skillvault.change import Change
from skillvault.learning.naming import is_general
from skillvault.learning.promote import GENERAL, general
from skillvault.learning.promote.facts import STEP, PromotionMaterial, PromotionState
from skillvault.learning.promote.general import GeneralPattern, Recurring
from skillvault.learning.rejection import Rejection
from skillvault.records import Fact, Outcome, Ref, Skill, Status
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


def general_changes(run: Run, of_facts: OfFacts) -> Iterator[Change]:
    """One change a skill that comes of it or is told anew."""
    for material, pattern in list(general_patterns(run, of_facts)):
        name = pattern.skill.name if pattern.skill else f"general-{pattern.recurring.facts[0].id}"
        yield from run.written(partial(_general_skill, run, material, pattern), name)


def general_patterns(
    run: Run, of_facts: OfFacts
) -> Iterator[tuple[PromotionMaterial, GeneralPattern]]:
    """What is to be done, if facts changed; settles where nothing is."""
    keys = run.view.due.keys(GENERAL)
    material = _material(run, of_facts) if _TRUST in keys else None
    patterns = list(_patterns_due(run, material)) if material else []
    if not patterns:
        run.settle(GENERAL, keys)
    for pattern in patterns:
        if material is not None:
            yield material, pattern


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


def _patterns_due(run: Run, material: PromotionMaterial) -> Iterator[GeneralPattern]:
    groups: list[Recurring] = list(general.recurrences(material, _Runs(run.view)))
    made = _general_skills(run, [fact.id for group in groups for fact in group.facts])
    skills = _in_service(run, made)
    for group in groups:
        if any(fact.id in made and fact.id not in skills for fact in group.facts):
            continue  # it expired, or somebody put it away
        pattern = general.general_pattern(group, material, skills, run.policy)
        if isinstance(pattern, Rejection):
            run.report.rejected.append(pattern)
        elif pattern is not None:
            yield pattern


def _general_skills(run: Run, facts: Collection[str]) -> dict[str, str]:
    """Fact -> the skill that it made across domains, whatever became of the link."""
    refs = [Ref("fact", name) for name in facts]
    pairs = list(run.view.history.targets_of(STEP, "skill", refs))
    links = run.view.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.type == "derived"]
    present = run.view.records.existing(Ref("skill", name) for _, name in pairs)
    return {f: name for f, name in pairs if is_general(name) and Ref("skill", name) in present}


def _in_service(run: Run, made: Mapping[str, str]) -> dict[str, Skill]:
    """Those of these skills that are served, by fact."""
    served = run.view.skills.get_many(set(made.values()))
    return {fact: served[name] for fact, name in made.items() if name in served}


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
    change = general.retold_change(pattern, draft, pattern.skill, written, policy=run.policy)
    return told_by(change, draft, run.view)
