"""Retract a wrong outcome, and recompute everything that was learned from it."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from skillvault.inspect import lookup
from skillvault.judge import Judge
from skillvault.learning import curate as rules
from skillvault.learning.naming import strategy_name
from skillvault.loop.learner import find_other_learner
from skillvault.loop.managed_skills import may_archive, skill_folder
from skillvault.loop.registry import AGENDA
from skillvault.loop.run import Run, RunOptions
from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.records import Outcome, Ref, Retraction, ref_of
from skillvault.review.commits import recompute
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Snapshot


def retraction_changes(
    store: Store, judge: Judge, text: str, reason: str, *, now: datetime
) -> list[Change]:
    """Return the changes of a retraction; UsageError if `text` names no current outcome."""
    store.follow()
    outcome = _outcome_named(store, store.staging, text)
    author = store.git.committer.identity()
    retraction = Retraction(
        outcome=outcome.id, domain=outcome.domain, reason=reason.strip(), at=now, by=author
    )
    run = Run(store, judge=judge, now=now, options=RunOptions(dry=True))
    removals = list(_derived_records(run, [Ref("evaluation", outcome.id)]))
    orphans = list(_orphaned_skills(run, outcome, {ref for ref, _ in removals}))
    learner = find_other_learner(store.git, run.policy)
    retraction_change = rules.retract_change(retraction, removals, orphans, learner=learner)
    options = RunOptions(dry=True, recounts=frozenset({strategy_name(outcome.domain)}))
    return recompute(Run(store, judge=judge, now=now, options=options), retraction_change)


def preview(run: Run, ref: Ref) -> list[dict[str, str]]:
    """Return `{step, subject}` of each change that a retraction would make.

    [] if the record is not an outcome.
    """
    if ref.kind not in ("outcome", "evaluation") or ref.id in run.snapshot.retractions:
        return []
    separate_store = Store(run.store.root, AGENDA, detached=True)
    changes = retraction_changes(separate_store, run.judge, ref.id, "a question", now=run.now)
    return [{"step": change.step, "subject": change.subject} for change in changes]


def _outcome_named(store: Store, snapshot: Snapshot, text: str) -> Outcome:
    ref = lookup.resolve(store, snapshot, text, forward=True)
    outcome = snapshot.outcomes.get(ref.id)
    if outcome is None or ref.kind not in ("outcome", "evaluation"):
        raise UsageError(f"{text}: is a {ref.kind}; only an outcome can be retracted")
    if outcome.id in snapshot.retractions:
        raise UsageError(
            f"{outcome.id}: is retracted already; `skillvault undo COMMIT` counts it again "
            "(`skillvault log --step retract` lists the commits)"
        )
    return outcome


def _derived_records(run: Run, sources: Iterable[Ref]) -> Iterator[tuple[Ref, str]]:
    """Yield the links of records and the facts made from them, each with its path.

    A fact is made again if enough other records support it. A fact that a person edited stays.
    """
    snapshot = run.snapshot
    for link in snapshot.links.by_source(sorted(set(sources))):
        yield ref_of(link), str(ref_of(link))
        target = link.target
        is_fact_link = link.type in ("promoted", "reinforced") and target.kind == "fact"
        fact = snapshot.facts.get(target.id) if is_fact_link else None
        if fact is not None and fact.kind == "judge" and not is_personal(snapshot, target):
            yield target, layout.path_of(fact)
            links = [*snapshot.links.by_target([target]), *snapshot.links.by_source([target])]
            yield from (
                (ref_of(fact_link), str(ref_of(fact_link)))
                for fact_link in links
                if fact_link.id != link.id
            )


def is_personal(snapshot: Snapshot, ref: Ref) -> bool:
    """Return True if a person's commit touched a record."""
    return any(not commit.step for commit in snapshot.history.commits_touching([ref]))


def _orphaned_skills(run: Run, outcome: Outcome, refs: set[Ref]) -> Iterator[tuple[str, str]]:
    """Yield (folder, name) of the skills that lose all their sources."""
    snapshot = run.snapshot
    yield from skills_without_facts(run, refs)
    strategy = snapshot.skills.find(strategy_name(outcome.domain))
    has_enough = (
        snapshot.outcomes.count_evaluated(outcome.domain) > run.policy.generate.strategy_every
    )
    if strategy and not has_enough and may_archive(run, strategy):
        yield skill_folder(run, strategy), strategy.name


def skills_without_facts(run: Run, removed_refs: Collection[Ref]) -> Iterator[tuple[str, str]]:
    """Yield (folder, name) of the skills that lose all their facts."""
    snapshot = run.snapshot
    facts = [ref for ref in removed_refs if ref.kind == "fact"]
    names = {link.target.id for link in snapshot.links.by_source(facts) if link.type == "derived"}
    for name in sorted(names):
        links = snapshot.links.by_target([Ref("skill", name)])
        remaining = [
            link for link in links if link.type == "derived" and link.source not in removed_refs
        ]
        skill = snapshot.skills.find(name)
        if skill and not remaining and may_archive(run, skill):
            yield skill_folder(run, skill), name
