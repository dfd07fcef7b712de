"""Parse the payload of a hook. Formats change, so an unexpected value counts as missing."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b\n?")
_OUTPUTS = ("stdout", "stderr", "output", "content", "text")


class Payload(Struct, frozen=True, kw_only=True):
    """An event of a session. `prompt_id` is the client's id of the current prompt.

    `runs_in_background` is True for a command that has not ended. `is_stop_hook_active` is True if
    a hook has already sent the agent back.
    """

    session: str
    cwd: Path | None = None
    transcript: Path | None = None
    prompt_id: str | None = None
    prompt: str = ""
    tool: str = ""
    tool_id: str = ""
    arguments: Mapping[str, Any] = {}
    output: str = ""
    is_error: bool = False
    exit_code: int | None = None
    runs_in_background: bool = False
    source: str = ""
    is_stop_hook_active: bool = False
    last_message: str = ""


def parse_payload(data: bytes) -> Payload | None:
    """Parse an event of a session, or return None for bytes that are not an event."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(raw, dict) or not _text_of(raw, "session_id"):
        return None
    output, code = _tool_result_of(raw)
    arguments, response = raw.get("tool_input"), raw.get("tool_response")
    return Payload(
        session=_text_of(raw, "session_id"),
        cwd=_path_of(raw, "cwd"),
        transcript=_path_of(raw, "transcript_path"),
        prompt_id=_text_of(raw, "prompt_id") or _text_of(raw, "turn_id") or None,
        prompt=_text_of(raw, "prompt"),
        tool=_text_of(raw, "tool_name"),
        tool_id=_text_of(raw, "tool_use_id"),
        arguments=arguments if isinstance(arguments, dict) else {},
        output=output,
        is_error=bool(_text_of(raw, "error")) or bool(code),
        exit_code=code,
        runs_in_background=isinstance(response, dict)
        and bool(_text_of(response, "backgroundTaskId")),
        source=_text_of(raw, "source"),
        is_stop_hook_active=raw.get("stop_hook_active") is True,
        last_message=_text_of(raw, "last_assistant_message"),
    )


def _tool_result_of(raw: Mapping[str, Any]) -> tuple[str, int | None]:
    error = _text_of(raw, "error")
    if error:
        match = _EXIT_CODE.match(error)
        return (error[match.end() :], int(match[1])) if match else (error, None)
    response = raw.get("tool_response")
    if isinstance(response, str):
        return response, None
    if not isinstance(response, dict):
        return "", None
    code = response.get("exit_code", response.get("exitCode"))
    if code is None and "stdout" in response and not response.get("interrupted"):
        code = 0  # Claude Code reports other codes in another event
    texts = [response[key] for key in _OUTPUTS if isinstance(response.get(key), str)]
    return "\n".join(filter(None, texts)), code if isinstance(code, int) else None


def _text_of(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _path_of(raw: Mapping[str, Any], key: str) -> Path | None:
    text = _text_of(raw, key)
    return Path(text) if text and "\0" not in text else None
