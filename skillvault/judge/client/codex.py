"""Call Codex as a judge: `codex exec`, without hooks, tools and session file."""

import json
import os
import tomllib
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

_PROGRAM = "codex"
_FEATURES_OFF = ("hooks", "shell_tool", "apps", "multi_agent", "goals", "plugins", "skill_search")
_ISOLATION = ("--sandbox", "read-only", "--ephemeral", "--skip-git-repo-check", "--ignore-rules")


def _build_call(batch: QuestionBatch, model: str, folder: Path) -> ClientCall:
    switches = [part for feature in _FEATURES_OFF for part in ("--disable", feature)]
    # Codex has no option for a system prompt, and would start the servers of the user's settings.
    settings = [f'model_instructions_file="{folder}/system.md"', 'web_search="disabled"']
    servers = _user_settings().get("mcp_servers")
    names = servers if isinstance(servers, dict) else ()
    settings += [f"mcp_servers.{json.dumps(name)}.enabled=false" for name in names]
    overrides = [part for setting in settings for part in ("-c", setting)]
    model_option = ("-m", model) if model else ()
    schema = ("--output-schema", f"{folder}/schema.json")
    options = (*_ISOLATION, *switches, *overrides, *model_option, *schema, "--json", "-")
    return ClientCall(
        command=(_PROGRAM, "exec", *options),
        stdin=batch.user,
        files={"schema.json": json.dumps(batch.schema), "system.md": batch.system},
    )


def _login_command() -> tuple[str, ...]:
    """Return the command that checks the login, or () if `codex exec` needs no login.

    `codex login status` ignores a key in the environment and other providers in the settings.
    """
    settings = _user_settings()
    name = settings.get("model_provider", "openai")
    providers = settings.get("model_providers")
    provider = providers.get(name) if isinstance(providers, dict) else None
    has_login = isinstance(provider, dict) and provider.get("requires_openai_auth") is True
    is_foreign = name != "openai" and not has_login
    return () if is_foreign or os.environ.get("CODEX_API_KEY") else (_PROGRAM, "login", "status")


def _user_settings() -> dict[str, Any]:
    path = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # Codex itself reports the error
        return {}


def _read_output(stdout: bytes, stderr: str, at: datetime) -> ClientReply:
    events = [event for line in stdout.splitlines() if (event := _parse_event(line))]
    ends = [event for event in events if event.get("type") == "turn.completed"]
    tokens = sum(count_tokens(event, "input_tokens", "output_tokens") for event in ends)
    messages = [
        item["text"]
        for event in events
        if event.get("type") == "item.completed"
        and isinstance(item := event.get("item"), dict)
        and item.get("type") == "agent_message"
        and isinstance(item.get("text"), str)
    ]
    if not ends or not messages:
        faults = [event for event in events if event.get("type") in ("error", "turn.failed")]
        message = " ".join(str(fault.get("message") or fault.get("error")) for fault in faults[-1:])
        message = message or stderr.strip()[-300:] or "nothing"
        if "limit" in message:
            raise ClientFault(f"codex: {message}", limit_pause(message, at), tokens=tokens)
        is_closed = any(sign in message for sign in ("401", "403", "ogged in"))
        pause = HOUR if is_closed else PAUSE
        raise ClientFault(f"codex printed no result: {message}", pause, tokens=tokens)
    answers = _parse_event(messages[-1].encode(errors="replace"))
    if answers is None:
        text = f"codex answered without the schema: {messages[-1][:200]}"
        raise ClientFault(text, tokens=tokens, is_answer=True)
    return ClientReply(answers=answers, tokens=tokens)


def _parse_event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


CLIENT = Client(
    program=_PROGRAM,
    login_command=_login_command,
    min_questions=8,
    max_wait_days=1,
    call_tokens=1400,
    model="",
    build_call=_build_call,
    read_output=_read_output,
)
