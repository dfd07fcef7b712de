"""Guides end to end: when they are read, and what a person did to them stays."""

from typing import Any

import pytest

from skillvault.api import Vault, retract, undo
from skillvault.loop.accounts import Accounts
from skillvault.loop.run import Report
from skillvault.model.brief import Account
from skillvault.model.records import IndexedOutcome
from skillvault.model.skill_evidence import EVIDENCE
from skillvault.review.proposal import quotes_removed_lines
from tests.conftest import NOW, Person
from tests.given import as_file, raw

NAME = "guide-coding-fix-flaky-test"
PATH = f"skills/{NAME}/SKILL.md"
DEEDS = (
    "I raise the timeout from 2 s to 5 s.",
    "I mock the gateway so that no network is needed.",
    "I sort the rows before I compare them.",
    "I pin the clock to a fixed date.",
    "I clear the cache between the tests.",
    "I add a retry around the request.",
    "I wait for the queue to be empty.",
    "I seed the random generator.",
    "I start the database before the service.",
    "I give each test a port of its own.",
    "I drop the fixture that is shared.",
    "I read the log after the flush.",
    "I lock the file while it is written.",
    "I compare floats with a tolerance.",
)


def tried(number: int, **changes: Any) -> dict[str, Any]:
    """A try of the action, on a target and a day of its own."""
    fields = {"decision__target": f"test-{number}", "decision__reasoning": DEEDS[number]}
    return raw(number, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any]) -> Report:
    """Record outcomes and run the loop."""
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    return vault.run(now=NOW)


def text(vault: Vault, name: str = NAME) -> str:
    """The text of a living guide."""
    return (vault.root / "skills" / name / "SKILL.md").read_text()


def evidence(vault: Vault, name: str = NAME) -> str:
    """The file beside it that says which outcomes stand behind it."""
    return (vault.root / "skills" / name / "references" / EVIDENCE).read_text()


def guides(vault: Vault) -> list[str]:
    """The living guides, by name."""
    return [skill.name for skill in vault.skills() if skill.kind == "guide"]


def ids(vault: Vault) -> list[str]:
    """The outcomes of a vault, oldest first."""
    return [
        one.id for one in sorted(vault.store.snapshot().outcomes.values(), key=lambda o: o.order)
    ]


def remove(vault: Vault, person: Person, outcome_id: str) -> None:
    """A person deletes an outcome."""
    person.git("rm", "-q", *person.git("ls-files", f"outcomes/*{outcome_id}.yaml").splitlines())
    person.git("commit", "-qm", "away with it")


def is_settled(vault: Vault) -> bool:
    """Return True if another run does nothing and the records give every count."""
    return vault.run(now=NOW).done == [] and vault.check().problems == []


# ── what is due ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", [0, 11, 13])
@pytest.mark.parametrize("how", ["delete", "retract"])
def test_an_outcome_that_goes_makes_the_guide_of_its_action_due(
    vault: Vault, person: Person, place: int, how: str
) -> None:
    learn(vault, *map(tried, range(14)))  # read up to the twelfth
    gone = ids(vault)[place]
    if how == "delete":
        remove(vault, person, gone)
    else:
        retract(vault, gone, reason="wrong ticket", now=NOW)
    vault.run(now=NOW)
    assert gone not in evidence(vault)
    assert ": 12 outcomes" in text(vault)
    assert is_settled(vault)


def test_between_reading_points_nothing_is_due(vault: Vault) -> None:
    learn(vault, *map(tried, range(12)))
    before = text(vault)
    learn(vault, tried(12))
    assert text(vault) == before
    assert not list(vault.store.snapshot().due.keys("refresh"))


