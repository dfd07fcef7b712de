"""The server of a vault for the Model Context Protocol: its tools, its skills as resources."""

from collections.abc import Callable, Iterable
from typing import Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Resource, ToolAnnotations

from skillvault import __version__
from skillvault.api import Vault
from skillvault.cli.mcp_skills import PAGE, LiveSkills, SkillsExtension, uri_of
from skillvault.cli.mcp_tools import VaultTools

_INSTRUCTIONS = (
    "What earlier work taught, from outcomes. Call `recommend` before a task and weigh what it "
    "says; it gives no orders. Name the skills that you apply. When the task has ended, call "
    "`record`, or `close` with what was seen."
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


class VaultServer(MCPServer[Any]):
    """A server whose resources are the live skills, as they are when it is asked."""

    def __init__(self, skills: LiveSkills) -> None:
        extension = SkillsExtension(skills)
        super().__init__(
            "skillvault",
            instructions=_INSTRUCTIONS,
            version=__version__,
            extensions=[extension],
            log_level="WARNING",
        )
        self._skills = skills

    async def list_resources(self) -> list[Resource]:
        """The `SKILL.md` of each."""
        return await anyio.to_thread.run_sync(self._resources_now)

    async def read_resource(
        self,
        uri: Any,
        context: Any = None,  # noqa: ARG002 (the SDK's)
    ) -> Iterable[ReadResourceContents]:
        """One file of a skill."""
        file = await anyio.to_thread.run_sync(self._skills.file, str(uri))
        if file is None:
            raise ResourceNotFoundError(f"{uri}: no live skill has this file")
        try:
            content: str | bytes = file.content.decode()
        except UnicodeDecodeError:
            content = file.content
        return [ReadResourceContents(content=content, mime_type=file.mime_type)]

    def _resources_now(self) -> list[Resource]:
        return [
            Resource(
                uri=uri_of(skill.name),
                name=skill.name,
                description=skill.description,
                mime_type="text/markdown",
                size=len(skill.files[PAGE]),
            )
            for skill in self._skills.whole_skills(self._skills.live_names())
        ]


def server_of(vault: Vault, *, may_review: bool = False, lists_all: bool = False) -> MCPServer[Any]:
    """The server of a vault; `may_review`: with tools to let skills in and to put them away.

    `lists_all`: the client lists the skills itself, so that none can be held out of a decision.
    """
    server = VaultServer(LiveSkills(vault))
    tools = VaultTools(vault, lists_all=lists_all)
    offered: list[tuple[Callable[..., Any], ToolAnnotations]] = [
        *((tools.recommend_tool, _WRITES), (tools.search_tool, _READS), (tools.get_tool, _READS)),
        *((tools.record_tool, _WRITES), (tools.close_tool, _WRITES), (tools.learn_tool, _ADDS)),
        *((tools.why_tool, _READS), (tools.status_tool, _READS)),
        *((tools.next_question_tool, _READS), (tools.answer_tool, _ADDS)),
    ]
    reviews = [(tools.approve_tool, _ADDS), (tools.reject_tool, _ADDS)]
    for tool, annotations in [*offered, *(reviews if may_review else ())]:
        name = str(tool.__name__).removesuffix("_tool")
        server.add_tool(tool, name, annotations=annotations)
    return server
