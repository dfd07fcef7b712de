"""expire end to end: by the domain's clock, one commit a skill; a person who brings it back."""

from datetime import datetime, timedelta

import pytest

from skillvault.api import Vault
from skillvault.loop.run import Report
from tests.conftest import NOW, Person
from tests.given import as_file, passing, trade

LATER = NOW + timedelta(days=61)


def learned(vault: Vault) -> str:
    """The name of the one warning of a vault."""
    vault.record([("a.json", as_file(trade()))], now=NOW)
    vault.run(now=NOW)
    (name,) = (skill.name for skill in vault.skills() if skill.kind == "warning")
    return name


def aged(vault: Vault, now: datetime = LATER, domain: str = "perps") -> Report:
    """Let something happen in a domain, and return the report of the next run."""
    vault.record([("late.json", as_file(passing(domain, now)))], now=now)
    vault.run(["evaluate"], now=now)
    return vault.run(now=now)


def test_a_silent_domain_does_not_age(vault: Vault) -> None:
    name = learned(vault)
    assert vault.run(now=LATER).done == []
    aged(vault, domain="coding")
    assert vault.skill(name)[1] == f"skills/{name}/SKILL.md"


def test_untrusted_outcomes_are_no_clock(vault: Vault) -> None:
    name = learned(vault)
    late = passing("perps", LATER, source__trust="untrusted")
    vault.record([("late.json", as_file(late))], now=LATER)
    vault.run(now=LATER)
    assert vault.skill(name)[1] == f"skills/{name}/SKILL.md"


def test_under_the_profile_seed_the_clock_is_the_days(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\nprofile: seed\n")
    person.git("commit", "-qam", "seed")
    name = learned(vault)
    assert [done.change.subject for done in vault.run(now=LATER).done] == [name]


@pytest.mark.parametrize(
    ("domain", "silent", "leaves"),
    [("coding", "perps", True), ("perps", "coding", False), (None, "perps", True)],
)
def test_what_has_no_domain_ages_with_the_vault(
    vault: Vault, person: Person, domain: str | None, silent: str, leaves: bool
) -> None:
    vault.record([("a.json", as_file(trade(domain=silent)))], now=NOW)
    named = f"  domain: {domain}\n" if domain else ""
    front = f"name: mine\ndescription: Mine.\nmetadata:\n{named}  expires: '2026-12-01'\n"
    person.write("skills/mine/SKILL.md", f"---\n{front}---\n\nDo it.\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    assert vault.run(["expire"], now=LATER).done == []
    aged(vault, domain="coding")
    assert (vault.skill("mine")[1] == "archive/mine/SKILL.md") is leaves


def test_an_expired_skill_leaves_in_a_commit_of_its_own(vault: Vault) -> None:
    name = learned(vault)
    report = aged(vault)
    assert [done.change.headline for done in report.done] == [f"expire: {name}"]
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"
    assert vault.run(now=LATER).done == []
    assert vault.check().problems == []


def test_a_reverted_expiry_restarts_the_clock(vault: Vault, person: Person) -> None:
    name = learned(vault)
    aged(vault)
    person.git("revert", "--no-edit", "HEAD")
    vault.run(now=LATER + timedelta(hours=1))
    skill, path = vault.skill(name)
    assert path == f"skills/{name}/SKILL.md"
    assert skill.expires == "2027-03-21T12:00:00Z"
    assert aged(vault, LATER + timedelta(days=59)).done == []
    aged(vault, LATER + timedelta(days=61))
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"


def test_of_an_old_history_a_skill_is_renewed_once(vault: Vault, person: Person) -> None:
    name = learned(vault)
    path = vault.root / f"skills/{name}/SKILL.md"
    old = path.read_text().replace("expires: '2026-12-31T09:00:00Z'", "expires: '2026-11-02'")
    person.write(f"skills/{name}/SKILL.md", old)
    person.git("commit", "-qam", "It was made long ago")
    aged(vault, NOW)  # the commit is later than the domain's clock
    person.git("revert", "--no-edit", "HEAD")
    vault.run(now=LATER)
    assert vault.skill(name)[0].expires == "2027-01-19T12:00:00Z"
    aged(vault, LATER)
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"


def test_a_restored_skill_begins_by_the_clock_of_its_domain(vault: Vault) -> None:
    name = learned(vault)
    vault.curate.retire(name, now=LATER)
    vault.curate.restore(name, now=LATER)
    assert vault.skill(name)[0].expires == "2026-12-31T09:00:00Z"


def test_a_pinned_skill_stays(vault: Vault) -> None:
    name = learned(vault)
    vault.curate.pin(name, now=NOW)
    assert aged(vault).done == []


def test_a_skill_a_person_is_editing_waits(vault: Vault, person: Person) -> None:
    name = learned(vault)
    path = f"skills/{name}/SKILL.md"
    mine = person.write(path, (vault.root / path).read_text() + "mine\n").read_text()
    report = aged(vault)
    assert report.done == []
    assert [waiting.path for waiting in report.waiting] == [path]
    assert (vault.root / path).read_text() == mine


def test_the_failure_that_an_expired_warning_tells_of_brings_it_back(vault: Vault) -> None:
    name = learned(vault)
    aged(vault)
    again = trade(occurred_at=LATER.isoformat())
    vault.record([("b.json", as_file(again))], now=LATER)
    report = vault.run(now=LATER)
    assert f"restore {name}" in [done.change.subject for done in report.done]
    skill, path = vault.skill(name)
    assert path == f"skills/{name}/SKILL.md"
    assert skill.expires == "2027-03-21T12:00:00Z"
    assert vault.run(now=LATER).done == []
    assert vault.check().problems == []


def test_a_guide_has_no_end(vault: Vault) -> None:
    learned(vault)
    (name,) = (skill.name for skill in vault.skills() if skill.kind == "guide")
    assert vault.skill(name)[0].expires is None
    aged(vault, NOW + timedelta(days=2000))
    assert vault.skill(name)[1] == f"skills/{name}/SKILL.md"


def test_a_retired_warning_stays_away_when_its_failure_returns(vault: Vault) -> None:
    name = learned(vault)
    vault.curate.retire(name, now=NOW)
    vault.record([("b.json", as_file(trade(7)))], now=LATER)
    vault.run(now=LATER)
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"


def test_a_commit_that_names_no_source_is_noted(vault: Vault, person: Person) -> None:
    trailers = "Skillvault-Step: expire\nSkillvault-Target: skill:gone\n"
    person.git("commit", "-q", "--allow-empty", "-m", f"expire: gone\n\n{trailers}")
    assert [note.code for note in vault.check().notes] == ["no-source"]
