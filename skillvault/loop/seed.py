"""The steps `promote`, `generate` and `merge` of the profile `seed`.

The profile makes a skill of each significant outcome and facts of repeated insights, merges skills
with similar words, and writes a strategy every ten outcomes of a domain. `profiles.py` chooses
these steps; the rules are in `learning/seed/`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from skillvault.learning.account.statements import account_of, graded_findings
from skillvault.learning.generate import STEP as GENERATE
from skillvault.learning.generate import SkillState
from skillvault.learning.merge import STEP as MERGE
from skillvault.learning.merge import SkillMerge, find_rejection
from skillvault.learning.naming import is_strategy, strategy_name
from skillvault.learning.promote.facts import STEP as PROMOTE
from skillvault.learning.rejection import Rejection
from skillvault.learning.seed import facts, strategy
from skillvault.learning.seed import skills as seed_skills
from skillvault.learning.seed.skills import (
    MergeGroup,
    OutcomeRecords,
    Wording,
    find_merge_groups,
    statement_words,
)
from skillvault.loop.clock import clock
from skillvault.loop.evaluate import domain_facts
from skillvault.loop.judging.questions import RewritableText
from skillvault.loop.managed_skills import is_mergeable, read_references
from skillvault.loop.merge import session_changes
from skillvault.loop.next_versions import refs_with_version, with_waiting_account
from skillvault.loop.promote import record_pages, records_of_evaluations, skill_changes
from skillvault.loop.run import Run
from skillvault.model.brief import Agreement, Draft, Findings, Period
from skillvault.model.change import Change
from skillvault.model.conditions import Separation
from skillvault.model.records import (
    IndexedOutcome,
    Outcome,
    Ref,
    Skill,
    SkillKind,
    Subject,
    link_id,
)

# ── promote ──────────────────────────────────────────────────────────────────────────


def promote_step(run: Run) -> Iterator[Change]:
    """Yield a change for each fact, repeated fact, new skill, and growing skill."""
    plan = _plan_promotions(run)
    run.report.rejected += plan.rejected
    yield from run.track(plan.promotions, "promoting")
    for fact, sources in plan.repetitions.items():
        if fact in run.snapshot.facts:  # the fact may have had to wait
            yield facts.repetition_change(fact, sources, run.now)
    yield from skill_changes(run)


def _plan_promotions(run: Run) -> facts.FactPlan:
    candidates: list[str] = []
    keys = run.snapshot.due.keys(PROMOTE)
    for records in record_pages(run, keys):
        candidates += (
            evaluation.id
            for evaluation in records.evaluations.values()
            if facts.may_be_due(evaluation, records, run.policy)
        )
    run.settle(PROMOTE, set(keys).difference(candidates))
    return facts.plan_facts(records_of_evaluations(run, candidates), run.policy)


# ── generate ─────────────────────────────────────────────────────────────────────────

_MAKING_STEPS = (GENERATE, "refresh", "merge")


def generate_step(run: Run) -> Iterator[Change]:
    """Yield a change for each outcome that becomes a skill or repeats a failure."""
    yield from _outcome_changes(run)
    yield from _strategy_changes(run)


def outcome_states(
    run: Run, history: Sequence[IndexedOutcome], _outcomes: Mapping[str, Outcome]
) -> dict[str, SkillState]:
    """Return the state of each evaluated outcome on its way to a skill, for `why-not`."""
    ids = [outcome.id for outcome in history if outcome.evaluated]
    histories = run.accounts.account_histories(ids, "subject")
    return {
        key: state for subject in histories for key, state, _ in _find_states(run, subject, ids)
    }


def _outcome_changes(run: Run) -> Iterator[Change]:
    keys = set(run.snapshot.due.keys(GENERATE))
    for findings in list(_find_new_skills(run)):
        name = f"{findings.kind}-{findings.account.outcomes[0].domain}"
        changes = list(run.write_skill(name, findings, partial(_compose_skill, run, findings)))
        if not changes and not run.report.unavailable:
            run.settle(GENERATE, [outcome.id for outcome in findings.significant])
        yield from changes
    # The new skills decide which outcomes are repetitions.
    for history in run.accounts.account_histories(sorted(keys), "subject"):
        yield from _repeat_changes(run, history, _affected_ids(history, keys))


def _find_new_skills(run: Run) -> Iterator[Findings]:
    """Yield the findings of outcomes that become a skill, oldest first; settle the others."""
    keys = set(run.snapshot.due.keys(GENERATE))
    orphans, all_findings = set(keys), list[Findings]()
    for history in run.accounts.account_histories(sorted(keys), "subject"):
        changed_ids = keys.intersection(entry.id for entry in history)
        orphans -= changed_ids
        ids = _affected_ids(history, changed_ids)
        findings = [f for _, _, f in _find_states(run, history, ids) if f]
        all_findings += findings
        if not findings:
            run.settle(GENERATE, changed_ids)
    run.settle(GENERATE, orphans)
    yield from sorted(all_findings, key=lambda findings: findings.account.outcomes[0].order)


def _find_states(
    run: Run, history: Sequence[IndexedOutcome], ids: Collection[str]
) -> Iterator[tuple[str, SkillState, Findings | None]]:
    for records in _outcome_records(run, history, ids):
        state, findings = seed_skills.outcome_state(records, run.policy)
        if records.rejection and state.state == "rejected":
            run.report.rejected.append(records.rejection)
        yield records.outcome.id, state, findings


def _repeat_changes(
    run: Run, history: Sequence[IndexedOutcome], ids: Collection[str]
) -> Iterator[Change]:
    """Link failures to the skill of the first failure of their subject."""
    ids_by_skill: dict[str, list[str]] = {}
    for records in _outcome_records(run, history, ids):
        state, _ = seed_skills.outcome_state(records, run.policy)
        skill = _living_skill(run, records.warning) if state.state == "counted" else None
        if skill is None:
            continue
        link = link_id("reinforced", Ref("evaluation", records.outcome.id), Ref("skill", skill))
        if rejection := run.rejections.of_target(Ref("link", link)):
            run.report.rejected.append(rejection)
        else:
            ids_by_skill.setdefault(skill, []).append(records.outcome.id)
    for name, repeated_ids in ids_by_skill.items():
        if living_skill := run.snapshot.skills.find(name):
            yield seed_skills.repeats_change(living_skill, repeated_ids, run.now)


def _living_skill(run: Run, name: str | None) -> str | None:
    """Return the skill, or the skill into which it was merged if it is archived, or None."""
    visited_names: set[str] = set()
    while name and name not in visited_names:
        if run.snapshot.skills.live([name]):
            return name
        visited_names.add(name)
        name = run.snapshot.links.merge_targets([Ref("skill", name)]).get(name)
    return None


def _affected_ids(history: Sequence[IndexedOutcome], changed_ids: Collection[str]) -> set[str]:
    """Return the evaluated outcomes among the changed outcomes and the outcome after each."""
    ids = [outcome.id for outcome in history if outcome.evaluated or outcome.id in changed_ids]
    successors = {later for earlier, later in pairwise(ids) if earlier in changed_ids}
    return {outcome.id for outcome in history if outcome.evaluated} & {*changed_ids, *successors}


def _outcome_records(
    run: Run, history: Sequence[IndexedOutcome], ids: Collection[str]
) -> Iterator[OutcomeRecords]:
    """Yield the records that decide if each outcome becomes a skill.

    Only the first failure without a score makes a warning, so the order of outcomes matters.
    """
    evaluated_ids = [outcome.id for outcome in history if outcome.evaluated]
    previous = dict(zip(evaluated_ids[1:], evaluated_ids, strict=False))
    outcomes = run.snapshot.outcomes.get_many({*ids, *(previous[n] for n in ids if n in previous)})
    evaluations = run.snapshot.evaluations.get_many(ids)
    tasks = run.snapshot.recommendations.tasks(outcomes.values())
    refs = [Ref("evaluation", key) for key in evaluated_ids]
    skills, rejections = _skills_of_outcomes(run, refs), _rejections_of_outcomes(run, refs)
    warning = next((skill.name for skill in skills.values() if skill.kind == "warning"), None)
    warnings = (r for r in rejections.values() if r.target.startswith("skill:warning-"))
    warning_rejection = next(warnings, None)
    for key in evaluated_ids:
        if key not in ids or key not in outcomes or key not in evaluations:
            continue
        outcome = outcomes[key]
        records = OutcomeRecords(
            outcome=outcome,
            evaluation=evaluations[key],
            previous=outcomes.get(previous.get(key, "")),
            task=tasks.get(key, ""),
            skill=skills.get(key),
            warning=warning,
            rejection=rejections.get(key)
            or (warning_rejection if outcome.ungraded_failure else None),
        )
        yield records
        findings = seed_skills.outcome_state(replace(records, rejection=None), run.policy)[1]
        if findings and outcome.ungraded_failure:
            warning = warning or "a skill that is about to be made"


def _skills_of_outcomes(run: Run, refs: Sequence[Ref]) -> Mapping[str, Skill]:
    """Map outcomes to the skills that they made or repeat, by links and by commits."""
    pairs = [
        pair
        for step in _MAKING_STEPS
        for pair in run.snapshot.history.targets_of(step, "skill", refs)
    ]
    links = run.snapshot.links.by_source(refs)
    pairs += [(link.source.id, link.target.id) for link in links if link.target.kind == "skill"]
    names = {name for _, name in pairs if not is_strategy(name)}
    skills = {name: skill for name in names if (skill := run.snapshot.skills.find(name))}
    return {source: skills[name] for source, name in sorted(pairs) if name in skills}


def _rejections_of_outcomes(run: Run, refs: Sequence[Ref]) -> Mapping[str, Rejection]:
    return {
        ref.id: rejection
        for step in _MAKING_STEPS
        for ref in refs
        if (rejection := run.rejections.of_source(step, ref, "skill"))
    }


def _compose_skill(run: Run, findings: Findings, draft: Draft) -> Change | None:
    if not draft.sections:
        return None
    is_taken = run.snapshot.skills.is_name_taken
    return seed_skills.outcome_skill_change(
        findings, draft, is_taken=is_taken, now=run.now, policy=run.policy
    )


# ── strategies ───────────────────────────────────────────────────────────────────────


def _strategy_changes(run: Run) -> Iterator[Change]:
    for domain in sorted(run.snapshot.outcomes.domains("local")):
        records = _strategy_records(run, domain)
        if records.rejection:
            run.report.rejected.append(records.rejection)
        elif _state_of_records(run, records).state == "due":
            brief = _strategy_brief(run, records)
            yield from run.write_skill(
                records.name, brief, partial(_compose_strategy, run, records, brief)
            )


def strategy_state(run: Run, domain: str) -> SkillState:
    """Return the state of a domain on its way to the next strategy, for `why-not`."""
    return _state_of_records(run, _strategy_records(run, domain))


def strategy_rules(run: Run, domain: str) -> Iterator[Separation]:
    """Yield the conditions that separate the outcomes of a domain's strategy."""
    yield from _strategy_brief(run, _strategy_records(run, domain)).rules


