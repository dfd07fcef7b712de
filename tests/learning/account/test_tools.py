"""tools: what most used that succeeded and few that failed, by tool log and by name."""

from typing import Any

import pytest

from skillvault.learning.account.statements import tools_statement
from skillvault.model.records import Outcome, Status
from tests.given import outcome, raw


def runs(*given: tuple[Status, str, list[str]], **changes: Any) -> list[Outcome]:
    """Runs by how they ended, what they wrote and what their tool log has."""
    return [
        outcome(
            raw(day, result={"status": status}, decision__reasoning=text, applied=log, **changes)
        )
        for day, (status, text, log) in enumerate(given)
    ]


def test_what_the_log_has_and_what_is_named_count_alike() -> None:
    made = runs(
        ("success", "I recalculate with recalc.py.", ["xlsx"]),
        ("success", "`recalc.py` gives no errors.", ["xlsx"]),
        ("failure", "I write the cells.", ["pdf"]),
    )
    worked = tuple(run.id for run in made[:2])
    statement = tools_statement(made)
    assert statement is not None
    assert "`recalc.py` and `xlsx`: 2 of 2 that succeeded did, 0 of 1" in statement.text
    assert (statement.supporting, statement.against) == (worked, ())


@pytest.mark.parametrize(
    "given",
    [
        [("success", "recalc.py", []), ("failure", "by hand", [])],
        [("success", "recalc.py", []), ("success", "recalc.py", [])],
        [("success", "recalc.py", []), ("success", "recalc.py", []), ("failure", "recalc.py", [])],
        [("success", "recalc.py", []), ("success", "", []), ("success", "", []),
         ("failure", "", [])],
        [("success", "`data.xlsx`", []), ("success", "`data.xlsx`", []), ("failure", "", [])],
    ],
    ids=["one success", "no failure", "failures too", "few successes", "a data file"],
)  # fmt: skip
def test_otherwise_it_tells_nothing(given: list[tuple[Status, str, list[str]]]) -> None:
    assert tools_statement(runs(*given)) is None


def test_what_the_task_names_is_no_choice() -> None:
    made = runs(
        ("success", "INDEX/MATCH", []),
        ("success", "INDEX/MATCH", []),
        ("failure", "", []),
        decision__task="Fill the cells with INDEX/MATCH.",
    )
    assert tools_statement(made) is None
