"""Our own format: a bad line is one value, and the others go on."""

from pathlib import Path

import pytest

from skillvault.exchange import formats
from skillvault.model.errors import BadInputError
from tests.exchange.given import outcomes, read, shared, written

LINE = (
    '{"domain": "perps", "occurred_at": "2026-11-01T10:00:00Z", '
    '"decision": {"action": "open_long"}, "result": {"status": "success"}}'
)


def test_every_real_line_is_taken_by_the_intake() -> None:
    found = outcomes(read("jsonl", shared("agent-runs/outcomes.jsonl")))
    assert len({outcome.id for outcome in found}) == 63


def test_a_line_is_passed_on_as_it_stands(tmp_path: Path) -> None:
    (found,) = read("jsonl", written(tmp_path / "a.jsonl", LINE))
    assert found["decision"] == {"action": "open_long"}


def test_blank_lines_are_skipped_and_labels_count_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "My Outcomes.jsonl", f"\ufeff{LINE}\n\n  \r\n{LINE}")
    labels = [label for label, _ in formats.read_outcomes("jsonl", path)]
    assert labels == ["my-outcomes-1", "my-outcomes-4"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("not json", "json"),
        ("[1, 2]", "wrong-type"),
        ('{"a": 1, "a": 2}', "duplicate-key"),
        ('{"context": {"a": 1, "a": 2}}', "duplicate-key"),
        ('{"a": NaN}', "bad-value"),
        ('{"a": -Infinity}', "bad-value"),
        ('{"a": 1e400}', "bad-value"),
    ],
)
def test_a_bad_line_is_one_value_and_the_rest_goes_on(tmp_path: Path, line: str, code: str) -> None:
    path = written(tmp_path / "a.jsonl", f"{LINE}\n{line}\n{LINE}\n")
    first, bad, last = [item for _, item in formats.read_outcomes("jsonl", path)]
    assert first == last
    assert isinstance(bad, BadInputError)
    assert (bad.code, bad.line) == (code, 2)
    assert bad.message.startswith("a.jsonl: line 2: ")


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    line = LINE.replace("open_long", "open\u2028long")
    (found,) = read("jsonl", written(tmp_path / "a.jsonl", line))
    assert found["decision"]["action"] == "open\u2028long"


def test_a_given_domain_fills_in_absent_domains_only(tmp_path: Path) -> None:
    other = LINE.replace('"domain": "perps", ', "")
    path = written(tmp_path / "a.jsonl", f"{LINE}\n{other}\n")
    assert [item["domain"] for item in read("jsonl", path, "coding")] == ["perps", "coding"]


def test_an_empty_file_holds_no_outcome(tmp_path: Path) -> None:
    assert read("jsonl", written(tmp_path / "a.jsonl", "")) == []
