"""The plugin for Claude Code holds what `setup --shared` writes, and makes a vault."""

import json
import subprocess
from pathlib import Path

import pytest

from skillvault import __version__
from skillvault.clients.hook_client import MAKE_VAULT
from skillvault.clients.setups import SetupOptions, edits_of

PLUGIN = Path(__file__).parents[2] / "plugins/claude-code"


def test_the_plugin_has_the_hooks_and_the_server_of_setup_and_makes_a_vault() -> None:
    options = SetupOptions(
        vault=Path("/v"), calls=Path("/v/calls"), project=Path("/p"), is_shared=True
    )
    settings, _, servers = edits_of("claude-code", options)
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    shared_hooks = json.loads(settings.put(""))["hooks"]
    (first_hook,) = hooks.pop("SessionStart")[0]["hooks"]
    (shared_first_hook,) = shared_hooks.pop("SessionStart")[0]["hooks"]
    assert hooks == shared_hooks
    command = first_hook["command"].replace(f" {MAKE_VAULT}", "")
    assert command.startswith(shared_first_hook["command"].removesuffix("; fi"))
    assert MAKE_VAULT in first_hook["command"]
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["skillvault"]
    assert server["args"].pop() == MAKE_VAULT
    assert server == json.loads(servers.put(""))["mcpServers"]["skillvault"]


@pytest.mark.parametrize(("has_script", "advice"), [(False, "on the PATH"), (True, "was moved")])
def test_the_plugin_says_that_its_program_is_missing(
    tmp_path: Path, has_script: bool, advice: str
) -> None:
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    (hook,) = hooks["SessionStart"][0]["hooks"]
    if has_script:
        (tmp_path / "skillvault-hook").write_text("#!/nowhere/python\n")
        (tmp_path / "skillvault-hook").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    command = ["sh", "-c", hook["command"]]
    done = subprocess.run(command, env=environment, input=b"{}", capture_output=True, check=True)
    assert advice in json.loads(done.stdout)["systemMessage"]


def test_the_plugin_has_the_version_of_the_program() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("skillvault", __version__)
