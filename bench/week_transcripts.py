"""The sessions of the week without the client: the calls are made here, the transcripts written."""

import json
import subprocess
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from week_place import Workplace, WrongScriptError, session_uuid
from week_script import Call, Prompt, Session, Turn

VERSION = "2.1.330"  # of Claude Code, whose lines these are
STEP = timedelta(seconds=20)
Line = dict[str, Any]


class Transcripts:
    """Writes transcripts as Claude Code writes them, of sessions that it plays itself."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self._lines: dict[str, list[Line]] = {}

    def play(self, session: Session) -> None:
        """Play a session, and write its transcript."""
        lines = self._lines.get(session.origin, [])
        name = session.origin or session.id
        if session.is_fork:
            name = session.id
            lines = [_copy_line(line, session) for line in lines]
        player = _Player(self.place, session, session_uuid(name), lines)
        for prompt in session.prompts:
            player.play(prompt)
        self._lines[name] = lines
        write_lines(self.folder(session.repo) / f"{session_uuid(name)}.jsonl", lines)

    def folder(self, repo: str) -> Path:
        """Return where the client keeps the transcripts of a repository."""
        name = str(self.place.root / repo).replace("/", "-").replace("_", "-")
        return self.place.home / ".claude" / "projects" / name


def write_lines(path: Path, lines: Sequence[Line]) -> None:
    """Write a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def _copy_line(line: Line, session: Session) -> Line:
    """Return a line as a fork has it: what was asked gets the id of the fork's first prompt."""
    copy = {**line, "sessionId": session_uuid(session.id)}
    return (
        copy | {"promptId": _prompt_id(session, session.prompts[0])} if "promptId" in line else copy
    )


def _prompt_id(session: Session, prompt: Prompt) -> str:
    return session_uuid(f"{session.id} {prompt.text}")


class _Player:
    """One session while it is played."""

    def __init__(self, place: Workplace, session: Session, owner: str, lines: list[Line]) -> None:
        self.place, self.session, self.lines = place, session, lines
        self.repo = place.root / session.repo
        self.owner, self.at = owner, session.at
        self.prompt_id = ""

    def play(self, prompt: Prompt) -> None:
        """Play a prompt and the model's turns."""
        self.prompt_id = _prompt_id(self.session, prompt)
        kind = (
            {"promptSource": "sdk"}
            if self.session.is_printed
            else {
                "origin": {"kind": "human"},
                "promptSource": "typed",
                "turnOrigin": "human",
            }
        )
        self._add("user", prompt.text, promptId=self.prompt_id, **kind)
        self._play_turns(prompt.turns, self.lines)

    def _play_turns(self, turns: Sequence[Turn], lines: list[Line]) -> None:
        for turn in turns:
            if turn.text:
                self._answer({"type": "text", "text": turn.text}, lines)
            if turn.call is not None:
                self._use(turn.call, lines)

    def _answer(self, block: Line, lines: list[Line]) -> None:
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        about = {"id": f"msg_{len(lines)}", "model": self.session.model, "stop_reason": reason}
        self._add("assistant", [block], lines, about)

    def _use(self, call: Call, lines: list[Line]) -> None:
        arguments = self.place.arguments(self.session.repo, call)
        identity = f"toolu_{session_uuid(self.session.id + str(len(lines)) + str(self.at))[:12]}"
        self._answer(
            {"type": "tool_use", "id": identity, "name": call.name, "input": arguments}, lines
        )
        is_error, text = self._make(call, arguments)
        result: Line = {"type": "tool_result", "tool_use_id": identity, "content": text}
        if is_error:
            result["is_error"] = True
        self._add("user", [result], lines, promptId=self.prompt_id)

    def _make(self, call: Call, arguments: Line) -> tuple[bool, str]:
        """Make a call; return (it failed, the text of its result)."""
        if call.name == "Bash":
            return self._run(call)
        if call.name == "Agent":
            return False, self._delegate(call)
        path = Path(arguments["file_path"])
        if call.name == "Write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"], encoding="utf-8")
            return False, f"File written successfully at: {path}"
        text = path.read_text(encoding="utf-8")
        if call.name == "Read":
            rows = enumerate(text.splitlines(), 1)
            return False, "\n".join(f"{number}\t{row}" for number, row in rows)
        if text.count(arguments["old_string"]) != 1:
            raise WrongScriptError(f"{self.session.id}: {arguments['old_string']!r} in {path}")
        path.write_text(text.replace(arguments["old_string"], arguments["new_string"]), "utf-8")
        return False, f"The file {path} has been updated successfully."

    def _run(self, call: Call) -> tuple[bool, str]:
        done = subprocess.run(
            ["/bin/bash", "-c", call.arguments["command"]],
            cwd=self.repo,
            env=self.place.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != call.exit:
            command = call.arguments["command"]
            text = f"{self.session.id}: {command!r} ended with {done.returncode}"
            raise WrongScriptError(f"{text}\n{done.stdout}")
        code = f"Exit code {done.returncode}\n" if done.returncode else ""
        return bool(done.returncode), (code + done.stdout).strip()

    def _delegate(self, call: Call) -> str:
        """Play a subagent in a transcript of its own."""
        name = f"agent-{session_uuid(call.arguments['prompt'])[:17].replace('-', '')}"
        inner: list[Line] = []
        self._add("user", call.arguments["prompt"], inner, promptId=self.prompt_id)
        self._play_turns(call.inner, inner)
        for line in inner:
            line |= {"isSidechain": True, "agentId": name.removeprefix("agent-")}
        folder = Transcripts(self.place).folder(self.session.repo) / self.owner / "subagents"
        write_lines(folder / f"{name}.jsonl", inner)
        return call.inner[-1].text

    def _add(
        self,
        role: str,
        content: object,
        lines: list[Line] | None = None,
        about: Line | None = None,
        **more: object,
    ) -> None:
        """Add a line of a transcript."""
        lines = self.lines if lines is None else lines
        self.at += STEP
        writer = {} if isinstance(content, str) else {"session_id": self.owner}
        lines.append(
            {
                **writer,
                "parentUuid": lines[-1]["uuid"] if lines else None,
                "isSidechain": False,
                **more,
                "type": role,
                "message": {"role": role, **(about or {}), "content": content},
                "uuid": session_uuid(f"{self.session.id} {len(lines)} {self.at} {role}"),
                "timestamp": f"{self.at:%Y-%m-%dT%H:%M:%S}.000Z",
                "userType": "external",
                "entrypoint": "sdk-cli" if self.session.is_printed else "cli",
                "cwd": str(self.repo),
                "sessionId": self.owner,
                "version": VERSION,
                "gitBranch": self.session.branch,
            }
        )
