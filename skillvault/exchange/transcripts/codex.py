"""Lines of Codex: `~/.codex/sessions/<yyyy>/<mm>/<dd>/rollout-*.jsonl`.

Codex writes much twice, as an item and as an event. Only the items are read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

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

CLIENT = "codex"
_TYPES = frozenset({"session_meta", "turn_context", "response_item"})
_IGNORED_TYPES = frozenset(
    "compacted event_msg ghost_snapshot token_usage_record world_state".split()
)
_IGNORED_ITEMS = frozenset(
    "compaction ghost_snapshot other reasoning web_search_call image_generation_call".split()
)
# Sources of a session with a person at the client, and those of scripts.
_ATTENDED = frozenset({"cli"})
_UNATTENDED = frozenset({"exec", "mcp"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:\n", re.MULTILINE)
_ABORT = "<turn_aborted"
_REFUSAL = re.compile(r"\b(?:rejected by (?:the )?user|aborted by user)\b")
# Texts that the client itself writes as prompts.
_CLIENT_TEXT = re.compile(
    r"\s*<(?:environment_context|user_instructions|turn_aborted|skill)\b|# AGENTS"
)


def is_line(line: Mapping[str, Any]) -> bool:
    """Return True if this client wrote the line."""
    return line.get("type") in _TYPES and isinstance(line.get("payload"), Mapping)


def events_of(line: Mapping[str, Any], header: Header) -> Iterator[Event] | None:
    """Return the events of a line; None for a line that is not understood."""
    kind, payload = line.get("type"), line.get("payload")
    if kind in _IGNORED_TYPES:
        return iter(())
    if kind not in _TYPES or not isinstance(payload, Mapping):
        return None
    at = time_of(stamp) if isinstance(stamp := line.get("timestamp"), str) else None
    header.ended_at = at or header.ended_at
    if kind == "response_item":
        return _item_events(payload, at, header)
    git = payload.get("git")
    branch = git.get("branch") if isinstance(git, Mapping) else None
    session = payload.get("session_id") or payload.get("id") if kind == "session_meta" else None
    header.note(session=session, cwd=payload.get("cwd"), model=payload.get("model"), branch=branch)
    if kind == "session_meta":
        header.attended = _attendance(payload.get("source"))
    return iter(())


def _attendance(source: object) -> bool | None:
    if isinstance(source, Mapping):  # a subagent
        return False
    return True if source in _ATTENDED else False if source in _UNATTENDED else None


def _item_events(
    entry: Mapping[str, Any], at: datetime | None, header: Header
) -> Iterator[Event] | None:
    kind = entry.get("type")
    if kind == "message":
        return _message_events(entry, at, header.attended)
    if kind in _CALLS:
        return iter([_convert_call(entry, at)])
    if kind in _RESULTS:
        return iter([_convert_output(entry, at)])
    return iter(()) if kind in _IGNORED_ITEMS else None


def _message_events(
    entry: Mapping[str, Any], at: datetime | None, attended: bool | None
) -> Iterator[Event]:
    content = entry.get("content")
    parts = content if isinstance(content, list) else []
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, Mapping)]
    metadata = entry.get("internal_chat_message_metadata_passthrough")
    turn = metadata.get("turn_id") if isinstance(metadata, Mapping) else None
    for text in texts:
        if entry.get("role") == "assistant":
            yield Remark(at, text)
        elif entry.get("role") == "user" and text.lstrip().startswith(_ABORT):
            yield Interruption(at)
        elif entry.get("role") == "user" and not _CLIENT_TEXT.match(text):
            yield Prompt(at, text, turn if isinstance(turn, str) else None, attended)


def _convert_call(entry: Mapping[str, Any], at: datetime | None) -> ToolCall:
    arguments = _parse_mapping(entry.get("arguments")) or _parse_mapping(entry.get("action"))
    if not arguments and isinstance(entry.get("input"), str):
        arguments = {"input": entry["input"]}
    tool = str(entry.get("name") or "shell")
    return ToolCall(at, str(entry.get("call_id") or entry.get("id")), tool, arguments)


def _convert_output(entry: Mapping[str, Any], at: datetime | None) -> ToolResult:
    output = entry.get("output")
    parts = _parse_mapping(output)
    text = str(parts.get("output") or parts.get("content") or output or "")
    metadata = parts.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
    if not isinstance(code, int):
        match = _EXIT_CODE.search(text[:1000])
        code = int(match[1]) if match else None
    failed = code not in (None, 0) or parts.get("success") is False
    start = _OUTPUT.search(text[:1000])
    shown_text = text[start.end() :] if start else text
    session = _RUNNING.search(text[: start.start()]) if start and code is None else None
    running = session[1] if session else None
    refused = code is None and _REFUSAL.search(text[:1000]) is not None
    name = str(entry.get("call_id"))
    return ToolResult(at, name, shown_text, failed, code, running=running, refused=refused)


def _parse_mapping(value: object) -> Mapping[str, Any]:
    """A mapping, also one written as JSON; an empty one for anything else."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}
