"""What a person takes back, and all that follows from it, as one commit.

The steps that learn run once more in memory, chained as a dry run chains them; what they would do
is published together with the decision, or nothing is.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from skillvault.loop.run import ChangeResult, Report, Run, run_steps
from skillvault.model.change import WHOLE, Change
from skillvault.model.errors import UncommittedEditError
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors

LEARNING = ("promote", "generate", "distill", "refresh", "merge", "assess")


def recomputed(run: Run, first: Change) -> list[Change]:
    """A change and what the steps make of it; `run` is a dry one.

    EditedError if that touches what a person is editing.
    """
    run.perform(first)
    if not run.report.waiting:
        run_steps(run, LEARNING)
    for waiting in run.report.waiting:
        raise UncommittedEditError(
            f"{waiting.path}: {waiting.reason}; commit or undo it, and try again"
        )
    return [replace(done.change, commit_with=WHOLE, takes=()) for done in run.report.done]


def published(store: Store, changes: Sequence[Change], now: datetime, *, dry: bool) -> Report:
    """Make these changes one commit; `dry`: only tell of it."""
    if dry:
        return Report(done=[ChangeResult(change, None) for change in changes])
    store.follow()
    base, policy = store.staging.commit, store.staging.policy
    try:
        staged = [store.stage(change) for change in changes]
        with pause_on_disk_errors():
            commits = store.apply(staged, base, now=now, policy=policy)
    finally:
        store.roll_back()
    return Report(done=_done(changes, commits))


def _done(changes: Sequence[Change], commits: Iterable[str]) -> list[ChangeResult]:
    return [
        ChangeResult(change, commit, changes)
        for change, commit in zip(changes, commits, strict=True)
    ]
