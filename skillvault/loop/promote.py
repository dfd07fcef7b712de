"""promote: confirmed insights become facts, facts that recur become pattern skills."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, islice

import msgspec

from skillvault.learning.promote import CONSOLIDATE
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.support import (
    CROWDED,
    Memory,
    Runs,
    Support,
    SupportPlan,
    Witness,
    fact_changes,
    support_state,
    weighing_changes,
    witness_of,
)
from skillvault.loop.clock import clock
from skillvault.loop.derived_skills import derived_skills, may_leave, shelf_of
from skillvault.loop.general import general_changes, general_plan
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import approved_name, with_waiting_account, with_waiting_accounts
from skillvault.loop.registry import RECOMPUTING
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Evaluation, Fact, Link, Ref, Skill, Status, moment_of
from skillvault.model.sameness.forms import lookup_keys
from skillvault.vault.index.insights import Insights, WitnessRow
from skillvault.vault.index.snapshot import Topics


class InsightMemory(Memory):
    """What the runs said; `insights` is where it is found, and where more is put."""

    def __init__(self, view: Topics, insights: Insights) -> None:
        self._view = view
        self._insights = insights
        self._witnesses: dict[str, Witness | None] = {}

    def alike(self, witness: Witness) -> Sequence[Witness]:
        """Of all words that may say the same or the opposite one run that says them."""
        firsts = self._insights.firsts(witness.evaluation.domain, lookup_keys(witness.form))
        return list(self.heard(firsts).values())

    def heard(self, evaluations: Iterable[str]) -> dict[str, Witness]:
        """What these runs say."""
        names = list(evaluations)
        new = [name for name in names if name not in self._witnesses]
        records = self._view.evaluations.get_many(new)
        outcomes = self._view.outcomes.get_many(records)
        for name in new:
            record = records.get(name)
            self._witnesses[name] = witness_of(record, outcomes.get(name)) if record else None
        return {name: witness for name in names if (witness := self._witnesses[name])}

    def remembered(self, evaluations: Iterable[str]) -> Collection[str]:
        """Those of these runs of which is kept what they say."""
        return self._insights.kept(evaluations)

    def spread(self, firsts: Collection[str]) -> bool:
        """Whether the runs that end alike and say these words are of more than one session."""
        sessions: dict[Status, set[str]] = {}
        for tally in self._insights.tallies(firsts):
            sessions.setdefault(tally.status, set()).update(tally.sessions)
        return any(len(of) > 1 for of in sessions.values())

    def speaking(self, firsts: Collection[str], status: Status) -> Runs:
        """The runs that say these words and ended so."""
        witnesses = self._insights.witnesses(firsts)
        ended = [witness for witness in witnesses if witness.status == status]
        return Runs(
            frozenset(witness.evaluation for witness in ended),
            frozenset(witness.session for witness in ended),
        )

    def stating(self, domain: str, grounds: Collection[str]) -> Mapping[str, Status]:
        """The runs whose reasoning states any of these grounds, and how they ended."""
        return dict(self._insights.stating(domain, grounds))

    def facts_of(self, firsts: Collection[str]) -> Mapping[str, str]:
        """Fact -> the evaluation that made it, with these words."""
        return self._insights.facts_of(firsts)

    def facts_on(self, domain: str, grounds: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Ground -> fact -> the evaluation that made it, the first few of each."""
        made_by: dict[str, dict[str, str]] = {}
        for row in self._insights.facts_on(domain, grounds, CROWDED):
            made_by.setdefault(row.wording, {})[row.fact] = row.evaluation
        return made_by

    def tellers(self, fact: str, at: datetime) -> Iterable[str]:
        """The runs that support a fact and ended at a time."""
        return self._view.facts.supporters_at(fact, moment_of(at))

    def remember(self, witness: Witness, first: str) -> None:
        """Keep what a run says; `first` is the run by which its words are known."""
        self._witnesses[witness.id] = witness
        row = WitnessRow(witness.id, first, witness.outcome_status, witness.session)
        keys = lookup_keys(witness.form) if first == witness.id else ()
        self._insights.keep_witness(witness.evaluation.domain, row, keys, witness.stated)

    def keep_grounds(self, witness: Witness) -> None:
        """Keep on what the fact rests that a run made."""
        self._insights.keep_grounds(witness.evaluation.domain, witness.id, witness.grounds)


_PAGE = 1000  # evaluations that are looked at together


def step(run: Run) -> Iterator[Change]:
    """One change a fact, a fact that is weighed, a skill, a skill that grows."""
    yield from _facts(run)
    yield from skill_changes(run)


def skill_changes(run: Run) -> Iterator[Change]:
    """One change a skill that facts make, or that grows or leaves with them."""
    if run.options.consolidates:
        yield from _skills(run)
        yield from general_changes(run, of_some)


