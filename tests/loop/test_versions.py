"""Newer values of facts that runs made replace the older ones; the order of arrival counts not."""

import itertools

import pytest

from skillvault.api import Vault
from tests.conftest import NOW
from tests.given import as_file, raw

RULE = "Remember that the staging database runs PostgreSQL {}."


def facts_after(vault: Vault, runs: tuple[tuple[int, int], ...]) -> set[tuple[str, str]]:
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
