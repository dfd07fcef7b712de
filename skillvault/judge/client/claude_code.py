"""Call Claude Code as a judge: `claude -p`, without hooks, tools and transcript."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from skillvault.judge.client import (
    HOUR,
    PAUSE,
    Client,
    ClientCall,
    ClientFault,
    ClientReply,
    QuestionBatch,
    count_tokens,
    limit_pause,
)

_PROGRAM = "claude"
_MODEL = "haiku"
_ISOLATION = ("--safe-mode", "--tools", "", "--strict-mcp-config", "--no-session-persistence")
_TOKEN_COUNTS = (
    "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens",
)  # fmt: skip


def _build_call(batch: QuestionBatch, model: str, folder: Path) -> ClientCall:  # noqa: ARG001 (it reads no file)
    schema = ("--json-schema", json.dumps(batch.schema))
    options = ("--output-format", "json", *schema, "--system-prompt", batch.system)
    command = (_PROGRAM, "-p", *_ISOLATION, *options, "--model", model or _MODEL)
    return ClientCall(command=command, stdin=batch.user)


def _read_output(stdout: bytes, stderr: str, at: datetime) -> ClientReply:
    try:
        result: Any = json.loads(stdout)
    except (ValueError, RecursionError):  # not JSON, or not UTF-8
        result = None
    if not isinstance(result, dict):
        message = stderr.strip() or stdout[:200].decode(errors="replace").strip()
        raise ClientFault(f"claude printed no result: {message or 'nothing'}")
    tokens = count_tokens(result, *_TOKEN_COUNTS)
    message = str(result.get("result") or result.get("errors") or result.get("subtype"))
    status = result.get("api_error_status")
    if result.get("subtype") == "error_max_structured_output_retries":
        raise ClientFault(f"claude: {message}", tokens=tokens, is_answer=True)
    if result.get("is_error") is not False:
        is_limit = status == 429 or "limit" in message
        if is_limit:
            raise ClientFault(f"claude: {message}", limit_pause(message, at), tokens=tokens)
        is_closed = status in (401, 402, 403) or "logged in" in message
        raise ClientFault(f"claude: {message}", HOUR if is_closed else PAUSE, tokens=tokens)
    answers = result.get("structured_output")
    if result.get("terminal_reason") not in (None, "completed") or not isinstance(answers, dict):
        raise ClientFault(
            f"claude answered without the schema: {message}", tokens=tokens, is_answer=True
        )
    return ClientReply(answers=answers, tokens=tokens)


CLIENT = Client(
    program=_PROGRAM,
    login_command=lambda: (_PROGRAM, "auth", "status"),
    min_questions=None,
    max_wait_days=2,
    call_tokens=500,
    model=_MODEL,
    build_call=_build_call,
    read_output=_read_output,
)
