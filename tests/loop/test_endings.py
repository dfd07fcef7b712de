"""Sessions whose ends a person wrote down before the signs were read: few statuses may differ.

`tests/exchange/transcripts/endings.yaml` holds them; here each is written as its client writes it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from skillvault.api import Vault
from tests.conftest import NOW
from tests.sessions.test_transcripts import SAMPLES

LATER = NOW.replace(month=12)
STORIES = yaml.safe_load((SAMPLES / "endings.yaml").read_text(encoding="utf-8"))
PROMPTS = [prompt for story in STORIES for prompt in story["prompts"]]
Line = dict[str, Any]


def as_claude_code(story: Line, number: int) -> Iterator[Line]:
    """The lines of a session of Claude Code."""
    for place, prompt in enumerate(story["prompts"]):
        frame = {
            "sessionId": f"s-{number}",
            "promptId": f"s-{number}-{place}",
            "timestamp": f"2026-11-20T{number % 24:02d}:{place:02d}:00Z",
            "cwd": "/home/ada/shop",
        }
        yield {**frame, "type": "user", "message": {"role": "user", "content": prompt["ask"]}}
        for index, step in enumerate(prompt["steps"]):
            call = f"toolu_{number}_{place}_{index}"
            for role, block in _blocks(step, call):
                message = {"role": role, "model": "m-1", "content": [block]}
                side = {"isSidechain": "aside" in step}
                yield {**frame, **side, "type": role, "message": message}


def _blocks(step: Line, call: str) -> Iterator[tuple[str, Line]]:
    """(who, block of a message) of a step."""
    if "say" in step:
        yield "assistant", {"type": "text", "text": step["say"]}
    elif "stop" in step:
        yield "user", {"type": "text", "text": "[Request interrupted by user]"}
    else:
        command = step.get("run") or step.get("aside") or step.get("background")
        given = {"command": command} if command else {"file_path": step["edit"], "old_string": "1"}
        tool = "Bash" if command else "Edit"
        yield "assistant", {"type": "tool_use", "id": call, "name": tool, "input": given}
        code, is_refused = step.get("exit", 0), "refused" in step
        text = f"Exit code {code}\n{step['out']}" if code else step.get("out", "Edited.")
        text = "The user doesn't want to proceed with this tool use." if is_refused else text
        end = {"tool_use_id": call, "is_error": code != 0 or is_refused, "content": text}
        yield "user", {"type": "tool_result", **end}


def as_codex(story: Line, number: int) -> Iterator[Line]:
    """The lines of a rollout of Codex."""
    minute = f"2026-11-21T{number % 24:02d}"
    start = {"session_id": f"r-{number}", "id": f"r-{number}", "cwd": "/home/ada/shop"}
    yield {"timestamp": f"{minute}:00:00Z", "type": "session_meta", "payload": start}
    for place, prompt in enumerate(story["prompts"]):
        frame = {"timestamp": f"{minute}:{place:02d}:01Z", "type": "response_item"}
        turn = {"turn_id": f"r-{number}-{place}", "cwd": "/home/ada/shop", "model": "m-1"}
        yield {"timestamp": frame["timestamp"], "type": "turn_context", "payload": turn}
        yield {**frame, "payload": _message("user", "input_text", prompt["ask"])}
        for index, step in enumerate(prompt["steps"]):
            for payload in _payloads(step, f"call_{place}_{index}"):
                yield {**frame, "payload": payload}


def _message(role: str, kind: str, text: str) -> Line:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _payloads(step: Line, call: str) -> Iterator[Line]:
    """Yield the payloads of a step in a rollout."""
    if "say" in step:
        yield _message("assistant", "output_text", step["say"])
    elif "edit" in step:
        patch = f"*** Begin Patch\n*** Update File: {step['edit']}\n-1\n+2\n*** End Patch"
        edit = {"name": "apply_patch", "input": patch, "call_id": call}
        yield {"type": "custom_tool_call", **edit}
        end = json.dumps({"output": "Success.", "metadata": {"exit_code": 0}})
        yield {"type": "custom_tool_call_output", "call_id": call, "output": end}
    else:
        arguments = json.dumps({"cmd": step["run"]})
        run = {"name": "exec_command", "arguments": arguments, "call_id": call}
        yield {"type": "function_call", **run}
        if "refused" in step:
            end = "exec command rejected by user"
            yield {"type": "function_call_output", "call_id": call, "output": end}
            return
        exited = f"Chunk ID: ab12\nWall time: 0.1 seconds\nProcess exited with code {step['exit']}"
        end = f"{exited}\nOriginal token count: 9\nOutput:\n{step['out']}\n"
        yield {"type": "function_call_output", "call_id": call, "output": end}


WRITERS = {"claude-code": as_claude_code, "codex": as_codex}


@pytest.fixture(scope="module")
def statuses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Prompt -> the status that the import of all the sessions gives it."""
    place = tmp_path_factory.mktemp("endings")
    vault, _ = Vault.init(place / "vault", ["coding"], now=NOW)
    for client, writer in WRITERS.items():
        folder = place / client
        folder.mkdir()
        for number, story in enumerate(STORIES):
            if story["client"] == client:
                lines = "".join(json.dumps(line) + "\n" for line in writer(story, number))
                (folder / f"{number}.jsonl").write_text(lines, encoding="utf-8")
        vault.import_transcripts(client, [folder], now=LATER)
    outcomes = vault.store.snapshot().outcomes.values()
    return {str(one.decision.task): str(one.result.status) for one in outcomes}


def test_each_prompt_becomes_one_outcome(statuses: dict[str, str]) -> None:
    assert sorted(statuses) == sorted(prompt["ask"] for prompt in PROMPTS)


def test_statuses_other_than_neutral_are_right(statuses: dict[str, str]) -> None:
    decided = [prompt for prompt in PROMPTS if statuses[prompt["ask"]] != "neutral"]
    wrong = [one["ask"] for one in decided if statuses[one["ask"]] != one["status"]]
    assert len(wrong) <= 0.05 * len(decided), wrong


def test_most_prompts_in_which_a_check_ran_have_a_status(statuses: dict[str, str]) -> None:
    checked = [prompt for prompt in PROMPTS if prompt["checked"]]
    decided = [prompt for prompt in checked if statuses[prompt["ask"]] != "neutral"]
    assert len(decided) >= 0.6 * len(checked)
