"""Commit a decision of a person together with all changes that follow from it.

The learning steps run in memory, as in a dry run. Their changes and the decision become one commit,
or nothing is published.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from skillvault.judge import Judge
from skillvault.loop.learner import find_other_learner
from skillvault.loop.registry import AGENDA
from skillvault.loop.run import ChangeResult, Report, Run, RunOptions, results_of, run_steps
from skillvault.model.change import SHARED, Change
from skillvault.model.errors import BranchMovedError, UncommittedEditError, UsageError
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors

_MAX_ATTEMPTS = 5
_LEARNING_STEPS = ("propose", "promote", "generate", "distill", "refresh", "merge", "assess")


def recompute(run: Run, first: Change | None) -> list[Change]:
    """Return a change and the changes that the learning steps make after it.

    `run` must be dry. Raise UncommittedEditError if a person is editing a file that changes.
    """
    if first:
        run.perform(first)
    if not run.report.waiting:
        run_steps(run, _LEARNING_STEPS)
    for item in run.report.waiting:
        raise UncommittedEditError(f"{item.path}: {item.reason}; commit or undo it, and try again")
    return [replace(result.change, commit_with=SHARED, takes=()) for result in run.report.done]


def upgrade_changes(store: Store, judge: Judge, *, now: datetime) -> list[Change]:
    """Return the due changes, with records of earlier versions weighed by today's rules.

    Raise UsageError in a clone that does not learn.
    """
    run = Run(store, judge=judge, now=now, options=RunOptions(dry=True, upgrades=True))
    if learner := find_other_learner(store.git, run.policy):
        raise UsageError(f"{learner} learns; run `skillvault run --upgrade` there")
    run.snapshot.due.mark_everything()
    return recompute(run, None)


def publish(
    store: Store, compute: Callable[[Store], list[Change]], now: datetime, *, dry: bool
) -> Report:
    """Compute changes on a separate store, and publish them as one commit.

    With `dry` only report them. If somebody else commits meanwhile, compute them again.
    BranchMovedError if that happens each time.
    """
    for attempts_left in reversed(range(_MAX_ATTEMPTS)):
        preview = Store(store.root, AGENDA, detached=True)
        changes = compute(preview)
        if dry or not changes:
            break
        try:
            with store.require_tip(preview.staging.commit):
                return Report(commit_changes(store, changes, now, dry=False))
        except BranchMovedError:
            if not attempts_left:
                raise
    return Report([ChangeResult(change, None) for change in changes])


def commit_changes(
    store: Store,
    changes: Sequence[Change],
    now: datetime,
    *,
    dry: bool,
    base: str | None = None,
    check: Callable[[StagedChange], None] | None = None,
) -> list[ChangeResult]:
    """Commit changes together, all or none.

    `base` is the commit that the changes were computed on, by default the last one;
    UncommittedEditError if a later commit changed one of their files. `check` raises for an invalid
    change.
    """
    if dry:
        store = Store(store.root, AGENDA, detached=True)
    store.follow()
    policy, base = store.staging.policy, base or store.staging.commit
    try:
        staged_changes = [store.stage(change) for change in changes]
        if check:
            for staged_change in staged_changes:
                check(staged_change)
        if dry:
            for staged_change in staged_changes:
                store.check_free(staged_change)
            return [ChangeResult(staged_change.change, None) for staged_change in staged_changes]
        with pause_on_disk_errors():
            shas = store.apply(staged_changes, base, now=now, policy=policy)
    finally:
        store.roll_back()
    return results_of([staged_change.change for staged_change in staged_changes], shas)
