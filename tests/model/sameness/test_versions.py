"""Versions differ in the value of one slot; another subject, slot or event is another statement."""

import pytest

from skillvault.model.sameness.versions import ValueChange, find_value_change, is_copy

VERSIONS = {
    "a figure": ("The API listens on port 80.", "The API now listens on port 90.", "80", "90"),
    "a name": ("The owner of billing is Ann.", "The owner of billing is Bea.", "Ann", "Bea"),
    "a name at the end": ("Wren reads its settings from Ada.", "Wren reads its settings from Eve.",
                          "Ada", "Eve"),
    "a name that comes first": ("Ann owns billing.", "Bea owns billing.", "Ann", "Bea"),
    "a word": ("Patches are merged by squash.", "Patches are merged by rebase.", "squash",
               "rebase"),
    "two words": ("The compiler is GCC 12.", "The compiler is Clang 17.", "GCC 12", "Clang 17"),
    "another unit": ("The cache expires after 15 minutes.", "The cache expires after 1 hour.",
                     "15 minutes", "1 hour"),
    "other words around the figure": ("Staging's database is on PostgreSQL 14.",
                                      "The staging database runs PostgreSQL 16.", "14", "16"),
    "another language": ("Der Standardbranch von Atlas ist main.",
                         "Der Standardbranch von Atlas ist develop.", "main", "develop"),
}  # fmt: skip
OTHERS = {
    "another subject": ("The API listens on port 80.", "The admin listens on port 80."),
    "another subject and value": ("The owner of billing is Ann.", "The owner of search is Bea."),
    "another slot": ("The maker fee of Kraken is 0.16 %.", "The taker fee of Kraken is 0.26 %."),
    "another measure": ("The upload has 5 seconds.", "The upload has 5 MB."),
    "an event": ("The outage lasted 40 minutes.", "The outage lasted 15 minutes."),
    "a denial": ("The API does not run on Node 18.", "The API does not run on Node 20."),
    "one of several": ("The shop also ships to Peru.", "The shop also ships to Chile."),
    "one of many": ("Users has a column email.", "Users has a column phone."),
    "an object of several": ("Bob plays tennis.", "Bob plays chess."),
    "a property": ("Bob is allergic to nuts.", "Bob is allergic to milk."),
    "a number in a name": ("Exit code 2 means a usage error.", "Exit code 3 means a pause."),
    "a scope": ("Use UTC in the database.", "Use UTC in the logs."),
    "a place and a date": ("The meeting is in Berlin.", "The meeting is in June."),
    "the same": ("The API listens on port 80.", "the API listens on port 80"),
}  # fmt: skip


@pytest.mark.parametrize("kind", VERSIONS)
def test_a_version_differs_in_the_value_of_one_slot(kind: str) -> None:
    older, newer, *values = VERSIONS[kind]
    assert find_value_change(older, newer) == ValueChange(*values)


@pytest.mark.parametrize("kind", OTHERS)
def test_another_statement_is_no_version(kind: str) -> None:
    older, newer = OTHERS[kind]
    assert find_value_change(older, newer) is None
    assert find_value_change(newer, older) is None


@pytest.mark.parametrize("text", ["", " ", ".", "14", "is", "for for for", "the the", "a: b: c"])
def test_any_text_can_be_compared(text: str) -> None:
    assert find_value_change(text, "The API listens on port 80.") is None
    assert find_value_change(text, text) is None


def test_case_spacing_and_the_final_stop_make_a_copy() -> None:
    assert is_copy("The API  listens on Port 80.", "the API listens on port 80")
    assert not is_copy("The API listens on port 80.", "The API listens on port 90.")