def strategy_texts(run: Run, domain: str, _outcome_ids: Sequence[str]) -> Iterator[RewritableText]:
    """Yield the text of a domain's strategy, if it may be rewritten."""
    records = _strategy_records(run, domain)
    skill, path = records.skill, records.path or "archive/"
    if skill and skill.status not in ("pinned", "retired") and not path.startswith("archive/"):
        brief = _strategy_brief(run, records)
        yield RewritableText(records.name, brief, partial(_compose_strategy, run, records, brief))


def _state_of_records(run: Run, records: strategy.StrategyRecords) -> SkillState:
    time = clock(run.snapshot, records.domain, run.now, run.profile) or run.now
    return strategy.strategy_state(records, time, run.policy)


def _strategy_records(run: Run, domain: str) -> strategy.StrategyRecords:
    target, numbers = Ref("skill", strategy_name(domain)), run.policy.generate
    skill = run.snapshot.skills.find(target.id)
    max_outcomes = max(numbers.strategy_max, numbers.strategy_every)
    ids = run.snapshot.outcomes.latest_evaluated(domain, max_outcomes)
    linked_ids = _linked_outcomes(run, target.id, ids)
    unread_count = next((n for n, key in enumerate(reversed(ids)) if key in linked_ids), len(ids))
    is_missing = skill is None and unread_count >= numbers.strategy_every
    return strategy.StrategyRecords(
        domain=domain,
        read=tuple(ids[-numbers.strategy_max :]),
        unread=unread_count,
        linked=frozenset(linked_ids),
        is_recounted=target.id in run.options.recounts,
        made_at=run.now,
        skill=with_waiting_account(run.snapshot, skill) if skill else None,
        path=run.snapshot.records.path_of(target),
        expired=run.snapshot.history.last_step(target, {GENERATE, "expire"}) == "expire",
        rejection=run.rejections.of_target(target) if is_missing else None,
    )


