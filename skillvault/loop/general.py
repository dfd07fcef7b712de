"""The step `promote` across domains: make general skills from facts that several domains share.

This module reads the facts that `promote.py` made; `learning/promote/general.py` decides.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct

from skillvault.learning.naming import is_general
from skillvault.learning.promote import general
from skillvault.learning.promote.facts import STEP, PromotionRecords, PromotionState
from skillvault.learning.promote.general import FactRuns, GeneralPattern, form_of
from skillvault.learning.promote.skills import assign_skills, leave_change
from skillvault.learning.rejection import Rejection
from skillvault.loop.clock import clock
from skillvault.loop.managed_skills import derived_skills, may_archive, skill_folder
from skillvault.loop.next_versions import approved_name, with_waiting_accounts
from skillvault.loop.registry import GENERAL
from skillvault.loop.run import Run
from skillvault.model.brief import Draft
from skillvault.model.change import Change
from skillvault.model.records import Evaluation, Fact, Outcome, Ref, Skill
from skillvault.model.sameness.comparison import FormIndex, lookup_keys
from skillvault.model.sameness.form import Form
from skillvault.vault.index.facts import FactKeys
from skillvault.vault.index.snapshot import Snapshot

_TRUST = "local"  # facts of other trust are not compared


class SimilarFacts:
    """An index of the trusted facts by their words.

    The index database has the words of all facts but `changed_ids`.
    """

    def __init__(self, snapshot: Snapshot, changed_ids: Collection[str]) -> None:
        self._snapshot = snapshot
        self._changed_ids = frozenset(changed_ids)
        self._forms: dict[str, Form] = {}
        self._keys: dict[str, list[str]] = {}  # of the changed facts
        self._holders: dict[str, set[str]] = defaultdict(set)  # key -> changed facts
        facts = self._load(self._changed_ids)
        for fact_id in self._changed_ids:
            self._keys[fact_id] = lookup_keys(self._forms[fact_id]) if fact_id in facts else []
            for key in self._keys[fact_id]:
                self._holders[key].add(fact_id)

    def with_similar(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Return these facts and the facts that say the same, directly or through other facts.

        Leave out untrusted and superseded facts.
        """
        facts, new_facts = dict[str, Fact](), self._load(fact_ids)
        while new_facts:
            facts |= new_facts
            forms = {self._forms[name] for name in new_facts}
            keys = {key for form in forms for key in lookup_keys(form)}
            holders = {name for key in keys for name in self._holders.get(key, ())}
            holders |= self._snapshot.fact_keys.facts_with_keys(keys) - self._changed_ids
            candidates = self._load(holders.difference(facts))
            index = FormIndex()
            for form in forms if candidates else ():
                index.add_form(form)
            new_facts = {
                key: fact for key, fact in candidates.items() if index.same(self._forms[key])
            }
        return facts

    def keep_settled(self, fact_ids: Collection[str], keys: FactKeys) -> None:
        """Store the lookup keys of settled facts, so that later equal facts find them."""
        for fact_id in sorted(self._changed_ids.intersection(fact_ids)):
            keys.keep_fact(fact_id, self._keys[fact_id])

    def _load(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        facts = self._snapshot.facts.get_many(fact_ids)
        facts = {key: fact for key, fact in facts.items() if fact.trust == _TRUST}
        superseded_ids = self._snapshot.facts.superseded_ids(facts)
        current_facts = {key: fact for key, fact in facts.items() if key not in superseded_ids}
        makers = _makers_of(
            self._snapshot, [key for key in current_facts if key not in self._forms]
        )
        for key, fact in current_facts.items():
            if key not in self._forms:
                self._forms[key] = form_of(fact, makers.get(key))
        return current_facts


def _makers_of(snapshot: Snapshot, facts: Collection[str]) -> Mapping[str, Outcome]:
    makers = snapshot.facts.makers(facts)
    outcomes = snapshot.outcomes.get_many(set(makers.values()))
    return {fact: outcomes[key] for fact, key in makers.items() if key in outcomes}


def records_of_facts(run: Run, facts: Mapping[str, Fact]) -> PromotionRecords:
    """Return the records that decide if these facts become skills."""
    return promotion_records(run, {}, facts, [Ref("fact", fact_id) for fact_id in facts])


def promotion_records(
    run: Run, evaluations: Mapping[str, Evaluation], facts: Mapping[str, Fact], sources: list[Ref]
) -> PromotionRecords:
    """Return the records that decide if evaluations become facts, and facts skills."""
    snapshot, rules = run.snapshot, run.policy.promote
    rejected_ids = (ref.partition(":")[2] for ref in run.rejections.sources(STEP, "fact"))
    max_sessions = None if run.options.is_question else max(rules.cluster_size, rules.min_sessions)
    facts_only = (ref for ref in sources if ref.kind == "fact")
    products = run.products_of(STEP, "skill", facts_only)
    # If a fact leads to a next version, the approved skill counts as the skill of the fact.
    links = {
        link.id: link
        for link in snapshot.links.by_source(sources)
        if link.target.kind != "skill" or approved_name(snapshot, link.target.id) == link.target.id
    }
    return PromotionRecords(
        outcomes=snapshot.outcomes.get_many(evaluations) if evaluations else snapshot.outcomes,
        evaluations=evaluations,
        facts=facts,
        links=links,
        made_skills={fact: approved_name(snapshot, name) for fact, name in products.items()},
        rejections=run.rejections,
        taken_away=snapshot.evaluations.get_many(rejected_ids).values(),
        support=snapshot.evaluations.supporting,
        outcomes_of=snapshot.outcomes.get_many,
        sessions_of=lambda fact_ids: snapshot.facts.sessions(fact_ids, max_sessions),
        counts=snapshot.facts,
        clock=lambda domain: clock(snapshot, domain, run.now, run.profile),
        rules=run.profile,
    )


class GeneralPlan(Struct, frozen=True):
    """The general skills to make or rewrite (`due`), and the skills to archive (`leaving`)."""

    due: tuple[tuple[PromotionRecords, GeneralPattern], ...] = ()
    leaving: tuple[Skill, ...] = ()


def general_changes(run: Run) -> Iterator[Change]:
    """Yield a change for each general skill to make, rewrite or archive."""
    plan = plan_general(run)
    for skill in plan.leaving:
        yield leave_change(skill, skill_folder(run, skill), general.NOT_SHOWN)
    is_changed = bool(plan.leaving)
    for records, pattern in plan.due:
        name = pattern.skill.name if pattern.skill else f"general-{pattern.recurring.facts[0].id}"
        brief = general.general_brief(pattern, records)
        for change in run.write_skill(name, brief, partial(compose_general, run, pattern)):
            is_changed = True
            yield change
    if not is_changed and not run.report.unavailable:
        run.settle(GENERAL, run.snapshot.due.keys(GENERAL))


def plan_general(run: Run) -> GeneralPlan:
    """Return the work for the facts that changed, and settle facts without work."""
    keys = run.snapshot.due.keys(GENERAL)
    if not keys:
        return GeneralPlan()
    similar_facts = SimilarFacts(run.snapshot, keys)
    facts: dict[str, Fact] = {}
    products: dict[str, str] = {}
    if _has_several_domains(run):
        facts, products = _find_affected(run, similar_facts, {*keys})
    plan = GeneralPlan()
    # Facts of a single domain are left to `promote`.
    if products or len({fact.domain for fact in facts.values()}) > 1:
        plan = _plan_groups(run, products, records_of_facts(run, facts))
    waiting_ids = {fact.id for _, pattern in plan.due for fact in pattern.recurring.facts}
    waiting_ids |= _facts_of(run, [skill.name for skill in plan.leaving])
    settled_ids = set(keys) - waiting_ids
    if not run.options.is_question:
        similar_facts.keep_settled(settled_ids, run.store.staging.fact_keys)
    run.settle(GENERAL, settled_ids)
    return plan


def general_state(run: Run, fact: Fact) -> PromotionState | None:
    """Return the state of a fact on its way to a general skill, or None with one domain."""
    if not _has_several_domains(run):
        return None
    similar_facts = SimilarFacts(run.snapshot, run.snapshot.due.keys(GENERAL))
    records = records_of_facts(run, similar_facts.with_similar([fact.id]))
    groups = general.recurrences(records, _fact_runs(run))
    group = next((group for group in groups if fact in group.facts), None)
    product = _products_of(run, [fact.id]).get(fact.id)
    return general.state_across_domains(fact, group, product, run.policy)


def _fact_runs(run: Run) -> FactRuns:
    return FactRuns(partial(_makers_of, run.snapshot), run.snapshot.outcomes.statuses)


def _has_several_domains(run: Run) -> bool:
    return len(run.snapshot.facts.domains_with_facts()) > 1


def _find_affected(
    run: Run, similar_facts: SimilarFacts, changed_ids: set[str]
) -> tuple[dict[str, Fact], dict[str, str]]:
    """Return the facts that a change affects, and a map from facts to their general skills.

    A change affects the facts that say the same as a changed fact or share a skill with it.
    """
    facts, ids = similar_facts.with_similar(changed_ids), changed_ids
    while True:
        ids = ids.union(facts)
        products = _products_of(run, ids)
        skill_facts = _facts_of(run, set(products.values())) - ids
        if not skill_facts:
            refs = run.snapshot.records.existing(Ref("fact", key) for key in products)
            return facts, {key: products[key] for key in products if Ref("fact", key) in refs}
        ids |= skill_facts
        facts |= similar_facts.with_similar(skill_facts)


def _facts_of(run: Run, skills: Collection[str]) -> set[str]:
    """Return the facts that made these skills, even if a person removed the links."""
    links = run.snapshot.links.by_target(Ref("skill", name) for name in skills)
    linked_facts = {link.source.id for link in links if link.type == "derived"}
    history = run.snapshot.history
    return linked_facts.union(*(history.source_ids(STEP, Ref("skill", name)) for name in skills))


def _plan_groups(run: Run, products: Mapping[str, str], records: PromotionRecords) -> GeneralPlan:
    skills = derived_skills(run, set(products.values()))
    by_fact = {fact: skills[name] for fact, name in products.items() if name in skills}
    patterns: list[tuple[PromotionRecords, GeneralPattern]] = []
    used_names: set[str] = set()
    groups = list(general.recurrences(records, _fact_runs(run)))
    names = {fact: skill.name for fact, skill in by_fact.items()}
    owners = assign_skills([group.facts for group in groups], names)
    for group, (_, is_owner) in zip(groups, owners, strict=True):
        if any(fact.id in products and fact.id not in by_fact for fact in group.facts):
            continue  # the skill expired, or somebody archived it
        if general.is_supported(group, records, run.policy.promote):
            used_names.update(by_fact[fact.id].name for fact in group.facts if fact.id in by_fact)
        if not is_owner:
            continue  # the skill belongs to another group with some of these facts
        pattern = general.general_pattern(group, records, by_fact, run.policy)
        if isinstance(pattern, Rejection):
            run.report.rejected.append(pattern)
        elif pattern is not None:
            patterns.append((records, pattern))
    unsupported_skills = (skill for name, skill in sorted(skills.items()) if name not in used_names)
    return GeneralPlan(tuple(patterns), tuple(s for s in unsupported_skills if may_archive(run, s)))


def living_general_patterns(run: Run) -> Iterator[tuple[PromotionRecords, GeneralPattern]]:
    """Yield the pattern of each living general skill, with the current counts."""
    living_names = [name for name in run.snapshot.skills.names("skills", "") if is_general(name)]
    if not living_names:
        return
    similar_facts = SimilarFacts(run.snapshot, run.snapshot.due.keys(GENERAL))
    records = records_of_facts(run, similar_facts.with_similar(_facts_of(run, living_names)))
    products = _products_of(run, list(records.facts))
    skills = with_waiting_accounts(run.snapshot, run.snapshot.skills.live(living_names))
    by_fact = {fact: skills[name] for fact, name in products.items() if name in skills}
    for group in general.recurrences(records, _fact_runs(run)):
        pattern = general.current_pattern(group, records, by_fact)
        if pattern is not None:
            yield records, pattern


def _products_of(run: Run, facts: Collection[str]) -> dict[str, str]:
    """Map facts to the general skills that they made, even if a person removed the links."""
    refs = [Ref("fact", name) for name in facts]
    pairs = list(run.snapshot.history.targets_of(STEP, "skill", refs))
    links = run.snapshot.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.type == "derived"]
    pairs = [(fact, name) for fact, name in pairs if is_general(name)]
    existing_refs = run.snapshot.records.existing(Ref("skill", name) for _, name in pairs)
    return {
        fact: approved_name(run.snapshot, name)
        for fact, name in pairs
        if Ref("skill", name) in existing_refs
    }


def compose_general(run: Run, pattern: GeneralPattern, draft: Draft) -> Change | None:
    """Return the change that makes or rewrites a general skill, or None without a change."""
    skill = pattern.skill
    if skill is None:
        is_taken = run.snapshot.skills.is_name_taken
        return general.general_change(pattern, draft, is_taken=is_taken, policy=run.policy)
    written_texts, folder = run.written_texts(skill.name), skill_folder(run, skill)
    return general.rewrite_change(
        pattern, draft, skill, written_texts, folder=folder, policy=run.policy
    )
