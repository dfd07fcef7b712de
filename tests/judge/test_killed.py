"""A reply is given once and kept, whenever the program is killed between it and the commit.

`SKILLVAULT_KILLS=200 pytest tests/judge/test_killed.py` kills so often.
"""

import os
import random
import signal
import time

import pytest

from skillvault.api import Vault
from tests.conftest import NOW
from tests.forked import log_of
from tests.judge.conftest import appoint
from tests.judge.given import record_trade
from tests.judge.providers import PROVIDERS, Provider
from tests.judge.server import INSIGHT, Server

KILLS = int(os.environ.get("SKILLVAULT_KILLS", "2"))


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest, vault: Vault, api: Server) -> Provider:
    """The provider that judges in the vault."""
    judging: Provider = request.param(api)
    appoint(vault, provider=judging.name)
    return judging


def record(vault: Vault, provider: Provider, number: int) -> None:
    """Record an outcome of its own decision; what an agent is asked follows from a run."""
    record_trade(vault, number, f"Funding pays, number {number}.")
    if not provider.pays:
        vault.run(now=NOW)


def test_no_reply_is_lost_or_given_twice_wherever_it_is_killed(
    vault: Vault, provider: Provider
) -> None:
    outcomes = max(2, KILLS // len(provider.points))
    for number in range(outcomes):
        record(vault, provider, number)
        # Each process goes on where the one before it was killed.
        for point in provider.points[number % 2 :: 2]:
            assert provider.work(vault, f"{point}=kill") == -signal.SIGKILL, point
    assert provider.work(vault) == 0, log_of(vault.root).read_text()
    assert provider.answered_twice(vault) == 0
    found = vault.status()
    assert found.outcomes == found.evaluations == outcomes
    evaluations = vault.store.snapshot().evaluations.values()
    assert {one.judge.name for one in evaluations} == {provider.name}
    assert {one.key_insight for one in evaluations} == {INSIGHT["key_insight"]}
    assert {one.judge.tokens for one in evaluations} == {provider.tokens}
    assert vault.check().problems == []


def test_a_kill_at_any_time_costs_one_reply_at_most(vault: Vault, provider: Provider) -> None:
    chance = random.Random(8)
    for number in range(KILLS):
        record(vault, provider, number)
        before = provider.replied(vault)
        child = provider.begun(vault)
        # From the moment at which the first reply is on its way.
        while provider.replied(vault) == before and child.is_alive():
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.4))
        child.kill()
        child.join()
        assert provider.work(vault) == 0, log_of(vault.root).read_text()
    # What is on its way to Claude when the program dies is lost, and nothing that has arrived.
    twice = provider.answered_twice(vault)
    print(f"{twice} of {provider.replied(vault)} replies were given twice")
    assert twice <= KILLS * provider.lost_at_a_kill
    assert provider.kinds(vault) == {"verdict", "insight", "text"}
    assert vault.status().evaluations == KILLS
