"""The newest of several versions of a fact is served, and names what held before it."""

from datetime import timedelta

import pytest

from skillvault.api import Vault
from skillvault.learning.fact_review import next_review
from skillvault.learning.promote.versions import note_of
from skillvault.model.errors import UsageError
from skillvault.model.records import Fact
from tests.conftest import Person
from tests.given import NOW, as_file, raw

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


# ── rules of LEARNINGS.md, of documents and of persons ───────────────────────────────

RULE = "Set the pool size to {} for the worker."


def test_a_noted_rule_replaces_an_older_version_and_names_it(vault: Vault) -> None:
    vault.learn(RULE.format(20))
    assert vault.learn(RULE.format(10)).startswith(f"<!-- replaces: {RULE.format(20)} -->")
    assert vault.notebook.learned_rules().text.rules == (RULE.format(10),)
    vault.run(["capture"], now=NOW)
    assert vault.notebook.learned_rules().text.rules == (RULE.format(10),)


def test_both_noted_rules_can_be_kept(vault: Vault) -> None:
    vault.learn(RULE.format(20))
    assert vault.notebook.remarks(RULE.format(10), keep_both=True) == [
        f"{RULE.format(20)} says 20 and stays."
    ]
    vault.learn(RULE.format(10), keep_both=True)
    assert len(vault.notebook.learned_rules().text.rules) == 2


def test_a_noted_value_can_come_back(vault: Vault) -> None:
    for size in (20, 10, 20):
        vault.learn(RULE.format(size))
    assert vault.notebook.learned_rules().text.rules == (RULE.format(20),)


def test_a_copy_of_a_noted_rule_and_an_older_fact_are_named(vault: Vault) -> None:
    vault.learn(RULE.format(20))
    (remark,) = vault.notebook.remarks(RULE.format(20).upper())
    assert "said already" in remark
    vault.memory.add_fact(OLDER, "coding", now=NOW)
    (remark,) = vault.notebook.remarks(NEWER)
    assert "says 14 and stays" in remark


def test_a_stated_rule_waits_in_the_place_of_its_older_version(vault: Vault) -> None:
    for day, version in enumerate(("3.11", "3.12")):
        result = {"status": "failure", "next_words": f"no, always use Python {version}"}
        given = raw(day, result={**result, "observed_by": "person"}, context={"repository": "shop"})
        vault.record([(f"{day}.json", as_file(given))], now=NOW)
    vault.run(["propose"], now=NOW)
    (rule,) = vault.memory.waiting()
    assert "3.12" in rule.text


def test_facts_that_replace_each_other_are_a_problem_and_no_endless_search(
    changed: Vault, person: Person
) -> None:
    older, newer = (
        fact for fact in changed.store.snapshot().facts.values() if fact.text != REWORDED
    )
    path = changed.memory.fact(older.id)[1]
    text = (changed.root / path).read_text()
    person.write(path, text.replace("trust: local", f"trust: local\nsupersedes: {newer.id}"))
    person.git("commit", "-qam", "a circle")
    assert {problem.code for problem in changed.check().problems} == {"circular"}
    assert len(changed.search(QUESTION, kind="fact")) == 3
    assert changed.recommend("coding", QUESTION, now=NOW).facts == []


def test_a_misspelled_day_of_review_gives_the_usual_period() -> None:
    fact = Fact(id="a", domain="coding", text=OLDER, created_at=NOW, review_by="1 June")
    assert next_review(fact, NOW) == "2027-02-18"


def test_a_newer_value_replaces_the_older_ones_with_what_they_replaced(vault: Vault) -> None:
    text = "The billing service listens on port {}."
    vault.memory.add_fact(text.format(8080), "coding", now=NOW)
    vault.memory.add_fact(text.format(7070), "coding", keep_both=True, now=NOW + timedelta(days=1))
    (first,) = [fact.id for fact in vault.memory.facts() if "7070" in fact.text]
    day = NOW + timedelta(days=2)
    vault.memory.add_fact(text.format(9090), "coding", supersedes=first, now=day)
    vault.memory.add_fact(text.format(6060), "coding", now=day + timedelta(days=1))
    (fact,) = vault.memory.facts()
    assert (fact.text, fact.note) == (text.format(6060), "(2026-11-23; was 9090, until 2026-11-23)")
    assert vault.check().problems == []


def test_only_the_current_version_is_kept_or_retired(changed: Vault) -> None:
    current = changed.memory.facts()[0].id
    (older,) = [f.id for f in changed.store.snapshot().facts.values() if f.text == OLDER]
    for decide in (changed.memory.keep, changed.memory.retire):
        with pytest.raises(UsageError, match=r"was replaced by .* already"):
            decide(older, "Wrong.")
    changed.memory.keep(current, now=NOW)


def test_a_date_before_that_of_the_replaced_fact_ends_nothing() -> None:
    older, newer = (
        Fact(id=name, domain="coding", text=text, created_at=NOW - timedelta(days=days))
        for name, text, days in (("a", OLDER, 0), ("b", NEWER, 1))
    )
    assert note_of(newer, older) == "(2026-11-19; was 14)"
