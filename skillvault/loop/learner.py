"""Name the clone of a team that learns: `learner` in vault.yaml, else every clone.

The other clones record, capture and let people decide, but make no facts and skills.
"""

from datetime import datetime, timedelta

from skillvault.loop.registry import STEPS
from skillvault.model.policy import Policy
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics

EVERY_CLONE = "all"
_SILENCE = timedelta(days=1)
_LEARNER_STEPS = frozenset(name for name, step in STEPS.items() if not step.everywhere)


def learner_elsewhere(git: Git, policy: Policy) -> str | None:
    """Return the name of the clone that learns; None if this clone may learn."""
    if policy.learner in (None, EVERY_CLONE) or policy.learner == git.settings().clone:
        return None
    return policy.learner


def describe_silence(head: Topics, learner: str | None, count: int, now: datetime) -> str | None:
    """Return a warning if outcomes wait and the learner was idle for a day; else None."""
    if learner is None or not count:
        return None
    dates = [commit.date for commit in head.history.log() if commit.step in _LEARNER_STEPS]
    latest_time = datetime.fromisoformat(max(dates)) if dates else None
    if latest_time is not None and now - latest_time < _SILENCE:
        return None
    start = f"since {latest_time:%Y-%m-%d}" if latest_time else "at all"
    outcomes = f"{count} outcome waits" if count == 1 else f"{count} outcomes wait"
    return (
        f"{outcomes}, and {learner}, which learns, has made no commit {start}; run "
        "it there, or `skillvault sync --take-over` here"
    )
