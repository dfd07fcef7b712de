"""Transcripts: what the real clients write is read leniently, in bounded memory, as events.

The samples have the shape of what Claude Code 2.1.197 and Codex 0.169.0 wrote on this format.
"""

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from skillvault.exchange.source_file import folder_name, without_folder
from skillvault.exchange.transcripts.claude_code import ClaudeCodeLines
from skillvault.exchange.transcripts.codex import CodexLines
from skillvault.exchange.transcripts.events import Header, Prompt, Remark, ToolCall, ToolResult
from skillvault.exchange.transcripts.extract import MAX_BYTES, session_of
from skillvault.exchange.transcripts.prompts import PromptReader
from skillvault.exchange.transcripts.reader import MAX_LINE_BYTES, Transcript, client_of
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_session
from skillvault.vault.files.redact import redact_text
from tests.given import NOW
from tests.judge.secrets import FORMATS

SAMPLES = Path(__file__).parent / "transcripts"
CLAUDE, CODEX = SAMPLES / "claude_code.jsonl", SAMPLES / "codex.jsonl"


def extracted(path: Path) -> dict[str, Any]:
    """The session of a transcript, as a mapping."""
    return session_of(Transcript(path), "coding", redact_text)


def written(path: Path, *results: tuple[str, str, bool]) -> Path:
    """A transcript of Claude Code in which these commands ended: (command, output, is_error)."""
    lines = []
    for number, (command, output, is_error) in enumerate(results):
        frame = {"sessionId": "s-1", "timestamp": "2026-11-20T10:00:00Z", "cwd": "/x"}
        use = {"type": "tool_use", "id": str(number), "name": "Bash", "input": {"command": command}}
        end = {"type": "tool_result", "tool_use_id": str(number), "is_error": is_error}
        said = {"role": "assistant", "model": "m", "content": [use]}
        lines.append({**frame, "type": "assistant", "message": said})
        asked = {"role": "user", "content": [{**end, "content": output}]}
        lines.append({**frame, "type": "user", "message": asked})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("path", "client", "session", "model"),
    [
        (CLAUDE, "claude-code", "5f0c2a1e-7777-4bbb-8ccc-0123456789ab", "claude-opus-4-8"),
        (CODEX, "codex", "01a20e25-5446-7881-aaab-0fa4be584ed4", "gpt-5"),
    ],
)
def test_what_holds_for_all_of_it_is_known_once_it_is_read(
    path: Path, client: str, session: str, model: str
) -> None:
    transcript = Transcript(path)
    assert (client_of(path), transcript.client) == (client, client)
    events = list(transcript)
    header = transcript.header
    assert (header.session, header.model, header.cwd) == (session, model, "/home/ada/shop")
    assert header.branch == "main"
    assert all(event.at is not None for event in events)


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        (CLAUDE, ["make the checkout test pass"], "I will run the test first."),
        (CODEX, ["make the build pass"], "I will build first."),
    ],
)
def test_only_what_a_person_asked_is_a_prompt(path: Path, asked: list[str], said: str) -> None:
    events = list(Transcript(path))
    assert [event.text for event in events if isinstance(event, Prompt)] == asked
    assert next(event.text for event in events if isinstance(event, Remark)) == said


REMINDER = "<system-reminder>\nb.py was changed\n</system-reminder>"
OPENED = "<ide_opened_file>The user opened /x/b.py.</ide_opened_file>"
COMMAND = "<command-message>{0}</command-message>\n<command-name>/{0}</command-name>"
SETUP = "# Context from my IDE setup:\n\n## Active file: a.py\n\n"


