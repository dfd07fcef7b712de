"""A vault of another owner, and a bare one: each command says what to do, and then works."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import NotAVaultError, UsageError
from tests.cli.test_named_vault import COMMANDS, below, invoke
from tests.conftest import NOW, Person

NOBODY = 65534
REMEDY = "git config --global --add safe.directory "


@pytest.fixture
def foreign(vault: Vault, tmp_path: Path) -> Path:
    """A vault of another owner, with a blank in its name."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another owner")
    root = vault.root.rename(tmp_path / "a vault")
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return root


@pytest.mark.parametrize("command", COMMANDS)
def test_the_remedy_of_git_is_told_whole(
    foreign: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = foreign.parent / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    everything = below(foreign)
    result = invoke(str(foreign), COMMANDS[command], "before")
    said = str(result.exception) if command != "doctor" else result.output
    assert f"{REMEDY}{shlex.quote(str(foreign))}" in said
    assert "skillvault init" not in said
    assert below(foreign) == everything


def test_once_the_remedy_has_run_the_vault_works(foreign: Path) -> None:
    with pytest.raises(NotAVaultError) as refusal:
        Vault.init(foreign, now=NOW)
    remedy = str(refusal.value).partition(REMEDY)[2]
    subprocess.run(["sh", "-c", REMEDY + remedy], check=True)
    Vault.init(foreign, now=NOW)
    for name in ("record", "run", "status", "check", "doctor"):
        assert invoke(str(foreign), COMMANDS[name], "before").exit_code == 0


def test_in_a_folder_of_another_owner_no_half_a_vault_is_left(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another owner")
    root = tmp_path / "theirs"
    root.mkdir()
    os.chown(root, NOBODY, NOBODY)
    with pytest.raises(NotAVaultError, match="--add safe"):
        Vault.init(root, now=NOW)
    assert list(root.iterdir()) == []


def test_a_hook_in_a_vault_of_another_owner_says_nothing_to_the_agent(foreign: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skillvault", "hook", "SessionStart", "--vault", str(foreign)],
        input=b'{"session_id": "s", "hook_event_name": "SessionStart"}',
        capture_output=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer.keys() == {"systemMessage"}  # the client shows it to the person alone
    assert "safe.directory" in answer["systemMessage"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bare_clone_is_told_to_be_cloned(
    vault: Vault, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Person(tmp_path).git("clone", "-q", "--bare", str(vault.root), "bare")
    files = sorted(tmp_path.rglob("*"))
    result = invoke("bare", COMMANDS[command], "before")
    said = str(result.exception) if command != "doctor" else result.output
    assert "bare repository" in said
    assert f"git clone {tmp_path / 'bare'} DIR && skillvault init DIR" in said
    with pytest.raises(UsageError, match="git clone"):
        Vault.init("bare")
    monkeypatch.chdir("bare")
    with pytest.raises(NotAVaultError, match="git clone"):
        Vault.open()
    assert sorted(tmp_path.rglob("*")) == files
