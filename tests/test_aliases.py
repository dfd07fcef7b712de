"""aliases: a handle, a title or a name says which skill or fact of an answer is meant."""

from datetime import timedelta
from typing import Any

import pytest

from skillvault.aliases import aliases_of, handle_in, resolved, title_of
from skillvault.errors import BadInputError
from skillvault.intake import outcome_from, recommendation_from
from skillvault.records import Recommendation, ref_of
from skillvault.vault.files import codec
from tests.given import NOW, raw, recommendation, shown

TITLES = {"warning-a": "Warning: flaky checkout tests", "pattern-b": "Pattern: seeded runs"}


def receipt(*names: str, minutes: int = 0, **changes: Any) -> Recommendation:
    """What was shown, in this order, so many minutes later."""
    at = (NOW + timedelta(minutes=minutes)).isoformat()
    entries = [{"skill": name, "handle": f"S{n}"} for n, name in enumerate(names, 1)]
    return recommendation(at=at, shown=entries, **changes)


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("S1", "S1"), ("[S1]", "S1"), ("[f2]", "F2"), (" [ s10 ] ", "S10"),
        ("s1", None), ("S1-guide", None), ("S1234", None), ("S", None), ("a-skill", None),
    ],
)  # fmt: skip
def test_a_handle_is_in_capitals_or_in_brackets(text: str, handle: str | None) -> None:
    assert handle_in(text) == handle


def test_handles_titles_and_names_are_resolved_and_the_rest_stays() -> None:
    facts = [{"fact": "f-1", "handle": "F1"}]
    made = receipt("warning-a", "pattern-b", facts=facts)
    names = aliases_of([made], lambda name, _: TITLES[name])
    called = ("[S2]", "warning: Flaky  checkout tests", "F1", "other", "S9", "S1")
    assert resolved(called, names) == ("pattern-b", "warning-a", "f-1", "other", "S9")


def test_an_older_receipt_without_handles_counts_its_places() -> None:
    made = recommendation(shown=[{"skill": "warning-a"}, {"skill": "pattern-b"}])
    assert aliases_of([made])["S2"] == "pattern-b"


def test_of_two_answers_to_one_decision_the_later_counts() -> None:
    first, second = receipt("warning-a"), receipt("pattern-b", minutes=1)
    assert aliases_of([second, first])["S1"] == "pattern-b"


def test_a_title_is_the_first_heading() -> None:
    assert title_of("Intro.\n\n# A *title*\n\n## More\n") == "A *title*"
    assert title_of("No heading.") == ""


@pytest.mark.parametrize("applied", [["S1"], ["warning-a", "[f1]"]])
def test_a_handle_without_a_decision_is_refused(applied: list[str]) -> None:
    with pytest.raises(BadInputError, match=r"is a handle of one answer; give decision\.id") as bad:
        outcome_from(raw(applied=applied), trust="local", now=NOW)
    assert (bad.value.key, bad.value.code) == ("applied", "handle-without-decision")
    outcome_from(raw(applied=applied, decision__id="d-1"), trust="local", now=NOW)


def test_a_receipt_keeps_handles_and_how_and_its_id_takes_none() -> None:
    entry = {"skill": "a", "blob": "0", "handle": "S1", "how": "part"}
    made = recommendation(shown=[entry])
    assert (made.shown[0].handle, made.shown[0].how) == ("S1", "part")
    assert codec.decode(ref_of(made), codec.encode(made)) == made
    assert made.id == recommendation(shown=[{"skill": "a", "blob": "0"}]).id
    plain = recommendation_from(shown(), trust="local", now=NOW)
    assert b"handle" not in codec.encode(plain)
