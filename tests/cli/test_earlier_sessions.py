"""`setup` and `init` offer to read the sessions that the clients have written before."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.sessions.trial import find_new_sessions
from tests.cli.terminal import Terminal
from tests.cli.test_try import RULE, write_session

ASKED = "read them now?"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with two sessions, beside a project with one."""
    for name, numbers in (("shop", (1, 2)), ("pickup", (3,))):
        (tmp_path / name / ".git").mkdir(parents=True)
        for number in numbers:
            prompts = (("add a filter", "I ran pip install filter."), (f"no, {RULE}", "Done."))
            folder = Path.home() / f".claude/projects/-{name}"
            write_session(folder, number, tmp_path / name, *prompts)
    return tmp_path / "shop"


def setup(vault: Vault, project: Path, *words: str) -> Result:
    call = ["--vault", str(vault.root), "setup", "claude-code", "--project", str(project)]
    return CliRunner().invoke(cli, [*call, "--domain", "coding", *words])


def repositories(vault: Vault) -> list[object]:
    """The repository of each outcome."""
    outcomes = Vault(vault.root).store.snapshot().outcomes.values()
    return [outcome.context.get("repository") for outcome in outcomes]


def test_a_person_is_asked_once_for_the_sessions_of_the_project(vault: Vault, shop: Path) -> None:
    words = ("--vault", str(vault.root), "setup", "claude-code", "--domain", "coding")
    terminal = Terminal(shop, *words, "--yes", "--judge", "offline", columns=160)
    shown = terminal.wait(lambda text: ASKED in text)
    assert "2 sessions of Claude Code were found in this project; read them now? [Y/n]" in shown
    terminal.press("\n")
    shown = terminal.wait(lambda text: "restart Claude Code" in text)
    assert terminal.end() == 0
    assert "waits for you: 1 rule; `skillvault --vault" in shown
    assert set(repositories(vault)) == {"shop"}
    assert "found" not in setup(vault, shop).output


def test_a_no_leaves_the_sessions(vault: Vault, shop: Path) -> None:
    words = ("--vault", str(vault.root), "setup", "claude-code", "--yes", "--judge", "offline")
    terminal = Terminal(shop, *words, columns=160)
    terminal.wait(lambda text: ASKED in text)
    terminal.press("n\n")
    terminal.wait(lambda text: "--import" in text)
    assert terminal.end() == 0
    assert repositories(vault) == []


def test_without_a_terminal_a_line_names_the_command_that_reads_them(
    vault: Vault, shop: Path
) -> None:
    line = setup(vault, shop).stderr.splitlines()[0]
    assert line.startswith("2 sessions of Claude Code were found in this project; `skillvault")
    assert repositories(vault) == []
    (command,) = (text for text in line.split("`") if text.startswith("skillvault"))
    assert CliRunner().invoke(cli, shlex.split(command)[1:]).exit_code == 0
    assert repositories(vault) == ["shop"] * 4


def test_a_script_says_yes_or_no(vault: Vault, shop: Path) -> None:
    assert "found" not in setup(vault, shop, "--no-import").output
    assert "learned" in setup(vault, shop, "--import").output


def test_the_sessions_of_both_clients_are_counted(vault: Vault, shop: Path, shared: Path) -> None:
    rollout = Path.home() / ".codex/sessions/rollout-a.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes((shared / "cases/01-codex-fork/rollout-a.jsonl").read_bytes())
    words = ["--vault", str(vault.root), "setup", "codex", "--user"]
    told = CliRunner().invoke(cli, words).stderr
    assert "3 sessions of Claude Code and 1 of Codex were found in all of your projects" in told


@pytest.mark.parametrize("cwd", ["/x\0y", "/" + "x" * 300, "relative", "C:\\shop", "/"])
def test_a_session_of_no_project_is_left_out(vault: Vault, cwd: str) -> None:
    write_session(Path.home() / ".claude/projects/p", 1, Path(cwd), ("add a filter", "Done."))
    outcomes, home = vault.store.snapshot().outcomes, Path.home()
    assert find_new_sessions(outcomes, lambda _: "coding", home) == []
    assert len(find_new_sessions(outcomes, lambda _: "coding")) <= 1
    assert find_new_sessions(outcomes, lambda _: "") == []


def test_without_a_domain_each_project_has_that_of_its_hooks(vault: Vault, shop: Path) -> None:
    words = ["--vault", str(vault.root), "setup", "claude-code", "--user", "--import"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert {"pickup", "shop"} <= set(Vault(vault.root).store.snapshot().domains)


def test_a_new_vault_offers_the_sessions_of_all_projects(tmp_path: Path, shop: Path) -> None:
    words = ["init", str(tmp_path / "new"), "--domain", "coding"]
    told = CliRunner().invoke(cli, words).stderr
    assert f"`skillvault init {tmp_path / 'new'} --import` reads them" in told
    assert CliRunner().invoke(cli, ["init", str(tmp_path / "new"), "--import"]).exit_code == 0
    assert set(repositories(Vault(tmp_path / "new"))) == {"pickup", "shop"}
    trading = CliRunner().invoke(cli, ["init", str(tmp_path / "other"), "--domain", "perps"])
    assert "found" not in trading.stderr
