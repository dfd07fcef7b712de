"""`skillvault setup`: a client's files get what is ours, and are put back to the byte."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.clients.notes import Activity, write_activity
from skillvault.model.errors import NotAVaultError, UsageError
from tests.cli.terminal import Terminal
from tests.conftest import NOW
from tests.given import as_file, raw
from tests.thorough import one_of
from tests.vault.test_init_places import NAMES

CLIENTS = ["claude-code", "codex"]
SETTINGS = '{\n    "permissions": {"allow": ["Bash(ls)"]},\n    "hooks": {"Stop": [ ]}\n}'


def run(vault: Vault, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--vault", str(vault.root), "setup", *words])


def tree(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """path -> (bytes, mode) of all that stands below a folder; a folder has no bytes."""
    return {
        str(path.relative_to(folder)): (
            None if path.is_dir() else path.read_bytes(),
            path.lstat().st_mode,
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with settings and pages of its person's own, none of them tidy."""
    place = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / ".claude").mkdir(parents=True)
    (place / ".claude/settings.local.json").write_text(SETTINGS)
    (place / ".claude/settings.local.json").chmod(0o600)
    (place / "AGENTS.md").write_text("# Mine\n\nno newline")
    (place / "CLAUDE.md").symlink_to("AGENTS.md")
    return place


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("options", [(), ("--link",), ("--shared", "--domain", "coding")])
def test_setup_twice_changes_nothing_and_remove_puts_all_back(
    vault: Vault, project: Path, client: str, options: tuple[str, ...]
) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    before, home = tree(project), tree(Path.home())
    words = (client, "--project", str(project), *options)
    assert run(vault, *words, "--dry-run").exit_code == 0
    assert tree(project) == before
    done = run(vault, *words)
    assert done.exit_code == 0, done.output
    after = tree(project)
    assert ": adds " in done.stdout
    assert before != after
    assert "nothing to change" in run(vault, *words).stderr
    assert tree(project) == after
    assert (project / "CLAUDE.md").is_symlink()
    assert run(vault, *words, "--remove").exit_code == 0
    assert tree(project) == before
    assert tree(Path.home()) == home


@pytest.mark.parametrize("client", CLIENTS)
def test_remove_needs_no_option_of_the_setup(vault: Vault, project: Path, client: str) -> None:
    before, home = tree(project), tree(Path.home())
    words = (client, "--project", str(project))
    assert run(vault, *words, "--shared", "--domain", "coding").exit_code == 0
    assert run(vault, *words, "--remove").exit_code == 0
    assert (tree(project), tree(Path.home())) == (before, home)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("options", [(), ("--shared",)])
