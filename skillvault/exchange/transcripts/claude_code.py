"""Read the lines of a transcript of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A subagent's lines are among its parent's or below `<session>/subagents/`, with the prompt's id.
Only its tool calls are read, because the parent's lines have its task and its answer. A session
that was resumed or forked may start with a copy of another session's lines. These keep their ids
and times, but not the session and the ids of prompts.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from skillvault.exchange.source_file import time_of
from skillvault.exchange.transcripts import events
from skillvault.exchange.transcripts.words import CLAUDE_CODE as WORDS

_IGNORED_LINES = WORDS.texts("ignored line")
_LINES_WITHOUT_SESSION = WORDS.texts("line without a session")
_HIDDEN_KEYS = WORDS.texts("hidden line")
_ATTENDED_ENTRIES = WORDS.texts("attended")
_UNATTENDED_ENTRIES = WORDS.texts("unattended")
_TYPED_SOURCES = WORDS.texts("typed")
_CLIENT_SOURCES = WORDS.texts("client prompt")
_CLIENT_MODELS = WORDS.texts("model of the client")
_PROMPT_ATTACHMENTS = WORDS.texts("prompt in a turn")
_PERSONS = WORDS.texts("person")
_PASTED_PART = WORDS.pattern("paste pattern")
_COMMAND = WORDS.pattern("command pattern")
_INTERRUPTIONS = WORDS.beginnings("interruption")
_EXIT_CODE = WORDS.pattern("exit code pattern")
_RUNNING_NOTICES = WORDS.beginnings("running")
_BACKGROUND_END = WORDS.pattern("end pattern")
_END_CODE = WORDS.pattern("end code pattern")
_REFUSALS = WORDS.beginnings("refusal")


class ClaudeCodeLines:
    """Converts the lines of one transcript to events, each line once, by its id."""

    words = WORDS

    @staticmethod
    def is_line(line: Mapping[str, Any]) -> bool:
        """Return True if this client wrote the line."""
        kind = line.get("type")
        return isinstance(kind, str) and ("sessionId" in line or kind in _LINES_WITHOUT_SESSION)

    def __init__(self, header: events.Header) -> None:
        self._header = header
        self._ids: set[int] = set()
        self._prompt_count = 0

    def events_of(self, line: Mapping[str, Any]) -> Iterator[events.Event] | None:
        """Return the events of a line, or None for an unknown kind of line."""
        kind, message = line.get("type"), line.get("message")
        self._header.note(version=line.get("version"))
        if kind == "queue-operation" and line.get("operation") == "enqueue":
            return _background_result(str(line.get("content")), _line_time(line))
        if kind == "attachment" and (added_prompt := self._added_prompt(line)):
            return iter((added_prompt,))
        if kind in _IGNORED_LINES or any(line.get(key) is True for key in _HIDDEN_KEYS):
            return iter(())
        if kind not in ("user", "assistant") or not isinstance(message, Mapping):
            return None
        if self._is_repeated(line.get("uuid")):
            return iter(())
        return self._message_events(line, message)

    def _message_events(
        self, line: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Iterator[events.Event]:
        self._note_header(line)
        at = _line_time(line)
        if line.get("isSidechain") is True:
            return self._subagent_events(line, message, at)
        if line.get("type") == "user":
            return self._user_events(line, message, at)
        if message.get("model") in _CLIENT_MODELS:
            return iter(())
        self._header.note(model=message.get("model"))
        return _agent_events(message, at)

    def _is_repeated(self, uuid: object) -> bool:
        """Return True if a line was read before, as after a compaction, and remember its id."""
        if not isinstance(uuid, str):
            return False
        digest, count = hash(uuid), len(self._ids)
        self._ids.add(digest)
        return len(self._ids) == count

    def _note_header(self, line: Mapping[str, Any]) -> None:
        origin = line.get("forkedFrom")
        session = origin.get("sessionId") if isinstance(origin, Mapping) else None
        self._header.note(
            session=session or line.get("sessionId"),
            cwd=line.get("cwd"),
            branch=line.get("gitBranch"),
        )
        self._header.attended = _attendance(line)
        self._header.ended_at = _line_time(line) or self._header.ended_at

    def _subagent_events(
        self, line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
    ) -> Iterator[events.Event]:
        for event in (*_agent_events(message, at), *_tool_results(line, message, at)):
            if isinstance(event, events.ToolCall | events.ToolResult):
                yield replace(event, by_subagent=True)

    def _user_events(
        self, line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
    ) -> Iterator[events.Event]:
        yield from _tool_results(line, message, at)
        texts = [text for text in _texts(message) if text.strip()]
        for text in texts:
            if text.startswith(_INTERRUPTIONS):
                yield events.Interruption(at)
            yield from _background_result(text, at)
        text = "\n".join(filter(None, map(_person_text, texts)))
        if text and line.get("promptSource") not in _CLIENT_SOURCES:
            yield self._convert_prompt(line, text, at)

    def _added_prompt(self, line: Mapping[str, Any]) -> events.Prompt | None:
        """Return a prompt that a person typed while the agent worked, or None for other lines."""
        attachment = line.get("attachment")
        if not isinstance(attachment, Mapping) or attachment.get("type") not in _PROMPT_ATTACHMENTS:
            return None
        origin = attachment.get("origin")
        is_typed = isinstance(origin, Mapping) and origin.get("kind") in _PERSONS
        is_prompt = (
            attachment.get("commandMode") == "prompt" and attachment.get("isMeta") is not True
        )
        text = _person_text("\n".join(_texts({"content": attachment.get("prompt")})))
        if not (is_typed and is_prompt and text):
            return None
        if line.get("isSidechain") is True:
            return None
        identity = attachment.get("source_uuid") or line.get("uuid")
        if self._is_repeated(identity):
            return None
        prompt = self._convert_prompt({**line, "uuid": identity}, text, _line_time(line))
        return replace(prompt, is_midway=True)

    def _convert_prompt(
        self, line: Mapping[str, Any], text: str, at: datetime | None
    ) -> events.Prompt:
        self._prompt_count += 1
        source, prompt, uuid = (line.get(key) for key in ("promptSource", "promptId", "uuid"))
        position = _written_time(line) or self._prompt_count
        return events.Prompt(
            at,
            _PASTED_PART.sub(r"\n\g<text>\n", text).strip(),
            id=prompt if isinstance(prompt, str) else None,
            message=uuid if isinstance(uuid, str) else events.message_id(text, position),
            attended=_attendance(line) if source is None or source in _TYPED_SOURCES else False,
            pasted_parts=tuple(match["text"] for match in _PASTED_PART.finditer(text)),
        )


def _written_time(line: Mapping[str, Any]) -> str | None:
    stamp = line.get("timestamp")
    return stamp if isinstance(stamp, str) else None


def _person_text(text: str) -> str:
    command = _COMMAND.match(text)
    return " ".join(filter(None, command.groups())) if command else WORDS.person_text(text)


def _attendance(line: Mapping[str, Any]) -> bool | None:
    entrypoint = line.get("entrypoint")
    if entrypoint in _ATTENDED_ENTRIES:
        return True
    return False if entrypoint in _UNATTENDED_ENTRIES else None


def _line_time(line: Mapping[str, Any]) -> datetime | None:
    return time_of(stamp) if (stamp := _written_time(line)) else None


def _agent_events(message: Mapping[str, Any], at: datetime | None) -> Iterator[events.Event]:
    for block in _blocks(message):
        if block.get("type") == "text":
            yield events.Remark(at, str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            arguments = block.get("input")
            mapping = arguments if isinstance(arguments, Mapping) else {}
            yield events.ToolCall(at, str(block.get("id")), str(block.get("name")), mapping)


def _tool_results(
    line: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[events.ToolResult]:
    prompt = line.get("promptId")
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            yield _convert_result(block, at, prompt if isinstance(prompt, str) else None)


def _background_result(text: str, at: datetime | None) -> Iterator[events.Event]:
    match = _BACKGROUND_END.match(text)
    code = _END_CODE.search(match["told"].strip()) if match else None
    if match and code:
        has_failed = match["status"] == "failed"
        yield events.ToolResult(at, match["call"], match["told"], has_failed, int(code[1]))


def _convert_result(
    block: Mapping[str, Any], at: datetime | None, prompt: str | None
) -> events.ToolResult:
    text = "\n".join(_texts(block))
    has_ended_well = block.get("is_error") is not True
    is_refused = not has_ended_well and text.startswith(_REFUSALS)
    has_failed = not has_ended_well and not is_refused
    match = _EXIT_CODE.match(text) if has_failed else None
    name = str(block.get("tool_use_id"))
    return events.ToolResult(
        at,
        name,
        text[match.end() :].lstrip("\n") if match else text,
        has_failed,
        int(match[1]) if match else 0 if has_ended_well else None,  # success implies code 0
        prompt=prompt,
        running_name=name if text.startswith(_RUNNING_NOTICES) else None,
        is_refused=is_refused,
    )


def _texts(message: Mapping[str, Any]) -> list[str]:
    return [str(part.get("text", "")) for part in _blocks(message) if part.get("type") == "text"]


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a message's content, which may be one text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, Mapping)]