def _linked_outcomes(run: Run, name: str, ids: Collection[str]) -> set[str]:
    """Return the `ids` from which a strategy was made, by links and by commits."""
    sources = [Ref("evaluation", outcome) for outcome in ids]
    products = run.snapshot.history.targets_of(GENERATE, "skill", sources)
    linked_ids = {source for source, target in products if target == name}
    for ref in refs_with_version(run.snapshot, name):
        linked_ids |= run.snapshot.links.sources_among(sources, ref)
    return linked_ids


def _strategy_brief(run: Run, records: strategy.StrategyRecords) -> Period:
    by_id = run.snapshot.outcomes.get_many(records.read)
    outcomes = [by_id[outcome_id] for outcome_id in records.read if outcome_id in by_id]
    evaluations = run.snapshot.evaluations.get_many(records.read)
    brief = strategy.period_of(records.domain, outcomes, evaluations, run.policy)
    if run.policy.judge.provider == "offline":
        return brief
    body = records.skill.body if records.skill else ""
    facts = domain_facts(run, records.domain)
    return replace(brief, current=body, facts=tuple(facts))


def _compose_strategy(
    run: Run, records: strategy.StrategyRecords, brief: Period, draft: Draft
) -> Change:
    if records.skill is None:
        return strategy.first_change(records, brief, draft, policy=run.policy)
    versions = run.written_texts(records.name)
    return strategy.next_change(records, brief, draft, versions, policy=run.policy)


