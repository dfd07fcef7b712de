"""What a shell completes, and what a mistyped command is answered with."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import COMPLETING, cli
from tests.conftest import NOW
from tests.given import as_file, raw


def offered(*words: str, vault: Path | None = None) -> list[str]:
    """What bash is offered for the last word."""
    line = ["skillvault", *(("--vault", str(vault)) if vault else ()), *words]
    environment = {
        COMPLETING: "bash_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = CliRunner().invoke(cli, [], env=environment, prog_name="skillvault")
    return [row.partition(",")[2] for row in done.output.splitlines() if row]


@pytest.fixture
def root(vault: Vault) -> Path:
    """A vault with a guide and a decision."""
    vault.record([("a.json", as_file(raw(decision__id="fix-311")))], now=NOW)
    vault.run(now=NOW)
    return vault.root


def test_commands_are_completed_those_for_programs_left_out() -> None:
    assert offered("sta") == ["stats", "status"]
    assert offered("h") == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("skill", "show", "gui"), ["guide-coding-fix-flaky-test"]),
        (("why", "gu"), ["guide-coding-fix-flaky-test"]),
        (("skill", "approve", "w"), []),
        (("recommend", "--domain", "c"), ["coding"]),
        (("stats", "--decision", "fix"), ["fix-311"]),
        (("close", "fix-3"), ["fix-311"]),
    ],
)
def test_skills_domains_and_decisions_of_the_vault_are_completed(
    root: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    assert offered(*words, vault=root) == expected


def test_where_no_vault_is_nothing_is_offered(tmp_path: Path) -> None:
    assert offered("skill", "show", "w", vault=tmp_path) == []


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("recomend", "did you mean `skillvault recommend`"),
        ("xyzzy", "`skillvault --help` lists them"),
    ],
)
def test_a_command_that_there_is_not_is_answered_with_the_nearest(word: str, hint: str) -> None:
    done = CliRunner().invoke(cli, [word])
    assert (done.exit_code, hint in done.output) == (2, True)
