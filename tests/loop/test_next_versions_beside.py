"""Next versions of approved skills beside what people do with plain git meanwhile."""

from datetime import timedelta

import pytest

from skillvault.api import Vault, proposals, question, retract
from skillvault.model.errors import UsageError
from skillvault.model.records import Ref
from skillvault.review.proposal import text_pair
from tests.conftest import NOW, Person
from tests.given import as_file, passing, trade
from tests.loop.test_next_versions import LATER, approved, body, following, met, served
from tests.review.test_review import recorded, with_gate

__all__ = ["approved", "following", "served"]


def assert_settled(vault: Vault, person: Person) -> None:
    """Nothing more is due, and the vault is sound."""
    vault.run(now=LATER)
    assert not vault.run(now=LATER).done
    assert vault.check().problems == []
    assert person.status() == ""


def test_a_version_of_a_skill_that_a_person_removed_is_shown_and_can_be_rejected(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    person.git("rm", "-rq", f"skills/{served}")
    person.git("commit", "-qm", "Remove it")
    assert_settled(approved, person)
    (proposal,) = proposals(approved)
    assert (proposal.name, proposal.replaces) == (following, (served,))
    assert text_pair(question(approved), following).after
    with pytest.raises(UsageError, match=f"replaces {served}, which is not in skills/"):
        approved.curate.approve(following, now=LATER)
    assert approved.why(following)["sources"]
    approved.curate.reject(following, reason="not ours", now=LATER)
    assert proposals(approved) == []
    assert_settled(approved, person)


def test_expired_with_it_goes_what_would_replace_it(vault: Vault, person: Person) -> None:
    with_gate(vault, person, "always")
    recorded(vault, trade(0))
    (name,) = (proposal.name for proposal in proposals(vault) if proposal.kind == "warning")
    vault.curate.approve(name, now=NOW)
    recorded(vault, trade(1))
    assert [one.name for one in proposals(vault) if one.replaces == (name,)] == [f"{name}-next"]
    late = NOW + timedelta(days=100)
    vault.record([("late.json", as_file(passing("perps", late - timedelta(days=1))))], now=late)
    report = vault.run(now=late)
    assert f"expire: {name}" in [done.subject for done in report.done]
    assert [skill.name for skill in vault.skills("archive")] == [name]
    assert [one for one in proposals(vault) if one.replaces == (name,)] == []
    assert vault.check().problems == []


def test_a_version_is_rejected_and_not_retired(
    approved: Vault, served: str, following: str
) -> None:
    before = body(approved, following, "proposed")
    with pytest.raises(UsageError, match=f"waits to replace {served}"):
        approved.curate.retire(following, now=LATER)
    assert body(approved, following, "proposed") == before


def test_a_skill_whose_approval_is_reverted_goes_on_alone(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    (approval,) = [commit.sha for commit in approved.log() if commit.step == "approve"]
    person.git("revert", "--no-edit", approval)
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    (proposal,) = proposals(approved)
    assert (proposal.name, "disk full" in proposal.body) == (served, True)
    assert_settled(approved, person)


def test_a_reverted_approval_lets_the_version_wait_again(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    before = body(approved, served)
    approved.curate.approve(following, now=LATER)
    person.git("revert", "--no-edit", "HEAD")
    assert_settled(approved, person)
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    assert body(approved, served) == before
    assert "disk full" in body(approved, following, "proposed")
    approved.curate.approve(following, now=LATER)
    assert "disk full" in body(approved, served)
    assert_settled(approved, person)


def test_a_version_whose_approval_was_reverted_is_approved_again(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    approved.curate.approve(following, now=LATER)
    text = body(approved, served)
    person.git("revert", "--no-edit", "HEAD")
    assert proposals(approved)[0].diff
    approved.curate.approve(following, now=LATER)
    assert body(approved, served) == text


def test_what_a_person_wrote_stays_if_the_version_was_rejected_in_between(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    path = approved.root / "skills" / served / "SKILL.md"
    path.write_text(path.read_text() + "\n## Mine\n\nAsk the owner.\n")
    person.git("commit", "-qam", "Ask first")
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    approved.curate.forget(following, now=LATER)
    approved.curate.approve(following, now=LATER)
    text = body(approved, served)
    assert "Ask the owner." in text
    assert "connection refused" in text


def test_a_version_without_links_of_its_own_misses_none(approved: Vault, served: str) -> None:
    retract(approved, min(approved.store.snapshot().outcomes), "a wrong label", now=LATER)
    (proposal,) = proposals(approved)
    assert proposal.replaces == (served,)
    assert approved.store.snapshot().links.by_target([Ref("skill", proposal.name)]) == []
    assert approved.check().notes == []
