"""The plugin for Claude Code holds what `setup --shared` writes."""

import json
from pathlib import Path

from skillvault import __version__
from skillvault.clients.setups import SetupOptions, edits_of

PLUGIN = Path(__file__).parents[2] / "plugins/claude-code"


def test_the_plugin_has_the_hooks_and_the_server_of_setup() -> None:
    options = SetupOptions(
        vault=Path("/v"), calls=Path("/v/calls"), project=Path("/p"), is_shared=True
    )
    settings, _, servers = edits_of("claude-code", options)
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    assert hooks == json.loads(settings.put(""))["hooks"]
    assert json.loads((PLUGIN / ".mcp.json").read_text()) == json.loads(servers.put(""))


def test_the_plugin_has_the_version_of_the_program() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("skillvault", __version__)
