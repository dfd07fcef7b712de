"""generate of the profile `seed`: each significant outcome gets a skill of its own."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from skillvault.learning.generate.warning_pattern import STEP, SkillState
from skillvault.learning.merge.sessions import STEP as MERGE
from skillvault.learning.naming import is_strategy
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.learning.rejection import Rejection
from skillvault.learning.seed import skills as seed_skills
from skillvault.learning.seed.skills import OutcomeMaterial
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.run import Run
from skillvault.loop.seed import strategy
from skillvault.model.brief import Findings
from skillvault.model.change import Change
from skillvault.model.records import IndexedOutcome, Outcome, Ref, Skill, link_id

_MAKERS = (STEP, REFRESH, MERGE)


def step(run: Run) -> Iterator[Change]:
    """One change an outcome that becomes a skill, one a skill whose failure is repeated."""
    yield from _outcome_changes(run)
    yield from strategy.due(run)


def standings(
    run: Run, history: Sequence[IndexedOutcome], _outcomes: Mapping[str, Outcome]
) -> dict[str, SkillState]:
    """Return where each evaluated outcome stands with a skill of its own."""
    ids = [placed.id for placed in history if placed.evaluated]
    histories = run.accounts.histories(ids, "subject")
    return {
        name: standing
        for subject in histories
        for name, standing, _ in _standings(run, subject, ids)
    }


def _outcome_changes(run: Run) -> Iterator[Change]:
    keys = set(run.view.due.keys(STEP))
    for findings in list(_outcomes_due(run)):
        name = f"{findings.kind}-{findings.account.outcomes[0].domain}"
        changes = list(run.written(partial(_composed_alone, run, findings), name))
        if not changes and not run.report.unavailable:
            run.settle(STEP, [outcome.id for outcome in findings.significant])
        yield from changes
    # What repeats a new warning is known only now.
    for history in run.accounts.histories(sorted(keys), "subject"):
        yield from _repeated(run, history, _reached(history, keys))


def _outcomes_due(run: Run) -> Iterator[Findings]:
    """What is to become a skill, oldest first; settles what is not."""
    keys = set(run.view.due.keys(STEP))
    gone, due = set(keys), list[Findings]()
    for history in run.accounts.histories(sorted(keys), "subject"):
        own = keys.intersection(placed.id for placed in history)
        gone -= own
        reached = _reached(history, own)
        new = [f for _, _, f in _standings(run, history, reached) if f]
        due += new
        if not new:
            run.settle(STEP, own)
    run.settle(STEP, gone)
    yield from sorted(due, key=lambda findings: findings.account.outcomes[0].order)


def _standings(
    run: Run, history: Sequence[IndexedOutcome], asked: Collection[str]
) -> Iterator[tuple[str, SkillState, Findings | None]]:
    """Where those of a subject's outcomes stand that are asked for, by id, oldest first."""
    policy = run.policy
    for material in _materials(run, history, asked):
        standing, findings = seed_skills.outcome_state(material, policy)
        if material.rejection and standing.state == "rejected":
            run.report.rejected.append(material.rejection)
        yield material.outcome.id, standing, findings


def _repeated(
    run: Run, history: Sequence[IndexedOutcome], asked: Collection[str]
) -> Iterator[Change]:
    """The failures that repeat the first of their subject support what tells of it."""
    repeats: dict[str, list[str]] = {}
    for material in _materials(run, history, asked):
        standing, _ = seed_skills.outcome_state(material, run.policy)
        skill = _living(run, material.warning) if standing.state == "counted" else None
        if skill is None:
            continue
        link = link_id("reinforced", Ref("evaluation", material.outcome.id), Ref("skill", skill))
        if refused := run.rejections.of_target(Ref("link", link)):
            run.report.rejected.append(refused)
        else:
            repeats.setdefault(skill, []).append(material.outcome.id)
    for name, ids in repeats.items():
        if skill_there := run.view.skills.find(name):
            yield seed_skills.repeats_change(skill_there, ids, run.now)


def _living(run: Run, name: str | None) -> str | None:
    """A skill that is not archived: this one, or that which stands for it."""
    seen: set[str] = set()
    while name and name not in seen:
        if run.view.skills.live([name]):
            return name
        seen.add(name)
        name = run.view.links.merge_targets([Ref("skill", name)]).get(name)
    return None


def _reached(history: Sequence[IndexedOutcome], changed: Collection[str]) -> set[str]:
    """The evaluated outcomes that changed ones concern: themselves, and the one behind each."""
    evaluated = [placed.id for placed in history if placed.evaluated or placed.id in changed]
    behind = {later for earlier, later in pairwise(evaluated) if earlier in changed}
    return {placed.id for placed in history if placed.evaluated} & {*changed, *behind}


def _materials(
    run: Run, history: Sequence[IndexedOutcome], asked: Collection[str]
) -> Iterator[OutcomeMaterial]:
    """What the rule reads of these outcomes; of failures without a score the first warns."""
    evaluated = [placed.id for placed in history if placed.evaluated]
    earlier = dict(zip(evaluated[1:], evaluated, strict=False))
    outcomes = run.view.outcomes.get_many({*asked, *(earlier[n] for n in asked if n in earlier)})
    evaluations = run.view.evaluations.get_many(asked)
    tasks = run.view.recommendations.tasks(outcomes.values())
    skills, rejections = _skills_of(run, evaluated), _taken_away(run, evaluated)
    warning = next((s.name for s in skills.values() if s.kind == "warning"), None)
    refused = next((r for r in rejections.values() if r.target.startswith("skill:warning-")), None)
    for name in evaluated:
        if name not in asked or name not in outcomes or name not in evaluations:
            continue
        outcome = outcomes[name]
        material = OutcomeMaterial(
            outcome=outcome,
            evaluation=evaluations[name],
            previous=outcomes.get(earlier.get(name, "")),
            task=tasks.get(name, ""),
            skill=skills.get(name),
            warning=warning,
            rejection=rejections.get(name) or (refused if outcome.ungraded_failure else None),
        )
        yield material
        findings = seed_skills.outcome_state(replace(material, rejection=None), run.policy)[1]
        if findings and outcome.ungraded_failure:
            warning = warning or "a skill that is about to be made"


def _skills_of(run: Run, ids: Iterable[str]) -> Mapping[str, Skill]:
    """Outcome -> the skill that was made of it or tells it, whatever became of the link."""
    refs = [Ref("evaluation", name) for name in ids]
    pairs = [pair for step in _MAKERS for pair in run.view.history.targets_of(step, "skill", refs)]
    links = run.view.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.target.kind == "skill"]
    names = {name for _, name in pairs if not is_strategy(name)}
    skills = {name: skill for name in names if (skill := run.view.skills.find(name))}
    return {source: skills[name] for source, name in sorted(pairs) if name in skills}


def _taken_away(run: Run, ids: Iterable[str]) -> Mapping[str, Rejection]:
    """Outcome -> the skill that was made of it and that a person took away."""
    refs = [Ref("evaluation", name) for name in ids]
    return {
        ref.id: refused
        for step in _MAKERS
        for ref in refs
        if (refused := run.rejections.of_source(step, ref, "skill"))
    }


def _composed_alone(run: Run, findings: Findings) -> Change | None:
    """The commit that adds the skill of an outcome; None if the judge writes no text."""
    draft = draft_by(run.judge, findings)
    if draft is None or not draft.sections:
        return None
    change = seed_skills.outcome_skill_change(
        findings,
        draft,
        is_taken=run.view.skills.is_name_taken,
        now=run.now,
        policy=run.policy,
    )
    return told_by(change, draft, run.view)
