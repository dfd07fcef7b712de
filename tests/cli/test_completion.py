"""The words that a shell completes, and the answer to a mistyped command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import COMPLETING, cli
from tests.conftest import NOW
from tests.given import as_file, raw


def offered(*words: str, vault: Path | None = None) -> list[str]:
    """Return the completions that bash is offered for the last word."""
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
        (("skill", "retire", "gui"), ["guide-coding-fix-flaky-test"]),
        (("fact", "retire", "gui"), []),
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


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a start file of its person's own."""
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/zsh")
    (tmp_path / ".zshrc").write_text("alias ll='ls -l'")
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "name"),
    [("bash", ".bashrc"), ("", ".zshrc"), ("fish", ".config/fish/completions/skillvault.fish")],
)
def test_a_shell_gets_its_line_once_and_loses_it(home: Path, shell: str, name: str) -> None:
    place = home / name
    words = ["setup", "completion", *([shell] if shell else [])]
    old_text = place.read_text() if place.exists() else None
    assert CliRunner().invoke(cli, [*words, "--dry-run"]).exit_code == 0
    assert (place.read_text() if place.exists() else None) == old_text
    for _ in range(2):
        assert CliRunner().invoke(cli, words).exit_code == 0
        assert place.read_text().count(f"{COMPLETING}={shell or 'zsh'}_source") == 1
    assert CliRunner().invoke(cli, [*words, "--remove"]).exit_code == 0
    new_text = place.read_text().rstrip("\n") if place.exists() else None
    assert new_text == old_text


def test_the_line_replaces_one_of_an_earlier_installation(home: Path) -> None:
    (home / ".zshrc").write_text(f'eval "$({COMPLETING}=zsh_source skillvault)"\n')
    assert CliRunner().invoke(cli, ["setup", "completion"]).exit_code == 0
    (line,) = (home / ".zshrc").read_text().splitlines()
    assert sys.executable in line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes_with_the_line(
    home: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    commands = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    assert CliRunner().invoke(cli, ["setup", "completion", shell]).exit_code == 0
    question = {
        "bash": ["--norc", "-c", ". ~/.bashrc; complete -p skillvault"],
        "zsh": ["-c", ". ~/.zshrc; print $_comps[skillvault]"],
        "fish": ["-c", "complete --do-complete 'skillvault stat'"],
    }[shell]
    done = subprocess.run([program, *question], capture_output=True, text=True, check=True)
    assert "skillvault" in done.stdout or "status" in done.stdout


def test_a_shell_that_cannot_complete_is_one_clear_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = CliRunner().invoke(cli, ["setup", "completion"])
    assert "SHELL is /bin/tcsh; pass the shell to complete in: bash, zsh, fish" in str(
        done.exception
    )


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
