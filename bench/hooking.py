"""The hooks of an agent's client as `setup` writes them, and the process that answers them.

A person waits for them. Processor time is that of the hook's processes and of its answer; the
vault is empty, or holds many skills.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from ground import Ground
from recommending import DOMAIN, SKILLS, TASK
from row import Figure, Row, Spent, at_most, median, quantile

from skillvault.api import Vault
from skillvault.cli.hook import answer_request
from skillvault.clients.hook_server import HookRequest, HookServer
from skillvault.clients.notes import calls_folder
from skillvault.clients.setups import SetupOptions, edits_of

REPEATS = 40
CHECK = {
    "tool_name": "Bash",
    "tool_use_id": "t-1",
    "tool_input": {"command": "pytest -q"},
    "tool_response": {"stdout": "3 passed in 0.1s\n" * 200, "stderr": ""},
}
EVENTS: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": TASK},
    "PostToolUse": CHECK,
    "Stop": {"last_assistant_message": "Done.", "stop_hook_active": False},
    "SessionEnd": {},
}
LIMITS = {"PostToolUse": 5}  # milliseconds of the processor
LIMIT = 25
WALL_LIMIT = 80  # milliseconds, of 95 % of the hooks beside two busy processes


class Answerer:
    """The answers of the process that serves a vault, and the processor time that they took."""

    def __init__(self, root: Path) -> None:
        self._vault = Vault(root)
        self.milliseconds = 0.0

    def __call__(self, request: HookRequest) -> str | None:
        """Answer a hook."""
        start = time.thread_time()
        text = answer_request(self._vault, request)
        self.milliseconds += 1e3 * (time.thread_time() - start)
        return text


def rows(ground: Ground) -> Iterator[Row]:
    """Each event of whole sessions, in an empty vault and among many skills."""
    for root, skills in ((ground.new("hooks"), 0), (ground.shelf(SKILLS), SKILLS)):
        costs = _measure_sessions(root, "quiet")
        spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        busy_costs = _measure_sessions(root, "busy")
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
        for event in EVENTS:
            name = f"hook {event}, {skills:,} skills"
            cost = median(costs[event])
            figure = Figure("processor, with its answer", cost.processor, "ms")
            yield at_most(name, figure, LIMITS.get(event, LIMIT), f"wall {cost.wall:.0f} ms")
            wall = quantile([each.wall for each in busy_costs[event]], 0.95)
            busy_figure = Figure("wall, 95 %, beside two busy processes", wall, "ms")
            yield at_most(name, busy_figure, WALL_LIMIT)


def _measure_sessions(root: Path, name: str) -> dict[str, list[Spent]]:
    """Return the costs of each event in sessions of this name; the first one counts for nothing."""
    costs: dict[str, list[Spent]] = {event: [] for event in EVENTS}
    options = SetupOptions(
        vault=root, calls=calls_folder(root / ".git/skillvault"), project=root, domain=DOMAIN
    )
    hooks = json.loads(edits_of("claude-code", options)[0].put(""))["hooks"]
    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        server = HookServer(root, answer := Answerer(root))
        assert server.start()
        for number, (event, values) in product(range(REPEATS + 1), EVENTS.items()):
            ids = {"session_id": f"{name}-{number}", "prompt_id": f"{name}-{number}"}
            data = json.dumps({**ids, "hook_event_name": event, **values}).encode()
            cost = _measure_hook(commands[event], data, answer)
            costs[event] += [cost] if number else []
        server.close()
    return costs


def _measure_hook(command: str, data: bytes, answer: Answerer) -> Spent:
    """Return the cost of a hook as a client starts it."""
    answer.milliseconds, processor, wall = 0.0, _children(), time.perf_counter()
    subprocess.run(["sh", "-c", command], input=data, capture_output=True, check=True)
    wall = time.perf_counter() - wall
    return Spent(1e3 * wall, 1e3 * (_children() - processor) + answer.milliseconds)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
