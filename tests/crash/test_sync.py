"""Killed anywhere in a sync, both clones are whole, and the next sync brings them together."""

import os
import signal
from pathlib import Path

import pytest

from skillvault.vault.failpoint import VARIABLE
from tests.clones import Team

POINTS = (
    *("sync-fetched", "sync-claimed", "sync-merged", "sync-before-push", "sync-pushed"),
    *("objects-written", "intent-written", "file-placed", "index-written", "branch-moved"),
)


def killed_in_sync(team: Team, point: str) -> bool:
    """Let ben's sync die at a point, in a process of its own; whether it came so far."""
    child = os.fork()
    if child == 0:
        os.environ[VARIABLE] = f"{point}=kill"
        team.clones[1].sync(take_over=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones that each recorded something, and both noted a rule; ada pushed already."""
    place = tmp_path_factory.mktemp("diverged") / "team"
    team = Team.made(_new_vault, place, ["ada", "ben"])
    for number, clone in enumerate(team.clones):
        clone.record(range(number * 3, number * 3 + 3))
        clone.vault.learn(f"Rule {number}: quote every path.")
        clone.run()
    team.clones[0].sync()
    return place


@pytest.fixture
def team(pattern: Path, tmp_path: Path) -> Team:
    """A copy of the two clones."""
    return Team.copied(pattern, tmp_path / "team")


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_a_sync_loses_nothing(team: Team, point: str) -> None:
    ada, ben = team.clones
    assert killed_in_sync(team, point)
    team.sync()
    assert ada.tree() == ben.tree()
    for clone in team.clones:
        assert len(clone.vault.store.snapshot().outcomes) == 6
        assert clone.vault.check().problems == []
        assert clone.person.status() == ""
        assert clone.text("LEARNINGS.md").count("quote every path.") == 2
        assert clone.person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
