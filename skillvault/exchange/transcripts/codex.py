"""Read the lines of a transcript of Codex: `~/.codex/sessions/<yyyy>/<mm>/<dd>/rollout-*.jsonl`.

Codex writes messages twice, as an item and as an event. Only items are read. In older versions a
fork starts with a copy of its parent's lines, with the times of the parent or of the copying. The
copy is left out, because the parent's file has it. Only the tool calls of a helper are read.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from skillvault.exchange.source_file import time_of
from skillvault.exchange.transcripts import events
from skillvault.exchange.transcripts.words import CODEX as WORDS

_LINES = WORDS.texts("line")
_IGNORED_LINES = WORDS.texts("ignored line")
_IGNORED_ITEMS = WORDS.texts("ignored item")
_ATTENDED_SOURCES = WORDS.texts("attended")
_UNATTENDED_SOURCES = WORDS.texts("unattended")
_TYPED_TRIGGERS = WORDS.texts("typed")
_CLIENT_PROVENANCES = WORDS.texts("client prompt")
_CALLS = WORDS.texts("call")
_RESULTS = WORDS.texts("result")
_EXIT_CODE = WORDS.pattern("exit code pattern")
_RUNNING_NOTICE = WORDS.pattern("running pattern")
_OUTPUT = WORDS.pattern("output pattern")
_INTERRUPTIONS = WORDS.beginnings("interruption")
_REFUSAL = WORDS.pattern("refusal pattern")
# The longest pause between two lines of a copy that have the time of the copying.
_MAX_COPY_PAUSE = timedelta(seconds=2)
_TIME_BASED_UUID = 7  # the version of a UUID that begins with its time


class CodexLines:
    """The lines of one rollout in order."""

    words = WORDS

    @staticmethod
    def is_line(line: Mapping[str, Any]) -> bool:
        """Return True if this client wrote the line."""
        return line.get("type") in _LINES and isinstance(line.get("payload"), Mapping)

    def __init__(self, header: events.Header) -> None:
        self._header = header
        self._id: str | None = None  # of the rollout's own session
        self._begun_at: datetime | None = None
        self._copied_at: datetime | None = None  # the time of the last copied line
        self._attended: bool | None = None  # a person typed the prompt of the turn
        self._turn: str | None = None
        self._root_turn: str | None = None
        self._messages: set[str] = set()
        self._prompt_count = 0

    def events_of(self, line: Mapping[str, Any]) -> Iterator[events.Event] | None:
        """Return the events of a line, or None for an unknown kind of line."""
        kind, payload = line.get("type"), line.get("payload")
        if kind not in _LINES | _IGNORED_LINES or not isinstance(payload, Mapping):
            return None
        stamp = line.get("timestamp")
        at = time_of(stamp) if isinstance(stamp, str) else None
        if kind == "session_meta":
            self._open_session(payload, at)
        if self._is_copied(payload, at):
            return iter(())
        self._header.ended_at = at or self._header.ended_at
        self._note_turn(payload)
        if kind == "response_item":
            return self._item_events(payload, at)
        if kind == "turn_context":
            self._note_header(payload)
        return iter(())

    def _open_session(self, payload: Mapping[str, Any], at: datetime | None) -> None:
        """Remember the session of a rollout. A copy begins with another session's line.

        The copy ends with the next line of the rollout's own session.
        """
        session = _text(payload, "id") or _text(payload, "session_id")
        if self._id not in (None, session):
            self._copied_at = at or self._begun_at
            return
        self._copied_at = None
        if self._id is not None:
            return
        begun_at = _text(payload, "timestamp")
        self._id, self._begun_at = session, (time_of(begun_at) if begun_at else None) or at
        self._header.note(session=session, version=payload.get("cli_version"))
        self._note_header(payload)
        source = payload.get("source")
        is_helper = isinstance(source, Mapping) or payload.get("thread_source") == "subagent"
        if is_helper:
            self._header.parent = _parent_of(source) or "unknown"
        if is_helper or source in _UNATTENDED_SOURCES:
            self._header.attended = False
        elif source in _ATTENDED_SOURCES:
            self._header.attended = True
        self._attended = self._header.attended

    def _is_copied(self, payload: Mapping[str, Any], at: datetime | None) -> bool:
        """Return True for a line that was copied from the parent of a fork."""
        if self._copied_at is None:
            return False
        begun_at, line_time = self._begun_at or self._copied_at, at or self._copied_at
        if turn_time := _uuid_time(_turn_of(payload)):
            is_copied = turn_time < begun_at
        else:
            is_burst = timedelta(0) <= line_time - self._copied_at <= _MAX_COPY_PAUSE
            is_copied = is_burst or line_time < begun_at
        self._copied_at = line_time if is_copied else None
        return is_copied

    def _note_header(self, payload: Mapping[str, Any]) -> None:
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, Mapping) else None
        self._header.note(cwd=payload.get("cwd"), model=payload.get("model"), branch=branch)

    def _note_turn(self, payload: Mapping[str, Any]) -> None:
        """Remember who started a turn, and the parent's turn if it is a helper's."""
        self._root_turn = _text(payload, "root_turn_id") or self._root_turn
        attribution = payload.get("turn_attribution")
        if not isinstance(attribution, Mapping):
            return
        if _text(attribution, "parent_turn_id"):
            self._header.parent = self._header.parent or "unknown"
        is_typed = attribution.get("turn_trigger") in _TYPED_TRIGGERS and not self._is_helper
        is_known = self._header.attended is not None
        self._attended = (True if is_known else None) if is_typed else False

    def _item_events(
        self, entry: Mapping[str, Any], at: datetime | None
    ) -> Iterator[events.Event] | None:
        kind = entry.get("type")
        if kind == "message":
            return self._message_events(entry, at)
        if kind in _CALLS:
            return iter([_convert_call(entry, at, by_subagent=self._is_helper)])
        if kind in _RESULTS:
            prompt = self._root_turn if self._is_helper else None
            return iter([_convert_output(entry, at, prompt)])
        return iter(()) if kind in _IGNORED_ITEMS else None

    @property
    def _is_helper(self) -> bool:
        return self._header.parent is not None

    def _message_events(
        self, entry: Mapping[str, Any], at: datetime | None
    ) -> Iterator[events.Event]:
        if self._is_helper:
            return
        content = entry.get("content")
        parts = content if isinstance(content, list) else []
        texts = [str(part.get("text", "")) for part in parts if isinstance(part, Mapping)]
        if entry.get("role") == "assistant":
            yield from (events.Remark(at, text) for text in texts)
        if entry.get("role") != "user":
            return
        metadata = entry.get("internal_chat_message_metadata_passthrough")
        if any(text.lstrip().startswith(_INTERRUPTIONS) for text in texts):
            yield events.Interruption(at)
        if _provenance(metadata) in _CLIENT_PROVENANCES:
            return
        text = "\n".join(filter(None, map(WORDS.person_text, texts)))
        if text:
            yield from self._prompt_events(entry, text, at)

    def _prompt_events(
        self, entry: Mapping[str, Any], text: str, at: datetime | None
    ) -> Iterator[events.Event]:
        """Yield the prompt of a turn. Text that a person adds during the turn belongs to it."""
        turn = _turn_of(entry)
        message = _text(entry, "id") or turn
        self._prompt_count += 1
        message = message or events.message_id(text, at.isoformat() if at else self._prompt_count)
        is_known = message in self._messages or (turn is not None and turn == self._turn)
        self._messages.add(message)
        self._turn = turn
        if not is_known:
            yield events.Prompt(at, text, id=turn, message=message, attended=self._attended)


def _text(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) and value else None


def _turn_of(payload: Mapping[str, Any]) -> str | None:
    metadata = payload.get("internal_chat_message_metadata_passthrough")
    turn = _text(metadata, "turn_id") if isinstance(metadata, Mapping) else None
    return turn or _text(payload, "turn_id")


def _provenance(metadata: object) -> str | None:
    """Return the source of a message's texts, such as "user" or "harness", or None."""
    entries = metadata.get("content_item_metadata") if isinstance(metadata, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        provenance = entry.get("provenance") if isinstance(entry, Mapping) else None
        if isinstance(provenance, Mapping):
            return _text(provenance, "type")
    return None


def _parent_of(source: object) -> str | None:
    """Return the session that spawned a helper, from any level of its `source`, or None."""
    if not isinstance(source, Mapping):
        return None
    parents = (_parent_of(value) for value in source.values())
    return _text(source, "parent_thread_id") or next(filter(None, parents), None)


def _uuid_time(name: str | None) -> datetime | None:
    try:
        uuid = UUID(name or "")
    except ValueError:
        return None
    milliseconds = uuid.int >> 80
    return (
        datetime.fromtimestamp(milliseconds / 1000, UTC)
        if uuid.version == _TIME_BASED_UUID
        else None
    )


def _convert_call(
    entry: Mapping[str, Any], at: datetime | None, *, by_subagent: bool
) -> events.ToolCall:
    arguments = _parse_mapping(entry.get("arguments")) or _parse_mapping(entry.get("action"))
    if not arguments and isinstance(entry.get("input"), str):
        arguments = {"input": entry["input"]}
    tool = str(entry.get("name") or "shell")
    return events.ToolCall(
        at, str(entry.get("call_id") or entry.get("id")), tool, arguments, by_subagent
    )


def _convert_output(
    entry: Mapping[str, Any], at: datetime | None, prompt: str | None
) -> events.ToolResult:
    output = entry.get("output")
    parts = _parse_mapping(output)
    text = str(parts.get("output") or parts.get("content") or output or "")
    metadata = parts.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
    if not isinstance(code, int):
        match = _EXIT_CODE.search(text[:1000])
        code = int(match[1]) if match else None
    has_failed = code not in (None, 0) or parts.get("success") is False
    start = _OUTPUT.search(text[:1000])
    shown_text = text[start.end() :] if start else text
    session = _RUNNING_NOTICE.search(text[: start.start()]) if start and code is None else None
    return events.ToolResult(
        at,
        str(entry.get("call_id")),
        shown_text,
        has_failed,
        code,
        by_subagent=prompt is not None,
        prompt=prompt,
        running_name=session[1] if session else None,
        is_refused=code is None and _REFUSAL.search(text[:1000]) is not None,
    )


def _parse_mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, which may be JSON text, or {} for anything else."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}