def test_remove_needs_no_vault(
    vault: Vault, project: Path, client: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    before, home = tree(project), tree(Path.home())
    assert run(vault, client, "--project", str(project), *options).exit_code == 0
    vault.root.rename(tmp_path / "elsewhere")
    words = ["setup", client, "--project", str(project), *options, "--remove"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert (tree(project), tree(Path.home())) == (before, home)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_personal_setup_changes_nothing_that_git_sees(
    vault: Vault, project: Path, client: str
) -> None:
    def status() -> str:
        command = ["git", "status", "--porcelain", "--untracked-files=all"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
        return done.stdout

    (project / ".claude/settings.local.json").unlink()
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    before = status()
    assert run(vault, client, "--project", str(project)).exit_code == 0
    assert status() == before


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("codex", ".codex/config.toml"),
        ("codex", ".codex/hooks.json"),
        ("claude-code", ".claude/settings.local.json"),
    ],
)
def test_a_personal_setup_leaves_a_file_that_git_tracks(
    vault: Vault, project: Path, client: str, name: str
) -> None:
    place = project / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("{}\n" if name.endswith("json") else 'model = "m-1"\n')
    subprocess.run(["git", "add", "-f", name], cwd=project, check=True)
    content, home = place.read_bytes(), tree(Path.home())
    done = run(vault, client, "--project", str(project))
    assert (done.exit_code, place.read_bytes()) == (1, content)
    assert f"left as it is: {place}: git tracks it; pass --shared" in done.stderr
    assert run(vault, client, "--project", str(project), "--remove").exit_code == 0
    assert (place.read_bytes(), tree(Path.home())) == (content, home)
    assert run(vault, client, "--project", str(project), "--shared").exit_code == 0
    assert "skillvault" in place.read_text() or client == "claude-code"


def test_check_says_where_it_is_set_up_and_what_came_last(vault: Vault, project: Path) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    assert CliRunner().invoke(cli, ["setup", "claude-code", "--check"]).exit_code == 1
    run(vault, "claude-code", "--project", str(project), "--domain", "coding")
    told = {"session_id": "s", "prompt_id": "p", "prompt": "Fix the flaky test of the checkout"}
    words = ["hook", "UserPromptSubmit", "--domain", "coding", "--vault", str(vault.root)]
    CliRunner().invoke(cli, words, input=json.dumps(told))
    done = CliRunner().invoke(cli, ["setup", "claude-code", "--check"])
    assert done.exit_code == 0, done.output
    assert f"claude-code in {project}" in done.stdout
    assert f"python: {sys.executable}" in done.stdout
    assert "last event: UserPromptSubmit at 20" in done.stdout
    assert "last prompt that got something: 20" in done.stdout


def test_check_says_what_keeps_it_from_working(vault: Vault, project: Path, tmp_path: Path) -> None:
    run(vault, "claude-code", "--project", str(project))
    run(vault, "codex", "--project", str(project))
    assert "before you trust it" in CliRunner().invoke(cli, ["setup", "codex", "--check"]).stdout
    (project / ".claude/settings.local.json").write_text("{}")
    done = CliRunner().invoke(cli, ["setup", "claude-code", "--check"])
    assert "does not name skillvault any more" in done.stdout
    examined = CliRunner().invoke(cli, ["--vault", str(vault.root), "doctor"]).stdout
    assert "does not name skillvault any more" in examined
    assert "skillvault setup claude-code --check" in examined
    vault.root.rename(tmp_path / "elsewhere")
    done = CliRunner().invoke(cli, ["setup", "claude-code", "--check"])
    assert (done.exit_code, f"{vault.root} is not a vault any more" in done.stdout) == (1, True)


def test_doctor_names_a_version_with_lines_that_are_not_understood(
    vault: Vault, project: Path
) -> None:
    run(vault, "claude-code", "--project", str(project))
    folder = vault.store.git.dirs()[0] / "skillvault"
    (folder / "sessions").mkdir(parents=True, exist_ok=True)
    sentence = "Claude Code 9.9.9 writes lines that are not known here"
    write_activity(folder, "claude-code", Activity(event="Stop", unknown_version=sentence))
    examined = CliRunner().invoke(cli, ["--vault", str(vault.root), "doctor"]).stdout
    assert sentence in " ".join(examined.split())


def test_a_session_says_that_the_vault_was_moved(
    vault: Vault, project: Path, tmp_path: Path
) -> None:
    run(vault, "claude-code", "--project", str(project))
    hooks = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    vault.root.rename(tmp_path / "elsewhere")
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=True)
    message = json.loads(done.stdout)["systemMessage"]
    assert str(vault.root) in message
    assert "`skillvault setup claude-code`" in message


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_person_changed_since_stays_when_ours_is_taken_out(
    vault: Vault, project: Path, client: str
) -> None:
    run(vault, client, "--project", str(project))
    files = [path for path in (project / ".claude", project / ".codex") if path.exists()]
    (place,) = (
        path for folder in files for path in folder.glob("*.json") if "skill" in path.read_text()
    )
    values = json.loads(place.read_text())
    place.write_text(json.dumps({**values, "mine": 1}))
    assert run(vault, client, "--project", str(project), "--remove").exit_code == 0
    assert json.loads(place.read_text())["mine"] == 1
    assert "skillvault" not in place.read_text()


