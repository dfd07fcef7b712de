"""The newest of several versions of a fact is served, and names what held before it."""

from datetime import timedelta

import pytest

from skillvault.api import Vault
from skillvault.learning.promote.versions import note_of
from skillvault.model.errors import UsageError
from skillvault.model.records import Fact
from tests.given import NOW

OLDER, NEWER = (
    "The staging database runs PostgreSQL 14.",
    "The staging database runs PostgreSQL 16.",
)
REWORDED = "Staging's database is on PostgreSQL 14."
QUESTION = "Which PostgreSQL does the staging database run?"


@pytest.fixture
def changed(vault: Vault) -> Vault:
    """A vault with a fact in two wordings, and a newer version of it."""
    for day, text in enumerate((OLDER, REWORDED, NEWER)):
        vault.memory.add_fact(text, "coding", now=NOW + timedelta(days=day))
    return vault


def test_a_newer_fact_replaces_all_older_versions(changed: Vault) -> None:
    (fact,) = changed.memory.facts()
    assert (fact.text, fact.note) == (NEWER, "(2026-11-22; was 14, until 2026-11-22)")
    assert not changed.check().problems


def test_a_search_for_an_older_version_shows_the_current_one(changed: Vault) -> None:
    (hit,) = changed.search("PostgreSQL 14", kind="fact")
    assert (hit.text, "until 2026-11-22" in hit.note) == (NEWER, True)


def test_a_recommendation_dates_the_current_fact(changed: Vault) -> None:
    (fact,) = changed.recommend("coding", QUESTION, now=NOW).facts
    assert fact.text == f"{NEWER} (2026-11-22; was 14, until 2026-11-22)"


@pytest.mark.parametrize("text", [OLDER, OLDER.lower(), " ".join(OLDER.split(" ")).rstrip(".")])
def test_a_copy_is_refused_by_the_name_of_the_fact(vault: Vault, text: str) -> None:
    vault.memory.add_fact(OLDER, "coding", now=NOW)
    with pytest.raises(UsageError, match=r"the-staging-database-runs-postgresql-14-.*already"):
        vault.memory.add_fact(text, "coding", now=NOW)


def test_a_person_can_keep_both(vault: Vault) -> None:
    vault.memory.add_fact(OLDER, "coding", now=NOW)
    (done,) = vault.memory.add_fact(NEWER, "coding", keep_both=True, now=NOW).done
    assert "says 14 and stays" in done.change.reason
    assert len(vault.memory.facts()) == 2


def test_a_value_can_come_back(changed: Vault) -> None:
    changed.memory.add_fact(OLDER, "coding", now=NOW + timedelta(days=3))
    (fact,) = changed.memory.facts()
    assert (fact.text, fact.note) == (OLDER, "(2026-11-23; was 16, until 2026-11-23)")


def test_a_fact_that_is_due_is_served_last(vault: Vault) -> None:
    rule = "Run the {} migration script of the shop before a release."
    vault.memory.add_fact(rule.format("ledger"), "coding", review_by="2026-11-21", now=NOW)
    vault.memory.add_fact(rule.format("orders and ledger"), "coding", now=NOW)
    task = "Run the ledger migration script before a release"
    for days, first in ((0, "ledger"), (1, "orders")):
        facts = vault.recommend("coding", task, now=NOW + timedelta(days=days)).facts
        assert facts[0].text.startswith(f"Run the {first}")


def test_an_undated_fact_gives_no_day_to_the_end_of_the_older_one() -> None:
    older, newer = (
        Fact(id=name, domain="coding", text=text) for name, text in (("a", OLDER), ("b", NEWER))
    )
    assert note_of(newer, older) == "(undated; was 14)"
