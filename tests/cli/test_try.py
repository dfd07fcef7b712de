"""`skillvault try`: transcripts of a home become lessons, and nothing else is written unasked."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from skillvault.sessions.trial import (
    InstructionFiles,
    find_transcripts,
    keep_vault,
    temporary_folder,
)
from skillvault.vault.git.repository import Git
from tests.cli.terminal import Terminal
from tests.cli.test_setup import tree
from tests.given import START
from tests.machine.given import until

RULE = "we use uv here, never pip"
SECRET = "sk-ant-api03-" + "abcDEF123_" * 9


def line(session: str, at: datetime, role: str, content: object, cwd: Path) -> dict[str, Any]:
    """A line of Claude Code in an attended session."""
    return {
        "type": role,
        "uuid": f"{session} {at} {role}",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z",
        "sessionId": session,
        "cwd": str(cwd),
        "entrypoint": "cli",
        "version": "2.1.330",
        "message": {"role": role, "content": content},
    }


def write_session(folder: Path, number: int, repository: Path, *prompts: tuple[str, str]) -> None:
    """Write a transcript of (prompt, the agent's answer after an edit of a file)."""
    session, at, lines = f"s-{number}", START + timedelta(days=number), []
    for text, answer in prompts:
        edit = {"file_path": str(repository / "app.py"), "old_string": "a", "new_string": "b"}
        used = {"type": "tool_use", "id": f"t-{at}", "name": "Edit", "input": edit}
        steps = [("user", text), ("assistant", [{"type": "text", "text": answer}, used])]
        steps.append(("user", [{"type": "tool_result", "tool_use_id": f"t-{at}", "content": "ok"}]))
        for role, content in steps:
            at += timedelta(minutes=1)
            lines.append(line(session, at, role, content, repository))
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(entry) + "\n" for entry in lines)
    (folder / f"{session}.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, empty again at the end of each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def home(tmp_path: Path, temporary: Path) -> Path:
    """A home with a repository and two sessions in which a person corrected the agent."""
    home, shop = Path.home(), tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    folder = home / ".claude/projects/-shop"
    write_session(
        folder, 1, shop, ("add a filter", "I ran pip install filter."), (f"no, {RULE}", "Done.")
    )
    write_session(
        folder,
        2,
        shop,
        (f"add an export; the key is {SECRET}", "I installed it with pip."),
        ("again pip... it's uv in this repo, always uv", "Done."),
    )
    return home


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["try", *words])


def test_without_a_terminal_one_sentence_says_what_is_missing(home: Path) -> None:
    before = tree(home)
    with pytest.raises(UsageError, match="pass --yes to read them, or name a FOLDER"):
        CliRunner().invoke(cli, ["try"], standalone_mode=False, catch_exceptions=False)
    assert tree(home) == before


def test_transcripts_become_lessons_and_nothing_else_is_written(home: Path) -> None:
    before = tree(home)
    result = run("--yes")
    assert result.exit_code == 0, result.output
    assert f"2 transcripts of Claude Code in {home}/.claude/projects" in result.stdout
    assert "2 failed by a check, a revert or your words, " in result.stdout.replace("\n", " ")
    assert f'1. You said it twice: "{RULE}"' in result.stdout
    assert "from 2026-11-02 and 2026-11-03 in shop (sessions s-1 and s-2)" in result.stdout
    assert "What the next prompt like this one would get" in result.stdout
    assert SECRET not in result.output
    assert result.stderr == ""  # no bar in a pipe
    assert tree(home) == before


def test_git_need_not_know_the_person(home: Path) -> None:
    (home / ".gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    before = tree(home)
    assert RULE in run("--yes").stdout
    assert tree(home) == before


def test_a_folder_that_is_named_is_read_without_a_question(home: Path, tmp_path: Path) -> None:
    folder = (home / ".claude").rename(tmp_path / "elsewhere")
    assert RULE in run(str(folder)).stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="holds no transcripts of Claude Code or Codex"):
        CliRunner().invoke(cli, ["try", str(empty)], standalone_mode=False, catch_exceptions=False)


def test_both_clients_are_found_where_their_variables_say(
    home: Path, tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".claude").rename(tmp_path / "claude")
    rollouts = tmp_path / "codex/archived_sessions"
    rollouts.mkdir(parents=True)
    content = (shared / "cases/01-codex-fork/rollout-a.jsonl").read_bytes()
    (rollouts / "rollout-a.jsonl").write_bytes(content)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert [(group.client, len(group.files)) for group in find_transcripts()] == [
        ("claude-code", 2),
        ("codex", 1),
    ]


def test_without_transcripts_it_plays_an_example_of_ten_lines(temporary: Path) -> None:
    before = tree(Path.home())
    result = run()
    assert len(result.stdout.splitlines()) <= 10
    assert "guide-coding-fix-flaky-test" in result.stdout
    assert list(temporary.iterdir()) == []
    assert tree(Path.home()) == before


