"""Result, outcome and receipt of a decision make one vault, in whatever order they arrive."""

import json
import os
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.sessions.closing import Closing, closing_file, closing_of_exit
from skillvault.vault.files.arrival import attest_files
from tests.conftest import NOW, unguarded
from tests.given import as_file, raw, shown

CLAIM = as_file(
    raw(decision__id="d-1", result={"status": "success", "summary": "Fixed, all tests pass."})
)
RECEIPT = as_file(
    {
        **shown(decision="d-1", domain="coding", agent="coder-1", at="2026-11-01T07:00:00Z"),
        "shown": [{"skill": "guide-timeouts", "blob": ""}],
        "held_out": [],
    }
)
ENDED = Closing(
    status="failure",
    observed_by="ci",
    evidence="FAILED test_payment - assert 504 == 200",
    applied=["guide-timeouts"],
    at="2026-11-01T12:00:00Z",
)
ARRIVALS = {
    "outcome": ("claim.json", CLAIM),
    "receipt": ("recommendation-d-1.json", RECEIPT),
    "result": closing_file("d-1", ENDED, NOW),
}


@pytest.fixture
def new_vault(_new_vault: Path, tmp_path: Path) -> Any:
    """Makes vaults by name."""

    def make(name: str) -> Vault:
        return Vault.open(unguarded(_new_vault, tmp_path / name))

    return make


def arrive(vault: Vault, names: Iterable[str], *, at_once: bool) -> None:
    """Let the program put files into the inbox, and the loop run after each or after all."""
    for name in names:
        files = attest_files(vault.store.git.dirs()[0], [ARRIVALS[name]])
        for file in vault.inbox.drop(files):
            os.utime(vault.root / "inbox" / file, (0, 0))  # it was written long ago
        if not at_once:
            vault.run(now=NOW)
    vault.run(now=NOW)


def told(vault: Vault) -> str:
    """All that a vault serves and says of the decision."""
    decision = vault.stats(decision="d-1")
    skills = {listed.name: vault.skill(listed.name)[0].body for listed in vault.skills()}
    answer = vault.recommend("coding", "fix the flaky checkout test")
    served = [skill.name for skill in answer.recommended], [fact.text for fact in answer.facts]
    return json.dumps([decision, skills, served], sort_keys=True, default=str)


def test_all_six_orders_end_in_the_same_vault(new_vault: Any) -> None:
    answers = set()
    for number, order in enumerate(permutations(ARRIVALS)):
        vault = new_vault(f"v{number}")
        arrive(vault, order, at_once=number % 2 == 1)
        answers.add(told(vault))
        assert not vault.inbox.names(), order
        assert vault.check().problems == []
    assert len(answers) == 1
    decision, skills, _ = json.loads(answers.pop())
    assert decision["outcome"] == "failure"
    assert (decision["observed_by"], decision["surprise"]) == ("ci", True)
    assert decision["claim"] == "Fixed, all tests pass."
    assert [(row["skill"], row["applied"]) for row in decision["skills"]] == [
        ("guide-timeouts", True)
    ]
    (text,) = (body for name, body in skills.items() if name.startswith("guide-coding"))
    assert "→ FAILED test_payment - assert 504 == 200." in text


def test_an_index_that_is_built_anew_says_the_same(new_vault: Any) -> None:
    vault = new_vault("v")
    arrive(vault, ["result", "receipt", "outcome"], at_once=False)
    before = told(vault)
    assert not vault.store.index.verify()
    for file in (vault.root / ".git" / "skillvault").glob("index*"):
        file.unlink()
    assert told(Vault.open(vault.root)) == before


def test_among_two_domains_a_result_of_an_unknown_decision_waits(new_vault: Any) -> None:
    vault = new_vault("v")
    report = vault.close("d-1", ENDED, now=NOW)
    assert report.done == []
    assert "it is taken when one arrives, or give --domain" in report.waiting[0].reason
    assert len(vault.inbox.names()) == 1
    closed = vault.close("d-2", closing_of_exit(0), now=NOW)
    assert closed.done == []


def test_what_names_no_domain_takes_the_only_one_of_the_vault(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", ["coding"], now=NOW)
    assert vault.close("d-1", ENDED, now=NOW).waiting == []
    values = raw(3)
    del values["domain"]
    assert vault.record([("o.json", as_file(values))], now=NOW).quarantined == []
    assert {outcome.domain for outcome in vault.store.snapshot().outcomes.values()} == {"coding"}


def test_a_later_and_weaker_word_changes_nothing(new_vault: Any) -> None:
    vault = new_vault("v")
    arrive(vault, ["outcome", "result"], at_once=True)
    later = Closing(status="success", observed_by="person", domain="coding", at=NOW)
    vault.close("d-1", later, now=NOW)
    vault.run(now=NOW)
    decision = vault.stats(decision="d-1")
    assert (decision["outcome"], decision["observed_by"]) == ("failure", "ci")
    assert len(decision["outcomes"]) == 3


def test_what_a_refused_claim_taught_before_is_served_no_more(new_vault: Any) -> None:
    vault = new_vault("v")
    arrive(vault, ["outcome"], at_once=False)
    assert vault.stats(decision="d-1")["outcome"] == "success"
    arrive(vault, ["result"], at_once=False)
    served = [fact.text for fact in vault.recommend("coding", "raise the timeout checkout").facts]
    assert not any("succeeded" in text for text in served)


def test_what_a_result_came_with_is_no_part_of_the_decision(new_vault: Any) -> None:
    vault = new_vault("after")
    ended = Closing(status="failure", observed_by="tests", context={"tool": "junit"})
    files = [ARRIVALS["outcome"], closing_file("d-1", ended, NOW)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    judged = vault.store.snapshot().evaluations.values()
    assert judged
    assert "junit" not in " ".join(w for e in judged for w in (*e.weaknesses, *e.missed_factors))
