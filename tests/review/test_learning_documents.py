"""learn: rules and how-tos of documents wait for approval, each once."""

from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault, undo
from skillvault.learning.corrections import document_change, document_rule
from skillvault.model.errors import BadInputError, UsageError
from skillvault.review import commits
from tests.conftest import NOW, Person
from tests.exchange.sites import Reply, Routes, serving

PAGE = "## Style\n\n- Use tabs.\n- Never skip a test.\n\n## Release\n\n1. Tag it.\n2. Push it.\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a document."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/CONTRIBUTING.md").write_text(PAGE)
    return tmp_path / "shop"


@pytest.mark.parametrize("place", ["", "CONTRIBUTING.md"])
def test_rules_and_how_tos_wait_for_approval(vault: Vault, shop: Path, place: str) -> None:
    report = vault.curate.installer.learn(str(shop / place), now=NOW)
    assert [skill.name for skill in report.installed] == ["release"]
    waiting = vault.memory.waiting()
    assert sorted(rule.text for rule in waiting) == ["Never skip a test.", "Use tabs."]
    assert {rule.scope for rule in waiting} == {"shop"}
    assert not vault.skills()


def test_what_is_known_or_was_rejected_is_not_proposed_again(vault: Vault, shop: Path) -> None:
    vault.curate.installer.learn(str(shop), now=NOW)
    approved, rejected = vault.memory.waiting()
    vault.memory.approve(approved.id, now=NOW)
    vault.memory.reject(rejected.id, "no", now=NOW)
    tip = vault.store.tip()
    report = vault.curate.installer.learn(str(shop), now=NOW)
    assert not report.rules
    assert "CONTRIBUTING.md: 2 rules are known already" in report.known
    assert vault.store.tip() == tip


def test_what_an_undone_learn_brought_may_be_learned_again(
    vault: Vault, shop: Path, person: Person
) -> None:
    tip = person.git("rev-parse", "HEAD")
    first = vault.curate.installer.learn(str(shop), now=NOW)
    for commit in person.git("rev-list", f"{tip}..").split():
        undo(vault, commit, now=NOW)
    assert not vault.memory.waiting()
    second = vault.curate.installer.learn(str(shop), now=NOW)
    assert (second.rules, second.known) == (first.rules, [])


def test_an_approved_rule_replaces_all_wordings_of_the_older_value(
    vault: Vault, shop: Path
) -> None:
    olds = ("The staging database runs PostgreSQL 14.", "Staging's database is on PostgreSQL 14.")
    newer = olds[0].replace("14", "16")
    for day, texts in enumerate((olds, (newer,))):
        rules = [
            document_rule(
                text, "coding", "shop", page="P.md", about="", at=NOW + timedelta(days=day)
            )
            for text in texts
        ]
        commits.commit_changes(vault.store, [document_change("P.md", rules)], NOW, dry=False)
        for rule in rules:
            vault.memory.approve(rule.id, now=NOW)
    assert [fact.text for fact in vault.memory.facts()] == [newer]
    assert vault.check().problems == []


def test_a_page_of_a_site_is_read(vault: Vault) -> None:
    routes: Routes = {"/guide.md": Reply(PAGE.encode()), "/page": Reply(b"<html><p>x</p></html>")}
    with serving(routes) as site:
        report = vault.curate.installer.learn(f"{site.url}/guide.md", now=NOW)
        assert len(report.rules) == 2
        with pytest.raises(BadInputError, match="a page of HTML"):
            vault.curate.installer.learn(f"{site.url}/page", now=NOW)


def test_a_dry_run_proposes_nothing(vault: Vault, shop: Path) -> None:
    report = vault.curate.installer.learn(str(shop), now=NOW, dry=True)
    assert len(report.rules) == 2
    assert not vault.memory.waiting()


def test_a_folder_without_documents_is_a_sentence(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no skills of the format documents there"):
        vault.curate.installer.learn(str(tmp_path), now=NOW)


def test_a_domain_that_does_not_exist_is_a_sentence(vault: Vault, shop: Path) -> None:
    with pytest.raises(UsageError, match="--domain nope: no such domain"):
        vault.curate.installer.learn(str(shop), domain="nope", now=NOW)


def test_a_file_that_is_too_large_is_not_read(vault: Vault, tmp_path: Path) -> None:
    page = tmp_path / "CONTRIBUTING.md"
    with page.open("wb") as file:
        file.truncate(1 << 40)  # a sparse file, which no memory holds
    (problem,) = vault.curate.installer.learn(str(page), now=NOW).problems
    assert problem.code == "too-large"


def test_rules_beyond_a_number_are_counted(vault: Vault, tmp_path: Path) -> None:
    page = tmp_path / "CONTRIBUTING.md"
    page.write_text("## Rules\n\n" + "".join(f"- Use tool{n} for it.\n" for n in range(203)))
    report = vault.curate.installer.learn(str(page), now=NOW)
    assert len(report.rules) == 200
    assert [entry.reason[:12] for entry in report.passed_over] == ["3 more rules"]
