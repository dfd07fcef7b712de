"""The table: the same rows for a person and as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import table
from ground import Ground
from row import Figure, Row, at_most, faster
from table import FAMILIES, as_json, cells, missed

ROWS = [
    faster("why", Figure("why", 0.5, "ms"), Figure("git log", 100, "ms"), 20, "a note"),
    at_most("search", Figure("search, p95", 33, "ms"), 30),
]


def test_a_person_sees_whether_each_is_met() -> None:
    said = ["why", "0.5 ms (why)", "100 ms (git log)", "200x", ">= 20x faster", "yes", "a note"]
    assert list(cells(ROWS[0])) == said
    assert cells(ROWS[1])[1:6] == ("33 ms (search, p95)", "-", "", "<= 30 ms", "NO")


def test_the_json_names_every_figure() -> None:
    read = json.loads(as_json(ROWS, {"cores": 2}, quick=True))
    assert read["rows"][0]["theirs"] == {"what": "git log", "value": 100, "unit": "ms"}
    assert read["rows"][1]["theirs"] is None
    assert read["machine"]["cores"] == 2


def test_each_family_is_a_module_of_its_name() -> None:
    assert {name: rows.__module__ for name, rows in FAMILIES.items()} == {n: n for n in FAMILIES}


def test_missed_rows_are_told_below_the_table() -> None:
    lines = ["missed: 1 of 2 rows", "  search: asked <= 30 ms, measured 33 ms (search, p95)"]
    assert missed(ROWS).splitlines() == lines
    assert missed(ROWS[:1]) == "missed: 0 of 1 rows"


def test_a_missed_row_is_printed_and_written_and_ends_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def rows(ground: Ground) -> Iterator[Row]:
        yield from ROWS

    monkeypatch.setitem(FAMILIES, "finding", rows)
    table.main(["--quick", "--only", "finding", "--json", str(tmp_path / "latest.json")])
    assert "missed: 1 of 2 rows" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "latest.json").read_text())["rows"]) == 2
