"""The result: the evidence's own words, or the answer, or the score."""

import pytest

from skillvault.learning.tries.tries import try_of
from tests.given import outcome, raw, trade


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"summary": "import error", "evidence": "E   ImportError: no name 'utc' in tz"},
            "import error: ImportError: no name 'utc' in tz",
        ),
        (
            {"summary": "`pytest -q` failed with exit code 1", "evidence": "2 failed in 3.1 s"},
            "2 failed in 3.1 s",
        ),
        (
            {"evidence": "E   smtplib.Disconnected: closed\n2 failed, 7 passed in 6.1s"},
            "smtplib.Disconnected: closed",
        ),
        ({"summary": "verifier reward 0.00", "answer": "-19"}, "answered -19"),
        ({"summary": "verifier reward 0.00"}, ""),
        ({"summary": "−0.46 points, 3–5 % of <b>rows</b>"}, "−0.46 points, 3–5 % of <b>rows</b>"),
        ({}, ""),
    ],
)
def test_of_a_failure_the_words_that_say_most(result: dict[str, str], said: str) -> None:
    assert try_of(outcome(raw(result={"status": "failure", **result}))).result == said


def test_of_a_success_the_summary_before_the_evidence() -> None:
    result = {"status": "success", "summary": "stable for a week", "evidence": "0 failed, 9 passed"}
    assert try_of(outcome(raw(result=result))).result == "stable for a week"


@pytest.mark.parametrize("summary", ["", "passed", "`pytest -q` passed with exit code 0"])
def test_a_check_that_passed_is_not_quoted(summary: str) -> None:
    said = {"summary": summary, "evidence": "9 passed in 3.1 s", "observed_by": "tests"}
    assert try_of(outcome(raw(result={"status": "success", **said}))).result == ""


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("stopped in an hour", "-5.8 %: stopped in an hour"),
        ("roi after 5 min, -5.8 %", "roi after 5 min, -5.8 %"),
        ("", "-5.8 %"),
    ],
)
def test_the_score_stands_before_the_words_once(summary: str, said: str) -> None:
    result = {"score": -0.058, "summary": summary}
    assert try_of(outcome(trade(result=result))).result == said


def test_a_long_result_ends_with_a_clause() -> None:
    evidence = "ValueError: the size of the type changed, " + "which breaks the binary layout, " * 6
    said = try_of(outcome(raw(result={"status": "failure", "evidence": evidence}))).result
    assert said.endswith("which breaks the binary layout")
    assert len(said) <= 160


@pytest.mark.parametrize(
    ("status", "evidence", "error"),
    [
        (
            "failure",
            "KeyError: no column 'a_b' in line 12 of data",
            "keyerror: no column in line of data",
        ),
        ("success", "KeyError: no column 'a_b' in line 12 of data", ""),
        ("failure", "", ""),
    ],
)
def test_only_a_failure_has_an_error(status: str, evidence: str, error: str) -> None:
    assert try_of(outcome(raw(result={"status": status, "evidence": evidence}))).error == error