# ── merge ────────────────────────────────────────────────────────────────────────────


_MERGED_KINDS: tuple[SkillKind, ...] = ("warning", "pattern")
_COMPARED_SOURCES = 5  # merged skills of an evolved skill that are compared with others


def merge_step(run: Run) -> Iterator[Change]:
    """Yield a change for each merge, until no two skills are similar."""
    keys = set(run.snapshot.due.keys(MERGE))
    ids = run.snapshot.outcomes.ids_by_domain(keys)
    run.settle(MERGE, keys.difference(*ids.values()))
    for domain, domain_keys in ids.items():
        tried_merges: set[tuple[str, ...]] = set()
        while merge := next(_find_merges(run, domain, domain_keys, tried_merges), None):
            tried_merges.add(merge.names)
            yield from run.write_skill(
                merge.names[-1], merge.brief, partial(_compose_merge, run, merge)
            )
        if not run.report.unavailable:
            run.settle(MERGE, domain_keys)
    yield from session_changes(run)


def _find_merges(
    run: Run, domain: str, keys: Collection[str], tried_merges: Collection[tuple[str, ...]]
) -> Iterator[SkillMerge[Agreement]]:
    """Yield the merges of skills that these outcomes made, without `tried_merges`."""
    links = run.snapshot.links.by_source(Ref("evaluation", key) for key in sorted(keys))
    names = {link.target.id for link in links if link.type == "generated"}
    new_skills = {name for name in names if not is_strategy(name)}
    for kind in _MERGED_KINDS:
        skills = dict(_comparable_skills(run, domain, kind))
        wordings = [
            Wording(
                created=skill.created or "",
                name=name,
                texts=tuple(_texts_to_compare(run, name, skill)),
                evolved=skill.kind == "evolved",
            )
            for name, skill in skills.items()
        ]
        may_merge = partial(is_mergeable, run)
        for group in find_merge_groups(wordings, new_skills, may_merge, run.policy.merge):
            if not _is_rejected(run, group):
                merge = _build_merge(run, kind, group, skills)
                if merge.names not in tried_merges:
                    yield merge


