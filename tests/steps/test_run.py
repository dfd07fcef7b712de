"""run: changes that come quickly are published together."""

from types import SimpleNamespace

import pytest

from skillvault.api import Vault
from skillvault.steps.run import Run, RunOptions
from tests.conftest import NOW
from tests.vault.given import files

STEP = 0.125  # seconds from one change to the next


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def move(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


@pytest.mark.parametrize(("each", "sizes"), [(0.0, [3, 3, 3, 3, 3, 3]), (STEP, [3, 15])])
def test_the_longer_publishing_takes_the_more_is_published_at_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, each: float, sizes: list[int]
) -> None:
    """A group gathers for as long as it should, and longer where the last one took long."""
    clock = Clock()
    monkeypatch.setattr("skillvault.steps.run.time", SimpleNamespace(monotonic=lambda: clock.now))
    published: list[int] = []
    options = RunOptions(
        on_done=lambda _: clock.move(each),
        between=lambda: published.append(len(run.report.done) - sum(published)),
    )
    run = Run(vault.store, judge=vault.judge, now=NOW, options=options)
    for number in range(18):
        run.perform(files(**{f"notes_n{number}": f"{number}\n"}))
        clock.move(STEP)
    run.flush()
    assert published == sizes