def test_a_person_is_asked_and_may_see_the_changes_first(vault: Vault, project: Path) -> None:
    before = tree(project)
    words = ("--vault", str(vault.root), "setup", "claude-code", "--judge", "offline")
    terminal = Terminal(project, *words, columns=200)
    terminal.wait(lambda text: "Change 3 files?" in text)
    terminal.press("d\n")
    terminal.wait(lambda text: "+/.claude/settings.local.json" in text)
    terminal.press("n\n")
    terminal.wait(lambda text: "nothing was changed" in text)
    assert (terminal.end(), tree(project)) == (0, before)


def test_a_list_says_what_is_added_and_removed(vault: Vault, project: Path) -> None:
    place = project / ".claude/settings.local.json"
    words = ("claude-code", "--project", str(project))
    assert f"{place}: adds 6 hooks\n" in run(vault, *words).stdout
    done = run(vault, *words, "--remove")
    assert f"{place}: removes 6 hooks\n" in done.stdout
    assert ".claude.json: removes 1 MCP server (and the file)\n" in done.stdout
    assert "+  " in run(vault, *words, "--dry-run", "-v").stdout


def test_in_a_project_that_is_set_up_commands_use_its_vault(
    vault: Vault, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / ".claude")
    with pytest.raises(NotAVaultError):
        CliRunner().invoke(cli, ["status"], catch_exceptions=False)
    run(vault, "claude-code", "--project", str(project))
    assert "nothing waits for you" in CliRunner().invoke(cli, ["status"]).stdout


def test_after_the_removal_a_daemon_is_named_with_the_command_that_stops_it(
    vault: Vault, project: Path
) -> None:
    run(vault, "claude-code", "--project", str(project))
    with vault.store.lock_daemon():
        done = run(vault, "claude-code", "--project", str(project), "--remove")
    sentence = f"`skillvault watch` still runs for {vault.root}; `kill {os.getpid()}` stops it"
    assert sentence in done.stderr


@pytest.mark.parametrize("text", [None, '{"projects": {}}', '{\n "projects": {},\n "list": [1]\n}'])
def test_two_projects_leave_the_file_of_their_servers_as_it_was(
    vault: Vault, tmp_path: Path, text: str | None
) -> None:
    place = Path.home() / ".claude.json"
    if text is not None:
        place.write_text(text)
    for option in ((), ("--remove",)):
        for name in "ab":
            (tmp_path / name).mkdir(exist_ok=True)
            words = ("claude-code", "--project", str(tmp_path / name), *option)
            assert run(vault, *words).exit_code == 0
    assert (place.read_text() if place.exists() else None) == text


def test_what_the_client_wrote_since_stays_and_so_does_an_empty_object(
    vault: Vault, project: Path
) -> None:
    place = Path.home() / ".claude.json"
    place.write_text('{"projects": {}, "starts": 1}')
    run(vault, "claude-code", "--project", str(project))
    place.write_text(place.read_text().replace('"starts": 1', '"starts": 2'))
    run(vault, "claude-code", "--project", str(project), "--remove")
    assert json.loads(place.read_text()) == {"projects": {}, "starts": 2}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_person_added_to_a_page_stays_when_ours_is_taken_out(
    vault: Vault, project: Path, client: str
) -> None:
    run(vault, client, "--project", str(project), "--shared")
    page = project / "AGENTS.md"
    page.write_text(f"{page.read_text()}\nadded later\n")
    assert run(vault, client, "--project", str(project), "--shared", "--remove").exit_code == 0
    assert page.read_text() == "# Mine\n\nno newline\n\nadded later\n"


