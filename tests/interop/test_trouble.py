"""Hooks of the real Claude Code where more than one takes part, or something went away."""

import os
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.commit.locks import DAEMON, holder
from tests.conftest import NOW, Person
from tests.interop.desk import CHECK, ClaudeDesk, put_on_path
from tests.interop.scripted_model import Block, serving_model, tool, words

FAILED = [tool("Bash", command=CHECK, description="test")]
STREAM = ("--output-format", "stream-json", "--verbose")


def session(desk: ClaudeDesk, *more_turns: list[Block]) -> list[str]:
    """One session whose check fails: its answer, then what the model saw in each request."""
    with serving_model(FAILED, *more_turns, [words("All done, it works.")]) as model:
        done = desk.ask(model)
    assert done.returncode == 0, done.stderr
    return [done.stdout.strip(), *model.texts()]


def blocks_of(text: str, desk: ClaudeDesk) -> int:
    """Return how often a request names the vault's skill in a block of a prompt."""
    return text.count(f'<skill name=\\"{desk.skill}\\"')


def server_of(desk: ClaudeDesk) -> int:
    """The process that answers the hooks of a vault."""
    owner = re.search(r"process (\d+)", holder(desk.vault.root / ".git/skillvault" / DAEMON) or "")
    assert owner, "no process answers hooks"
    return int(owner[1])


def decisions_of(desk: ClaudeDesk) -> list[str]:
    """The decision of each outcome; each has one receipt."""
    decisions = [outcome.decision.id or "" for outcome in desk.outcomes()]
    receipts = desk.vault.store.snapshot().recommendations
    assert all(len(receipts.by_decision(decision)) == 1 for decision in decisions)
    return decisions


def test_two_clients_at_once_in_one_vault(desk: ClaudeDesk) -> None:
    desk.setup()
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: session(desk), range(2)))
    assert [answer for answer, *_ in results] == ["All done, it works."] * 2
    assert [blocks_of(first, desk) for _, first, *_ in results] == [1, 1]
    assert len(set(decisions_of(desk))) == 2


def test_two_clients_at_once_in_two_vaults(desk: ClaudeDesk, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    vault, _ = Vault.init(tmp_path / "beside/vault", ["coding"], now=NOW)
    folder = tmp_path / "beside"
    other_desk = ClaudeDesk(
        vault, Person(vault.root), folder, "claude", action="fix-checkout-cache"
    )
    desks = (desk, other_desk)
    try:
        for each in desks:
            each.setup()
        with ThreadPoolExecutor() as pool:
            results = list(pool.map(session, desks))
        assert [len(decisions_of(each)) for each in desks] == [1, 1]
    finally:
        other_desk.close()
    briefings = [[f"- {each.skill}: " in texts[1] for each in desks] for texts in results]
    assert briefings == [[True, False], [False, True]]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_dies_or_stands_still_costs_no_prompt(
    desk: ClaudeDesk, number: signal.Signals
) -> None:
    desk.setup()
    session(desk)
    server = server_of(desk)
    harm = tool("Bash", command=f"kill -{int(number)} {server}", description="harm")
    try:
        _, first, *_ = session(desk, [harm])  # in the middle of a session
        if number == signal.SIGSTOP:
            _, second, *_ = session(desk)
            assert blocks_of(second, desk) == 1
    finally:
        if number == signal.SIGSTOP:
            os.kill(server, signal.SIGCONT)  # what it reads now, the hooks have answered
    assert blocks_of(first, desk) == 1
    assert len(set(decisions_of(desk))) == 2 + (number == signal.SIGSTOP)


def test_hooks_that_are_registered_twice_bring_a_block_once(
    desk: ClaudeDesk, tmp_path: Path
) -> None:
    shared_file = desk.project / ".claude/settings.json"
    desk.setup("--shared")
    put_on_path(desk.program, tmp_path)
    copy = shutil.copy(shared_file, tmp_path)
    desk.setup()
    shutil.copy(copy, shared_file)
    desk.program.more["SKILLVAULT_VAULT"] = str(desk.vault.root)
    _, first, *_ = session(desk)
    assert blocks_of(first, desk) == 1
    assert first.count("Learned from earlier work in coding") == 1
    assert len(decisions_of(desk)) == 1
