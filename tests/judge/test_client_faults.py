"""Whatever a client does, there are right answers or none, and no question is lost.

`make thorough` plays each of the 20 faults with each client at each call, 54 times in all.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, product
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.loop.judging.client_calls import ClientCalls
from skillvault.model.errors import VaultBusyError
from tests.conftest import NOW
from tests.judge import server
from tests.judge.conftest import appoint
from tests.judge.given import HOUR, put_client_on_path, record_trade
from tests.judge.server import Answer, Body, Server
from tests.thorough import THOROUGH, pairs

CLIENTS = ("claude-code", "codex")
# The calls of an asker, each of which a fault may hit: for lessons, for verdicts, for texts.
CALLS = (0, 1, 2)
REPEATS = 9 if THOROUGH else 1
LIMITS = {"client_calls_per_day": 10_000, "client_tokens_per_day": 100_000_000}
# The words of the status where nothing was answered; "" where the call itself succeeded.
FAILS = {
    "missing": "not on the PATH",
    "logged-out": "logged in",
    "refuses": "without the schema",
    "rubbish": "no result",
    "long": "more than",
    "hangs": "did not answer",
    "upgraded": "--safe-mode",
    "limit": "resets in 2 hours",
    "is-error": "API Error: 500",
    "empty": "",
    "partial": "no result",
    "error-with-code-0": "overloaded",
    "after-the-kill": "did not answer",
    "not-utf-8": "no result",
    "wrong-ids": "",
    "of-another": "",
}
HARMLESS = ("good-with-code-1", "huge-stderr", "lost-lock", "clock-jump")
FIGURE = re.compile(r"7\d\d\d")


def record(vault: Vault, number: int) -> None:
    """Record an outcome whose reasoning has a figure of its own, and learn from it."""
    record_trade(vault, number, f"Funding pays at {7000 + number}.")
    vault.run(now=NOW)


def fill(vault: Vault) -> None:
    """Let a vault learn from two outcomes."""
    record(vault, 1)
    record(vault, 2)


def answer(body: Body) -> Answer:
    """Answer as a sensible model does; an insight names the figure of its decision."""
    if server.asked_for(body) != "insight":
        return server.claude(body)
    figure = FIGURE.search(server.record(body)["decision"]["reasoning"])
    assert figure
    return server.message(
        {**server.INSIGHT, "key_insight": f"A long at {figure[0]} leads to a loss."}
    )


@pytest.fixture
def asked(
    prepared: Callable[[Callable[[Vault], object]], Vault],
    api: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Vault:
    """A vault with questions, whose judge is a client."""
    monkeypatch.setenv("PATH", put_client_on_path(tmp_path))
    api.script = answer
    return prepared(fill)


def wrong_answers(vault: Vault) -> list[str]:
    """The outcomes whose evaluation holds what was not answered about them."""
    head = vault.store.snapshot()
    outcomes = head.outcomes
    return [
        one.id
        for one in head.evaluations.values()
        if one.judge.name == "client"
        and (
            one.quality_score != server.VERDICT["quality_score"]
            or not set(FIGURE.findall(one.key_insight or ""))
            <= set(FIGURE.findall(outcomes[one.id].decision.reasoning))
        )
    ]


def questions_of(vault: Vault) -> list[str]:
    """The keys of what waits."""
    return sorted(one.answer_key for one in vault.queue.open_questions())


@pytest.mark.parametrize(
    ("name", "client", "position"),
    [(name, *place) for name, place in pairs(list(FAILS), list(product(CLIENTS, CALLS)))],
)
def test_a_fault_leaves_the_offline_words_and_the_questions(
    name: str, client: str, position: int, asked: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    appoint(asked, provider="client", client=client, client_calls_per_day=max(position, 1))
    if position:  # the calls before are answered
        assert ClientCalls(asked.store, asked.queue).ask_open_questions().calls == position
    seconds = 1 if name in ("hangs", "after-the-kill") else 60
    appoint(asked, provider="client", client=client, client_seconds=seconds, **LIMITS)
    monkeypatch.setenv("FAKE_FAULT", name)
    if name == "missing":
        git = [place for place in os.environ["PATH"].split(":") if (Path(place) / "git").exists()]
        monkeypatch.setenv("PATH", git[0])
    questions = questions_of(asked)
    for repeat in range(REPEATS):
        # A client that does not answer is asked four times an hour at most.
        clock = partial(later, 2 * HOUR * repeat)
        report = ClientCalls(asked.store, asked.queue, clock).ask_open_questions(wait=20)
        assert FAILS[name] in report.stopped
        assert bool(report.stopped) == bool(FAILS[name])
        assert wrong_answers(asked) == []
        if name != "of-another":
            assert questions_of(asked) == questions
        if report.stopped:
            done = CliRunner().invoke(cli, ["--vault", str(asked.root), "status"])
            lines = [line for line in done.output.splitlines() if FAILS[name] in line]
            assert [line.partition(":")[0] for line in lines] == ["not asked now"]
        asked.store.ledger.forget_failures()
    assert asked.check().problems == []


def later(seconds: float) -> float:
    """Unix time in so many seconds."""
    return time.time() + seconds


def jumping_clock() -> Callable[[], float]:
    """A clock that goes two days on, and back, at each look."""
    looks = count()
    return lambda: NOW.timestamp() + 48 * HOUR * (next(looks) % 2)


@pytest.fixture
def second_asker(asked: Vault, api: Server) -> Iterator[list[str]]:
    """The messages that a second asker gets while the first one's lock is removed."""
    said: list[str] = []

    def remove_lock(body: Body) -> Answer:
        (asked.root / ".git/skillvault/client.lock").unlink(missing_ok=True)
        vault = Vault(asked.root)
        try:
            said.append(ClientCalls(vault.store, vault.queue).ask_open_questions().stopped)
        except VaultBusyError as error:
            said.append(str(error))
        return answer(body)

    api.script = remove_lock
    yield said
    api.script = answer


@pytest.mark.parametrize(("name", "client"), pairs(HARMLESS, CLIENTS))
def test_what_does_no_harm_brings_the_answers(
    name: str,
    client: str,
    asked: Vault,
    api: Server,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    appoint(asked, provider="client", client=client, **LIMITS)
    monkeypatch.setenv("FAKE_FAULT", name)
    said = request.getfixturevalue("second_asker") if name == "lost-lock" else ["another"]
    clock = [jumping_clock()] if name == "clock-jump" else []
    for repeat in range(REPEATS):
        if repeat:
            record(asked, repeat + 2)
        report = ClientCalls(asked.store, asked.queue, *clock).ask_open_questions(wait=20)
        assert report.stopped == ""
        assert wrong_answers(asked) == []
        assert questions_of(asked) == []
    assert all("another" in words for words in said)
    asks = [server.told(body) for body in api.requests]
    assert len(asks) == len(set(asks))
    assert asked.check().problems == []
