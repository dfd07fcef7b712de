"""Recognize an agent by the environment variables that it sets for its commands.

To recognize another agent, add its variable to `AGENT_VARIABLES`.
"""

import os
from collections.abc import Mapping

# The variable of each agent; any agent may set `AI_AGENT`.
AGENT_VARIABLES = {
    "AI_AGENT": "an agent",
    "AMP_CURRENT_THREAD_ID": "Amp",
    "ANTIGRAVITY_AGENT": "Antigravity",
    "AUGMENT_AGENT": "Augment",
    "CLAUDECODE": "Claude Code",
    "CLINE_ACTIVE": "Cline",
    "CODEX_CI": "Codex",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "COPILOT_CLI": "Copilot",
    "CRUSH": "Crush",
    "CURSOR_AGENT": "Cursor",
    "GEMINI_CLI": "Gemini",
    "GOOSE_TERMINAL": "Goose",
    "OPENCODE": "OpenCode",
    "PI_CODING_AGENT": "Pi",
    "QWEN_CODE": "Qwen Code",
    "TRAE_AI_SHELL_ID": "Trae",
}
_OFF = frozenset({"", "0", "false"})
_ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"  # 0 under `claude -p`; Codex sets no such variable
_ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"  # `cli` in a terminal, `sdk-cli` under `claude -p`


def find_agent() -> str | None:
    """Return the agent that runs this process, with its variable, such as `Codex (CODEX_CI)`."""
    for name, agent in AGENT_VARIABLES.items():
        if os.environ.get(name, "").lower() not in _OFF:
            return f"{agent} ({name})"
    return None


def attendance(environment: Mapping[str, str]) -> bool | None:
    """Return True for a person at the client, False for a script, or None if unknown."""
    value = environment.get(_ATTENDED) or environment.get(_ENTRYPOINT)
    return value in ("1", "cli") if value else None
