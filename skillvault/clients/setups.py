"""The edits of a setup: a client's files and what is put into them, one function a client."""

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.clients import hook_client
from skillvault.clients.edits import (
    FileEdit,
    JsonWish,
    hook_groups,
    json_edit,
    lines_edit,
    page_edit,
)
from skillvault.clients.notes import project_of
from skillvault.model.errors import BadInputError, UsageError

_TOOLS = "Bash|Edit|MultiEdit|Write|NotebookEdit|Read|Skill"
_MATCHERS = {"PostToolUse": _TOOLS, "PostToolUseFailure": _TOOLS}
SKILLS = {"claude-code": ".claude/skills", "codex": ".agents/skills"}  # where each lists its own
_TOML = ("# skillvault:setup:begin", "# skillvault:setup:end")
_PAGE = """\
What earlier work taught is kept in a skillvault. {how} It is knowledge to weigh, not orders.
When you apply a skill, say so before you change anything: "Applying [S1] NAME, I ...".
`skillvault search TEXT` finds more; `skillvault learn 'RULE'` notes a rule for who comes after you.
"""
_BY_HOOK = "What fits a prompt comes with it."
_BY_LINK = "Its skills are listed with your own."


class SetupWish(Struct, frozen=True, kw_only=True):
    """The options of a setup: `project` is None for all projects; `is_shared` for a team's files.

    `exclude` is the file of git's personal exclude patterns, None outside a repository. `mcp`:
    the server is registered too. `calls` is the folder to which hooks write the calls of tools.
    """

    vault: Path
    calls: Path
    project: Path | None
    exclude: Path | None = None
    domain: str | None = None
    links: bool = False
    is_shared: bool = False
    mcp: bool = True


class _Client(NamedTuple):
    events: tuple[str, ...]
    settings: Path
    page: Path


def edits_of(client: str, wish: SetupWish) -> list[FileEdit]:
    """Return the edits of a setup.

    UsageError for a path that is no UTF-8, as a client's settings must be.
    """
    for place in filter(None, (wish.vault, wish.project)):
        if any("\ud800" <= character <= "\udfff" for character in str(place)):
            raise UsageError(
                f"{place}: has a name that is no UTF-8; rename it, then set up {client}"
            )
    return {"claude-code": _claude_code, "codex": _codex}[client](wish)


def _claude_code(wish: SetupWish) -> list[FileEdit]:
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR", "~/.claude")).expanduser()
    events = ("SessionStart", "UserPromptSubmit", *_MATCHERS, "Stop", "SessionEnd")
    wishes = hook_groups(_commands(events, "claude-code", wish))
    parent_keys: tuple[str, ...] = ()
    servers = (home if "CLAUDE_CONFIG_DIR" in os.environ else Path.home()) / ".claude.json"
    if wish.project is None:
        edits = [json_edit(home / "settings.json", wishes, _hooks_by_hand(wishes))]
    elif wish.is_shared:
        servers = wish.project / ".mcp.json"
        if wish.mcp:  # else the client asks if the project's server may be started
            wishes.append(JsonWish(("enabledMcpjsonServers",), "skillvault"))
        place = wish.project / ".claude/settings.json"
        edits = [json_edit(place, wishes, _hooks_by_hand(wishes))]
        edits.append(page_edit(wish.project / "CLAUDE.md", _page(wish)))
    else:
        parent_keys = ("projects", str(wish.project))  # as `claude mcp add` has it without a scope
        place = wish.project / ".claude/settings.local.json"
        edits = [json_edit(place, wishes, _hooks_by_hand(wishes)), *_exclude_edits([place], wish)]
    command, *words = _server_words(wish)
    values = {"command": command, "args": words}
    server = JsonWish((*parent_keys, "mcpServers", "skillvault"), values, is_value=True)
    by_hand = f"claude mcp add skillvault -- {shlex.join([command, *words])}"
    return [*edits, json_edit(servers, [server], by_hand)] if wish.mcp else edits


def _exclude_edits(places: Sequence[Path], wish: SetupWish) -> list[FileEdit]:
    """Return the edit by which git leaves personal files out of its status."""
    if wish.project is None or wish.exclude is None:
        return []
    root = project_of(wish.project)
    return [lines_edit(wish.exclude, [f"/{place.relative_to(root)}" for place in places])]


