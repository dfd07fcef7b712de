"""Choose the edits that set up a client: its files, and the text for each.

To support another client, add a function here and an entry to `edits_of`.
"""

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from skillvault.clients import hook_client
from skillvault.clients.edits import FileEdit, JsonEntry, block_edit, json_edit, lines_edit
from skillvault.clients.notes import project_of
from skillvault.model.errors import BadInputError, UsageError

_TOOLS = "Bash|Edit|MultiEdit|Write|NotebookEdit|Read|Skill"
_MATCHERS = {"PostToolUse": _TOOLS, "PostToolUseFailure": _TOOLS}
# The folder in which each client looks for skills.
SKILLS = {"claude-code": ".claude/skills", "codex": ".agents/skills"}
_TOML = ("# skillvault:setup:begin", "# skillvault:setup:end")
# The line that completes commands in each shell; zsh must load its completion system first.
_LINES = {
    "bash": 'eval "$({call})"',
    "zsh": "(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}; "
    'eval "$({call})"',
    "fish": "{call} | source",
}
SHELLS = tuple(_LINES)
_INSTRUCTIONS = """\
What earlier work taught is kept in a skillvault. {how} It is knowledge to weigh, not orders.
When you apply a skill, say so before you change anything: "Applying [S1] NAME, I ...".
`skillvault search TEXT` finds more; `skillvault learn 'RULE'` notes a rule for later sessions.
"""
_BY_HOOK = "What fits a prompt comes with it."
_BY_LINK = "Its skills are listed with your own."


class SetupOptions(Struct, frozen=True, kw_only=True):
    """The options of a setup. `project` is None for all projects of a user.

    `is_shared` selects the settings that a team commits. `exclude` is the file with git's personal
    exclude patterns, or None outside a repository. With `mcp`, the server is registered, too. Hooks
    write tool calls to the folder `calls`.
    """

    vault: Path
    calls: Path
    project: Path | None
    exclude: Path | None = None
    domain: str | None = None
    links: bool = False
    is_shared: bool = False
    mcp: bool = True


def edits_of(client: str, options: SetupOptions) -> list[FileEdit]:
    """Return the edits of a setup.

    Raises UsageError for a path that is not UTF-8, because a client's settings must be UTF-8.
    """
    for path in filter(None, (options.vault, options.project)):
        if any("\ud800" <= character <= "\udfff" for character in str(path)):
            raise UsageError(
                f"{path}: has a name that is not UTF-8; rename it, then set up {client}"
            )
    return {"claude-code": _claude_code, "codex": _codex}[client](options)


def _claude_code(options: SetupOptions) -> list[FileEdit]:
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR", "~/.claude")).expanduser()
    events = ("SessionStart", "UserPromptSubmit", *_MATCHERS, "Stop", "SessionEnd")
    entries = _hook_entries(events, "claude-code", options)
    parent_keys: tuple[str, ...] = ()
    servers = (home if "CLAUDE_CONFIG_DIR" in os.environ else Path.home()) / ".claude.json"
    if options.project is None:
        edits = [json_edit(home / "settings.json", entries, _hooks_by_hand(entries))]
    elif options.is_shared:
        servers = options.project / ".mcp.json"
        if options.mcp:  # otherwise the client asks before it starts the server
            entries.append(JsonEntry(("enabledMcpjsonServers",), "skillvault"))
        path = options.project / ".claude/settings.json"
        edits = [json_edit(path, entries, _hooks_by_hand(entries))]
        edits.append(block_edit(options.project / "CLAUDE.md", _instructions(options)))
    else:
        # The path that `claude mcp add` uses without a scope.
        parent_keys = ("projects", str(options.project))
        path = options.project / ".claude/settings.local.json"
        edits = [json_edit(path, entries, _hooks_by_hand(entries))]
        edits += _exclude_edits([path], options)
    command, *arguments = _server_command(options)
    values = {"command": command, "args": arguments}
    server = JsonEntry((*parent_keys, "mcpServers", "skillvault"), values, is_value=True)
    by_hand = f"claude mcp add skillvault -- {shlex.join([command, *arguments])}"
    return [*edits, json_edit(servers, [server], by_hand)] if options.mcp else edits


def _exclude_edits(paths: Sequence[Path], options: SetupOptions) -> list[FileEdit]:
    if options.project is None or options.exclude is None:
        return []
    root = project_of(options.project)
    return [lines_edit(options.exclude, [f"/{path.relative_to(root)}" for path in paths])]


def _codex(options: SetupOptions) -> list[FileEdit]:
    home = Path(os.environ.get("CODEX_HOME", "~/.codex")).expanduser()
    path = home if options.project is None else options.project / ".codex"
    # Codex reports a failed command with the same event as other commands.
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    entries = _hook_entries(events, "codex", options)
    edits = [json_edit(path / "hooks.json", entries, _hooks_by_hand(entries))]
    if options.mcp:
        edits.append(_toml_edit(path / "config.toml", options))
    if options.is_shared and options.project:
        edits.append(block_edit(options.project / "AGENTS.md", _instructions(options)))
    elif options.project:
        edits += _exclude_edits([edit.path for edit in edits], options)
    return edits


def _instructions(options: SetupOptions) -> str:
    return _INSTRUCTIONS.format(how=_BY_LINK if options.links else _BY_HOOK)


