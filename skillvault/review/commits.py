"""Commit what a person decided, and all that follows from it.

The steps that learn run in memory, as in a dry run; their changes are published together with the
decision, or none is.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from skillvault.loop.registry import AGENDA
from skillvault.loop.run import ChangeResult, Report, Run, run_steps
from skillvault.model.change import WHOLE, Change
from skillvault.model.errors import UncommittedEditError
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors

LEARNING = ("propose", "promote", "generate", "distill", "refresh", "merge", "assess")


def recompute(run: Run, first: Change) -> list[Change]:
    """Return a change and what the steps make of it; `run` is a dry one.

    UncommittedEditError if that touches a file that a person is editing.
    """
    run.perform(first)
    if not run.report.waiting:
        run_steps(run, LEARNING)
    for waiting in run.report.waiting:
        raise UncommittedEditError(
            f"{waiting.path}: {waiting.reason}; commit or undo it, and try again"
        )
    return [replace(done.change, commit_with=WHOLE, takes=()) for done in run.report.done]


def publish(store: Store, changes: Sequence[Change], now: datetime, *, dry: bool) -> Report:
    """Make recomputed changes one commit; `dry`: only report it."""
    if dry:
        return Report(done=[ChangeResult(change, None) for change in changes])
    shas = [done.commit for done in commit_changes(store, changes, now, dry=False)]
    pairs = zip(changes, shas, strict=True)
    return Report(done=[ChangeResult(change, sha, changes) for change, sha in pairs])


def commit_changes(
    store: Store,
    changes: Sequence[Change],
    now: datetime,
    *,
    dry: bool,
    check: Callable[[StagedChange], None] | None = None,
) -> list[ChangeResult]:
    """Commit changes that belong together, all or none; `check` raises for an unfit one."""
    if dry:
        store = Store(store.root, AGENDA, apart=True)
    store.follow()
    policy, base = store.staging.policy, store.staging.commit
    try:
        staged = [store.stage(change) for change in changes]
        if check:
            for staged_change in staged:
                check(staged_change)
        if dry:
            for staged_change in staged:
                store.check_free(staged_change)
            return [ChangeResult(staged_change.change, None) for staged_change in staged]
        with pause_on_disk_errors():
            shas = store.apply(staged, base, now=now, policy=policy)
    finally:
        store.roll_back()
    return [ChangeResult(item.change, sha) for item, sha in zip(staged, shas, strict=True)]