def _codex(wish: SetupWish) -> list[FileEdit]:
    home = Path(os.environ.get("CODEX_HOME", "~/.codex")).expanduser()
    place = home if wish.project is None else wish.project / ".codex"
    # Codex reports a failed command by the same event as any other.
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    wishes = hook_groups(
        {event: (command, None) for event, (command, _) in _commands(events, "codex", wish).items()}
    )
    edits = [json_edit(place / "hooks.json", wishes, _hooks_by_hand(wishes))]
    if wish.mcp:
        edits.append(_toml_edit(place / "config.toml", wish))
    if wish.is_shared and wish.project:
        edits.append(page_edit(wish.project / "AGENTS.md", _page(wish)))
    elif wish.project:
        edits += _exclude_edits([edit.place for edit in edits], wish)
    return edits


def _page(wish: SetupWish) -> str:
    return _PAGE.format(how=_BY_LINK if wish.links else _BY_HOOK)


def _commands(
    events: tuple[str, ...], client: str, wish: SetupWish
) -> Mapping[str, tuple[str, str | None]]:
    """Return event -> (the command of its hook, its matcher)."""
    return {event: (_hook_command(event, client, wish), _MATCHERS.get(event)) for event in events}


def _hook_command(event: str, client: str, wish: SetupWish) -> str:
    options = [] if client == "claude-code" else ["--client", client]
    options += ["--domain", wish.domain] if wish.domain else []
    options += ["--link", str(wish.project or Path.home())] if wish.links else []
    if wish.is_shared:
        words = shlex.join([*_program_words(wish, "hook"), event, *options])
        return f"if command -v skillvault >/dev/null 2>&1; then {words}; fi"
    if event in _MATCHERS:  # the fastest way: the next event of the session reads it
        return f"{{ umask 077; cat >>{shlex.quote(str(wish.calls))}/$PPID.$$; }} 2>/dev/null || :"
    program = [sys.executable, "-ISE", hook_client.__file__]
    command = shlex.join([*program, event, *options, "--vault", str(wish.vault)])
    if event != "SessionStart":
        return command
    # If one of these was moved, the user is told when the next session begins.
    places = [sys.executable, hook_client.__file__, f"{wish.vault}/vault.yaml"]
    tests = " && ".join(f"[ -e {shlex.quote(place)} ]" for place in places)
    sentence = (
        f"skillvault: {sys.executable} or the vault {wish.vault} was moved, so nothing is learned "
        f"here; run `skillvault setup {client}` again"
    )
    message = shlex.quote(json.dumps({"systemMessage": sentence}))
    return f"if {tests}; then {command}; else printf %s {message}; fi"


def _program_words(wish: SetupWish, command: str) -> list[str]:
    """Return the command: by its name in a team's file, else as it runs on this machine."""
    if wish.is_shared:
        return ["skillvault", command]
    return [sys.executable, "-m", "skillvault", "--vault", str(wish.vault), command]


def _server_words(wish: SetupWish) -> list[str]:
    """Return the server's command; if skills are linked, it must not hold any out."""
    return [*_program_words(wish, "mcp"), *(["--no-holdout"] if wish.links else [])]


def _hooks_by_hand(wishes: list[JsonWish]) -> str:
    groups = {wish.path[1]: wish.value for wish in wishes if wish.path[0] == "hooks"}
    return "\n".join(f"{event}: {group['hooks'][0]['command']}" for event, group in groups.items())


def _toml_edit(place: Path, wish: SetupWish) -> FileEdit:
    """Return the edit that puts the server at the end of a TOML file, between two comments."""
    command, *words = _server_words(wish)
    # A JSON string is a TOML string too.
    lines = [
        "[mcp_servers.skillvault]",
        f"command = {_toml_text(command)}",
        f"args = [{', '.join(map(_toml_text, words))}]",
    ]
    block = "\n".join([_TOML[0], *lines, _TOML[1], ""])

    def put_block(text: str) -> str:
        other_text = take_out_block(text)
        _check_toml(other_text)
        gap = "" if not other_text else "\n" if other_text.endswith("\n") else "\n\n"
        return other_text + gap + block

    def take_out_block(text: str) -> str:
        head, mark, block_and_tail = text.partition(_TOML[0])
        if not mark:
            return text
        tail = block_and_tail.partition(f"{_TOML[1]}\n")[2]
        return (head[:-1] if head.endswith("\n\n") else head.strip("\n")) + tail

    return FileEdit(place, put_block, take_out_block, "\n".join(lines))


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_toml(text: str) -> None:
    try:
        servers = tomllib.loads(text).get("mcp_servers", {})
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"is no TOML ({error})", code="toml") from None
    if "skillvault" in servers:
        raise BadInputError("has a server of this name already", code="not-ours")
