"""strategy of the profile `seed`: a domain gets one from its latest outcomes, every ten."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import msgspec

from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.generate.warning_pattern import STEP, SkillState
from skillvault.learning.naming import strategy_name
from skillvault.learning.seed import strategy
from skillvault.loop.clock import clock
from skillvault.loop.judging.cases import domain_facts
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.judging.texts import RewritableText
from skillvault.loop.next_versions import with_version, with_waiting_account
from skillvault.loop.run import Run
from skillvault.model.brief import Draft, Period
from skillvault.model.change import Change
from skillvault.model.conditions import Separation
from skillvault.model.records import Ref


def due(run: Run) -> Iterator[Change]:
    """Yield one commit a domain whose strategy is due."""
    for material in _materials(run):
        if material.rejection:
            run.report.rejected.append(material.rejection)
        elif _state(run, material).state == "due":
            yield from run.written(partial(_written, run, material), material.name)


def standing_of(run: Run, domain: str) -> SkillState:
    """Return where a domain stands with its strategy."""
    return _state(run, material_of(run, domain))


def rules(run: Run, domain: str) -> Iterator[Separation]:
    """Yield what separates the outcomes that the strategy of a domain looks at."""
    yield from brief_of(run, material_of(run, domain)).rules


def texts(run: Run, domain: str, _outcomes: Sequence[str]) -> Iterator[RewritableText]:
    """Yield the text of a domain's strategy, if it may be rewritten."""
    material = material_of(run, domain)
    skill, path = material.skill, material.path or "archive/"
    if skill and skill.status not in ("pinned", "retired") and not path.startswith("archive/"):
        brief = brief_of(run, material)
        yield RewritableText(material.name, brief, partial(_rewritten, run, material, brief))


def _state(run: Run, material: strategy.StrategyMaterial) -> SkillState:
    at = clock(run.view, material.domain, run.now, run.rules) or run.now
    return strategy.strategy_state(material, at, run.policy)


def _materials(run: Run) -> Iterator[strategy.StrategyMaterial]:
    yield from (material_of(run, domain) for domain in sorted(run.view.outcomes.domains("local")))


def material_of(run: Run, domain: str) -> strategy.StrategyMaterial:
    """Return what the rule reads for a domain."""
    target, numbers = Ref("skill", strategy_name(domain)), run.policy.generate
    skill = run.view.skills.find(target.id)
    most = max(numbers.strategy_max, numbers.strategy_every)
    names = run.view.outcomes.latest_evaluated(domain, most)
    linked = _linked(run, target.id, names)
    unread = next((n for n, name in enumerate(reversed(names)) if name in linked), len(names))
    missing = skill is None and unread >= numbers.strategy_every
    return strategy.StrategyMaterial(
        domain=domain,
        read=tuple(names[-numbers.strategy_max :]),
        unread=unread,
        linked=frozenset(linked),
        is_recounted=target.id in run.options.recounts,
        made_at=run.now,
        skill=with_waiting_account(run.view, skill) if skill else None,
        path=run.view.records.path_of(target),
        expired=run.view.history.last_step(target, {STEP, EXPIRE}) == EXPIRE,
        rejection=run.rejections.of_target(target) if missing else None,
    )


def _linked(run: Run, name: str, ids: Collection[str]) -> set[str]:
    """Return those that a strategy was made of; a link that a person removed is not remade."""
    sources = [Ref("evaluation", outcome) for outcome in ids]
    made = run.view.history.targets_of(STEP, "skill", sources)
    ends = with_version(run.view, name)
    return {source for source, target in made if target == name}.union(
        *(run.view.links.sources_among(sources, end) for end in ends)
    )


def brief_of(run: Run, material: strategy.StrategyMaterial) -> Period:
    """Return what a strategy is written from."""
    outcomes = run.view.outcomes.get_many(material.read)
    read = [outcomes[name] for name in material.read if name in outcomes]
    evaluations = run.view.evaluations.get_many(material.read)
    brief = strategy.period_of(material.domain, read, evaluations, run.policy)
    if run.policy.judge.provider == "offline":
        return brief
    current = material.skill.body if material.skill else ""
    facts = domain_facts(run, material.domain)
    return msgspec.structs.replace(brief, current=current, facts=tuple(facts))


def _written(run: Run, material: strategy.StrategyMaterial) -> Change | None:
    """Return the commit of a strategy, new or rewritten; None if the judge writes no text."""
    brief = brief_of(run, material)
    draft = draft_by(run.judge, brief)
    if draft is None:
        return None
    if material.skill is None:
        change = strategy.first_change(material, brief, draft, policy=run.policy)
    else:
        change = _rewritten(run, material, brief, draft)
    return told_by(change, draft, run.view)


def _rewritten(
    run: Run, material: strategy.StrategyMaterial, brief: Period, draft: Draft
) -> Change:
    written = run.versions(material.name)
    return strategy.next_change(material, brief, draft, written, policy=run.policy)
