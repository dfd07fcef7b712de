"""Killed anywhere, the vault is whole again after the next run, and the person's work untouched."""

import os
import random
import signal
import time
from datetime import date
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.commit.cold import leave_out_months
from tests.conftest import NOW
from tests.crash.scenario import given, outcomes
from tests.crash.world import KILLED, World, failpoints
from tests.given import as_file
from tests.thorough import THOROUGH, pairs

POINTS = failpoints()
WANTED = os.environ.get("SKILLVAULT_KILLS")  # `make crash` asks for hundreds, at random
KILLS = int(WANTED or (24 if THOROUGH else 4))
# A point of the recovery is only reached where there is something to recover from.
RECOVERY = dict.fromkeys(("undo-file", "undo-index", "intent-settled"), "index-written")
MENDED = {"requeued"}
ACTIONS = ("kill", "raise", "enospc")
PUBLISHED = (
    *("objects-written", "intent-written", "before-index", "index-written", "branch-moved"),
    *("index-unlocked", *RECOVERY),
)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The world that each test begins with."""
    return World.made(tmp_path_factory.mktemp("crash") / "vault")


@pytest.fixture
def world(template: World, tmp_path: Path) -> World:
    """A world of the test's own."""
    return template.copied(tmp_path / "vault")


def prepared(world: World, point: str) -> None:
    """Bring a world into a state in which the next run reaches the point."""
    if point in RECOVERY:
        assert world.run(f"{RECOVERY[point]}=kill") == KILLED
    if point in MENDED:
        world.drop("mended.yaml", b"domain: [\nmore\n")
        Vault.open(world.root).run(["record"], now=NOW)
        (world.root / "quarantine/mended.yaml").write_bytes(next(outcomes()))


@pytest.fixture(scope="session")
def light_template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world in which the month of the outcomes is closed, and only git has its files."""
    world = World.made(tmp_path_factory.mktemp("crash-light") / "vault")
    vault = Vault.open(world.root)
    vault.record([(f"first-{n}.json", as_file(given(n))) for n in range(2)], now=NOW)
    vault.run(["evaluate"], now=NOW)
    world.person.git("reset", "-q", "--", "intended.md")
    leave_out_months(vault.store, date(2027, 6, 1), 2)
    world.person.git("add", "-N", "intended.md")
    return world


@pytest.fixture
def light_world(light_template: World, tmp_path: Path) -> World:
    """A light world of the test's own."""
    return light_template.copied(tmp_path / "vault")


@pytest.mark.parametrize(("point", "action"), pairs(POINTS, ACTIONS))
def test_what_goes_wrong_at_any_point_leaves_nothing_half_made(
    world: World, point: str, action: str
) -> None:
    _break_off(world, point, action)


@pytest.mark.parametrize(
    ("point", "action"),
    pairs(POINTS, ACTIONS) if THOROUGH else [(point, "kill") for point in PUBLISHED],
)
def test_what_goes_wrong_in_a_light_clone_leaves_nothing_half_made(
    light_world: World, point: str, action: str
) -> None:
    _break_off(light_world, point, action)
    assert not list((light_world.root / "outcomes").glob("*/2026/11/*/*.yaml"))


def _break_off(world: World, point: str, action: str) -> None:
    before = world.hand()
    prepared(world, point)
    ends = (KILLED,) if action == "kill" else (0, 7)
    assert world.run(f"{point}={action}") in ends
    assert world.run() == 0
    world.check(before)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("form", ["world", "light_world"])
def test_kills_at_any_time_are_recovered_from(
    request: pytest.FixtureRequest, form: str, part: int
) -> None:
    world: World = request.getfixturevalue(form)
    chance = random.Random(None if WANTED else part)
    before = world.hand()
    for _ in range(KILLS // 4):
        process = world.start()
        time.sleep(0.4 + chance.random() * 2.5)
        # Sometimes git is killed with it, sometimes it goes on alone.
        if process.poll() is None and chance.random() < 0.5:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.communicate()
    _unlock(world)
    assert world.run() == 0
    world.check(before)


def _unlock(world: World) -> None:
    """Make the locks of a killed git look old, as they are by the time anybody looks."""
    time.sleep(1)  # for a git that goes on alone
    for lock in (world.root / ".git").rglob("*.lock"):
        if lock.parent.name != "skillvault":
            os.utime(lock, (0, time.time() - 600))
