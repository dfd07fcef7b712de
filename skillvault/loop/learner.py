"""The clone of a team that learns, as `learner` in vault.yaml names it; by default every clone.

The other clones record, capture and let people decide, but derive no facts and skills.
"""

from datetime import datetime, timedelta

from skillvault.loop.registry import STEPS
from skillvault.model.policy import Policy
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics

ALL = "all"
_SILENT = timedelta(days=1)
_DERIVING = frozenset(name for name, step in STEPS.items() if not step.everywhere)


def learner_elsewhere(git: Git, policy: Policy) -> str | None:
    """Return the name of the clone that learns; None if this clone may learn."""
    if policy.learner in (None, ALL) or policy.learner == git.settings().clone:
        return None
    return policy.learner


def describe_silence(head: Topics, learner: str | None, waiting: int, now: datetime) -> str | None:
    """Say that the learner was idle for a day though outcomes wait; None if it was not."""
    if learner is None or not waiting:
        return None
    dates = [commit.date for commit in head.history.log() if commit.step in _DERIVING]
    latest_time = datetime.fromisoformat(max(dates)) if dates else None
    if latest_time is not None and now - latest_time < _SILENT:
        return None
    start = f"since {latest_time:%Y-%m-%d}" if latest_time else "at all"
    outcomes = f"{waiting} outcome waits" if waiting == 1 else f"{waiting} outcomes wait"
    return (
        f"{outcomes}, and {learner}, which learns, has made no commit {start}; run "
        "it there, or `skillvault sync --take-over` here"
    )
