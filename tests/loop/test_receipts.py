"""receipts: what a decision applied is resolved with what it was shown, whichever came first."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.loop.receipts import Receipts
from skillvault.model.records import Recommendation, Ref
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import ReceivedFile
from skillvault.vault.files.inbox import Inbox
from tests.cli.test_recommend import call
from tests.conftest import NOW, Person
from tests.given import as_file, outcome, raw

DECISION = "d-7"
SKILL = """---
name: seeded-runs
description: What makes a run repeatable.
---

# Pattern: seeded runs

Seed every generator before the suite.
"""
FACT = """---
id: {id}
domain: {domain}
---

{text}
"""


@pytest.fixture
def served(vault: Vault, person: Person) -> Vault:
    """A vault that showed one skill for a decision."""
    _commit(person, "skills/seeded-runs/SKILL.md", SKILL)
    answer = vault.recommend("coding", pins=["seeded-runs"], decision=DECISION, now=NOW)
    assert answer.recommended[0].handle == "S1"
    return vault


def _commit(person: Person, path: str, text: str) -> None:
    person.write(path, text)
    person.git("add", "-f", path)
    person.git("commit", "-qm", path)


def _outcome(called: str, **changes: Any) -> tuple[str, bytes]:
    return "o.json", as_file(raw(decision__id=DECISION, applied=[called], **changes))


def _applied(vault: Vault) -> list[str]:
    rows = vault.stats(decision=DECISION)["skills"]
    return [row["skill"] for row in rows if row["applied"]]


@pytest.mark.parametrize(
    "called", ["S1", "[S1]", "[s1]", "seeded-runs", "Pattern: Seeded runs", "seeded_runs"]
)
def test_a_handle_a_title_and_a_name_mean_the_same_skill(served: Vault, called: str) -> None:
    served.record([_outcome(called)], now=NOW)  # its receipt still waits in the inbox
    served.run(now=NOW)
    assert _applied(served) == ["seeded-runs"]
    (outcome,) = served.store.snapshot().outcomes.values()
    assert outcome.applied == ("seeded_runs" if called == "seeded_runs" else "seeded-runs",)


def test_a_receipt_that_comes_later_counts(served: Vault) -> None:
    (name,) = served.inbox.names()
    waiting = served.root / "inbox" / name
    text = waiting.read_bytes()
    waiting.unlink()
    served.record([_outcome("S1")], now=NOW)
    (outcome,) = served.store.snapshot().outcomes.values()
    assert outcome.applied == ("S1",)
    waiting.write_bytes(text)
    served.run(now=NOW)
    assert _applied(served) == ["seeded-runs"]


def test_the_same_outcome_again_is_one_record(served: Vault) -> None:
    served.record([_outcome("S1")], now=NOW)
    again = served.record([_outcome("S1")], now=NOW)
    assert (len(again.known), len(served.store.snapshot().outcomes)) == (1, 1)


def test_a_handle_without_a_decision_goes_to_quarantine_in_a_sentence(vault: Vault) -> None:
    report = vault.record([("o.json", as_file(raw(applied=["[S1]"])))], now=NOW)
    (refused,) = report.quarantined
    assert refused.code == "handle-without-decision"
    assert "[S1] is a handle of one answer; give decision.id" in refused.message


def test_the_judge_takes_a_handle_too(served: Vault) -> None:
    decision = {
        "domain": "coding",
        "decision": {"id": DECISION, "action": "fix-flaky-test", "reasoning": "As 'seeded-runs'."},
    }
    named = served.advise("d.json", json.dumps({**decision, "applied": ["seeded-runs"]}).encode())
    by_handle = served.advise("d.json", json.dumps({**decision, "applied": ["S1"]}).encode())
    unknown = served.advise("d.json", json.dumps({**decision, "applied": ["S9"]}).encode())
    assert by_handle.quality == named.quality != unknown.quality


@pytest.mark.parametrize("called", ["S9", "[S9]", "[F1] f-1"])
def test_a_handle_of_nothing_that_was_shown_is_told(served: Vault, called: str) -> None:
    served.record([_outcome(called)], now=NOW)
    served.run(now=NOW)
    assert served.stats(decision=DECISION)["unresolved"] == [called]
    text, _ = call(served, "stats", "--decision", DECISION)
    assert f"  {called}: no such handle in what was shown" in text


def test_a_handle_without_a_receipt_is_told(vault: Vault) -> None:
    vault.record([_outcome("[S1]")], now=NOW)
    assert vault.stats(decision=DECISION)["unresolved"] == ["[S1]"]


class _NotingInbox(Inbox):
    """An inbox that notes which files are read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: list[str] = []

    def read_file(self, name: str) -> ReceivedFile | None:
        self.read.append(name)
        return super().read_file(name)


def test_each_waiting_receipt_is_read_once_however_many_decisions_ask(served: Vault) -> None:
    for number in range(2):
        served.recommend("coding", pins=["seeded-runs"], decision=f"e-{number}", now=NOW)
    inbox = _NotingInbox(served.root)
    first, *others = inbox.names()
    receipts = Receipts(served.store.snapshot(), inbox, NOW, names=[first])
    assert inbox.read == []
    ends = [outcome(raw(decision__id=f"e-{n % 3}")) for n in range(9)]
    asked = [receipt for end in ends for receipt in receipts.own_receipts(end)]
    assert inbox.read == others
    assert {receipt.decision for receipt in asked} <= {"e-0", "e-1"}


