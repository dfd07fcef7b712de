"""aliases: a handle, a title or a name says which skill or fact of an answer is meant."""

from datetime import timedelta
from typing import Any

import pytest

from skillvault.model import codec
from skillvault.model.aliases import (
    aliases_of,
    find_unknown_handles,
    parse_handle,
    resolve_names,
    title_of,
)
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_outcome, parse_recommendation
from skillvault.model.records import Recommendation, ref_of
from tests.given import NOW, raw, recommendation, shown

TITLES = {"warning-a": "Warning: flaky checkout tests", "pattern-b": "Pattern: seeded runs"}


def receipt(*names: str, minutes: int = 0, **changes: Any) -> Recommendation:
    """Make a recommendation that showed these skills in this order, so many minutes later."""
    at = (NOW + timedelta(minutes=minutes)).isoformat()
    entries = [{"skill": name, "handle": f"S{n}"} for n, name in enumerate(names, 1)]
    return recommendation(at=at, shown=entries, **changes)


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("[S1]", "S1"), ("[f2]", "F2"), (" [ s10 ] ", "S10"), ("[S1] a-skill", "S1"),
        ("[S1]: as it says", "S1"), ("S1", None), ("s1", None), ("[S1234]", None), ("a [S1]", None),
    ],
)  # fmt: skip
def test_what_begins_with_brackets_is_surely_a_handle(text: str, handle: str | None) -> None:
    assert parse_handle(text) == handle


def test_handles_titles_and_names_are_resolved_and_the_rest_stays() -> None:
    facts = [{"fact": "f-1", "handle": "F1"}]
    made = receipt("warning-a", "pattern-b", facts=facts)
    names = aliases_of([made], lambda name, _: TITLES[name])
    called = ("[S2]", "warning: Flaky  checkout tests", "F1", "other", "S9", "S1")
    assert resolve_names(called, names) == ("pattern-b", "warning-a", "f-1", "other", "S9")


def test_an_older_receipt_without_handles_counts_its_places() -> None:
    made = recommendation(shown=[{"skill": "warning-a"}, {"skill": "pattern-b"}])
    assert aliases_of([made])["[S2]"] == "pattern-b"


def test_of_two_answers_to_one_decision_the_later_counts() -> None:
    first, second = receipt("warning-a"), receipt("pattern-b", minutes=1)
    assert aliases_of([second, first])["[S1]"] == "pattern-b"


def test_a_place_that_only_an_earlier_answer_had_is_none() -> None:
    names = aliases_of([receipt("warning-a", "pattern-b"), receipt("pattern-b", minutes=1)])
    assert resolve_names(["[S1]", "[S2]", "[S2] warning-a"], names) == (
        "pattern-b",
        "[S2]",
        "warning-a",
    )
    assert find_unknown_handles(["[S1]", "[S2]", "S2", "s2", "other", "S2 other"], names) == (
        "[S2]",
        "S2",
    )


@pytest.mark.parametrize("called", ["retries", "Retries", "[S2] retries", "S2"])
def test_a_name_counts_before_the_title_of_another(called: str) -> None:
    titles = {"client-hints": "Retries", "retries": "What to repeat"}
    names = aliases_of([receipt("client-hints", "retries")], lambda name, _: titles[name])
    assert resolve_names([called], names) == ("retries",)


def test_a_title_that_two_have_means_none() -> None:
    names = aliases_of([receipt("warning-a", "pattern-b")], lambda *_: "Flaky tests")
    assert resolve_names(["Flaky tests"], names) == ("Flaky tests",)


@pytest.mark.parametrize(
    ("called", "meant"),
    [
        ("S1", "warning-a"), ("S1 warning-a", "warning-a"), ("[S1] warning-a", "warning-a"),
        ("[S1]: `warning-a`", "warning-a"), ("[s1] what it says of seeds", "warning-a"),
        ("[S1] Pattern: seeded runs", "pattern-b"), ("s1", "s1"), ("S3 buckets", "S3 buckets"),
        ("S1 buckets", "S1 buckets"), ("[S1], [S2]", "[S1], [S2]"),
    ],
)  # fmt: skip
def test_a_handle_may_stand_before_the_name(called: str, meant: str) -> None:
    names = aliases_of([receipt("warning-a", "pattern-b")], lambda name, _: TITLES[name])
    assert resolve_names([called], names) == (meant,)


def test_a_shown_name_that_looks_like_a_handle_is_a_name() -> None:
    names = aliases_of([receipt("warning-a", "S1")])
    assert resolve_names(["S1", "[S1]"], names) == ("S1", "warning-a")


def test_a_title_is_the_first_heading() -> None:
    assert title_of("Intro.\n\n# A *title*\n\n## More\n") == "A *title*"
    assert title_of("No heading.") == ""


@pytest.mark.parametrize("applied", [["[S1]"], ["warning-a", "[f1] f-1"]])
def test_a_handle_without_a_decision_is_refused(applied: list[str]) -> None:
    with pytest.raises(BadInputError, match=r"is a handle of one answer; give decision\.id") as bad:
        parse_outcome(raw(applied=applied), trust="local", now=NOW)
    assert (bad.value.key, bad.value.code) == ("applied", "handle-without-decision")
    parse_outcome(raw(applied=applied, decision__id="d-1"), trust="local", now=NOW)


def test_a_bare_name_that_looks_like_a_handle_is_taken_without_a_decision() -> None:
    assert parse_outcome(raw(applied=["S3"]), trust="local", now=NOW).applied == ("S3",)


def test_a_receipt_keeps_handles_and_how_and_its_id_takes_none() -> None:
    entry = {"skill": "a", "blob": "0", "handle": "S1", "how": "part"}
    made = recommendation(shown=[entry])
    assert (made.shown[0].handle, made.shown[0].how) == ("S1", "part")
    assert codec.decode(ref_of(made), codec.encode(made)) == made
    assert made.id == recommendation(shown=[{"skill": "a", "blob": "0"}]).id
    plain = parse_recommendation(shown(), trust="local", now=NOW)
    assert b"handle" not in codec.encode(plain)
