"""A reply is paid for once, whenever the program is killed between it and the commit.

`SKILLVAULT_KILLS=200 pytest tests/judge/test_killed.py` kills so often.
"""

import os
import random
import signal
import time
from collections import Counter

from skillvault.api import Vault
from tests.conftest import NOW
from tests.forked import done, log_of, started
from tests.given import as_file, trade
from tests.judge.server import Server, asked_for, told

KILLS = int(os.environ.get("SKILLVAULT_KILLS", "6"))
# Where replies are there and not committed: behind each of the three, and in the publications.
POINTS = (
    "reply-journalled",
    "reply-journalled:2",
    "reply-journalled:3",
    "lock-taken",
    "objects-written",
    "branch-moved",
)


def recorded(vault: Vault, number: int) -> None:
    """An outcome of its own decision."""
    why = f"Funding pays, number {number}."
    one = trade(number % 15, decision__target=f"T{number}", decision__reasoning=why)
    vault.record([("o.json", as_file(one))], now=NOW)


def paid_twice(api: Server) -> int:
    """How many questions were sent more than once."""
    asked = Counter(told(body) for body in api.requests)
    return sum(count - 1 for count in asked.values())


def test_no_reply_is_paid_for_twice_wherever_it_is_killed(claudes: Vault, api: Server) -> None:
    killed = 0
    for number in range(KILLS):
        recorded(claudes, number)
        point = POINTS[number % len(POINTS)]
        killed += done(claudes.root, f"{point}=kill") == -signal.SIGKILL
        assert done(claudes.root) == 0, log_of(claudes.root).read_text()
    assert killed == KILLS
    assert paid_twice(api) == 0
    found = claudes.status()
    assert found.outcomes == found.evaluations == KILLS
    assert {one.judge.tokens for one in claudes.store.head().evaluations.values()} == {2400}


def test_a_kill_at_any_time_costs_one_request_at_most(claudes: Vault, api: Server) -> None:
    chance = random.Random(8)
    for number in range(KILLS):
        recorded(claudes, number)
        before = len(api.requests)
        child = started(claudes.root)
        # From the moment at which the first reply is on its way.
        while len(api.requests) == before and child.is_alive():
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.4))
        child.kill()
        child.join()
        assert done(claudes.root) == 0, log_of(claudes.root).read_text()
    # What is on its way when the program dies is lost, and nothing that has arrived.
    print(f"{paid_twice(api)} of {len(api.requests)} requests were paid for twice")
    assert paid_twice(api) <= KILLS
    assert {asked_for(body) for body in api.requests} == {"verdict", "insight", "text"}
    assert claudes.status().evaluations == KILLS