@pytest.mark.parametrize(
    ("client", "text", "typed"),
    [
        ("claude-code", f"fix it\n{REMINDER}", "fix it"),
        ("claude-code", f"{REMINDER}\nfix it", "fix it"),
        ("claude-code", f"{OPENED}\nfix it", "fix it"),
        ("claude-code", "what writes <system-reminder>?", "what writes <system-reminder>?"),
        ("claude-code", REMINDER + OPENED, None),
        ("claude-code", "<task-notification>\n</task-notification>\nRead the output", None),
        ("claude-code", COMMAND.format("mend"), "/mend"),
        (
            "claude-code",
            COMMAND.format("mend") + "\n<command-args>the parser</command-args>",
            "/mend the parser",
        ),
        ("claude-code", "<command-name>/model</command-name>\n<command-args></command-args>", None),
        ("codex", f"{SETUP}## My request for Codex:\nfix it\n", "fix it"),
        ("codex", "# Files mentioned by the user:\n\n## My request for Codex:\nfix it", "fix it"),
        ("codex", SETUP, None),
        ("codex", "<image name=[Image #1]>", None),
        ("codex", "[Image #1] fix the page", "fix the page"),
        ("claude-code", "fix it [Pasted text #1 +20 lines]", "fix it"),
        ("claude-code", "[Image #2]", None),
        ("claude-code", "[Image: source: /x/a.png]", None),
        ("claude-code", "Unknown slash command: mend", None),
        ("claude-code", "Stop hook feedback:\n- no, run the tests", None),
        ("codex", "Another language model started to solve this problem and", None),
        ("codex", "<permissions instructions>\nnone\n</permissions instructions>", None),
    ],
)
def test_of_a_prompt_only_the_words_of_the_person_are_read(
    client: str, text: str, typed: str | None
) -> None:
    lines = {
        "claude-code": {"type": "user", "sessionId": "s-1", "message": {"content": text}},
        "codex": {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"text": text}]},
        },
    }
    header = Header()
    reader = ClaudeCodeLines(header) if client == "claude-code" else CodexLines(header)
    found = [e.text for e in reader.events_of(lines[client]) or () if isinstance(e, Prompt)]
    assert found == ([typed] if typed else [])


@pytest.mark.parametrize(("path", "calls"), [(CLAUDE, 7), (CODEX, 6)])
def test_each_call_has_its_result_and_exit_code(path: Path, calls: int) -> None:
    events = list(Transcript(path))
    ids = [event.id for event in events if isinstance(event, ToolCall) and not event.by_subagent]
    results = [event for event in events if isinstance(event, ToolResult) and not event.by_subagent]
    assert ids == [result.id for result in results]
    assert len(ids) == calls
    failed = next(result for result in results if result.is_error)
    assert failed.exit_code in (1, 2)
    assert not failed.text.startswith(("Exit code", "Chunk ID"))


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_check_of_which_no_end_is_told_has_not_passed(tmp_path: Path, client: str) -> None:
    path = tmp_path / "session.jsonl"
    if client == "codex":
        call = {"type": "function_call", "name": "shell", "call_id": "c-1"}
        asked = {"role": "user", "content": [{"type": "input_text", "text": "Test it"}]}
        payloads: tuple[dict[str, Any], ...] = (
            {"type": "message", **asked},
            {**call, "arguments": json.dumps({"command": "pytest -q"})},
            {"type": "function_call_output", "call_id": "c-1", "output": "unsupported call: shell"},
        )
        lines = [{"type": "response_item", "payload": payload} for payload in payloads]
    else:
        use = {"type": "tool_use", "id": "c-1", "name": "Bash", "input": {"command": "pytest -q"}}
        refusal = "The user doesn't want to proceed with this tool use."
        end = {"type": "tool_result", "tool_use_id": "c-1", "is_error": True, "content": refusal}
        contents = (("user", "Test it"), ("assistant", [use]), ("user", [end]))
        lines = [
            {"sessionId": "s-1", "type": role, "message": {"content": content}}
            for role, content in contents
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = PromptReader(path, ["pytest"], str)
    # Of one that the person refused nothing ran.
    assert [check.passed for check in run.checks] == ([None] if client == "codex" else [])


def test_what_is_not_understood_is_counted_and_named() -> None:
    transcript = Transcript(CLAUDE)
    list(transcript)
    assert transcript.unread == {"type 'hologram'": 2, "no JSON": 1}
    other = Transcript(CODEX)
    list(other)
    assert other.unread == {"type 'response_item/hologram'": 1}


def test_a_failure_is_overcome_by_what_was_done_between() -> None:
    session = extracted(CLAUDE)
    test = "pytest tests/test_checkout.py -q"
    assert session["failures"] == [
        {"lemma": test, "reason": "> assert pay() == 200 E assert 504 == 200"},
        {
            "lemma": test,
            "reason": "E assert 504 == 200 after 30 s",
            "attempt": "Edit /home/ada/shop/pay.py: replace `timeout = 2` by `timeout = 30`",
        },
    ]
    assert session["successes"] == [
        {
            "lemma": test,
            "text": "Edit /home/ada/shop/pay.py: replace `pay()` by `poll(queue(pay))`; "
            "`rm -rf build`",
        }
    ]
    assert session["ended_at"] == "2026-11-20T10:00:20Z"


def test_codex_is_told_alike() -> None:
    session = extracted(CODEX)
    assert [failure["lemma"] for failure in session["failures"]] == ["make build", "make lint"]
    build, lint = session["successes"]
    assert build == {"lemma": "make build", "text": "`make lint`; `sed -i s/--fast// Makefile`"}
    assert "apply_patch" in lint["text"] or "Begin Patch" in lint["text"]
    assert parse_session(session, trust="local", now=NOW).transcript == "codex"


def test_neither_a_person_who_says_no_nor_a_subagent_fails() -> None:
    lemmas = {failure["lemma"] for failure in extracted(CLAUDE)["failures"]}
    assert lemmas == {"pytest tests/test_checkout.py -q"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "wrong-type"),
        (b"hello\n", "wrong-type"),
        (b'{"type": "outcome", "domain": "coding"}\n', "wrong-type"),
        (b"\xff\xfe\x00\n", "wrong-type"),
        (b'{"type":"user","sessionId":"s"}\n', "missing-key"),
    ],
)
def test_any_other_file_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInputError) as caught:
        extracted(path)
    assert caught.value.code == code
    assert "x.jsonl: " in caught.value.message


