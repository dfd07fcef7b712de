"""Newer values of facts that runs made replace the older ones; the order of arrival counts not."""

import itertools
from collections.abc import Iterable
from datetime import timedelta

import pytest

from skillvault.api import Vault
from skillvault.learning.promote.versions import find_versions, succession_change
from skillvault.model.records import Fact
from tests.conftest import NOW, Person
from tests.given import as_file, raw

RULE = "Remember that the staging database runs PostgreSQL {}."


def facts_after(vault: Vault, runs: Iterable[tuple[int, int]]) -> set[tuple[str, str]]:
    """The last word and the note of each current fact, after runs of these days and versions."""
    for day, version in runs:
        lesson = {"do": RULE.format(version), "evidence": "FAILED test_payment", "observed": True}
        given = raw(
            day, lesson=lesson, decision__target=f"target-{day}", source__session=f"session-{day}"
        )
        vault.record([(f"{day}.json", as_file(given))], now=NOW)
        vault.run(now=NOW)
    assert vault.check().problems == []
    assert not vault.run(now=NOW).done
    return {(fact.text.split()[-1], fact.note) for fact in vault.memory.facts()}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_a_newer_value_with_as_many_runs_replaces_the_older(
    vault: Vault, order: tuple[int, ...]
) -> None:
    runs = ((0, 14), (1, 14), (2, 16), (3, 16))
    facts = facts_after(vault, tuple(runs[place] for place in order))
    assert facts == {("16.", "(2026-11-03; was 14, until 2026-11-03)")}


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::40])
def test_a_value_with_more_runs_stays_beside_a_newer_one(
    vault: Vault, order: tuple[int, ...]
) -> None:
    runs = ((0, 14), (1, 14), (2, 16), (3, 16), (4, 14))
    facts = facts_after(vault, tuple(runs[place] for place in order))
    assert facts == {("14.", "(2026-11-01)"), ("16.", "(2026-11-03)")}


@pytest.mark.parametrize("edited", [14, 16])
def test_a_replaced_fact_stays_replaced_when_a_person_words_either_anew(
    vault: Vault, person: Person, edited: int
) -> None:
    facts_after(vault, ((0, 14), (1, 14), (2, 16), (3, 16)))
    (path,) = (p for p in vault.root.glob("memory/*/*.md") if f"SQL {edited}" in p.read_text())
    path.write_text(path.read_text().replace("PostgreSQL", "Postgres (the server) in version"))
    person.git("commit", "-qam", "other words")
    assert [value for value, _ in facts_after(vault, [(4, 16)])] == ["16."]


def test_the_commit_says_which_fact_comes_back_and_why() -> None:
    lesson = "its own lesson: \u201cThe staging database runs PostgreSQL {}\u201d."
    facts = [
        Fact(
            id=f"f-{version}",
            domain="coding",
            text=lesson.format(version),
            kind="judge",
            created_at=NOW + timedelta(days=version),
            supersedes=older,
        )
        for version, older in ((14, None), (16, "f-14"), (18, None))
    ]
    change = succession_change(facts, {"f-14": 3, "f-16": 2, "f-18": 2})
    assert change is not None
    assert change.reason.splitlines() == [
        "- f-16 replaces f-14 no longer: an older value has more runs.",
        "- f-18 says 18, f-16 said 16.",
    ]
    assert succession_change(facts[:2], {"f-14": 2, "f-16": 2}) is None


def test_a_value_with_more_runs_stays_and_is_named() -> None:
    fact = Fact(id="f-14", domain="coding", text=RULE.format(14), kind="judge", created_at=NOW)
    for support, replaced in ((1, (fact,)), (2, ())):
        versions = find_versions(RULE.format(16), [fact], {"f-14": support})
        assert versions.replaced == replaced
    assert versions.remarks == (
        "f-14 says 14, by 2 runs on balance, and stays; --supersedes replaces it.",
    )


def test_the_opposite_of_a_statement_stays_and_is_named() -> None:
    fact = Fact(id="f-1", domain="coding", text="We use Redis.", kind="human", created_at=NOW)
    versions = find_versions("We do not use Redis.", [fact], {})
    assert versions.replaced == ()
    assert versions.remarks == ("f-1 says the opposite and stays.",)
    assert find_versions("We do not use Kafka.", [fact], {}).remarks == ()
