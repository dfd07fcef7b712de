"""The real Codex, hooked up by `setup`: what its model would see, by `debug prompt-input`."""

import json
from pathlib import Path

from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from tests.conftest import NOW
from tests.given import as_file, raw
from tests.interop.programs import Program, codex_list


def _setup(vault: Vault, project: Path, *words: str) -> None:
    call = ["--vault", str(vault.root), "setup", "codex", "--domain", "coding"]
    done = CliRunner().invoke(cli, [*call, "--project", str(project), *words])
    assert done.exit_code == 0, done.output


def _seen(codex: Program, project: Path) -> str:
    done = codex.run("debug", "prompt-input", "Fix the flaky test", cwd=project)
    assert done.returncode == 0, done.stderr
    return json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_codex_reads_what_setup_wrote_and_nothing_once_it_is_removed(
    vault: Vault, tmp_path: Path
) -> None:
    codex = Program("codex", tmp_path / "home")
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    (skill,) = vault.skills()
    # Of a project that nobody trusts Codex reads no configuration.
    trust = f'[projects."{project}"]\ntrust_level = "trusted"\n'
    (codex.home / ".codex").mkdir(exist_ok=True)
    (codex.home / ".codex/config.toml").write_text(trust)
    _setup(vault, project)
    assert (project / ".codex/hooks.json").exists()
    servers = codex.run("mcp", "list", cwd=project)
    assert "skillvault" in servers.stdout, servers.stderr
    _setup(vault, project, "--link")
    assert skill.name in codex_list(codex, project)
    _setup(vault, project, "--remove")
    assert [path.name for path in project.iterdir()] == [".git"]
    assert "skillvault" not in _seen(codex, project)
