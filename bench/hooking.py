"""The hooks of an agent's client, each a process of its own, beside `recommend` and beside nothing.

A person waits for them: at most 300 ms on a quiet machine, of which Python itself takes a part.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ground import Ground
from recommending import DOMAIN, SKILLS, TASK
from row import Figure, Row, at_most, quantile, spent, within

REPEATS = 10
TOLD = {"session_id": "bench", "prompt_id": "p-1", "prompt": TASK}
CHECK = {
    "tool_name": "Bash",
    "tool_use_id": "t-1",
    "tool_input": {"command": "pytest -q"},
    "tool_response": {"stdout": "3 passed in 0.1s\n" * 200, "stderr": ""},
}
EVENTS: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {},
    "PostToolUse": CHECK,
    "Stop": {"last_assistant_message": "Done.", "stop_hook_active": False},
}


def rows(ground: Ground) -> Iterator[Row]:
    """Each event among many skills, whole processes that take turns."""
    root = ground.shelf(SKILLS)
    recommend = ("recommend", "--domain", DOMAIN, "--task", TASK)
    times: dict[str, list[float]] = {name: [] for name in ("pass", "recommend", *EVENTS)}
    _run(root, b"", "-m", "skillvault", *recommend)  # what is read once is not the question's
    for _ in range(REPEATS):
        times["pass"].append(spent(partial(_run, root, b"", "-c", "pass")).wall)
        asked = partial(_run, root, b"", "-m", "skillvault", *recommend)
        times["recommend"].append(spent(asked).wall)
        for event, values in EVENTS.items():
            data = json.dumps({**TOLD, **values}).encode()
            words = ("-m", "skillvault", "hook", event, "--vault", str(root), "--domain", DOMAIN)
            times[event].append(spent(partial(_run, root, data, *words)).wall)
    middle = {name: quantile(found, 0.5) for name, found in times.items()}
    note = f"python -c pass {middle['pass']:.0f} ms"
    for event in EVENTS:
        figure = Figure("whole process", middle[event], "ms")
        yield at_most(f"hook {event}, {SKILLS:,} skills", figure, 300, note)
    ours = Figure("with its receipt and notes", middle["UserPromptSubmit"], "ms")
    theirs = Figure("recommend as a command", middle["recommend"], "ms")
    yield within("hook UserPromptSubmit beside recommend", ours, theirs, 1.3)


def _run(root: Path, data: bytes, *words: str) -> None:
    """A process as a client starts it, whose modules are compiled once and kept."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *words]
    subprocess.run(command, cwd=root, env=env, input=data, capture_output=True, check=True)