def _hook_entries(events: Sequence[str], client: str, options: SetupOptions) -> list[JsonEntry]:
    """Return the hooks for a client's settings. Only Claude Code supports matchers."""
    entries = []
    for event in events:
        hook = {"type": "command", "command": _hook_command(event, client, options), "timeout": 10}
        group: dict[str, object] = {"hooks": [hook]}
        if client == "claude-code" and event in _MATCHERS:
            group = {"matcher": _MATCHERS[event], **group}
        entries.append(JsonEntry(("hooks", event), group))
    return entries


def _hook_command(event: str, client: str, options: SetupOptions) -> str:
    flags = [] if client == "claude-code" else ["--client", client]
    flags += ["--domain", options.domain] if options.domain else []
    flags += ["--link", str(options.project or Path.home())] if options.links else []
    if options.is_shared:
        return _shared_command(event, shlex.join(["skillvault-hook", event, *flags]))
    if event in _MATCHERS:  # the next event of the session reads this file
        folder = shlex.quote(str(options.calls))
        return f"{{ umask 077; head -n1 >>{folder}/$PPID.$$; }} 2>/dev/null || :"
    program = [sys.executable, "-ISE", hook_client.__file__]
    command = shlex.join([*program, event, *flags, "--vault", str(options.vault)])
    if event != "SessionStart":
        return command
    # If one of these paths was moved, the next session tells the user.
    paths = [sys.executable, hook_client.__file__, f"{options.vault}/vault.yaml"]
    tests = " && ".join(f"[ -e {shlex.quote(path)} ]" for path in paths)
    sentence = (
        f"skillvault: {sys.executable} or the vault {options.vault} was moved, so nothing is "
        f"learned here; run `skillvault setup {client}` again"
    )
    message = shlex.quote(json.dumps({"systemMessage": sentence}))
    return f"if {tests}; then {command}; else printf %s {message}; fi"


def _shared_command(event: str, command: str) -> str:
    """Return the command for a file that a team shares, which is the same on every machine.

    The first hook of a session links the folder for tool calls, because the file cannot name it.
    """
    has_command = "command -v skillvault-hook >/dev/null 2>&1"
    if event in _MATCHERS:
        return (
            'd="${XDG_STATE_HOME:-$HOME/.local/state}/skillvault/calls/$PPID"; '
            '{ if [ -d "$d" ]; then umask 077; head -n1 >>"$d/$PPID.$$"; '
            f"elif {has_command}; then {command}; fi; }} 2>/dev/null || :"
        )
    if event in ("SessionStart", "SessionEnd"):
        command = f"SKILLVAULT_CLIENT=$PPID {command}"
    if event == "SessionStart":
        sentence = (
            "skillvault: the Python of skillvault-hook was moved, so nothing is learned here; "
            "install skillvault again"
        )
        command += f" || printf %s {shlex.quote(json.dumps({'systemMessage': sentence}))}"
    return f"if {has_command}; then {command}; fi"


def _server_command(options: SetupOptions) -> list[str]:
    """Return the command of the server. A team's file has no path of this machine.

    If skills are linked, the server must not hold out any skill.
    """
    program = [sys.executable, "-m", "skillvault", "--vault", str(options.vault)]
    flags = ["--no-holdout"] if options.links else []
    return [*(["skillvault"] if options.is_shared else program), "mcp", *flags]


def completion_edit(shell: str, variable: str) -> FileEdit:
    """Return the edit of a shell's start file that completes commands of skillvault.

    The line calls this installation, which may be missing on the PATH or removed later.
    """
    home = Path.home()
    path = {
        "bash": home / ".bashrc",
        "zsh": Path(os.environ.get("ZDOTDIR") or home) / ".zshrc",
        "fish": Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        / "fish/completions/skillvault.fish",
    }[shell]
    call = f"{variable}={shell}_source {shlex.quote(sys.executable)} -m skillvault 2> /dev/null"
    return lines_edit(path, [_LINES[shell].format(call=call)], f"{variable}=")


def _hooks_by_hand(entries: list[JsonEntry]) -> str:
    groups = {entry.path[1]: entry.value for entry in entries if entry.path[0] == "hooks"}
    return "\n".join(f"{event}: {group['hooks'][0]['command']}" for event, group in groups.items())


def _toml_edit(path: Path, options: SetupOptions) -> FileEdit:
    """Return the edit that adds the server to the end of a TOML file, between two comments."""
    command, *arguments = _server_command(options)
    # A JSON string is a TOML string too.
    lines = [
        "[mcp_servers.skillvault]",
        f"command = {_toml_text(command)}",
        f"args = [{', '.join(map(_toml_text, arguments))}]",
    ]
    block = "\n".join([_TOML[0], *lines, _TOML[1], ""])

    def put_block(text: str) -> str:
        other_text = take_out_block(text, "")
        _check_toml(other_text)
        gap = "" if not other_text else "\n" if other_text.endswith("\n") else "\n\n"
        return other_text + gap + block

    def take_out_block(text: str, _original: str) -> str:
        head, marker, block_and_tail = text.partition(_TOML[0])
        if not marker:
            return text
        tail = block_and_tail.partition(f"{_TOML[1]}\n")[2]
        return (head[:-1] if head.endswith("\n\n") else head.strip("\n")) + tail

    return FileEdit(path, put_block, take_out_block, "\n".join(lines), "1 MCP server")


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_toml(text: str) -> None:
    try:
        servers = tomllib.loads(text).get("mcp_servers", {})
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"is not TOML ({error})", code="toml") from None
    if "skillvault" in servers:
        raise BadInputError("has a server of this name already", code="not-ours")
