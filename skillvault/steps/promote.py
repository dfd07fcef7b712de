"""promote: confirmed insights become facts, facts that recur become pattern skills."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby, islice

from skillvault.change import Change
from skillvault.learning.promote import CONSOLIDATE
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.records import Evaluation, Fact, Ref
from skillvault.steps.run import Run

_PAGE = 1000  # evaluations that are looked at together


def step(run: Run) -> Iterator[Change]:
    """One commit a fact, a fact that is repeated, a skill, a skill that grows."""
    yield from _facts(run)
    if run.options.consolidates:
        yield from _skills(run)


def waiting(run: Run) -> int:
    """How many facts and skills are made or grow."""
    facts = plan(run)
    skills = sum(len(found.due) for _, found in patterns(run))
    return len(facts.promotions) + len(facts.repetitions) + skills


def plan(run: Run) -> promote.FactPlan:
    """What the first arrow has to do among the evaluations that changed; settles the others."""
    candidates: list[str] = []
    due = run.view.due.keys(promote.STEP)
    for found in pages(run, due):
        candidates += (
            e.id for e in found.evaluations.values() if promote.may_be_due(e, found, run.policy)
        )
    run.settle(promote.STEP, set(due).difference(candidates))
    return promote.plan_facts(of_evaluations(run, candidates), run.policy)


def pages(run: Run, ids: Iterable[str]) -> Iterator[promote.PromotionMaterial]:
    """What the first arrow reads for many evaluations, a page at a time."""
    left = iter(ids)
    while page := list(islice(left, _PAGE)):
        yield of_evaluations(run, page)


def of_evaluations(run: Run, ids: Iterable[str]) -> promote.PromotionMaterial:
    """What the first arrow reads of the vault for some evaluations."""
    view = run.view
    evaluations = view.evaluations.get_many(ids)
    facts = view.facts.by_domain({e.domain for e in evaluations.values()})
    return _material(run, evaluations, facts, [Ref("evaluation", name) for name in evaluations])


def of_facts(run: Run, domains: Iterable[str]) -> promote.PromotionMaterial:
    """What the second arrow reads of the vault for some domains."""
    facts = run.view.facts.by_domain(domains)
    return _material(run, {}, facts, [Ref("fact", name) for name in facts])


def _material(
    run: Run, evaluations: Mapping[str, Evaluation], facts: Mapping[str, Fact], sources: list[Ref]
) -> promote.PromotionMaterial:
    view, rules = run.view, run.policy.promote
    refused = run.rejections.sources(promote.STEP, "fact")
    enough = None if run.options.asks else max(rules.cluster_size, rules.min_sessions)
    return promote.PromotionMaterial(
        outcomes=view.outcomes.get_many(evaluations) if evaluations else view.outcomes,
        evaluations=evaluations,
        facts=facts,
        links={link.id: link for link in view.links.by_source(sources)},
        made_skills=run.made(promote.STEP, "skill", (ref for ref in sources if ref.kind == "fact")),
        rejections=run.rejections,
        taken_away=view.evaluations.get_many(ref.partition(":")[2] for ref in refused).values(),
        support=view.evaluations.supporting,
        sessions_of=lambda names: view.facts.sessions(names, enough),
    )


def patterns(run: Run) -> Iterator[tuple[promote.PromotionMaterial, recurrence.Patterns]]:
    """What the second arrow has to do in the domains that changed; settles the others."""
    due = run.view.due.keys(CONSOLIDATE)
    for domain, keys in groupby(due, lambda key: key.partition(" ")[0]):
        found = of_facts(run, [domain])
        live = run.view.skills.live(set(found.skills_of.values()))
        plan = recurrence.patterns(found, live, run.policy)
        if plan.due or plan.rejected:
            yield found, plan
        else:
            run.settle(CONSOLIDATE, keys)


def _facts(run: Run) -> Iterator[Change]:
    found = plan(run)
    run.report.rejected += found.rejected
    for promotion in run.track(found.promotions, "promoting"):
        yield promote.promotion_change(promotion, run.policy)
    for repetition in found.repetitions:
        if repetition.fact in run.view.facts:  # it may have had to wait
            yield promote.repetition_change(repetition, run.now)


def _skills(run: Run) -> Iterator[Change]:
    for found, plan in list(patterns(run)):
        run.report.rejected += plan.rejected
        for pattern in plan.due:
            make = partial(_written, run, found, pattern)
            yield from run.written(make, pattern.skill or f"pattern-{pattern.facts[0].domain}")


def _written(
    run: Run, found: promote.PromotionMaterial, pattern: recurrence.Pattern
) -> Change | None:
    """The skill of a pattern, new or grown; None where the judge writes no text."""
    draft = run.judge.write(recurrence.pattern_brief(pattern, found))
    if draft is None:
        return None
    if pattern.skill is None:
        return recurrence.skill_change(
            pattern, draft, taken=run.view.skills.is_name_taken, now=run.now, policy=run.policy
        ).noting(draft.note)
    skill = run.view.skills.find(pattern.skill)
    if skill is None:
        return None
    written = run.versions(pattern.skill)
    change = recurrence.growth_change(pattern, draft, skill, written, now=run.now)
    return change.noting(draft.note)
