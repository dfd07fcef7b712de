"""expire end to end: one commit a skill, and a person who brings it back."""

from datetime import timedelta

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import as_file, raw

LATER = NOW + timedelta(days=61)


def learned(vault: Vault) -> str:
    """The name of the one warning of a vault."""
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    return vault.skills()[0].name


def test_an_expired_skill_leaves_in_a_commit_of_its_own(vault: Vault) -> None:
    name = learned(vault)
    report = vault.run(now=LATER)
    assert [done.change.headline for done in report.done] == [f"expire: {name}"]
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"
    assert vault.run(now=LATER).done == []
    assert vault.check().problems == []


def test_a_reverted_expiry_restarts_the_clock(vault: Vault, person: Person) -> None:
    name = learned(vault)
    vault.run(now=LATER)
    person.git("revert", "--no-edit", "HEAD")
    vault.run(now=LATER + timedelta(hours=1))
    skill, path = vault.skill(name)
    assert path == f"skills/{name}/SKILL.md"
    assert skill.expires == "2027-03-21T13:00:00Z"
    assert vault.run(now=LATER + timedelta(days=59)).done == []
    vault.run(now=LATER + timedelta(days=61))
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"


def test_a_pinned_skill_stays(vault: Vault) -> None:
    name = learned(vault)
    vault.curate.pin(name, now=NOW)
    assert vault.run(now=LATER).done == []


def test_a_skill_a_person_is_editing_waits(vault: Vault, person: Person) -> None:
    name = learned(vault)
    path = f"skills/{name}/SKILL.md"
    mine = person.write(path, (vault.root / path).read_text() + "mine\n").read_text()
    report = vault.run(now=LATER)
    assert report.done == []
    assert [waiting.path for waiting in report.waiting] == [path]
    assert (vault.root / path).read_text() == mine


def test_the_failure_that_an_expired_warning_tells_of_brings_it_back(vault: Vault) -> None:
    name = learned(vault)
    vault.run(now=LATER)
    vault.record([("b.json", as_file(raw(7)))], now=LATER)
    report = vault.run(now=LATER)
    assert f"restore {name}" in [done.change.subject for done in report.done]
    skill, path = vault.skill(name)
    assert path == f"skills/{name}/SKILL.md"
    assert skill.expires == "2027-03-21T12:00:00Z"
    assert vault.run(now=LATER).done == []
    assert vault.check().problems == []


def test_a_retired_warning_stays_away_when_its_failure_returns(vault: Vault) -> None:
    name = learned(vault)
    vault.curate.retire(name, now=NOW)
    vault.record([("b.json", as_file(raw(7)))], now=LATER)
    vault.run(now=LATER)
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"
