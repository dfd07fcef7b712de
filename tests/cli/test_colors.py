"""Colors: on a terminal what matters stands out; a pipe and NO_COLOR get plain text."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from tests.conftest import NOW
from tests.given import as_file, raw

ESCAPE = "\x1b["


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with a skill that changed once."""
    return prepared(_learn)


def _learn(vault: Vault) -> None:
    for number in range(2):
        vault.record([(f"{number}.json", as_file(raw(number)))], now=NOW)
        vault.run(now=NOW)


@pytest.mark.parametrize(
    "args", [("skill", "diff"), ("log", "-p", "-n", "1"), ("status",), ("doctor",)]
)
def test_a_terminal_gets_colors_unless_no_color_is_set(
    learned: Vault, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    names = [next(iter(learned.store.snapshot().skills))] if args[-1] == "diff" else []
    command = ["--vault", str(learned.root), *args, *names]
    colorful = CliRunner().invoke(cli, command, color=True).output
    plain = CliRunner().invoke(cli, command).output
    assert ESCAPE in colorful
    assert ESCAPE not in plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in CliRunner().invoke(cli, command, color=True).output


def test_the_program_sees_that_its_output_is_a_terminal(learned: Vault) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "skillvault", "--vault", str(learned.root), "status"]
    subprocess.run(command, stdout=terminal, env=environment, check=True)
    os.close(terminal)
    text = os.read(controller, 65536).decode()
    os.close(controller)
    assert text.startswith(f"{ESCAPE}32mnothing waits for you")
