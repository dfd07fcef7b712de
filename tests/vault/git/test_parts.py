"""Clones that hold a part: of the files (sparse), or of the objects (partial)."""

import subprocess
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import GitError
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
    assert vault.store.head().skills["mine"].status == "pinned"
    assert not (vault.root / "skills/mine").exists()
    assert person.status() == ""
    person.git("sparse-checkout", "disable")
    assert person.status() == ""
    assert "pinned" in (vault.root / "skills/mine/SKILL.md").read_text()


def test_a_partial_clone_says_so_and_what_helps(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    person.git(
        "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{vault.root}", str(clone)
    )
    partial = Vault(clone)
    blob = person.git("rev-parse", "HEAD:vault.yaml")
    helps = "partial .*`git config --unset remote.origin.partialclonefilter && git fetch --refetch`"
    with pytest.raises(GitError, match=helps):
        partial.store.git.blobs([blob])
    with pytest.raises(GitError, match=helps):
        partial.store.git.objects.read_files([f"{person.git('rev-parse', 'HEAD')}:vault.yaml"])
    (row,) = [row for row in Vault.doctor(clone) if row.check == "repository"]
    assert "partial" in row.detail
    subprocess.run(["sh", "-c", row.fix or ""], cwd=clone, check=True, capture_output=True)
    assert Vault(clone).store.git.blobs([blob])[blob].startswith(b"#")
