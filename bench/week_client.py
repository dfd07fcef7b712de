"""The sessions of the week in the real Claude Code: in a terminal, or printed with `-p`."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from week_place import Workplace, WrongScriptError, session_uuid
from week_script import Call, Session, Turn

from tests.interop.scripted_model import Block, ScriptedModel, serving_model, tool, words

KEY = "sk-dummy-of-the-week-0123456789abcdef"
PATIENCE = 60  # seconds for one prompt
QUIET = 0.7  # seconds without output after which the client waits for the person
ROWS, COLUMNS = 50, 120


def find_client() -> Path | None:
    """Return the program, where `make interop` put it."""
    program = Path(os.environ.get("SKILLVAULT_INTEROP", "")) / "node_modules/.bin/claude"
    return program if program.exists() else None


class Client:
    """Plays sessions in the client; the person's prompts are typed into a terminal."""

    def __init__(self, place: Workplace, program: Path) -> None:
        self.place, self.program = place, program
        self._stops = place.home / "stops"
        self._stops.touch()
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        repos = [path for path in place.root.iterdir() if (path / ".git").exists()]
        _write_json(
            place.home / ".claude.json",
            {
                "hasCompletedOnboarding": True,
                "theme": "dark",
                "numStartups": 9,
                "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                "projects": {str(path): trusted for path in repos},
            },
        )
        stop = {"type": "command", "command": f"echo stop >> {self._stops}"}
        _write_json(
            place.home / ".claude" / "settings.json",
            {
                "hooks": {"Stop": [{"hooks": [stop]}]},
                "permissions": {
                    "allow": ["Bash", "Edit", "Write", "Read", "Agent"],
                    "defaultMode": "acceptEdits",
                },
            },
        )

    def play(self, session: Session) -> None:
        """Play a session to its end."""
        turns = [turn for prompt in session.prompts for turn in prompt.turns]
        calls = [turn.call for turn in turns if turn.call and turn.call.inner]
        with serving_model(*self._blocks(session, turns)) as model:
            for call in calls:
                model.subagents[call.arguments["prompt"]] = self._blocks(session, call.inner)
            words_of = [str(self.program), "--model", session.model, *_identity(session)]
            environment = self._environment(model)
            if session.is_printed:
                self._print(session, words_of, environment)
            else:
                self._type(session, words_of, environment, model)
            _check_results(session, model)

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return {
            **self.place.environment,
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # a caller waits for its subagent
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def _blocks(self, session: Session, turns: Sequence[Turn]) -> list[list[Block]]:
        """Return turns as the model says them."""
        return [
            [
                *([words(turn.text)] if turn.text else ()),
                *([self._tool(session, turn.call)] if turn.call else ()),
            ]
            for turn in turns
        ]

    def _tool(self, session: Session, call: Call) -> Block:
        return tool(call.name, **self.place.arguments(session.repo, call))

    def _print(self, session: Session, program: list[str], environment: dict[str, str]) -> None:
        for prompt in session.prompts:
            subprocess.run(
                [*program, "-p", prompt.text],
                cwd=self.place.root / session.repo,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=True,
            )

    def _type(
        self,
        session: Session,
        program: list[str],
        environment: dict[str, str],
        model: ScriptedModel,
    ) -> None:
        first, *others = session.prompts
        count = self._stop_count()
        with _terminal(
            [*program, first.text], self.place.root / session.repo, environment
        ) as screen:
            for place, prompt in enumerate((first, *others), 1):
                if place > 1:
                    screen.type(prompt.text)
                screen.wait(partial(self._has_stopped, count + place))
                if not any(_asks(request, prompt.text) for request in model.requests):
                    raise WrongScriptError(f"{session.id}: {prompt.text!r} did not arrive")
            screen.type("/exit")
            screen.wait(screen.has_ended)

    def _has_stopped(self, count: int) -> bool:
        return self._stop_count() >= count

    def _stop_count(self) -> int:
        return self._stops.read_text().count("stop")


def _identity(session: Session) -> list[str]:
    if not session.origin:
        return ["--session-id", session_uuid(session.id)]
    fork = ["--fork-session", "--session-id", session_uuid(session.id)] if session.is_fork else []
    return ["--resume", session_uuid(session.origin), *fork]


def _asks(request: dict[str, Any], text: str) -> bool:
    """Return True if the person's words are in a request."""
    said = json.dumps(request["messages"], ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False)[1:-1] in said


def _check_results(session: Session, model: ScriptedModel) -> None:
    """Fail unless each call ended as the script says."""
    if model.turns:
        raise WrongScriptError(f"{session.id}: {len(model.turns)} turns were not asked for")
    results = {
        block["tool_use_id"]: block
        for request in model.requests
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    failed = [str(block["content"])[:300] for block in results.values() if block.get("is_error")]
    turns = [turn for prompt in session.prompts for turn in prompt.turns]
    expected = sum(bool(turn.call and turn.call.exit) for turn in turns)
    if len(failed) < expected or (len(failed) > expected and not session.origin):
        raise WrongScriptError(f"{session.id}: {len(failed)} calls failed: {failed}")


class _Screen:
    """A terminal that nobody looks at."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._is_open = True
        self._heard_at = time.monotonic()
        self.text = b""

    def type(self, text: str) -> None:
        """Type a line as a person does, and press the return key."""
        os.write(self._file, text.encode())
        self._read(0.4)
        os.write(self._file, b"\r")

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until something is done and the client is quiet."""
        end = time.monotonic() + PATIENCE
        while not (is_done() and time.monotonic() - self._heard_at > QUIET):
            if time.monotonic() > end:
                raise WrongScriptError(f"nothing came in {PATIENCE} s:\n{self.text[-2000:]!r}")
            self._read(0.1)

    def has_ended(self) -> bool:
        """Return True once the client closed its terminal."""
        return not self._is_open

    def _read(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not self._is_open or not select.select([self._file], [], [], left)[0]:
                time.sleep(max(until - time.monotonic(), 0))
                return
            try:
                self.text += os.read(self._file, 65536)
            except OSError:  # the other side of a terminal is closed
                self._is_open = False
            self._heard_at = time.monotonic()


@contextmanager
def _terminal(
    program: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator[_Screen]:
    """Run a program in a terminal of its own."""
    file, inner = pty.openpty()
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        program,
        cwd=folder,
        env=environment,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    try:
        yield _Screen(file)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        os.close(file)


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