def waiting(run: Run) -> int:
    """How many facts and skills are made, grow or leave."""
    weighed = support_plan(run, run.view.due.keys(promote.STEP))
    facts = len(weighed.facts) + bool(weighed.links or weighed.retellings)
    return facts + waiting_skills(run)


def waiting_skills(run: Run) -> int:
    """How many skills of facts are made, grow or leave."""
    skills = sum(len(found.due) + len(found.left) for _, found in patterns(run))
    general = general_plan(run, of_some)
    return skills + len(general.due) + len(general.left)


def support_plan(run: Run, due: Iterable[str]) -> SupportPlan:
    """What these evaluations support and speak against."""
    material = of_evaluations(run, due)
    heard = (
        witness_of(evaluation, material.outcomes.get(evaluation.outcome))
        for evaluation in material.evaluations.values()
    )
    return Support(memory(run), material, run.policy).plan(filter(None, heard))


def memory(run: Run) -> InsightMemory:
    """What the runs of the vault said so far."""
    asks = run.options.asks
    return InsightMemory(
        run.view, run.view.insights.unkept() if asks else run.store.staged.insights
    )


def state(run: Run, evaluation_id: str) -> promote.PromotionState | None:
    """Where an evaluation stands with memory; None if there is none."""
    material = of_evaluations(run, [evaluation_id])
    evaluation = material.evaluations.get(evaluation_id)
    if evaluation is None:
        return None
    if not run.rules.weighs:
        return promote.insight_state(evaluation, material, run.policy)
    return support_state(evaluation, memory(run), material, run.policy)


def pages(run: Run, ids: Iterable[str]) -> Iterator[promote.PromotionMaterial]:
    """What the first arrow reads for many evaluations, a page at a time."""
    left = iter(ids)
    while page := list(islice(left, _PAGE)):
        yield of_evaluations(run, page)


def of_evaluations(run: Run, ids: Iterable[str]) -> promote.PromotionMaterial:
    """What the first arrow reads of the vault for some evaluations."""
    view = run.view
    names = list(ids)
    overruled = view.outcomes.overruled(names)
    evaluations = view.evaluations.get_many(name for name in names if name not in overruled)
    facts = view.facts.by_domain({e.domain for e in evaluations.values()})
    return _material(run, evaluations, facts, [Ref("evaluation", name) for name in evaluations])


def of_facts(run: Run, domains: Iterable[str]) -> promote.PromotionMaterial:
    """What the second arrow reads of the vault for some domains."""
    return of_some(run, run.view.facts.by_domain(domains))


def of_some(run: Run, facts: Mapping[str, Fact]) -> promote.PromotionMaterial:
    """What the second arrow reads of the vault for these facts."""
    return _material(run, {}, facts, [Ref("fact", name) for name in facts])


def _material(
    run: Run, evaluations: Mapping[str, Evaluation], facts: Mapping[str, Fact], sources: list[Ref]
) -> promote.PromotionMaterial:
    view, rules = run.view, run.policy.promote
    refused = run.rejections.sources(promote.STEP, "fact")
    enough = None if run.options.asks else max(rules.cluster_size, rules.min_sessions)
    made = run.made(promote.STEP, "skill", (ref for ref in sources if ref.kind == "fact"))
    links = [link for link in view.links.by_source(sources) if not _leads_to_version(view, link)]
    return promote.PromotionMaterial(
        outcomes=view.outcomes.get_many(evaluations) if evaluations else view.outcomes,
        evaluations=evaluations,
        facts=facts,
        links={link.id: link for link in links},
        made_skills={fact: approved_name(view, name) for fact, name in made.items()},
        rejections=run.rejections,
        taken_away=view.evaluations.get_many(ref.partition(":")[2] for ref in refused).values(),
        support=view.evaluations.supporting,
        sessions_of=lambda names: view.facts.sessions(names, enough),
        counts=view.facts,
        clock=lambda domain: clock(view, domain, run.now, run.rules),
        rules=run.rules,
        by_arrival=partial(_by_arrival, view) if evaluations and _has_taken_back(run) else None,
    )


def _has_taken_back(run: Run) -> bool:
    """Whether something that others rested on was ever taken back, or is now."""
    taking = any(done.change.step in RECOMPUTING for done in run.report.done)
    return taking or run.view.history.has_steps(RECOMPUTING)


def _by_arrival(view: Topics, evaluations: Iterable[str]) -> list[list[str]]:
    """These evaluations, those of one commit together, in the order in which they came."""
    refs = (Ref("evaluation", name) for name in evaluations)
    return [[ref.id for ref in together] for together in view.history.by_arrival(refs)]


def _leads_to_version(view: Topics, link: Link) -> bool:
    """Whether a link leads to the next version of a skill: its fact is told by the skill itself."""
    target = link.target
    return target.kind == "skill" and approved_name(view, target.id) != target.id


