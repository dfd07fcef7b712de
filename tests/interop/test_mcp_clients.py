"""Other people's clients of the Model Context Protocol, beside `skillvault mcp`."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.interop.programs import Program


def _server(vault: Vault) -> list[str]:
    return [sys.executable, "-m", "skillvault", "--vault", str(vault.root), "mcp"]


def test_the_inspector_lists_the_tools_and_calls_one(learned: Vault, tmp_path: Path) -> None:
    inspector = Program("mcp-inspector", tmp_path / "home")
    call = ("--cli", *_server(learned), "--method")
    listed = inspector.run(*call, "tools/list", cwd=tmp_path)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    assert {"recommend", "record", "close"} < set(tools)
    assert tools["search"]["outputSchema"]["type"] == "object"
    called = inspector.run(
        *call, "tools/call", "--tool-name", "search", "--tool-arg", "text=flaky", cwd=tmp_path
    )
    (skill,) = learned.skills()
    results = json.loads(called.stdout)["structuredContent"]["results"]
    assert skill.name in {hit["id"] for hit in results}
    resources = inspector.run(*call, "resources/list", cwd=tmp_path)
    (resource,) = json.loads(resources.stdout)["resources"]
    assert resource["uri"] == f"skill://{skill.name}/SKILL.md"


def test_fastmcp_lists_and_gets_the_live_skills(learned: Vault) -> None:
    pytest.importorskip("fastmcp", reason="fastmcp is not installed; `make interop` installs it")
    from fastmcp import Client  # noqa: PLC0415 (skipped where it is missing)
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415
    from fastmcp.skills import SkillsClientExtension  # noqa: PLC0415

    command, *words = _server(learned)

    async def talk() -> tuple[list[str], str]:
        transport = StdioTransport(command=command, args=words)
        async with Client(transport, extensions=[SkillsClientExtension()]) as client:
            skills = await client.list_skills()
            whole = await client.get_skill(skills[0].uri)
            return [skill.uri for skill in skills], whole.frontmatter.name

    (skill,) = learned.skills()
    assert asyncio.run(talk()) == ([f"skill://{skill.name}/SKILL.md"], skill.name)