def test_a_file_that_cannot_be_read_is_left_and_said_how(vault: Vault, project: Path) -> None:
    place = project / ".claude/settings.local.json"
    place.write_text("{// mine\n}")
    done = run(vault, "claude-code", "--project", str(project))
    assert done.exit_code == 1
    assert place.read_text() == "{// mine\n}"
    assert "not strict JSON" in done.stderr
    assert "hook_client.py UserPromptSubmit" in done.stderr


def test_the_hooks_of_a_person_call_the_program_as_it_runs_now(vault: Vault, project: Path) -> None:
    run(vault, "claude-code", "--project", str(project), "--domain", "coding")
    hooks = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]
    assert set(hooks) == {
        "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop",
        "SessionEnd",
    }  # fmt: skip
    command = hooks["Stop"][0]["hooks"][0]["command"]
    told = b'{"session_id": "s", "stop_hook_active": false}'
    done = subprocess.run(["sh", "-c", command], input=told, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_hooks_of_codex_are_the_events_that_it_has(vault: Vault, project: Path) -> None:
    run(vault, "codex", "--project", str(project))
    hooks = json.loads((project / ".codex/hooks.json").read_text())["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}


def test_the_hooks_of_a_team_end_well_where_the_program_is_missing(
    vault: Vault, project: Path
) -> None:
    run(vault, "claude-code", "--project", str(project), "--shared")
    hooks = json.loads((project / ".claude/settings.json").read_text())["hooks"]
    command = hooks["Stop"][0]["hooks"][0]["command"]
    assert str(vault.root) not in command
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_with_user_it_is_the_home_that_changes(vault: Vault) -> None:
    home = Path.home()
    before = tree(home)
    for client in CLIENTS:
        done = run(vault, client, "--user")
        assert f"`skillvault setup {client} --user --remove` takes it back" in done.stderr
    assert (home / ".claude/settings.json").exists()
    assert (home / ".codex/hooks.json").exists()
    for client in CLIENTS:
        assert "--check` says where it is" in run(vault, client, "--remove").stderr
        run(vault, client, "--user", "--remove")
    assert tree(home) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--user", "--shared"), "--user is for all projects"),
        (("--domain", "No Slug"), "No Slug"),
        (("--project", "{vault}"), "is inside the vault"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    vault: Vault, words: tuple[str, ...], sentence: str
) -> None:
    done = run(vault, "claude-code", *(word.format(vault=vault.root) for word in words))
    assert sentence in str(done.exception)


def _stats(vault: Vault, *about: str) -> str:
    """Return what `stats` prints beside its table."""
    return CliRunner().invoke(cli, ["--vault", str(vault.root), "stats", *about]).stderr


def _server_in_home(project: Path) -> dict[str, list[str]]:
    """The server of a project as Claude Code has it for one person alone."""
    values = json.loads((Path.home() / ".claude.json").read_text())
    server: dict[str, list[str]] = values["projects"][str(project)]["mcpServers"]["skillvault"]
    return server


def test_links_give_way_to_hooks(vault: Vault, project: Path) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    run(vault, "claude-code", "--project", str(project), "--link")
    assert list((project / ".claude/skills").iterdir())
    (skill,) = vault.skills()
    said = (
        f"linked in {project} (claude-code): all skills are shown there, so no effect is measured"
    )
    for about in ([], [skill.name], ["--domain", "coding"]):
        assert said in _stats(vault, *about)
    assert _server_in_home(project)["args"][-1] == "--no-holdout"
    run(vault, "claude-code", "--project", str(project))
    assert said not in _stats(vault)
    assert "--no-holdout" not in _server_in_home(project)["args"]
    assert not list((project / ".claude").rglob("SKILL.md"))
    assert "--link" not in (project / ".claude/settings.local.json").read_text()


def test_the_server_is_registered_where_each_client_looks_for_it(
    vault: Vault, project: Path
) -> None:
    for client in CLIENTS:
        run(vault, client, "--project", str(project))
    server = _server_in_home(project)
    assert not (project / ".mcp.json").exists()
    codex = tomllib.loads((project / ".codex/config.toml").read_text())["mcp_servers"]
    assert server == codex["skillvault"]
    assert server["args"] == ["-m", "skillvault", "--vault", str(vault.root), "mcp"]


def test_a_server_of_a_person_under_our_name_is_left(vault: Vault, project: Path) -> None:
    config = project / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('[mcp_servers.skillvault]\ncommand = "mine"\n')
    done = run(vault, "codex", "--project", str(project))
    assert (done.exit_code, config.read_text()[-7:]) == (1, '"mine"\n')
    assert "has a server of this name already" in done.stderr


@pytest.mark.parametrize("name", [*one_of(4, NAMES[:-1]), "a\x7f\n"])
def test_the_clients_call_the_vault_by_whatever_name_it_has(
    vault: Vault, tmp_path: Path, name: str
) -> None:
    root = tmp_path / name
    vault.root.rename(root)
    project = tmp_path / "project"
    project.mkdir()
    for client in CLIENTS:
        words = ["--vault", str(root), "setup", client, "--project", str(project)]
        assert CliRunner().invoke(cli, words).exit_code == 0
    servers = [
        tomllib.loads((project / ".codex/config.toml").read_text())["mcp_servers"]["skillvault"],
        _server_in_home(project),
    ]
    hooks = [
        json.loads((project / place).read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
        for place in (".codex/hooks.json", ".claude/settings.local.json")
    ]
    for call in (*(server["args"] for server in servers), *map(shlex.split, hooks)):
        assert call[call.index("--vault") + 1] == str(root)


def test_a_name_that_a_client_s_settings_cannot_hold_is_refused(
    vault: Vault, project: Path, tmp_path: Path
) -> None:
    root = tmp_path / os.fsdecode(b"\xff")
    vault.root.rename(root)
    everything = tree(project)
    for client in CLIENTS:
        words = ["--vault", str(root), "setup", client, "--project", str(project)]
        assert isinstance(CliRunner().invoke(cli, words).exception, UsageError)
    assert tree(project) == everything


def test_what_is_kept_of_a_persons_files_is_its_owner_s_alone(vault: Vault, project: Path) -> None:
    assert run(vault, "claude-code", "--project", str(project)).exit_code == 0
    (place,) = (Path.home() / ".local/state/skillvault/setups").iterdir()
    assert place.stat().st_mode & 0o777 == 0o600


# ── the judge ────────────────────────────────────────────────────────────────────────


def appointed(vault: Vault) -> tuple[str, str, bool]:
    """The judge and its client, and whether vault.yaml names a judge."""
    rules = Vault(vault.root).store.snapshot().policy.judge
    return rules.provider, rules.client, "\njudge:" in (vault.root / "vault.yaml").read_text()


def test_who_judges_is_asked_once_in_a_terminal(vault: Vault, project: Path) -> None:
    words = ("--vault", str(vault.root), "setup", "claude-code", "--project", str(project))
    terminal = Terminal(project, *words, "--yes", columns=120)
    asked = terminal.wait(lambda text: "judge (client, agent, offline) [offline]:" in text)
    assert "claude-code, in the background after sessions" in asked
    assert "at most 20 calls and 200,000 tokens a day" in asked
    terminal.press("\r")
    assert terminal.end() == 0
    assert appointed(vault) == ("offline", "claude-code", True)
    terminal = Terminal(project, *words, columns=120)
    assert terminal.end() == 0
    assert "Who is to judge" not in terminal.text


def test_a_script_is_not_asked_and_may_say_who_judges(vault: Vault, project: Path) -> None:
    assert "Who is to judge" not in run(vault, "codex", "--project", str(project)).output
    assert appointed(vault) == ("offline", "claude-code", False)
    run(vault, "codex", "--project", str(project), "--judge", "client")
    assert appointed(vault) == ("client", "codex", True)