def patterns(run: Run) -> Iterator[tuple[promote.PromotionMaterial, recurrence.Patterns]]:
    """What the second arrow has to do in the domains that changed; settles the others."""
    return ((found, plan) for _, found, plan in _patterns_by_domain(run))


def _patterns_by_domain(
    run: Run,
) -> Iterator[tuple[list[str], promote.PromotionMaterial, recurrence.Patterns]]:
    due = run.view.due.keys(CONSOLIDATE)
    for domain, grouped in groupby(due, lambda key: key.partition(" ")[0]):
        keys = list(grouped)
        found = of_facts(run, [domain])
        skills = derived_skills(run, set(found.skills_of.values()))
        plan = recurrence.patterns(found, skills, run.policy)
        plan = msgspec.structs.replace(
            plan,
            due=tuple(pattern for pattern in plan.due if not _is_told(run, found, pattern)),
            left=tuple(skill for skill in plan.left if may_leave(run, skill)),
        )
        if plan.due or plan.rejected or plan.left:
            yield keys, found, plan
        else:
            run.settle(CONSOLIDATE, keys)


def told_patterns(
    run: Run, domain: str
) -> Iterator[tuple[promote.PromotionMaterial, recurrence.Pattern, Skill]]:
    """What recurs in a domain, and the living skill that tells it as it is counted now."""
    found = of_facts(run, [domain])
    skills = with_waiting_accounts(run.view, run.view.skills.live(set(found.skills_of.values())))
    for pattern in recurrence.told_patterns(found, skills, run.policy):
        yield found, pattern, skills[pattern.skill or ""]


def _is_told(run: Run, material: promote.PromotionMaterial, pattern: recurrence.Pattern) -> bool:
    """Whether a warning of facts would say again what the warnings of their subjects say."""
    if pattern.kind != "warning" or pattern.skill:
        return False
    supporters = {e.id for fact in pattern.facts for e in material.support(fact.id)}
    histories = run.accounts.histories(sorted(supporters), set())
    return all(map(run.accounts.calls_for_warning, histories))


def _facts(run: Run) -> Iterator[Change]:
    due = run.view.due.keys(promote.STEP)
    weighed = support_plan(run, due)
    run.report.rejected += weighed.rejected
    yield from fact_changes(run.track(weighed.facts, "promoting"))
    links = [
        link for link in weighed.links if link.target.id in run.view.facts
    ]  # or it has to wait
    retellings = [retold for retold in weighed.retellings if retold.fact.id in run.view.facts]
    if links or retellings:
        yield from weighing_changes(links, retellings)
    if len(links) == len(weighed.links):
        # Weighing makes due what it has weighed; what somebody else made due meanwhile stays.
        run.settle(promote.STEP, _made_due(run, weighed).union(due))


def _made_due(run: Run, weighed: SupportPlan) -> set[str]:
    """The evaluations that become due by the changes of a plan."""
    facts = (Ref("fact", retelling.fact.id) for retelling in weighed.retellings)
    links = [*weighed.links, *run.view.links.by_target(facts)]
    sources = {link.source.id for link in links if link.source.kind == "evaluation"}
    return sources | {fact.source.id for fact in weighed.facts}


def _skills(run: Run) -> Iterator[Change]:
    for keys, found, plan in list(_patterns_by_domain(run)):
        made = bool(plan.left or plan.rejected)
        run.report.rejected += plan.rejected
        for skill in plan.left:
            yield recurrence.leave_change(skill, shelf_of(run, skill))
        for pattern in plan.due:
            make = partial(_written, run, found, pattern)
            name = pattern.skill or f"pattern-{pattern.facts[0].domain}"
            for change in run.written(make, name):
                made = True
                yield change
        if not made and not run.report.unavailable:
            run.settle(CONSOLIDATE, keys)


def _written(
    run: Run, found: promote.PromotionMaterial, pattern: recurrence.Pattern
) -> Change | None:
    """The skill of a pattern, new or grown; None where the judge writes no text."""
    draft = draft_by(run.judge, recurrence.pattern_brief(pattern, found))
    if draft is None:
        return None
    if pattern.skill is None:
        change = recurrence.skill_change(
            pattern, draft, taken=run.view.skills.is_name_taken, now=run.now, rules=run.rules
        )
        return told_by(change, draft, run.view)
    skill = run.view.skills.find(pattern.skill)
    if skill is None:
        return None
    skill, written = with_waiting_account(run.view, skill), run.versions(pattern.skill)
    change = recurrence.growth_change(
        pattern, draft, skill, written, shelf=shelf_of(run, skill), now=run.now, policy=run.policy
    )
    return told_by(change, draft, run.view)
