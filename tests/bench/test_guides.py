"""The bench of next tasks scores what an agent would read, and says what depends on arrival."""

import json
import sys
from pathlib import Path

import pytest
from guides import main

from tests.given import raw

LESSON = {"when": "a payment test is flaky", "do": "freeze the clock", "because": "it drifts"}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A file of tasks beside a stream of three failures with a lesson."""
    outcomes = [raw(day, event_id=f"e{day}", lesson=LESSON) for day in range(3)]
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, outcomes)))
    related = [("The checkout test is flaky", "freeze the clock"), ("Fix checkout", "a retry")]
    path = tmp_path / "tasks.py"
    path.write_text(f"TASKS = [('shop', 'coding', {related!r}, ['Design the logo'])]")
    return path


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["guides.py", *words])
    assert main() == 0
    return capsys.readouterr().out.splitlines()


def test_a_task_is_answered_if_its_lesson_stands_in_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tasks: Path
) -> None:
    lines = printed(monkeypatch, capsys, str(tasks), "-v")
    assert lines[2:] == [
        "| shop | 3 | 1 of 2 | 0 of 1 |",
        "  missed: Fix checkout",
        "| all | 3 | 1 of 2 | 0 of 1 |",
    ]


def test_each_statement_stands_in_a_line_with_its_skill(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tasks: Path
) -> None:
    rows = [line.split("\t") for line in printed(monkeypatch, capsys, str(tasks), "--statements")]
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert {(len(row), row[1]) for row in rows} == {(5, "shop")}
    assert any("freeze the clock" in row[-1] for row in rows)


def test_the_ways_of_arrival_are_compared_with_bulk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tasks: Path
) -> None:
    assert printed(monkeypatch, capsys, str(tasks), "--ways") == [
        "shop, one at a time: 0 lines differ from bulk",
        "shop, random batches: 0 lines differ from bulk",
        "shop, random order: 0 lines differ from bulk",
    ]


def test_without_the_tasks_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (line,) = printed(monkeypatch, capsys, str(tmp_path / "absent.py"))
    assert line.startswith("skipped: ")