def test_a_session_in_which_nothing_failed_has_nothing_to_distill(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no tool failed"):
        extracted(written(tmp_path / "x.jsonl", ("make", "ok", False)))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type": "user", "sessionId": "s", "message": null}',
        b'{"type": "user", "sessionId": "s", "message": {"content": 7}}',
        b'{"type": "assistant", "sessionId": 7, "timestamp": 9, "message": {"content": [1, null]}}',
        b'{"type": "user", "sessionId": "s", "message": {"content": [{"type": "tool_result"}]}}',
        b'{"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "tool_use"}]}}',
        b'{"type": 7, "sessionId": "s"}',
        b"[" * 100_000,
        b'"\\ud800"',
        b"\x00\x01",
    ],
)
def test_no_line_stops_the_reading(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(CLAUDE.read_bytes().rpartition(b"\n")[0] + b"\n" + line + b"\n")
    assert len(extracted(path)["failures"]) == 2


def test_a_line_that_is_too_long_is_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    first, _, rest = CLAUDE.read_bytes().partition(b"\n")
    path.write_bytes(first + b'\n{"x": "' + b"y" * (2 * MAX_LINE_BYTES) + b'"}\n' + rest)
    transcript = Transcript(path)
    assert len(session_of(transcript, "coding", str)["failures"]) == 2
    assert transcript.unread["longer than 8 MiB"] == 1


def test_what_is_kept_is_bounded_whatever_is_read(tmp_path: Path) -> None:
    big = "\N{EM DASH} what is \N{EM DASH}" * 100
    results = [(f"make {n} {big}", f"error {n} {big}", True) for n in range(400)]
    session = extracted(written(tmp_path / "x.jsonl", *results))
    assert len(json.dumps(session, ensure_ascii=False).encode()) <= MAX_BYTES
    assert 50 <= len(session["failures"]) <= 100
    assert parse_session(session, trust="local", now=NOW).id == "s-1"


def test_memory_does_not_grow_with_the_transcript(tmp_path: Path) -> None:
    results = [(f"make {n % 7}", "x" * 20_000, n % 3 == 0) for n in range(1500)]
    path = written(tmp_path / "x.jsonl", *results)
    assert path.stat().st_size > 25_000_000
    tracemalloc.start()
    try:
        session_of(Transcript(path), "coding", str)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_secret_is_gone_before_a_text_is_cut(tmp_path: Path) -> None:
    chance = random.Random(5)
    planted = [make(chance) for make in FORMATS]
    results = [
        (f"run {secret.text}", f"error: {'x' * pad} {secret.text}", True)
        for secret in planted
        for pad in (0, 95, 780)
    ]
    session = json.dumps(extracted(written(tmp_path / "x.jsonl", *results)))
    assert [one for one in planted if one.secret[:12] in session] == []


@pytest.mark.parametrize(
    ("values", "attended"),
    [
        ({"entrypoint": "cli"}, True),
        ({"entrypoint": "cli", "promptSource": "typed"}, True),
        ({"entrypoint": "cli", "promptSource": "suggestion_accepted"}, False),
        ({"entrypoint": "claude-vscode"}, True),
        ({"entrypoint": "sdk-cli", "promptSource": "sdk"}, False),
        ({"entrypoint": "hologram"}, None),
        ({}, None),
    ],
)
def test_a_prompt_of_claude_code_is_attended_if_a_person_typed_it(
    values: dict[str, str], attended: bool | None
) -> None:
    message = {"role": "user", "content": "fix it"}
    line = {**values, "type": "user", "sessionId": "s-1", "message": message}
    (prompt,) = ClaudeCodeLines(Header()).events_of(line) or iter(())
    assert isinstance(prompt, Prompt)
    assert prompt.attended is attended


@pytest.mark.parametrize(
    ("source", "attended"),
    [
        ("cli", True),
        ("exec", False),
        ("mcp", False),
        ("vscode", None),
        (None, None),
    ],
)
def test_a_session_of_codex_is_attended_by_its_source(
    source: object, attended: bool | None
) -> None:
    header = Header()
    payload = {"id": "s-1", "cwd": "/x", "source": source}
    lines = CodexLines(header)
    assert list(lines.events_of({"type": "session_meta", "payload": payload}) or ()) == []
    content = [{"type": "input_text", "text": "fix it"}]
    item = {"type": "message", "role": "user", "content": content}
    (prompt,) = lines.events_of({"type": "response_item", "payload": item}) or iter(())
    assert isinstance(prompt, Prompt)
    assert (header.attended, prompt.attended) == (attended, attended)


ADDED = {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
FRAME = {"sessionId": "s-1", "entrypoint": "cli", "timestamp": "2026-11-20T10:00:00Z"}


def added_line(text: object, **values: object) -> dict[str, Any]:
    """The line of Claude Code for words that were typed while the agent worked."""
    about = {**ADDED, "prompt": text, "source_uuid": f"u-{text}", **values}
    return {**FRAME, "type": "attachment", "attachment": about, "uuid": "row"}


@pytest.mark.parametrize("text", ["no, use uv", [{"type": "text", "text": "no, use uv"}]])
def test_words_typed_while_the_agent_works_are_of_the_person(text: object) -> None:
    (prompt,) = ClaudeCodeLines(Header()).events_of(added_line(text)) or iter(())
    assert isinstance(prompt, Prompt)
    assert (prompt.text, prompt.attended, prompt.is_midway) == ("no, use uv", True, True)


@pytest.mark.parametrize(
    "values",
    [
        {"origin": {"kind": "peer"}},
        {"origin": {"kind": "plugin"}, "isMeta": True},
        {"origin": None},
        {"isMeta": True},
        {"commandMode": "task-notification"},
        {"type": "hook_success"},
        {"prompt": "<task-notification>done</task-notification>"},
        {"prompt": None},
    ],
)
def test_other_attachments_are_no_words_of_the_person(values: dict[str, object]) -> None:
    lines = ClaudeCodeLines(Header())
    assert list(lines.events_of(added_line("no, use uv", **values)) or iter(())) == []


def test_only_a_correction_in_a_turn_judges_it_and_the_turn_goes_on(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "install the parser"}
    lines = [
        {**FRAME, "type": "user", "uuid": "u-1", "message": asked},
        added_line("and write a test, too"),
        added_line("no, we use uv here, never pip"),
        added_line("no, we use uv here, never pip"),  # a copy
        {**FRAME, "type": "user", "uuid": "u-2", "message": {**asked, "content": "thanks"}},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = PromptReader(path, (), redact_text)
    assert first.next_words == "no, we use uv here, never pip\nthanks"
    assert (first.text, second.text) == ("install the parser", "thanks")


def test_pasted_parts_of_a_prompt_are_not_typed() -> None:
    text = 'see\n\n<pasted_content id="0d19">\nno, use X\nnow\n</pasted_content id="0d19">\nfix it'
    message = {"role": "user", "content": text}
    line = {"type": "user", "sessionId": "s-1", "message": message}
    (prompt,) = ClaudeCodeLines(Header()).events_of(line) or iter(())
    assert isinstance(prompt, Prompt)
    assert prompt.text == "see\nno, use X\nnow\nfix it"
    assert (prompt.pasted_parts, prompt.typed_text) == (("no, use X\nnow",), "see\n\nfix it")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/kim/till", "till"),
        ("C:\\Users\\Kim Lee\\source\\till", "till"),
        ("c:/Users/kim/till/", "till"),
        ("\\\\server\\share\\till", "till"),
        ("/home/kim", None),
        ("C:\\Users\\Kim Lee", None),
        ("/", None),
        ("D:\\", None),
    ],
)
def test_a_folder_has_its_name_on_any_system(folder: str, name: str | None) -> None:
    assert folder_name(folder) == name


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("edit /home/kim/till/a.py", "/home/kim/till"),
        ("edit C:\\Users\\kim\\till\\a.py", "C:\\Users\\kim\\till"),
        ("edit c:/users/kim/till/a.py", "C:\\Users\\kim\\till"),
        ("edit C:\\\\Users\\\\kim\\\\till\\\\a.py", "C:/Users/kim/till"),
    ],
)
def test_paths_in_a_folder_become_relative(text: str, folder: str) -> None:
    assert without_folder(text, folder) == "edit a.py"
