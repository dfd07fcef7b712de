"""The table: the same rows for a person and as JSON."""

import json

from row import Figure, at_most, faster
from table import FAMILIES, as_json, cells

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
