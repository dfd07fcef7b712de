"""generate: significant outcomes become warnings and patterns."""

from collections.abc import Collection, Iterator

from skillvault.brief import Episode
from skillvault.change import Change
from skillvault.learning import evaluate, generate
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.records import Ref, Skill
from skillvault.run import WRITERS, Run
from skillvault.steps import strategy


def step(run: Run) -> Iterator[Change]:
    """One commit a skill, one for each that is reinforced."""
    plan = generate.plan(material(run), run.policy)
    run.report.rejected += plan.rejected
    peers = evaluate.Peers(run.snapshot.outcomes.values(), run.policy) if plan.due else None
    taken = run.names_taken()
    for due in plan.due:
        change = _written(run, peers, due, taken) if peers else None
        if change is not None:
            taken.update(ref.id for ref in change.targets)
            yield change
    # A second look: what the new skills repeat is known only now.
    for repeat in generate.plan(material(run), run.policy).reinforcements:
        yield generate.reinforce_change(repeat, run.now, run.policy)
    yield from strategy.due(run)


def material(run: Run) -> generate.Material:
    """What the rule of generate reads of the vault."""
    view = run.snapshot
    return generate.Material(
        outcomes=view.outcomes,
        evaluations=view.evaluations,
        links=view.links,
        live=frozenset(view.skills) | frozenset(view.proposed),
        expired=dict(_expired(run)),
        names=view.names,
        rejections=run.rejections,
    )


def _expired(run: Run) -> Iterator[tuple[str, Skill]]:
    """The skills whose end was that of their time; what a person retired stays out."""
    for name, skill in run.snapshot.archived.items():
        commits = run.commits_on(Ref("skill", name), {*WRITERS, EXPIRE})
        if skill.status != "retired" and commits and commits[-1].step == EXPIRE:
            yield name, skill


def supported(due: generate.Due) -> bool:
    """Whether any candidate has an insight to make a text of."""
    return any(e.key_insight is not None for _, e in due.candidates)


def _written(
    run: Run, peers: evaluate.Peers, due: generate.Due, taken: Collection[str]
) -> Change | None:
    """The skill of the first candidate whose material supports a text; None for none."""
    for outcome, evaluation in due.candidates:
        draft = run.judge.write(
            Episode(kind=due.kind, case=peers.case(outcome), evaluation=evaluation)
        )
        if draft is not None:
            return generate.skill_change(
                due,
                (outcome, evaluation),
                draft,
                taken=taken.__contains__,
                now=run.now,
                policy=run.policy,
            )
    return None
