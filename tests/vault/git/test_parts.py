"""Clones that hold a part: of the files (sparse), or of the objects (partial)."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault, doctor
from skillvault.cli.commands import cli
from skillvault.model.errors import GitError
from skillvault.vault.commit.cold import leave_out_months
from skillvault.vault.git.repository import git_dir
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import HAND_MADE


def test_in_a_sparse_checkout_not_there_is_not_deleted(vault: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", HAND_MADE.format(name="mine"))
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    person.status()  # git leaves files that it has not looked at
    person.git("sparse-checkout", "set", "outcomes")
    assert not (vault.root / "skills").exists()
    checked = vault.check()
    assert (checked.problems, checked.notes) == ([], [])
    vault.curate.pin("mine", now=NOW)
    vault.record([("b.json", as_file(raw(-1)))], now=NOW)
    vault.run(now=NOW)
    assert vault.store.snapshot().skills["mine"].status == "pinned"
    assert not (vault.root / "skills/mine").exists()
    assert person.status() == ""
    person.git("sparse-checkout", "disable")
    assert person.status() == ""
    assert "pinned" in (vault.root / "skills/mine/SKILL.md").read_text()


@pytest.fixture
def old_vault(vault: Vault, person: Person) -> Vault:
    """A vault with outcomes of many months, of which a part may be cloned."""
    files = [(f"{day}.json", as_file(raw(day))) for day in range(-200, 11, 30)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    person.git("config", "uploadpack.allowFilter", "true")
    return vault


def cloned(vault: Vault, *words: str) -> Path:
    """A light clone of a vault."""
    clone = vault.root.with_name("light")
    arguments = ["clone", str(vault.root), str(clone), "--now", NOW.isoformat(), *words]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return clone


def test_a_clone_that_fails_leaves_no_folder(old_vault: Vault) -> None:
    person, target = Person(old_vault.root), old_vault.root.with_name("light")
    remote = old_vault.root.with_name("remote.git")
    person.git("clone", "-q", "--bare", "--no-local", str(old_vault.root), str(remote))
    arguments = ["clone", str(remote), str(target), "--now", NOW.isoformat()]
    Person(remote).git("config", "uploadpack.allowFilter", "true")
    for pack in (remote / "objects/pack").glob("*.pack"):  # the objects one by one
        data = pack.read_bytes()
        pack.unlink()
        pack.with_suffix(".idx").unlink()
        subprocess.run(["git", "-C", str(remote), "unpack-objects", "-q"], input=data, check=True)
    blob = Person(remote).git("rev-parse", "HEAD:vault.yaml").strip()
    (remote / "objects" / blob[:2] / blob[2:]).unlink()
    assert CliRunner().invoke(cli, arguments).exit_code != 0
    assert not target.exists()


def blobs_here(root: Path) -> int:
    """Count the blobs that git has here, without asking the remote."""
    words = ("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)", "--unordered")
    return Person(root).git(*words).split().count("blob")


def test_a_light_clone_has_the_whole_history_and_the_latest_files(old_vault: Vault) -> None:
    root = cloned(old_vault)
    person = Person(root)
    assert person.git("rev-list", "--all") == Person(old_vault.root).git("rev-list", "main")
    assert person.status() == ""
    assert blobs_here(root) < blobs_here(old_vault.root)
    months = {path.parts[-3] for path in (root / "outcomes").rglob("*.yaml")}
    assert months == {"10", "11"}
    assert (root / "inbox").is_dir()
    assert git_dir(root)  # no process is needed to find it


def test_check_says_the_same_in_full_partial_and_cold_clones(
    old_vault: Vault, person: Person
) -> None:
    note = person.write("outcomes/coding/2026/05/01/note.txt", "stray\n")
    person.git("add", "-A")
    person.git("commit", "-qnm", "a stray file")
    report = Vault(old_vault.root).check()
    assert report.problems
    assert Vault(cloned(old_vault)).check() == report
    leave_out_months(old_vault.store, NOW.date(), 2)
    assert not note.exists()
    assert Vault(old_vault.root).check() == report


def test_missing_files_are_fetched_at_once_for_the_first_index(
    old_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cloned(old_vault)
    trace = root.with_name("trace")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    Vault(root).check()
    lines = trace.read_text().splitlines()
    assert len([line for line in lines if '"fetch","--quiet","--no-tags"' in line]) == 1
    Vault(root).record([("new.json", as_file(raw(9)))], now=NOW)
    Vault(root).run(now=NOW)
    assert Person(root).status() == ""


def test_offline_a_partial_clone_says_what_brings_the_rest(old_vault: Vault) -> None:
    root = cloned(old_vault)
    away = old_vault.root.rename(old_vault.root.with_name("away"))
    with pytest.raises(GitError) as error:
        Vault(root).status()
    helps = "this clone is partial and lacks what is needed; run `git config --unset"
    assert helps in str(error.value)
    assert "\n" not in str(error.value)
    away.rename(old_vault.root)
    (row,) = [row for row in doctor(root) if row.check == "repository"]
    assert "partial" in row.detail
    subprocess.run(["sh", "-c", row.fix or ""], cwd=root, check=True, capture_output=True)
    old_vault.root.rename(away)
    assert Vault(root).status()
    away.rename(old_vault.root)


def test_what_is_no_vault_is_not_cloned(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    person = Person(other)
    person.git("init", "-q")
    person.git("commit", "-q", "--allow-empty", "-m", "first")
    result = CliRunner().invoke(cli, ["clone", str(other), str(tmp_path / "clone")])
    assert "no vault" in str(result.exception)
    assert not (tmp_path / "clone").exists()
