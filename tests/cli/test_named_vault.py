"""A vault that is named is that vault or an error: nothing is written to another one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import NotAVaultError
from tests import forked
from tests.conftest import NOW
from tests.given import as_file, raw
from tests.thorough import pairs

COMMANDS = {
    "record": ("record", "-"),
    "run": ("run",),
    "status": ("status",),
    "doctor": ("doctor",),
    "check": ("check",),
    "close": ("close", "d-1", "--status", "success", "--domain", "coding"),
    "learn": ("learn", "Lock the row."),
    "fact": ("fact", "add", "Rows are locked.", "--domain", "coding"),
    "setup": ("setup", "claude-code", "--project", "."),
    "watch": ("watch", "--once"),
    "mcp": ("mcp",),
    "sync": ("sync",),
    "retract": ("retract", "20261101t100000z-0123456789", "--reason", "wrong"),
    "install": ("install", "--seeds"),
    "export": ("export", "out", "--to", "codex"),
}
PLACES = ("typo", "typo/none", "inbox", "skills/../inbox", "vault.yaml", ".git", "inbox/..x")
WAYS = ("before", "after", "equals", "environment")


def invoke(place: str, command: tuple[str, ...], way: str) -> Result:
    """A command with a vault named in one of the ways."""
    words = {
        "before": ["--vault", place, *command],
        "after": [*command, "--vault", place],
        "equals": [f"--vault={place}", *command],
        "environment": [*command],
    }[way]
    environment = {"SKILLVAULT_VAULT": place} if way == "environment" else {}
    return CliRunner().invoke(cli, words, input=as_file(raw()), env=environment)


def below(root: Path) -> dict[Path, bytes | None]:
    """Each path below a folder, with the bytes of the files; an index may fold its own log."""
    paths = (path for path in root.rglob("*") if not path.name.startswith("index.db"))
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.mark.parametrize(("command", "way"), pairs(list(COMMANDS), WAYS))
def test_a_folder_that_is_no_vault_is_refused_and_the_vault_above_stays(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    everything = below(tmp_path)
    for place in PLACES:
        result = invoke(f"vault/{place}", COMMANDS[command], way)
        assert result.exit_code != 0
        assert isinstance(result.exception, NotAVaultError), (place, result.output)
        assert str(vault.root) in str(result.exception)
    assert below(tmp_path) == everything


@pytest.mark.parametrize("command", COMMANDS)
def test_where_the_current_folder_is_a_vault_the_named_one_counts(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(vault.root)
    everything = below(tmp_path)
    for way in WAYS:
        assert invoke("../missing", COMMANDS[command], way).exit_code != 0
    assert invoke("", COMMANDS[command], "before").exit_code == 2
    assert below(tmp_path) == everything


def test_a_vault_is_named_through_links_and_dots(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("vault")
    for place in ("link", "vault/", "./vault/inbox/..", str(vault.root)):
        assert invoke(place, COMMANDS["status"], "before").exit_code == 0
    Path("circle").symlink_to("circle")
    with pytest.raises(NotAVaultError):
        Vault.open("circle")


def test_python_opens_the_vault_that_is_named(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotAVaultError, match="the vault above it is"):
        Vault.open(vault.root / "inbox")
    monkeypatch.chdir(vault.root / "inbox")
    assert Vault.open().root == vault.root


# ── init ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", WAYS)
def test_init_makes_the_vault_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert invoke("../v", ("init",), way).exit_code == 0
    assert (tmp_path / "v/vault.yaml").is_file()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("way", WAYS)
def test_init_of_two_places_is_refused_but_for_a_path_beside_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("a", ("init", "b"), way).exit_code == (0 if way == "environment" else 1)
    assert [path.name for path in tmp_path.iterdir()] == (["b"] if way == "environment" else [])


def test_init_of_an_empty_text_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["init", ""]).exit_code == 2
    assert list(tmp_path.iterdir()) == []


# ── hooks ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("event", "way"), pairs(["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"], WAYS)
)
def test_a_hook_writes_to_no_vault_but_the_named_one(
    learned: Vault, tmp_path: Path, way: str, event: str
) -> None:
    everything = below(tmp_path)
    place, command = "typo/none", ["hook", event, "--domain", "coding"]
    words = {
        "before": ["--vault", place, *command],
        "after": [*command, "--vault", place],
        "equals": [f"--vault={place}", *command],
        "environment": command,
    }[way]
    told = {"session_id": "s-1", "prompt_id": "p-1", "prompt": "x", "cwd": str(learned.root)}
    done = forked.program(
        *words,
        folder=learned.root,
        stdin=json.dumps(told | {"hook_event_name": event}).encode(),
        environment={"SKILLVAULT_VAULT": place} if way == "environment" else {},
    )
    if event == "SessionStart":  # the user reads it
        notice = json.loads(done.stdout)["systemMessage"]
    else:
        notice = done.stderr.decode()
        assert done.stdout == b""
    assert done.returncode == 0
    assert "no vault here" in notice
    assert below(tmp_path) == everything


def test_without_a_name_a_vault_is_found_upward(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.root / "inbox")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    assert CliRunner().invoke(cli, ["status"]).exit_code == 0