def test_too_little_to_learn_from_is_said(tmp_path: Path, temporary: Path) -> None:
    write_session(tmp_path / "few", 1, tmp_path, ("add a filter", "Added."))
    assert "There is too little to learn from yet." in run(str(tmp_path / "few")).stdout
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", ".claude/rules/python.md"])
def test_a_rule_in_a_file_of_its_repository_is_not_said_in_vain(
    home: Path, tmp_path: Path, name: str
) -> None:
    files = tuple((home / ".claude/projects/-shop").glob("*.jsonl"))
    assert not InstructionFiles(files).have_rule("shop", RULE)
    place = tmp_path / "shop" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("# Python\n\n- Dependencies come by uv;\n  never use pip.\n- Be short.\n")
    assert InstructionFiles(files).have_rule("shop", RULE)
    assert not InstructionFiles(files).have_rule("shop", "never use floats")
    assert not InstructionFiles(files).have_rule("pickup", RULE)


# ── how it ends ──────────────────────────────────────────────────────────────────────


def _listen_to_signals() -> None:
    """Undo what a command in the background or under nohup inherits: it ignores these."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(home: Path) -> "subprocess.Popen[bytes]":
    """Start the command as a process of its own, and wait until its vault is there."""
    command = [sys.executable, "-m", "skillvault", "try", "--yes"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        preexec_fn=_listen_to_signals,  # noqa: PLW1509 (it starts no thread)
    )
    deadline = time.monotonic() + 60
    while not list(Path(os.environ["TMPDIR"]).glob("skillvault-try-*/vault/vault.yaml")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(home: Path, temporary: Path, number: signal.Signals) -> None:
    process = start(home)
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    process.send_signal(number)
    process.communicate()
    assert process.returncode in (1, 128 + number)
    assert list(temporary.iterdir()) == []


def test_a_git_that_still_writes_leaves_nothing(temporary: Path) -> None:
    script = "for n in $(seq 30000); do : > $n; done"
    with temporary_folder() as folder:
        git = subprocess.Popen(["sh", "-c", script], cwd=folder, stderr=subprocess.DEVNULL)
        until((folder / "1").exists)
    git.kill()
    git.communicate()
    assert list(temporary.iterdir()) == []


def test_the_next_one_removes_what_a_kill_left(home: Path, temporary: Path) -> None:
    process = start(home)
    process.kill()
    process.communicate()
    assert len(list(temporary.iterdir())) == 1
    run("--yes")
    assert list(temporary.iterdir()) == []


def test_a_folder_in_use_is_no_leftover(temporary: Path) -> None:
    with temporary_folder() as folder, temporary_folder():
        assert folder.parent == temporary
        assert folder.is_dir()


# ── what stays ───────────────────────────────────────────────────────────────────────


def test_a_vault_is_kept_where_the_person_says(home: Path, tmp_path: Path) -> None:
    (home / ".gitconfig").unlink()
    target, taken = tmp_path / "kept", tmp_path / "taken"
    taken.mkdir()
    terminal = Terminal(tmp_path, "try", columns=200)
    terminal.wait(lambda text: "Read them?" in text)
    terminal.press("y\n")
    terminal.wait(lambda text: "Keep it, so that your agents can get it?" in text)
    terminal.press("y\n")
    terminal.wait(lambda text: "In this folder" in text)
    terminal.press(f"{taken}\n")
    terminal.wait(lambda text: "is not overwritten" in text)
    terminal.press(f"{target}\n")
    terminal.wait(lambda text: "Hook up Claude Code" in text)
    assert not (home / ".claude/settings.json").exists()
    terminal.press("y\n")
    assert terminal.end() == 0
    vault = Vault.open(target)
    assert not vault.check().problems
    texts = [rule.text for rule in vault.memory.waiting()]
    assert texts == [RULE, "it's uv in this repo, always uv"]
    assert str(target) in (home / ".claude/settings.json").read_text(encoding="utf-8")
    assert not (home / ".gitconfig").exists()
    assert Git(target).text("config", "--local", "--get", "commit.gpgSign", ok=(0, 1)) == ""


def test_nothing_stays_after_a_no(home: Path, tmp_path: Path) -> None:
    before = tree(home)
    terminal = Terminal(tmp_path, "try", columns=100)
    terminal.wait(lambda text: "Read them?" in text)
    terminal.press("n\n")
    terminal.wait(lambda text: "nothing was written" in text)
    assert terminal.end() == 0
    assert tree(home) == before


def test_the_project_in_which_one_stands_is_offered_first(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_session(home / ".claude/projects/-other", 3, other, ("add a filter", "I used npm."))
    (tmp_path / "shop/src").mkdir()
    terminal = Terminal(tmp_path / "shop/src", "try", columns=100)
    shown = terminal.wait(lambda text: "Read them?" in text)
    assert "shop" not in shown.partition("They are read")[2]  # nothing is read before the answer
    terminal.press("\n")
    shown = terminal.wait(lambda text: "Read [t]his project's, [a]ll, or [n]one? [t]:" in text)
    assert "2 of them are from this project, shop." in shown
    terminal.press("\n")
    shown = terminal.wait(lambda text: "Keep it, so that your agents can get it?" in text)
    assert "3 prompts of" not in shown
    terminal.press("y\n")
    terminal.wait(lambda text: "In this folder" in text)
    terminal.press(f"{tmp_path / 'kept'}\n")
    terminal.wait(lambda text: "in [t]his project, [a]ll, or [n]one? [n]:" in text)
    terminal.press("t\n")
    assert terminal.end() == 0
    assert not (home / ".claude/settings.json").exists()
    assert (tmp_path / "shop/.claude/settings.local.json").exists()


def test_a_vault_overwrites_nothing(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for name in ("file", "vault"):
        with pytest.raises(UsageError, match="is not overwritten"):
            keep_vault(vault.root, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
