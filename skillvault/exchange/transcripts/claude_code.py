"""Lines of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A subagent's lines stand among its parent's or below `<session>/subagents/` and name its prompt. Of
them what it did by tools is told; what it was asked and answered its parent's lines hold.
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
# Types of lines that tell nothing of what was asked, said or done.
_SILENT = frozenset(
    "ai-title agent-name api-request api-request-blob api-request-shape atis-latch attachment "
    "cost-state custom-title file-history-snapshot last-prompt mode permission-mode pr-link "
    "progress queue-operation saved_hook_context summary system tag tools-used".split()
)
# What the client itself puts in the place of a prompt.
_OF_CLIENT = re.compile(
    r"\s*(?:<(?:task-notification|system-reminder|local-command|command-|bash-)|Caveat: )"
)
_INTERRUPTED = "[Request interrupted"
_EXIT_CODE = re.compile(r"Exit code (\d+)\b")
_IN_BACKGROUND = ("Command running in background", "Running in background")
# How the client tells that a command in the background has ended.
_ENDED = re.compile(
    r"<task-notification>.*?<tool-use-id>(?P<call>[^<]+)</tool-use-id>.*?"
    r"<status>(?P<status>completed|failed)</status>.*?<summary>(?P<told>[^<]*)",
    re.DOTALL,
)
_ENDED_WITH = re.compile(r"\bexit code (\d+)\)?$")
# How a result begins of a call that a person did not allow.
_REFUSED = ("The user doesn't want to", "[Request interrupted", "Permission to use")


def is_line(line: Mapping[str, Any]) -> bool:
    """Whether a line is one of this client's."""
    return "sessionId" in line and isinstance(line.get("type"), str)


def events_of(line: Mapping[str, Any], header: Header) -> Iterator[Event] | None:
    """What a line tells; None for a line that is not understood."""
    kind, message = line.get("type"), line.get("message")
    if kind == "queue-operation" and line.get("operation") == "enqueue":
        return _ended_aside(str(line.get("content")), _time(line))
    if kind in _SILENT or line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return iter(())
    if kind not in ("user", "assistant") or not isinstance(message, Mapping):
        return None
    header.note(session=line.get("sessionId"), cwd=line.get("cwd"), branch=line.get("gitBranch"))
    at = _time(line)
    header.ended_at = at or header.ended_at
    if line.get("isSidechain") is True:
        return _aside(line, message, at)
    if kind == "assistant":
        header.note(model=message.get("model"))
        return _agent_events(message, at)
    return _person_events(line, message, at)


def _aside(
    line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    """What a subagent did by tools."""
    for event in (*_agent_events(message, at), *_person_events(line, message, at)):
        if isinstance(event, ToolCall | ToolResult):
            yield replace(event, aside=True)


def _time(line: Mapping[str, Any]) -> datetime | None:
    return time_of(stamp) if isinstance(stamp := line.get("timestamp"), str) else None


def _agent_events(message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    for block in _blocks(message):
        if block.get("type") == "text":
            yield Remark(at, str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            arguments = block.get("input")
            named = arguments if isinstance(arguments, Mapping) else {}
            yield ToolCall(at, str(block.get("id")), str(block.get("name")), named)


def _person_events(
    line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    prompt_id = line.get("promptId")
    prompt = prompt_id if isinstance(prompt_id, str) else None
    for block in _blocks(message):
        if block.get("type") == "text":
            yield from _asked(str(block.get("text", "")), at, prompt)
        elif block.get("type") == "tool_result":
            yield _tool_result(block, at, prompt)


def _asked(text: str, at: datetime | None, prompt: str | None) -> Iterator[Event]:
    if text.startswith(_INTERRUPTED):
        yield Interruption(at)
    elif not _OF_CLIENT.match(text):
        yield Prompt(at, text, prompt)
    yield from _ended_aside(text, at)


def _ended_aside(text: str, at: datetime | None) -> Iterator[Event]:
    """That a command in the background has ended."""
    ended = _ENDED.match(text)
    code = _ENDED_WITH.search(ended["told"].strip()) if ended else None
    if ended and code:
        failed = ended["status"] == "failed"
        yield ToolResult(at, ended["call"], ended["told"], failed, int(code[1]))


def _tool_result(
    block: Mapping[str, Any], at: datetime | None, prompt: str | None = None
) -> ToolResult:
    text = "\n".join(str(part.get("text", "")) for part in _blocks(block))
    has_ended_well = block.get("is_error") is not True
    refused = not has_ended_well and text.startswith(_REFUSED)
    failed = not has_ended_well and not refused
    code = _EXIT_CODE.match(text) if failed else None
    name = str(block.get("tool_use_id"))
    return ToolResult(
        at,
        name,
        text[code.end() :].lstrip("\n") if code else text,
        failed,
        int(code[1]) if code else 0 if has_ended_well else None,  # it tells no other code but 0 so
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
