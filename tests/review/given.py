"""Let something happen between the computation of a decision and its commit."""

from collections.abc import Callable
from typing import Any

import pytest

from skillvault.loop.run import ChangeResult
from skillvault.review import commits


def before_commit(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Call `action` once, just before the next decision is committed."""
    commit_changes = commits.commit_changes

    def commit_late(*args: Any, **options: Any) -> list[ChangeResult]:
        monkeypatch.undo()
        action()
        return commit_changes(*args, **options)

    monkeypatch.setattr(commits, "commit_changes", commit_late)
