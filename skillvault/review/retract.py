"""retract: an outcome that was wrong, and everything that rested on it, computed again."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from skillvault.inspect import lookup
from skillvault.judge import Judge
from skillvault.learning import curate as rules
from skillvault.learning.naming import strategy_name
from skillvault.loop.learner import learner_elsewhere
from skillvault.loop.managed_skills import may_archive, shelf_of
from skillvault.loop.registry import AGENDA
from skillvault.loop.run import Run, RunOptions
from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.records import Outcome, Ref, Retraction, ref_of
from skillvault.review.recompute import recomputed
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Topics


def retracted(store: Store, judge: Judge, text: str, reason: str, *, now: datetime) -> list[Change]:
    """What retracting an outcome does; UsageError if there is none, or it is retracted."""
    store.follow()
    outcome = _outcome_named(store, store.staging, text)
    by = store.git.committer.identity()
    retraction = Retraction(
        outcome=outcome.id, domain=outcome.domain, reason=reason.strip(), at=now, by=by
    )
    run = Run(store, judge=judge, now=now, options=RunOptions(dry=True))
    removed = list(derived_of(run, [Ref("evaluation", outcome.id)]))
    bare = list(_without_grounds(run, outcome, {ref for ref, _ in removed}))
    learner = learner_elsewhere(store.git, run.policy)
    first = rules.retract_change(retraction, removed, bare, learner=learner)
    options = RunOptions(
        dry=True,
        withdrawn=frozenset(str(ref) for ref, _ in removed),
        recounts=frozenset({strategy_name(outcome.domain)}),
    )
    return recomputed(Run(store, judge=judge, now=now, options=options), first)


def if_retracted(run: Run, ref: Ref) -> list[dict[str, str]]:
    """`{step, subject}` of what retracting an outcome would change; [] of anything else."""
    if ref.kind not in ("outcome", "evaluation") or ref.id in run.view.retractions:
        return []
    apart = Store(run.store.root, AGENDA, apart=True)
    changes = retracted(apart, run.judge, ref.id, "a question", now=run.now)
    return [{"step": change.step, "subject": change.subject} for change in changes]


def _outcome_named(store: Store, view: Topics, text: str) -> Outcome:
    ref = lookup.resolve(store, view, text, forward=True)
    outcome = view.outcomes.get(ref.id)
    if outcome is None or ref.kind not in ("outcome", "evaluation"):
        raise UsageError(f"{text}: is a {ref.kind}; only an outcome can be retracted")
    if outcome.id in view.retractions:
        raise UsageError(
            f"{outcome.id}: is retracted already; `git revert` of the commit that did it, and "
            "`skillvault run`, count it again"
        )
    return outcome


def derived_of(run: Run, sources: Iterable[Ref]) -> Iterator[tuple[Ref, str]]:
    """The links from records, and the facts that they made or support, each with what removes it.

    Such a fact is made anew if enough is left. One that a person wrote in is theirs, and stays.
    """
    view = run.view
    for link in view.links.by_source(sorted(set(sources))):
        yield ref_of(link), str(ref_of(link))
        tells = link.type in ("promoted", "reinforced") and link.target.kind == "fact"
        fact = view.facts.get(link.target.id) if tells else None
        if fact is not None and fact.kind == "judge" and not is_personal(view, link.target):
            yield link.target, layout.path_of(fact)
            about = [*view.links.by_target([link.target]), *view.links.by_source([link.target])]
            yield from ((ref_of(one), str(ref_of(one))) for one in about if one.id != link.id)


def is_personal(view: Topics, ref: Ref) -> bool:
    """Whether a person touched a record: a commit that is not the program's."""
    return any(not commit.step for commit in view.history.commits_touching([ref]))


def _without_grounds(run: Run, outcome: Outcome, removed: set[Ref]) -> Iterator[tuple[str, str]]:
    """(shelf, name) of the skills that go because nothing they were made of is left."""
    view = run.view
    yield from without_facts(run, removed)
    strategy = view.skills.find(strategy_name(outcome.domain))
    enough = view.outcomes.count_evaluated(outcome.domain) > run.policy.generate.strategy_every
    if strategy and not enough and may_archive(run, strategy):
        yield shelf_of(run, strategy), strategy.name


def without_facts(run: Run, removed: Collection[Ref]) -> Iterator[tuple[str, str]]:
    """(shelf, name) of the skills that were made of facts, none of which is left."""
    view = run.view
    facts = [ref for ref in removed if ref.kind == "fact"]
    names = {link.target.id for link in view.links.by_source(facts) if link.type == "derived"}
    for name in sorted(names):
        links = view.links.by_target([Ref("skill", name)])
        standing = [link for link in links if link.type == "derived" and link.source not in removed]
        skill = view.skills.find(name)
        if skill and not standing and may_archive(run, skill):
            yield shelf_of(run, skill), name
