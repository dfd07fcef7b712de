"""Lines of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A subagent's lines are among its parent's or below `<session>/subagents/`, with the prompt's id.
Only its tool calls are read, because the parent's lines hold its task and its answer.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from skillvault.exchange.source_file import time_of
from skillvault.exchange.transcripts.events import (
    Event,
    Header,
    Interruption,
    Prompt,
    Remark,
    ToolCall,
    ToolResult,
)

CLIENT = "claude-code"
# Types of lines without a prompt, a message or a tool call.
_IGNORED_TYPES = frozenset(
    "ai-title agent-name api-request api-request-blob api-request-shape atis-latch attachment "
    "cost-state custom-title file-history-snapshot last-prompt mode permission-mode pr-link "
    "progress queue-operation saved_hook_context summary system tag tools-used".split()
)
# Texts that the client itself writes as prompts.
_CLIENT_TEXT = re.compile(
    r"\s*(?:<(?:task-notification|system-reminder|local-command|command-|bash-)|Caveat: )"
)
# Values of `entrypoint` with a person at the client, and those of scripts.
_ATTENDED = frozenset({"claude-desktop", "claude-vscode", "cli"})
_UNATTENDED = frozenset("claude-code-github-action mcp sdk-cli sdk-py sdk-ts".split())
# Values of `promptSource` that a person typed.
_TYPED = frozenset({"queued", "typed"})
_PASTE = re.compile(
    r'\n*<pasted_content id="(\w+)">\n(?P<text>.*?)\n</pasted_content id="\1">\n?', re.DOTALL
)
_INTERRUPTION = "[Request interrupted"
_EXIT_CODE = re.compile(r"Exit code (\d+)\b")
_IN_BACKGROUND = ("Command running in background", "Running in background")
# The client's message about the end of a background command.
_BACKGROUND_END = re.compile(
    r"<task-notification>.*?<tool-use-id>(?P<call>[^<]+)</tool-use-id>.*?"
    r"<status>(?P<status>completed|failed)</status>.*?<summary>(?P<told>[^<]*)",
    re.DOTALL,
)
_END_CODE = re.compile(r"\bexit code (\d+)\)?$")
# Beginnings of the result of a call that the user did not allow.
_REFUSALS = ("The user doesn't want to", "[Request interrupted", "Permission to use")


def is_line(line: Mapping[str, Any]) -> bool:
    """Return True if this client wrote the line."""
    return "sessionId" in line and isinstance(line.get("type"), str)


def events_of(line: Mapping[str, Any], header: Header) -> Iterator[Event] | None:
    """Return the events of a line; None for a line that is not understood."""
    kind, message = line.get("type"), line.get("message")
    if kind == "queue-operation" and line.get("operation") == "enqueue":
        return _background_result(str(line.get("content")), _line_time(line))
    if kind in _IGNORED_TYPES or line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return iter(())
    if kind not in ("user", "assistant") or not isinstance(message, Mapping):
        return None
    header.note(session=line.get("sessionId"), cwd=line.get("cwd"), branch=line.get("gitBranch"))
    header.attended = _attendance(line)
    at = _line_time(line)
    header.ended_at = at or header.ended_at
    if line.get("isSidechain") is True:
        return _subagent_events(line, message, at)
    if kind == "assistant":
        header.note(model=message.get("model"))
        return _agent_events(message, at)
    return _person_events(line, message, at)


def _subagent_events(
    line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    """Yield the tool calls of a subagent and their results."""
    for event in (*_agent_events(message, at), *_person_events(line, message, at)):
        if isinstance(event, ToolCall | ToolResult):
            yield replace(event, aside=True)


def _attendance(line: Mapping[str, Any]) -> bool | None:
    entrypoint = line.get("entrypoint")
    return True if entrypoint in _ATTENDED else False if entrypoint in _UNATTENDED else None


def _line_time(line: Mapping[str, Any]) -> datetime | None:
    return time_of(stamp) if isinstance(stamp := line.get("timestamp"), str) else None


def _agent_events(message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    for block in _blocks(message):
        if block.get("type") == "text":
            yield Remark(at, str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            arguments = block.get("input")
            mapping = arguments if isinstance(arguments, Mapping) else {}
            yield ToolCall(at, str(block.get("id")), str(block.get("name")), mapping)


def _person_events(
    line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    prompt_id = line.get("promptId")
    prompt = prompt_id if isinstance(prompt_id, str) else None
    for block in _blocks(message):
        if block.get("type") == "text":
            yield from _prompt_events(line, str(block.get("text", "")), at, prompt)
        elif block.get("type") == "tool_result":
            yield _convert_result(block, at, prompt)


def _prompt_events(
    line: Mapping[str, Any], text: str, at: datetime | None, prompt: str | None
) -> Iterator[Event]:
    if text.startswith(_INTERRUPTION):
        yield Interruption(at)
    elif not _CLIENT_TEXT.match(text):
        attended = _attendance(line)
        if line.get("promptSource") is not None and line["promptSource"] not in _TYPED:
            attended = False
        pasted = tuple(match["text"] for match in _PASTE.finditer(text))
        yield Prompt(at, _PASTE.sub(r"\n\g<text>\n", text).strip(), prompt, attended, pasted)
    yield from _background_result(text, at)


def _background_result(text: str, at: datetime | None) -> Iterator[Event]:
    """Yield the result of a background command that has ended."""
    match = _BACKGROUND_END.match(text)
    code = _END_CODE.search(match["told"].strip()) if match else None
    if match and code:
        failed = match["status"] == "failed"
        yield ToolResult(at, match["call"], match["told"], failed, int(code[1]))


def _convert_result(
    block: Mapping[str, Any], at: datetime | None, prompt: str | None = None
) -> ToolResult:
    text = "\n".join(str(part.get("text", "")) for part in _blocks(block))
    has_ended_well = block.get("is_error") is not True
    refused = not has_ended_well and text.startswith(_REFUSALS)
    failed = not has_ended_well and not refused
    code = _EXIT_CODE.match(text) if failed else None
    name = str(block.get("tool_use_id"))
    return ToolResult(
        at,
        name,
        text[code.end() :].lstrip("\n") if code else text,
        failed,
        int(code[1]) if code else 0 if has_ended_well else None,  # success implies code 0
        prompt=prompt,
        running=name if text.startswith(_IN_BACKGROUND) else None,
        refused=refused,
    )


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message's content, which may be one text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, Mapping)]
