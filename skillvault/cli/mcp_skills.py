"""The live skills over the Model Context Protocol: as resources, and by the extension for skills.

`skills/list` and `skills/get` name every file of a skill with its digest (SEP-2640); a file is read
as the resource `skill://NAME/PATH`. What is proposed or archived is not there.
"""

import hashlib
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, RequestParams

from skillvault.api import Vault
from skillvault.model.errors import BadInputError
from skillvault.model.export import OutgoingSkill
from skillvault.model.text import front_matter

SCHEME = "skill://"
PAGE = "SKILL.md"
_MOST = 50  # skills of a page of the list
_MOST_FILES, _MOST_BYTES = 512, 16 * 1024 * 1024  # of a skill
_TTL = 60_000  # milliseconds for which a client may keep what it was told


class GetSkillParams(RequestParams):
    """By which address a skill is asked for."""

    uri: str


class SkillFile(NamedTuple):
    """One file of a skill as a resource."""

    uri: str
    mime_type: str
    content: bytes


class LiveSkills:
    """The skills of a vault that may be served."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def live_names(self) -> list[str]:
        """All of them, by name."""
        return sorted(candidate.name for candidate in self._vault.exporter.live())

    def whole_skills(self, names: Sequence[str]) -> Iterator[OutgoingSkill]:
        """Those of these names that can be served whole."""
        wanted = set(names)
        chosen = [one for one in self._vault.exporter.live() if one.name in wanted]
        for skill in sorted(self._vault.exporter.outgoing(chosen), key=_skill_name):
            if isinstance(skill, OutgoingSkill) and _is_servable(skill):
                yield skill

    def file(self, uri: str) -> SkillFile | None:
        """The file at an address; None if there is none."""
        name, _, path = uri.removeprefix(SCHEME).partition("/")
        if not uri.startswith(SCHEME):
            return None
        skill = next(self.whole_skills([unquote(name)]), None)
        content = skill.files.get(unquote(path)) if skill else None
        return None if content is None else SkillFile(uri, mime_type_of(path), content)


class SkillsExtension(Extension):
    """`skills/list` and `skills/get`."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, skills: LiveSkills) -> None:
        self._skills = skills

    def settings(self) -> dict[str, Any]:
        """What of the extension there is."""
        return {"directoryRead": False}

    def methods(self) -> Sequence[MethodBinding]:
        """The two methods."""
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list_skills),
            MethodBinding("skills/get", GetSkillParams, self._get_skill),
        )

    async def _list_skills(
        self, _context: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(self._page_from, params.cursor or "")

    async def _get_skill(
        self, _context: ServerRequestContext[Any, Any], params: GetSkillParams
    ) -> dict[str, Any]:
        entry = await anyio.to_thread.run_sync(self._entry_at, params.uri)
        if entry is None:
            raise MCPError(INVALID_PARAMS, f"{params.uri}: no live skill stands there")
        return {**_complete(), "skill": entry}

    def _page_from(self, after: str) -> dict[str, Any]:
        """The skills whose names come behind one; by the last one the next page is asked for."""
        names = [name for name in self._skills.live_names() if name > after]
        page = names[:_MOST]
        listed = (_list_entry(skill) for skill in self._skills.whole_skills(page))
        more = {"nextCursor": page[-1]} if len(names) > _MOST else {}
        return {**_complete(), "skills": [entry for entry in listed if entry], **more}

    def _entry_at(self, uri: str) -> dict[str, Any] | None:
        name, _, path = uri.removeprefix(SCHEME).partition("/")
        if not uri.startswith(SCHEME) or path != PAGE:
            return None
        skill = next(self._skills.whole_skills([unquote(name)]), None)
        return None if skill is None else _list_entry(skill)


def uri_of(name: str, path: str = PAGE) -> str:
    """The address of a skill's file."""
    return f"{SCHEME}{quote(name)}/{quote(path)}"


def mime_type_of(path: str) -> str:
    """What a file is, by its name."""
    if path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _list_entry(skill: OutgoingSkill) -> dict[str, Any] | None:
    """A skill as the list names it; None for one whose front matter cannot be read."""
    try:
        matter, _ = front_matter.read_foreign(skill.files[PAGE].decode())
    except (BadInputError, UnicodeDecodeError):
        return None
    return {
        "uri": uri_of(skill.name),
        "frontmatter": _json_value(matter),
        "resources": [
            {
                "uri": uri_of(skill.name, path),
                "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
                "size": len(content),
            }
            for path, content in sorted(skill.files.items())
        ],
    }


def _json_value(value: Any) -> Any:
    """A value of YAML in JSON: what has no form there stands as its text."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_json_value(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _complete() -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": _TTL, "cacheScope": "private"}


def _skill_name(skill: Any) -> str:
    return str(getattr(skill, "name", ""))


def _is_servable(skill: OutgoingSkill) -> bool:
    size = sum(map(len, skill.files.values()))
    return PAGE in skill.files and len(skill.files) <= _MOST_FILES and size <= _MOST_BYTES
