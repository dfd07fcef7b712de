"""strategy, a part of generate: a domain with enough new outcomes gets its one strategy."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from skillvault.learning import sections
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.gate import archive_change
from skillvault.learning.generate import STRATEGY, strategy
from skillvault.learning.generate.strategy import period_of
from skillvault.learning.generate.warning_pattern import STEP
from skillvault.learning.naming import strategy_name
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.loop.clock import clock
from skillvault.loop.judging.cases import domain_facts
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import with_version, with_waiting_account
from skillvault.loop.run import Run
from skillvault.model.brief import Period
from skillvault.model.change import Change
from skillvault.model.conditions import Separation
from skillvault.model.records import Outcome, Ref


def due(run: Run) -> Iterator[Change]:
    """One commit a domain whose strategy is due."""
    for domain in run.view.due.keys(STRATEGY):
        found = material(run, domain)
        state = strategy.strategy_state(found, _clock(run, domain), run.policy).state
        if found.rejection and found.read:
            run.report.rejected.append(found.rejection)
        elif state == "due":
            changes = list(run.written(partial(_written, run, found), found.name))
            if not changes and not run.report.unavailable:
                run.settle(STRATEGY, [domain])
            yield from changes
        else:
            run.settle(STRATEGY, [domain])


def standings(run: Run) -> dict[str, strategy.StrategyState]:
    """Domain -> where it stands with its strategy, for every domain with trusted outcomes."""
    return {
        domain: _standing(run, material(run, domain))
        for domain in sorted(run.view.outcomes.evaluated_domains())
    }


def _standing(run: Run, found: strategy.StrategyMaterial) -> strategy.StrategyState:
    """Return where a domain stands; of a judge that costs nothing its text is asked for too."""
    state = strategy.strategy_state(found, _clock(run, found.domain), run.policy)
    is_free = run.judge.info.name == "offline"
    if state.state == "due" and is_free and draft_by(run.judge, brief_of(run, found)) is None:
        return strategy.StrategyState("waiting", "nothing that is recorded separates its outcomes")
    return state


def waiting(run: Run) -> int:
    """How many domains get a strategy now."""
    found = (material(run, domain) for domain in run.view.due.keys(STRATEGY))
    return sum(_standing(run, one).state == "due" for one in found)


def _clock(run: Run, domain: str) -> datetime:
    return clock(run.view, domain, run.now, run.rules) or run.now


def material(run: Run, domain: str) -> strategy.StrategyMaterial:
    """What the rule reads for a domain."""
    target = Ref("skill", strategy_name(domain))
    skill = run.view.skills.find(target.id)
    is_recounted = target.id in run.options.recounts
    last = run.view.history.last_step(target, {STEP, EXPIRE, REFRESH})
    return strategy.StrategyMaterial(
        domain=domain,
        **run.rules.strategy_window(run, domain)._asdict(),
        is_recounted=is_recounted,
        made_at=run.rules.time(None, run.now),
        skill=with_waiting_account(run.view, skill) if skill else None,
        path=run.view.records.path_of(target),
        expired=last == EXPIRE,
        left=last == REFRESH and skill is not None and run.accounts.put_away(skill) is None,
        rejection=run.rejections.of_target(target),
    )


class Window(NamedTuple):
    """The outcomes that a strategy looks at, and how many it does not, or not yet.

    `rates_alone`: base rates are told where there is nothing else.
    """

    read: tuple[str, ...]
    unread: int
    linked: frozenset[str]
    waits: bool = False
    rates_alone: bool = False


def full_window(run: Run, domain: str) -> Window:
    """The outcomes up to the last full `strategy_every`."""
    rules, outcomes = run.policy.generate, run.view.outcomes
    count = outcomes.count_evaluated(domain)
    unread = strategy.unread(count, rules)
    size = min(count - unread, rules.strategy_max)
    names = outcomes.evaluated_before_latest(domain, size, unread) if size else []
    return Window(tuple(names), unread, frozenset(linked(run, domain, names)))


def linked(run: Run, domain: str, ids: Collection[str]) -> set[str]:
    """Those of these that its strategy was made of; a link that a person removed is not remade."""
    own = strategy_name(domain)
    sources = [Ref("evaluation", name) for name in ids]
    made = run.view.history.targets_of(STEP, "skill", sources)
    sources_of = {source for source, name in made if name == own}
    ends = with_version(run.view, own)
    return sources_of.union(*(run.view.links.sources_among(sources, end) for end in ends))


def rules(run: Run, read: Sequence[Outcome]) -> dict[str, tuple[Separation, ...]]:
    """What separates the outcomes of each action that a strategy looks at."""
    actions = sorted({outcome.decision.action for outcome in read})
    by_action = {action: run.rules.separations(run, read, action) for action in actions}
    return {action: separations for action, separations in by_action.items() if separations}


def separations(run: Run, read: Sequence[Outcome], action: str) -> tuple[Separation, ...]:
    """What separates the outcomes of an action, up to the last that a strategy looks at."""
    return run.accounts.actions.rules(read[-1].domain, action, until=read[-1].id)


def brief_of(run: Run, material: strategy.StrategyMaterial) -> Period:
    """What a strategy is written from."""
    outcomes = run.view.outcomes.get_many(material.read)
    read = [outcomes[name] for name in material.read if name in outcomes]
    brief = period_of(
        material,
        read,
        run.view.evaluations.get_many(material.read),
        rules=rules(run, read),
        policy=run.policy,
    )
    if run.policy.judge.provider == "offline":
        return brief
    current = material.skill.body if material.skill else ""
    facts = domain_facts(run, material.domain)
    return msgspec.structs.replace(brief, current=current, facts=tuple(facts))


def _written(run: Run, material: strategy.StrategyMaterial) -> Change | None:
    """The strategy, new or rewritten; None where the judge writes no text."""
    brief = brief_of(run, material)
    draft = draft_by(run.judge, brief)
    if draft is None:
        return _leave(run, material)
    if material.skill is None:
        made = strategy.first_change(material, brief, draft, policy=run.policy)
        return told_by(made, draft, run.view)
    written = run.versions(material.name)
    made = strategy.next_change(material, brief, draft, written, policy=run.policy)
    return told_by(made, draft, run.view)


def _leave(run: Run, material: strategy.StrategyMaterial) -> Change | None:
    """Return the commit that archives a strategy of which only base rates are left."""
    skill = material.skill
    if skill is None or material.path is None or material.path.startswith("archive/"):
        return None
    personal = sections.theirs(run.versions(skill.name).bodies, skill.body)
    if personal or not run.accounts.is_ours(skill):
        return None
    reason = "Nothing that is recorded separates the outcomes of its domain any more."
    return archive_change(REFRESH, skill, material.path.partition("/")[0], reason)
