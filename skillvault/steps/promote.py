"""promote: confirmed insights become facts, facts that recur become pattern skills."""

from collections.abc import Iterator

from skillvault.change import Change
from skillvault.learning import promote, recurrence, sections
from skillvault.run import Run


def step(run: Run) -> Iterator[Change]:
    """One commit a fact, a fact that is repeated, a skill, a skill that grows."""
    yield from _facts(run)
    if run.consolidates:
        yield from _skills(run)


def material(run: Run) -> promote.Material:
    """What the rule of promote reads of the vault."""
    view = run.snapshot
    return promote.Material(
        outcomes=view.outcomes,
        evaluations=view.evaluations,
        facts=view.facts,
        links=view.links,
        rejections=run.rejections,
    )


def patterns(run: Run, found: promote.Material) -> recurrence.Patterns:
    """What the second arrow has to do."""
    live = run.snapshot.skills | run.snapshot.proposed
    return recurrence.patterns(found, live, run.policy)


def _facts(run: Run) -> Iterator[Change]:
    plan = promote.plan(material(run), run.policy)
    run.report.rejected += plan.rejected
    for promotion in run.track(plan.promotions, "promoting"):
        yield promote.promotion_change(promotion, run.now)
    there = run.snapshot.facts if plan.repetitions else {}  # one may have had to wait
    for repetition in plan.repetitions:
        if repetition.fact in there:
            yield promote.repetition_change(repetition, run.now)


def _skills(run: Run) -> Iterator[Change]:
    found = material(run)
    plan = patterns(run, found)
    run.report.rejected += plan.rejected
    taken = run.names_taken()
    for pattern in plan.due:
        change = _written(run, found, pattern, taken)
        if change is not None:
            taken.update(ref.id for ref in change.targets)
            yield change


def _written(
    run: Run, found: promote.Material, pattern: recurrence.Pattern, taken: set[str]
) -> Change | None:
    """The skill of a pattern, new or grown; None where the judge writes no text."""
    draft = run.judge.write(recurrence.brief_of(pattern, found))
    if draft is None:
        return None
    if pattern.skill is None:
        return recurrence.skill_change(
            pattern, draft, taken=taken.__contains__, now=run.now, policy=run.policy
        )
    skill = run.snapshot.any_skill(pattern.skill)
    if skill is None:
        return None
    descriptions, bodies = run.versions(pattern.skill)
    written = sections.Written(bodies=bodies, descriptions=descriptions)
    return recurrence.growth_change(pattern, draft, skill, written, now=run.now)