# ── facts ────────────────────────────────────────────────────────────────────────────

SAYS = "Seed the random generators of a flaky test before the suite starts."


def test_a_fact_that_answers_is_shown_and_recorded(vault: Vault, person: Person) -> None:
    _commit(person, "memory/coding/f-1.md", FACT.format(id="f-1", domain="coding", text=SAYS))
    _commit(person, "memory/perps/f-2.md", FACT.format(id="f-2", domain="perps", text=SAYS))
    answer = vault.recommend(
        "coding", "seed the generators of a flaky test", decision=DECISION, now=NOW
    )
    shown = f"{SAYS} (undated)"
    assert [(fact.handle, fact.id, fact.text) for fact in answer.facts] == [("F1", "f-1", shown)]
    vault.run(["record"], now=NOW)
    (receipt,) = vault.store.snapshot().recommendations.by_decision(DECISION)
    assert isinstance(receipt, Recommendation)
    path = vault.store.snapshot().records.path_of(Ref("fact", "f-1"))
    assert [(f.fact, f.blob, f.handle) for f in receipt.facts] == [
        ("f-1", vault.store.snapshot().files[path or ""], "F1")
    ]


@pytest.mark.parametrize("called", ["F1", "[F1] as it says", "f-1", None])
def test_a_fact_that_was_applied_is_told(vault: Vault, person: Person, called: str | None) -> None:
    _commit(person, "memory/coding/f-1.md", FACT.format(id="f-1", domain="coding", text=SAYS))
    vault.recommend("coding", "seed the generators of a flaky test", decision=DECISION, now=NOW)
    vault.record([_outcome(called or "other")], now=NOW)
    vault.run(["record"], now=NOW)
    (row,) = vault.stats(decision=DECISION)["facts"]
    assert (row["fact"], row["applied"], len(row["blob"])) == ("f-1", called is not None, 40)
    part = "applied" if called else "not applied"
    assert f"  fact f-1: shown, {part}\n" in call(vault, "stats", "--decision", DECISION)[0]


def test_without_a_task_no_fact_is_shown(vault: Vault, person: Person) -> None:
    _commit(person, "memory/coding/f-1.md", FACT.format(id="f-1", domain="coding", text=SAYS))
    assert vault.recommend("coding").facts == []


@pytest.mark.parametrize("front", ["trust: untrusted", "supersedes: f-1"])
def test_what_is_not_trusted_or_superseded_is_not_shown(
    vault: Vault, person: Person, front: str
) -> None:
    text = FACT.replace("domain:", f"{front}\ndomain:")
    _commit(person, "memory/coding/f-1.md", FACT.format(id="f-1", domain="coding", text=SAYS))
    _commit(
        person,
        "memory/coding/f-2.md",
        text.format(id="f-2", domain="coding", text="Seed generators of every flaky test twice."),
    )
    found = vault.recommend("coding", "seed the generators of a flaky test").facts
    assert [fact.id for fact in found] == (["f-1"] if "untrusted" in front else ["f-2"])


@pytest.mark.parametrize(
    ("applicability", "count"), [("domain", 0), ("cross_domain", 1), ("general", 1), (None, 0)]
)
def test_a_fact_of_another_domain_is_shown_if_it_holds_there_too(
    vault: Vault, person: Person, applicability: str | None, count: int
) -> None:
    vault.record([("o.json", as_file(raw(domain="perps")))], now=NOW)
    vault.run(["record", "evaluate"], now=NOW)
    (outcome,) = vault.store.snapshot().evaluations
    path = vault.store.snapshot().records.path_of(Ref("evaluation", outcome))
    assert path is not None
    text = (vault.root / path).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("applicability:")]
    said = f"applicability: {applicability}\n" if applicability else ""
    _commit(person, path, "\n".join(lines) + f"\n{said}")
    _commit(person, "memory/perps/f-1.md", FACT.format(id="f-1", domain="perps", text=SAYS))
    _commit(
        person,
        layout.links_path(path),
        "- {type: promoted, to: fact/f-1, at: '2026-11-20T12:00:00Z'}\n",
    )
    answer = vault.recommend("coding", "seed the generators of a flaky test")
    assert len(answer.facts) == count
    found = vault.search("generators", domain="coding")
    assert [hit.id for hit in found] == ["f-1"] * count


# ── what is asked for by name ────────────────────────────────────────────────────────


def test_the_skills_about_an_action_come_first_whatever_its_spelling(vault: Vault) -> None:
    vault.record([("o.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    (name,) = (skill.name for skill in vault.skills())
    task = "Something else entirely"
    assert vault.recommend("coding", task).recommended == []
    for spelling in ("fix-flaky-test", "fix_flaky_test", "fixFlakyTest"):
        found = vault.recommend("coding", task, action=spelling).recommended
        assert [skill.name for skill in found] == [name]
    assert vault.recommend("coding", task, action="deploy").recommended == []


def test_explained_are_the_keys_and_values_that_nothing_knows(vault: Vault, person: Person) -> None:
    _commit(person, "skills/seeded-runs/SKILL.md", SKILL.replace("suite", "unlock schedule"))
    context = {
        "Volatility": "HIGH", "trend": "sideways", "unlockSchedule": "seed", "moon": "full",
    }  # fmt: skip
    answer = vault.recommend("coding", context=context, explain=True)
    assert answer.unknown_context == ["trend=sideways", "moon"]
    assert vault.recommend("coding", context=context).unknown_context == []
