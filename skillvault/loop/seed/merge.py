"""merge of the profile `seed`: skills that say the same by their words become one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from skillvault.learning.account.statements import account_of, graded_findings
from skillvault.learning.merge.sessions import STEP, find_rejection
from skillvault.learning.naming import is_strategy
from skillvault.learning.seed import skills as seed_skills
from skillvault.learning.seed.skills import (
    MergeGroup,
    SkillMerge,
    Wording,
    find_merge_groups,
    statement_words,
)
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.merge import is_mergeable, references
from skillvault.loop.run import Run
from skillvault.loop.session_merges import session_changes
from skillvault.model.brief import Agreement, Findings
from skillvault.model.change import Change
from skillvault.model.records import Outcome, Ref, Skill, SkillKind, Subject

KINDS: tuple[SkillKind, ...] = ("warning", "pattern")
_LATEST = 5  # sources of an evolved skill with which others are compared


def step(run: Run) -> Iterator[Change]:
    """One change a merge, as long as anything is similar: what is made may be like another."""
    for domain, keys in _domains_due(run).items():
        tried: set[tuple[str, ...]] = set()
        while merge := _next_merge(run, domain, keys, tried):
            tried.add(merge.sources)
            yield from run.written(partial(_composed, run, merge), merge.sources[-1])
        if not run.report.unavailable:
            run.settle(STEP, keys)
    yield from session_changes(run, partial(is_mergeable, run), references)


def _domains_due(run: Run) -> dict[str, set[str]]:
    """Return the domains of what is due; settles what has none."""
    keys = set(run.view.due.keys(STEP))
    by_domain = run.view.outcomes.ids_by_domain(keys)
    run.settle(STEP, keys.difference(*by_domain.values()))
    return by_domain


def _next_merge(
    run: Run, domain: str, keys: set[str], tried: Collection[tuple[str, ...]]
) -> SkillMerge | None:
    """The next merge of the skills that these outcomes made."""
    return next((merge for merge in _merges(run, domain, keys) if merge.sources not in tried), None)


def _merges(run: Run, domain: str, keys: Collection[str]) -> Iterator[SkillMerge]:
    """What is to be done about the skills that these outcomes of a domain made."""
    fresh = _made_of(run, keys)
    for kind in KINDS:
        skills = dict(_comparable(run, domain, kind))
        wordings = [
            Wording(
                created=skill.created or "",
                name=name,
                texts=tuple(_texts(run, name, skill)),
                evolved=skill.kind == "evolved",
            )
            for name, skill in skills.items()
        ]
        for group in find_merge_groups(
            wordings, fresh, partial(is_mergeable, run), run.policy.merge
        ):
            if _is_free(run, group):
                yield _joint_merge(run, kind, group, skills)


def _texts(run: Run, name: str, skill: Skill) -> Iterator[frozenset[str]]:
    """The words of a skill, and of the latest ones that an evolved one stands for."""
    yield statement_words(skill.body)
    if skill.kind == "evolved":
        created = run.view.skills.creation_times(_sources(run, name))
        for source in sorted(created, key=lambda one: (created[one], one))[-_LATEST:]:
            if (behind := run.view.skills.find(source)) is not None:
                yield statement_words(behind.body)


def _sources(run: Run, name: str) -> list[str]:
    """The skills that an evolved one stands for."""
    return run.view.links.source_ids(Ref("skill", name), "merged")


def _made_of(run: Run, keys: Collection[str]) -> set[str]:
    """The skills that were made of these outcomes alone."""
    links = run.view.links.by_source(Ref("evaluation", key) for key in sorted(keys))
    names = {link.target.id for link in links if link.type == "generated"}
    return {name for name in names if not is_strategy(name)}


def _comparable(run: Run, domain: str, kind: SkillKind) -> Iterator[tuple[str, Skill]]:
    """The program's own trusted skills of a kind in service, and those that stand for such."""
    for name in run.view.skills.names("skills", domain):
        skill = run.view.skills.get(name)
        if skill is None or skill.origin != "generated" or skill.trust != "local":
            continue
        served = skill.status in ("testing", "proven")
        if served and _side_of(run, name, skill) == kind and not run.view.skills.from_memory(name):
            yield name, skill


def _side_of(run: Run, name: str, skill: Skill) -> str | None:
    """A skill's kind; of an evolved one that of what it stands for."""
    if skill.kind != "evolved":
        return skill.kind
    sources = map(run.view.skills.find, _sources(run, name))
    kinds = (source.kind for source in sources if source)
    return next((kind for kind in kinds if kind in KINDS), None)


def _is_free(run: Run, group: MergeGroup) -> bool:
    """Whether no person took such a merge away."""
    names = set(group.names)
    if group.into:
        names.update(_sources(run, group.into))
    refused = find_rejection(names, run.rejections.sets(STEP))
    if refused:
        run.report.rejected.append(refused)
    return refused is None


def _joint_merge(
    run: Run, kind: SkillKind, group: MergeGroup, skills: Mapping[str, Skill]
) -> SkillMerge:
    into = group.into
    names = [*group.names, *([into] if into else [])]
    behind = run.view.skills.outcomes_behind(names)
    outcomes = {o.id: o for some in behind.values() for o in some}
    ordered = sorted(outcomes.values(), key=lambda outcome: outcome.order)
    subjects: dict[Subject, list[Outcome]] = {}
    for outcome in ordered:
        subjects.setdefault(outcome.subject, []).append(outcome)
    apart = (_findings_on(run, subjects[key], kind) for key in sorted(subjects, key=str))
    return SkillMerge(
        domain=ordered[0].domain,
        kind=kind,
        brief=Agreement(together=_findings_on(run, ordered, kind), apart=tuple(apart)),
        sources=tuple(f"skills/{name}" for name in group.names),
        at=run.now,
        skill=skills[into] if into else None,
    )


def _findings_on(run: Run, outcomes: Sequence[Outcome], kind: SkillKind) -> Findings:
    """Return what these outcomes say together, all of them significant."""
    evaluations = run.view.evaluations.get_many(outcome.id for outcome in outcomes)
    tasks = run.view.recommendations.tasks(outcomes)
    return graded_findings(account_of(outcomes, evaluations, tasks), kind, outcomes)


def _composed(run: Run, due: SkillMerge) -> Change | None:
    """Return the change, if the judge writes a text; else None."""
    draft = draft_by(run.judge, due.brief)
    if draft is None:
        return None
    if due.skill is None:
        change = seed_skills.merge_change(
            due, draft, is_taken=run.view.skills.is_name_taken, policy=run.policy
        )
    else:
        files = references(run, "skills", due.skill)
        written = run.versions(due.skill.name)
        change = seed_skills.growth_change(due, draft, written, references=files, policy=run.policy)
    return told_by(change, draft, run.view)
