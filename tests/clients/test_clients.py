"""Payloads, notes and projects: what a client says is taken as it comes, what is noted stays."""

import json
import os
import time
from pathlib import Path

import pytest

from skillvault.cli import hook
from skillvault.clients import notes
from skillvault.clients.notes import domain_of
from skillvault.clients.payload import parse_payload
from tests.conftest import NOW


@pytest.mark.parametrize(
    "data",
    [b"", b"no json", b"[]", b"{}", b'{"session_id": 7}', b"\xff\xfe", b'{"session_id": ""}'],
)
def test_what_is_no_event_of_a_session_is_none(data: bytes) -> None:
    assert parse_payload(data) is None


def test_a_key_of_another_type_counts_as_absent() -> None:
    payload = parse_payload(b'{"session_id": "s", "prompt": 7, "cwd": [], "tool_input": "x"}')
    assert payload is not None
    assert (payload.prompt, payload.cwd, payload.arguments) == ("", None, {})


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"error": "Exit code 2\nFAILED a"}, ("FAILED a", 2, True)),
        ({"error": "refused"}, ("refused", None, True)),
        ({"tool_response": {"stdout": "a", "stderr": "b"}}, ("a\nb", 0, False)),
        ({"tool_response": {"stdout": "a", "interrupted": True}}, ("a", None, False)),
        ({"tool_response": {"output": "a", "exit_code": 1}}, ("a", 1, True)),
        ({"tool_response": "a"}, ("a", None, False)),
        ({}, ("", None, False)),
    ],
)
def test_how_a_tool_ended_is_read_of_either_event(
    told: dict[str, object], expected: tuple[str, int | None, bool]
) -> None:
    payload = parse_payload(json.dumps({"session_id": "s", **told}).encode())
    assert payload is not None
    assert (payload.output, payload.exit_code, payload.is_error) == expected


def test_notes_are_read_as_written_and_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    session = notes.SessionNotes(tmp_path, "../../s")
    opened = notes.SessionNote(session="../../s", briefed=["a"])
    word = notes.WordNote(text="done", at=NOW)
    session.append(opened, word)
    with session.path.open("ab") as file:
        file.write(b'{"type": "word')
    session.append(word)
    read, damage = notes.read_notes(session.path)
    assert read == [opened, word, None, word]
    assert damage is not None
    assert damage.line == 3
    assert session.path.parent == tmp_path / "sessions"
    assert session.path.stat().st_mode & 0o077 == 0


def test_a_session_has_a_bounded_number_of_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MAX_NOTES", 200)
    session = notes.SessionNotes(tmp_path, "s")
    for _ in range(9):
        session.append(notes.WordNote(text="x" * 50, at=NOW))
    assert 1 <= len(notes.read_notes(session.path)[0]) < 4


def test_only_sessions_of_yesterday_are_abandoned(tmp_path: Path) -> None:
    for name in ("old", "new"):
        notes.SessionNotes(tmp_path, name).append(notes.SessionNote(session=name, briefed=[]))
    before = time.time() - 90_000
    os.utime(notes.SessionNotes(tmp_path, "old").path, (before, before))
    assert notes.abandoned_notes(tmp_path) == [notes.SessionNotes(tmp_path, "old").path]


def test_the_log_keeps_its_latest_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "MAX_LOG_BYTES", 1000)
    for number in range(100):
        hook.log_line(tmp_path, f"line {number}\nof two")
    lines = (tmp_path / hook.LOG).read_text().splitlines()
    assert lines[-1].endswith("line 99 of two")
    assert sum(len(line) + 1 for line in lines) <= 1000


@pytest.mark.parametrize(
    ("folder", "default", "domain"),
    [
        ("shop-api/src", None, "trade"),
        ("other/src", "given", "given"),
        ("other/src", None, "other"),
        ("Big_Repo", None, "big-repo"),
    ],
)
def test_a_folder_has_the_domain_of_its_pattern_else_the_default_else_its_repository(
    tmp_path: Path, folder: str, default: str | None, domain: str
) -> None:
    for name in ("shop-api", "other", "Big_Repo"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
    patterns = {f"{tmp_path}/shop*": "trade", f"{tmp_path}/shop-api": "never"}
    assert domain_of(tmp_path / folder, patterns, default) == domain