def _texts_to_compare(run: Run, name: str, skill: Skill) -> Iterator[frozenset[str]]:
    """Yield the words of a skill, and the words of the skills that it merged last."""
    yield statement_words(skill.body)
    if skill.kind == "evolved":
        times = run.snapshot.skills.creation_times(_merged_sources(run, name))
        for source in sorted(times, key=lambda name: (times[name], name))[-_COMPARED_SOURCES:]:
            if (source_skill := run.snapshot.skills.find(source)) is not None:
                yield statement_words(source_skill.body)


def _merged_sources(run: Run, name: str) -> list[str]:
    return run.snapshot.links.source_ids(Ref("skill", name), "merged")


def _comparable_skills(run: Run, domain: str, kind: SkillKind) -> Iterator[tuple[str, Skill]]:
    """Yield the trusted generated skills of a kind that agents get, merged skills included."""
    for name in run.snapshot.skills.names("skills", domain):
        skill = run.snapshot.skills.get(name)
        if skill is None or skill.origin != "generated" or skill.trust != "local":
            continue
        is_served = skill.status in ("testing", "proven") and not run.snapshot.skills.from_memory(
            name
        )
        if is_served and _base_kind(run, name, skill) == kind:
            yield name, skill


def _base_kind(run: Run, name: str, skill: Skill) -> str | None:
    if skill.kind != "evolved":
        return skill.kind
    sources = map(run.snapshot.skills.find, _merged_sources(run, name))
    kinds = (source.kind for source in sources if source)
    return next((kind for kind in kinds if kind in _MERGED_KINDS), None)


def _is_rejected(run: Run, group: MergeGroup) -> bool:
    """Return True if a person rejected such a merge, and report the rejection."""
    names = set(group.names)
    if group.target:
        names.update(_merged_sources(run, group.target))
    rejection = find_rejection(names, run.rejections.sets(MERGE))
    if rejection:
        run.report.rejected.append(rejection)
    return rejection is not None


def _build_merge(
    run: Run, kind: SkillKind, group: MergeGroup, skills: Mapping[str, Skill]
) -> SkillMerge[Agreement]:
    evolved_name = group.target
    names = [*group.names, *([evolved_name] if evolved_name else [])]
    by_skill = run.snapshot.skills.source_outcomes(names)
    outcomes = {o.id: o for skill_outcomes in by_skill.values() for o in skill_outcomes}
    history = sorted(outcomes.values(), key=lambda outcome: outcome.order)
    subjects: dict[Subject, list[Outcome]] = {}
    for outcome in history:
        subjects.setdefault(outcome.subject, []).append(outcome)
    by_subject = (_graded_findings(run, subjects[key], kind) for key in sorted(subjects, key=str))
    return SkillMerge(
        domain=history[0].domain,
        brief=Agreement(together=_graded_findings(run, history, kind), apart=tuple(by_subject)),
        names=group.names,
        at=run.now,
        target=skills[evolved_name] if evolved_name else None,
    )


def _graded_findings(run: Run, outcomes: Sequence[Outcome], kind: SkillKind) -> Findings:
    evaluations = run.snapshot.evaluations.get_many(outcome.id for outcome in outcomes)
    tasks = run.snapshot.recommendations.tasks(outcomes)
    return graded_findings(account_of(outcomes, evaluations, tasks), kind, outcomes)


def _compose_merge(run: Run, merge: SkillMerge[Agreement], draft: Draft) -> Change | None:
    if (skill := merge.target) is None:
        is_taken = run.snapshot.skills.is_name_taken
        return seed_skills.merge_change(merge, draft, is_taken=is_taken, policy=run.policy)
    files, texts = read_references(run, "skills", skill), run.written_texts(skill.name)
    return seed_skills.growth_change(
        merge, skill, draft, texts, references=files, policy=run.policy
    )
