"""generate: significant outcomes become warnings and patterns."""

from collections.abc import Container, Iterable, Iterator
from functools import partial

from skillvault.brief import Episode
from skillvault.change import Change
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.warning_pattern import STEP
from skillvault.records import Placed, Ref, Skill
from skillvault.steps import strategy
from skillvault.steps.registry import WRITERS
from skillvault.steps.run import Run


def step(run: Run) -> Iterator[Change]:
    """One commit for each skill that is reinforced, one a new skill."""
    found = plan(run)
    run.report.rejected += found.rejected
    yield from _reinforced(run, found)
    for due in found.due:
        outcome, _ = due.candidates[0]
        yield from run.written(partial(_written, run, due), f"{due.kind}-{outcome.domain}")
    # A second look: what repeats a new warning is known only now.
    new = {o.id for due in found.due if due.repeated for o, _ in due.candidates}
    yield from _reinforced(run, plan(run, new))
    yield from strategy.due(run)


def waiting(run: Run) -> int:
    """How many skills are made or reinforced, strategies included."""
    skills = plan(run)
    texts = sum(map(supported, skills.due))
    return texts + len(skills.reinforcements) + strategy.waiting(run)


def _reinforced(run: Run, found: generate.SkillPlan) -> Iterator[Change]:
    return (generate.reinforce_change(one, run.now, run.policy) for one in found.reinforcements)


def plan(run: Run, about: Container[str] | None = None) -> generate.SkillPlan:
    """What is due of the outcomes that changed, and settles those of which nothing is.

    Where it is `about` some outcomes only, nothing is looked at of the others.
    """
    changed = {one for one in run.view.due.keys(STEP) if about is None or one in about}
    settled: list[str] = []
    found: list[tuple[tuple[int, str], generate.SkillPlan]] = []
    for history in subjects(run, sorted(changed), settled):
        asked, read = generate.concerned(history, changed)
        one = generate.plan_skills(material(run, read), run.policy, asked)
        kept: set[str] = set()
        if one.rejected or one.reinforcements or any(map(supported, one.due)):
            found.append(((history[0].at, history[0].id), one))
            kept = generate.waiting_outcomes(history, changed, one)
        settled += [o.id for o in history if o.id in changed and o.id not in kept]
    run.settle(STEP, settled)
    plans = [one for _, one in sorted(found, key=lambda pair: pair[0])]
    due = (one for each in plans for one in each.due)
    return generate.SkillPlan(
        tuple(sorted(due, key=lambda one: one.candidates[0][0].order)),
        tuple(one for each in plans for one in each.reinforcements),
        tuple(sorted({one for each in plans for one in each.rejected})),
    )


def subjects(run: Run, ids: Iterable[str], gone: list[str]) -> Iterator[list[Placed]]:
    """The outcomes of each subject of these, oldest first; ids of none are added to `gone`."""
    seen: set[str] = set()
    for outcome_id in ids:
        if outcome_id in seen:
            continue
        history = run.view.outcomes.on_subject_of(outcome_id)
        seen.update(outcome.id for outcome in history)
        if history:
            yield history
        else:
            gone.append(outcome_id)


def material(run: Run, names: Iterable[str]) -> generate.SkillMaterial:
    """What the rule of generate reads of the vault for some outcomes of one subject."""
    view = run.view
    outcomes = view.outcomes.get_many(names)
    evaluations = view.evaluations.get_many(outcomes)
    sources = [Ref("evaluation", outcome_id) for outcome_id in evaluations]
    made = run.made(STEP, "skill", sources)
    links = {link.id: link for link in view.links.by_source(sources)}
    line = {link.target for link in links.values() if link.target.kind == "skill"}
    line |= {Ref("skill", name) for name in made.values()}
    ends = set(line)
    while ends:  # the evolved skills that stand for it
        merged = [link for link in view.links.by_source(ends) if link.type == "merged"]
        links |= {link.id: link for link in merged}
        ends = {link.target for link in merged} - line
        line |= ends
    names = {ref.id for ref in line}
    known = {
        shelf: view.skills.on_shelf(shelf, names) for shelf in ("skills", "proposed", "archive")
    }
    return generate.SkillMaterial(
        outcomes=outcomes,
        evaluations=evaluations,
        links=links,
        made_skills=made,
        live=frozenset(known["skills"] | known["proposed"]),
        expired=dict(_expired(run, known["archive"])),
        names=frozenset().union(*known.values()),
        rejections=run.rejections,
    )


def _expired(run: Run, names: Iterable[str]) -> Iterator[tuple[str, Skill]]:
    """The skills whose end was that of their time; what a person retired stays out."""
    steps = {*WRITERS, EXPIRE}
    over = [n for n in names if run.view.history.last_step(Ref("skill", n), steps) == EXPIRE]
    for name, skill in run.view.skills.archived.get_many(over).items():
        if skill.status != "retired":
            yield name, skill


def supported(due: generate.DueSkill) -> bool:
    """Whether any candidate has an insight to make a text of."""
    return any(e.key_insight is not None for _, e in due.candidates)


def _written(run: Run, due: generate.DueSkill) -> Change | None:
    """The skill of the first candidate whose material supports a text; None for none."""
    for outcome, evaluation in due.candidates:
        case = run.peers.case(outcome)
        draft = run.judge.write(Episode(kind=due.kind, case=case, evaluation=evaluation))
        if draft is not None:
            return generate.skill_change(
                due,
                (outcome, evaluation),
                draft,
                taken=run.view.skills.is_name_taken,
                now=run.now,
                policy=run.policy,
            ).noting(draft.note)
    return None
