"""strategy, a part of generate: a domain with enough new outcomes gets its one strategy."""

from collections.abc import Iterator

from skillvault.change import Change
from skillvault.learning import strategy
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.generate import STEP
from skillvault.learning.naming import strategy_name
from skillvault.learning.period import period
from skillvault.learning.sections import Written
from skillvault.records import Commit, Outcome, Ref
from skillvault.run import Run
from skillvault.vault import layout


def due(run: Run) -> Iterator[Change]:
    """One commit a domain whose strategy is due."""
    for material in materials(run):
        enough = len(material.outcomes) >= run.policy.generate.strategy_every
        if material.rejection and enough:
            run.report.rejected.append(material.rejection)
        elif strategy.may_be_due(material, run.policy.generate):
            seen = _seen(run, material)
            if strategy.standing(material, seen, run.now, run.policy).state == "due":
                yield from _written(run, material, seen)


def standings(run: Run) -> dict[str, strategy.Standing]:
    """Domain -> where it stands with its strategy, for every domain with trusted outcomes."""
    return {
        material.domain: strategy.standing(material, _seen(run, material), run.now, run.policy)
        for material in materials(run)
    }


def materials(run: Run) -> Iterator[strategy.Material]:
    """What the rule reads, for every domain with trusted and evaluated outcomes."""
    view = run.snapshot
    found: dict[str, list[Outcome]] = {}
    for outcome in sorted(view.outcomes.values(), key=lambda o: (o.domain, o.order)):
        if outcome.trust == "local" and outcome.id in view.evaluations:
            found.setdefault(outcome.domain, []).append(outcome)
    rejections = run.rejections if found else None
    for domain, outcomes in found.items():
        target = Ref("skill", strategy_name(domain))
        yield strategy.Material(
            domain=domain,
            outcomes=tuple(outcomes),
            evaluations=view.evaluations,
            linked=_linked(run, target),
            skill=view.any_skill(target.id),
            path=view.paths.get(str(target)),
            expired=[c.step for c in run.commits_on(target, {STEP, EXPIRE})][-1:] == [EXPIRE],
            rejection=rejections.of_target(target) if rejections else None,
        )


def _linked(run: Run, target: Ref) -> frozenset[str]:
    """The evaluations that it was made of; a link that a person removed is not remade."""
    links = {link.source.id for link in run.snapshot.links_to.get(target, ())}
    sources = (source for commit in _commits(run, target) for source in commit.sources)
    return frozenset(links | {source.partition(":")[2] for source in sources})


def _commits(run: Run, target: Ref) -> list[Commit]:
    return run.commits_on(target, {STEP})


def _seen(run: Run, material: strategy.Material) -> frozenset[str]:
    """The outcomes that were evaluated when the domain's strategy was last written."""
    commits = _commits(run, Ref("skill", material.name))
    if not commits:
        return frozenset()
    tree = run.store.git.tree(commits[-1].sha, [f"evaluations/{material.domain}"])
    return frozenset(ref.id for path in tree if (ref := layout.ref_of(path)))


def _written(run: Run, material: strategy.Material, seen: frozenset[str]) -> Iterator[Change]:
    """The strategy, new or rewritten; nothing where the judge writes no text."""
    outcomes = strategy.window(material, seen, run.policy.generate)
    brief = period(material.domain, outcomes, material.evaluations, run.policy)
    draft = run.judge.write(brief)
    if draft is None:
        return
    if material.skill is None:
        yield strategy.first_change(material, brief, draft, now=run.now, policy=run.policy)
        return
    descriptions, bodies = run.versions(material.name)
    written = Written(bodies=bodies, descriptions=descriptions)
    yield strategy.next_change(material, brief, draft, written, now=run.now, policy=run.policy)
