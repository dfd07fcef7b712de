"""Find out which clone of a team learns.

If vault.yaml names a `learner`, only this clone makes facts and skills; the others record outcomes,
capture patterns and let people decide. `run_steps` skips steps accordingly, and `status` warns.
"""

from datetime import datetime, timedelta

from skillvault.loop.registry import STEPS
from skillvault.model.policy import Policy
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Snapshot

EVERY_CLONE = "all"
_SILENCE = timedelta(days=1)
_LEARNER_STEPS = frozenset(name for name, step in STEPS.items() if not step.runs_everywhere)


def find_other_learner(git: Git, policy: Policy) -> str | None:
    """Return the name of the clone that learns, or None if this clone may learn."""
    if policy.learner in (None, EVERY_CLONE) or policy.learner == git.settings().clone:
        return None
    return policy.learner


def describe_silence(
    snapshot: Snapshot, learner: str | None, count: int, now: datetime
) -> str | None:
    """Return a warning if `count` outcomes wait and the learner was idle for a day, or None."""
    if learner is None or not count:
        return None
    dates = [commit.date for commit in snapshot.history.log() if commit.step in _LEARNER_STEPS]
    latest_time = datetime.fromisoformat(max(dates)) if dates else None
    if latest_time is not None and now - latest_time < _SILENCE:
        return None
    silence = f"since {latest_time:%Y-%m-%d}" if latest_time else "at all"
    backlog = f"{count} outcome waits" if count == 1 else f"{count} outcomes wait"
    return (
        f"{backlog}, and {learner}, which learns, has made no commit {silence}; run "
        "it there, or `skillvault sync --take-over` here"
    )
