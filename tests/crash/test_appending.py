"""Agents append rules while they are captured, and that is killed: none is lost or doubled."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.loop.learned import read_tiers
from tests import forked
from tests.conftest import NOW
from tests.crash.world import KILLED

CAPTURES = int(os.environ.get("SKILLVAULT_CAPTURES", "3"))  # while agents append
KILLS = int(os.environ.get("SKILLVAULT_APPEND_KILLS", "1"))  # at each point
AGENTS = 4
PAUSE = 0.02  # seconds of an agent between two rules
POINTS = [
    "objects-written", "intent-written", "index-locked", "late-kept", "file-placed",
    "before-index", "index-written", "branch-moved", "index-unlocked", "late-appended",
    "intent-done",
]  # fmt: skip
AGENT = """
import itertools, os, sys, time
for number in itertools.count():
    rule = f"Agent {sys.argv[1]} ({os.getpid()}) says {number}: call `get_log` first."
    with open(sys.argv[2], "a") as file:
        file.write(f"{rule}\\n---\\n")
    print(rule, flush=True)
    time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    place = tmp_path / "code"
    place.mkdir()
    for name in "abc":
        (place / f"{name}.py").write_text("log = get_log()\n")
    return place


@contextmanager
def appending(vault: Vault, rules: list[str]) -> Iterator[None]:
    """Agents that append as long as this lasts, each at once; `rules` get what they wrote."""
    place = str(vault.root / "LEARNINGS.md")
    agents = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, str(number), place, str(PAUSE)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(AGENTS)
    ]
    try:
        rules += [agent.stdout.readline().rstrip("\n") for agent in agents if agent.stdout]
        yield
    finally:
        for agent in agents:
            agent.send_signal(signal.SIGTERM)
        for agent in agents:
            rules += [line for line in agent.communicate()[0].split("\n") if line]


def check(vault: Vault, code: Path, rules: list[str]) -> None:
    """Every rule is a pattern once it is captured, and stands in one place only."""
    vault.run(["capture"], now=NOW, code=[code])
    tiers = read_tiers(vault.store, vault.store.snapshot())
    written = (vault.root / "LEARNINGS.md").read_text()
    found = Counter(pattern.pattern for pattern in tiers.expertise.patterns)
    found += Counter(line for line in written.split("\n") if line.startswith("Agent "))
    # An agent may be ended between its rule and the word that it wrote it.
    assert set(rules) <= set(found)
    assert len(set(found) - set(rules)) <= AGENTS * KILLS
    assert set(found.values()) == {1}
    assert vault.check().problems == []


def test_agents_append_while_rules_are_captured(vault: Vault, code: Path) -> None:
    rules: list[str] = []
    with appending(vault, rules):
        for _ in range(CAPTURES):
            vault.run(["capture"], now=NOW, code=[code])
            time.sleep(0.05)
    assert len(rules) > AGENTS
    check(vault, code, rules)


def _capture(code: Path, root: Path) -> None:
    Vault.open(root).run(["capture"], code=[code])


def _reached(point: str) -> str:
    """Return the point of the commit of the patterns.

    The text that was appended before is committed first, as it stands.
    """
    return point if point.startswith("late") else f"{point}:2"


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_agents_append_loses_and_doubles_nothing(
    vault: Vault, code: Path, point: str
) -> None:
    rules: list[str] = []
    for _ in range(KILLS):
        with appending(vault, rules):
            failpoint = f"{_reached(point)}=kill"
            assert forked.called(partial(_capture, code), vault.root, failpoint) == KILLED
        # Beyond 1 MiB nothing more is adopted, and the next kill would not reach its point.
        check(vault, code, rules)