def test_an_outcome_reads_the_account_of_no_other_action_and_no_other_subject_of_its_own(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each with an error of its own, so that no fact joins them.
    errors = ("KeyError: tenant", "TypeError: none", "the disk was full", "504 == 200", "locked")
    results = [{"result": {"status": "failure", "evidence": error}} for error in errors]
    others = (tried(n, decision__action="release", **results[n]) for n in (2, 3))
    learn(vault, *(tried(n, **results[n]) for n in range(2)), *others)
    assert is_settled(vault)
    known = set(ids(vault))
    read: list[tuple[str, ...]] = []
    account = Accounts.build_account

    def watched(self: Accounts, of: list[IndexedOutcome]) -> Account:
        read.append(tuple(outcome.id for outcome in of))
        return account(self, of)

    monkeypatch.setattr(Accounts, "build_account", watched)
    learn(vault, tried(4, **results[4]))
    outcomes = vault.store.snapshot().outcomes
    mine = {name for name in ids(vault) if outcomes[name].decision.action == "fix-flaky-test"}
    (new,) = mine - known
    assert set(map(frozenset, read)) == {frozenset(mine), frozenset({new})}


# ── what it says ─────────────────────────────────────────────────────────────────────


def test_tries_that_read_alike_are_one_line_and_counted(vault: Vault) -> None:
    ends = ("failure", "success", "failure", "success")
    same = [
        tried(
            0, occurred_at=f"2026-11-01T0{n}:00:00Z", decision__made_at=None, result={"status": s}
        )
        for n, s in enumerate(ends)
    ]
    learn(vault, *same)
    body = text(vault).partition("## Tried\n")[2]
    assert body.count("I raise the timeout") == 1
    assert "(4 runs: 2 worked, 2 failed)" in body
    assert is_settled(vault)


# ── what a person does ───────────────────────────────────────────────────────────────


def edit(vault: Vault, person: Person, old: str, new: str) -> None:
    """A person replaces words of the guide."""
    before = text(vault)
    assert before.count(old) == 1
    (vault.root / PATH).write_text(before.replace(old, new))
    person.git("commit", "-qam", "in my words")


def line_of(vault: Vault, deed: str) -> str:
    """The line of a guide about a deed."""
    return next(line for line in text(vault).splitlines() if line.startswith(f"- {deed}"))


def test_what_a_person_wrote_in_a_guide_stays_beside_what_is_learned(
    vault: Vault, person: Person
) -> None:
    learn(vault, *(tried(n, decision__target="cart") for n in range(3)))
    mine = "- Ask   *Mara* before you touch the cart.\n"
    edit(vault, person, "## Avoid\n\n", f"## Avoid\n\n{mine}")
    edit(vault, person, "Use before fix-flaky-test", "Read this before fix-flaky-test")
    (vault.root / PATH).write_text(text(vault) + "\n## Mine\n\n1.  Wait.\n")
    person.git("commit", "-qam", "a section")
    learn(vault, *(tried(n, decision__target="cart") for n in (3, 4)))
    after = text(vault)
    assert mine in after
    assert "\n## Mine\n\n1.  Wait.\n" in after
    assert "Read this before fix-flaky-test" in after
    assert DEEDS[4].rstrip(".") in after + evidence(vault)
    assert is_settled(vault)


def test_a_line_that_a_person_took_out_stays_out(vault: Vault, person: Person) -> None:
    learn(vault, *(tried(n, decision__target="cart") for n in range(3)))
    gone = line_of(vault, DEEDS[1].rstrip("."))
    edit(vault, person, f"{gone}\n" if f"{gone}\n" in text(vault) else gone, "")
    learn(vault, *(tried(n, decision__target="cart") for n in (3, 4)))
    assert DEEDS[4].rstrip(".") in text(vault)
    assert gone not in text(vault)
    assert is_settled(vault)


def test_a_description_that_quotes_a_removed_line_is_known(vault: Vault, person: Person) -> None:
    learn(vault, *(tried(n, decision__target="cart") for n in range(3)))
    (line,) = [line for line in text(vault).splitlines() if line.startswith("- ")][:1]
    assert line.removeprefix("- ") in vault.skill(NAME)[0].description
    assert not quotes_removed_lines(vault.store.snapshot(), vault.skill(NAME)[0])
    edit(vault, person, f"\n{line}\n", "\n- Ask Mara.\n")
    assert quotes_removed_lines(vault.store.snapshot(), vault.skill(NAME)[0])


@pytest.mark.parametrize("how", ["delete", "undo", "retire"])
def test_a_guide_that_a_person_took_away_is_not_made_again(
    vault: Vault, person: Person, how: str
) -> None:
    learn(vault, *map(tried, range(2)))
    if how == "delete":
        person.git("rm", "-rq", f"skills/{NAME}")
        person.git("commit", "-qm", "away with it")
    elif how == "undo":
        undo(vault, NAME, "not ours", now=NOW)
    else:
        vault.curate.retire(NAME, now=NOW)
    learn(vault, *map(tried, range(2, 5)), tried(5, decision__action="release"))
    assert guides(vault) == ["guide-coding-release"]
    assert is_settled(vault)


def test_a_guide_that_is_undone_comes_back_when_that_is_taken_back(vault: Vault) -> None:
    learn(vault, *map(tried, range(2)))
    undo(vault, NAME, "not ours", now=NOW)
    learn(vault, tried(2))
    vault.curate.forget(NAME, now=NOW)
    vault.run(now=NOW)
    assert ": 3 outcomes" in text(vault)
    assert is_settled(vault)
