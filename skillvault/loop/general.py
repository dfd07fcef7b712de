"""promote across domains: what facts of several domains say becomes one skill of none."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct

from skillvault.learning.naming import is_general
from skillvault.learning.promote import GENERAL, general
from skillvault.learning.promote.facts import STEP, PromotionMaterial, PromotionState
from skillvault.learning.promote.general import FactRuns, GeneralPattern, form_of
from skillvault.learning.promote.skills import assign_skills, leave_change
from skillvault.learning.rejection import Rejection
from skillvault.loop.derived_skills import derived_skills, may_leave, shelf_of
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import approved_name, with_waiting_accounts
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Fact, Outcome, Ref, Skill
from skillvault.model.sameness.comparison import Forms, lookup_keys
from skillvault.model.sameness.form import Form
from skillvault.vault.index.facts import FactKeys
from skillvault.vault.index.snapshot import Topics

TRUST = "local"  # of the facts that are looked at


class AlikeFacts:
    """What the facts of a vault say; `due` are those that changed since keys were kept."""

    def __init__(self, view: Topics, due: Collection[str]) -> None:
        self._view = view
        self._due = frozenset(due)
        self._forms: dict[str, Form] = {}
        self._keys: dict[str, list[str]] = {}  # of the facts that are due
        self._holders: dict[str, set[str]] = defaultdict(set)  # key -> those of them
        read = self._looked_at(self._due)
        for name in self._due:
            keys = lookup_keys(self._forms[name]) if name in read else []
            self._keys[name] = keys
            for key in keys:
                self._holders[key].add(name)

    def reached(self, names: Iterable[str]) -> dict[str, Fact]:
        """These facts, and those that say the same, directly or by way of others.

        Of those that are trusted and in whose place no other stands.
        """
        found, new = dict[str, Fact](), self._looked_at(names)
        while new:
            found |= new
            forms = {self._forms[name] for name in new}
            keys = {key for form in forms for key in lookup_keys(form)}
            due = {name for key in keys for name in self._holders.get(key, ())}
            under = due | (self._view.fact_keys.under(keys) - self._due)
            others = self._looked_at(under.difference(found))
            index = _indexed(forms) if others else Forms()
            new = {name: fact for name, fact in others.items() if self._says_one(name, index)}
        return found

    def keep_settled(self, settled: Collection[str], keys: FactKeys) -> None:
        """Keep the keys of those that are settled."""
        for name in sorted(self._due.intersection(settled)):
            keys.keep_fact(name, self._keys[name])

    def _says_one(self, name: str, index: Forms) -> bool:
        form = self._forms[name]
        return any(index.is_same(number, form) for number in index.candidates(form))

    def _looked_at(self, names: Iterable[str]) -> dict[str, Fact]:
        facts = {
            name: fact
            for name, fact in self._view.facts.get_many(names).items()
            if fact.trust == TRUST
        }
        old = self._view.facts.superseded_ids(facts)
        current = {name: fact for name, fact in facts.items() if name not in old}
        makers = made_by(self._view, [name for name in current if name not in self._forms])
        for name, fact in current.items():
            if name not in self._forms:
                self._forms[name] = form_of(fact, makers.get(name))
        return current


def made_by(view: Topics, facts: Collection[str]) -> Mapping[str, Outcome]:
    """Fact -> the outcome of the run that made it, of those that a run made."""
    makers = view.facts.makers(facts)
    outcomes = view.outcomes.get_many(set(makers.values()))
    return {fact: outcomes[name] for fact, name in makers.items() if name in outcomes}


def _indexed(forms: Iterable[Form]) -> Forms:
    index = Forms()
    for form in forms:
        index.add(form)
    return index


OfFacts = Callable[[Run, Mapping[str, Fact]], PromotionMaterial]


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
    """What is to be done of the facts that changed; settles those of which nothing is."""
    keys = run.view.due.keys(GENERAL)
    if not keys:
        return GeneralPlan()
    alike = AlikeFacts(run.view, keys)
    touched = _touched(run, alike, {*keys}) if _is_of_several(run) else _Touched()
    domains = {fact.domain for fact in touched.facts.values()}
    plan = GeneralPlan()
    if touched.made or len(domains) > 1:  # facts of one domain recur in `promote`
        plan = _planned(run, touched, of_facts(run, touched.facts))
    waiting = {fact.id for _, pattern in plan.due for fact in pattern.recurring.facts}
    waiting |= _facts_of(run, [skill.name for skill in plan.left])
    settled = set(keys) - waiting
    if not run.options.asks:
        alike.keep_settled(settled, run.store.staging.fact_keys)
    run.settle(GENERAL, settled)
    return plan


def general_state(run: Run, fact: Fact, of_facts: OfFacts) -> PromotionState | None:
    """Where a fact stands with other domains; None if there is but one."""
    if not _is_of_several(run):
        return None
    alike = AlikeFacts(run.view, run.view.due.keys(GENERAL))
    groups = general.recurrences(of_facts(run, alike.reached([fact.id])), _fact_runs(run))
    own = next((group for group in groups if fact in group.facts), None)
    made = _general_skills(run, [fact.id]).get(fact.id)
    return general.state_across_domains(fact, own, made, run.policy)


def _fact_runs(run: Run) -> FactRuns:
    return FactRuns(partial(made_by, run.view), run.view.outcomes.statuses)


def _is_of_several(run: Run) -> bool:
    """Whether trusted facts are of more than one domain."""
    return len(run.view.facts.domains_with_facts()) > 1


class _Touched(Struct, frozen=True):
    """The facts that what changed reaches, and fact -> the skill that it made across domains."""

    facts: dict[str, Fact] = {}
    made: dict[str, str] = {}


def _touched(run: Run, alike: AlikeFacts, changed: set[str]) -> _Touched:
    """All facts that say the same as what changed, or that made a skill with one of those."""
    facts, names = alike.reached(changed), changed
    while True:
        names = names.union(facts)
        made = _general_skills(run, names)
        more = _facts_of(run, set(made.values())) - names
        if not more:
            there = run.view.records.existing(Ref("fact", name) for name in made)
            return _Touched(facts, {f: s for f, s in made.items() if Ref("fact", f) in there})
        names |= more
        facts |= alike.reached(more)


def _facts_of(run: Run, skills: Collection[str]) -> set[str]:
    """The facts that made these skills, whatever became of the links."""
    links = run.view.links.by_target(Ref("skill", name) for name in skills)
    linked = {link.source.id for link in links if link.type == "derived"}
    history = run.view.history
    return linked.union(*(history.source_ids(STEP, Ref("skill", name)) for name in skills))


def _planned(run: Run, touched: _Touched, material: PromotionMaterial) -> GeneralPlan:
    made = touched.made
    skills = derived_skills(run, set(made.values()))
    by_fact = {fact: skills[name] for fact, name in made.items() if name in skills}
    due: list[tuple[PromotionMaterial, GeneralPattern]] = []
    standing: set[str] = set()
    groups = list(general.recurrences(material, _fact_runs(run)))
    names = {fact: skill.name for fact, skill in by_fact.items()}
    tells = assign_skills([group.facts for group in groups], names)
    for group, (_, is_own) in zip(groups, tells, strict=True):
        if any(fact.id in made and fact.id not in by_fact for fact in group.facts):
            continue  # it expired, or somebody put it away
        if general.is_supported(group, material, run.policy.promote):
            standing.update(by_fact[fact.id].name for fact in group.facts if fact.id in by_fact)
        if not is_own:
            continue  # its facts made a skill with others, of which that tells
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
    living = [name for name in run.view.skills.names("skills", "") if is_general(name)]
    if not living:
        return
    alike = AlikeFacts(run.view, run.view.due.keys(GENERAL))
    material = of_facts(run, alike.reached(_facts_of(run, living)))
    made = _general_skills(run, list(material.facts))
    skills = with_waiting_accounts(run.view, run.view.skills.live(living))
    by_fact = {fact: skills[name] for fact, name in made.items() if name in skills}
    for group in general.recurrences(material, _fact_runs(run)):
        pattern = general.current_pattern(group, material, by_fact)
        if pattern is not None:
            yield material, pattern


def _general_skills(run: Run, facts: Collection[str]) -> dict[str, str]:
    """Fact -> the skill that it made across domains, whatever became of the link."""
    refs = [Ref("fact", name) for name in facts]
    pairs = list(run.view.history.targets_of(STEP, "skill", refs))
    links = run.view.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.type == "derived"]
    present = run.view.records.existing(Ref("skill", name) for _, name in pairs)
    there = ((f, name) for f, name in pairs if is_general(name) and Ref("skill", name) in present)
    return {f: approved_name(run.view, name) for f, name in there}


def _general_skill(run: Run, material: PromotionMaterial, pattern: GeneralPattern) -> Change | None:
    """The skill, new or told anew; None where the judge writes no text."""
    draft = draft_by(run.judge, general.general_brief(pattern, material))
    if draft is None:
        return None
    if pattern.skill is None:
        taken = run.view.skills.is_name_taken
        change = general.general_change(pattern, draft, is_taken=taken, policy=run.policy)
        return told_by(change, draft, run.view)
    written = run.versions(pattern.skill.name)
    shelf = shelf_of(run, pattern.skill)
    change = general.rewrite_change(
        pattern, draft, pattern.skill, written, shelf=shelf, policy=run.policy
    )
    return told_by(change, draft, run.view)
