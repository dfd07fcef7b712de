"""The measured vaults are sound: they can be read, pass the check, and are equal each time."""

import subprocess
from itertools import islice
from pathlib import Path

import pytest
from learned import learned
from shelf import shelved
from vaults import made

from skillvault import Vault

RECORDS = 400


@pytest.fixture(autouse=True)
def _unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The git names of the environment, put back after each test because `made` sets them."""
    for end in ("NAME", "EMAIL"):
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_{end}", "bench")


def test_a_made_vault_holds_and_has_the_records_asked_for(tmp_path: Path) -> None:
    vault = Vault.open(made(tmp_path / "vault", learned(RECORDS)))
    checked = vault.check()
    assert checked.problems == []
    assert checked.notes == []
    status = vault.status()
    skills = status.skills + status.proposed + status.archived
    total = status.outcomes + status.evaluations + status.facts + skills + status.links["total"]
    assert RECORDS <= total < 1.6 * RECORDS
    assert status.outcomes == status.evaluations


def test_what_the_outcomes_of_a_made_vault_teach_is_learned(tmp_path: Path) -> None:
    vault = Vault.open(made(tmp_path / "vault", learned(RECORDS)))
    assert vault.run(("record", "evaluate", "promote", "generate"), dry=True).done == []


def test_the_commits_of_a_made_vault_are_read_as_the_programs(tmp_path: Path) -> None:
    root = made(tmp_path / "vault", learned(RECORDS, batch=5))
    count = ["git", "rev-list", "--count", "HEAD"]
    found = subprocess.run(count, cwd=root, capture_output=True, text=True, check=True)
    commits = Vault.open(root).log()
    assert len(commits) == int(found.stdout)
    assert {commit.step for commit in commits} >= {"record", "evaluate", "promote", "generate"}


def test_a_shelf_has_the_skills_asked_for(tmp_path: Path) -> None:
    vault = Vault.open(made(tmp_path / "vault", shelved(120)))
    assert vault.status().skills == 120
    assert vault.check().problems == []


def test_the_same_seed_makes_the_same_commits() -> None:
    assert list(islice(learned(300), 20)) == list(islice(learned(300), 20))
    assert next(learned(300)) != next(learned(300, seed=2))
