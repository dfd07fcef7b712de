"""While a person's git holds a lock, outcomes wait, and everybody who asks is told for whom."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from skillvault.vault.commit import git_activity
from skillvault.vault.git.index_file import IndexFile
from tests.machine.given import until
from tests.person import publication
from tests.person.given import git
from tests.person.publication import DROPPED, MINE


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault whose writer waits for nobody."""
    monkeypatch.setattr("skillvault.vault.commit.publish._GIT_SECONDS", 0.1)
    monkeypatch.setattr("skillvault.vault.commit.publish._LOCK_SECONDS", 0.1)
    return publication.copied(template, tmp_path / "vault")


@contextmanager
def committing(root: Path, *args: str) -> Iterator[int]:
    """A person's `git commit` with its editor open, until the block ends; its process."""
    opened, done = root.parent / "opened", root.parent / "done"
    editor = f"sh -c 'touch {opened}; while [ ! -e {done} ]; do sleep 0.05; done; echo m > $1' -"
    command = ["git", "-c", f"core.editor={editor}", "commit", "-q", *args]
    with subprocess.Popen(command, cwd=root) as person:
        until(opened.exists)
        try:
            yield person.pid
        finally:
            done.touch()  # else a test that fails would wait for them for ever
        assert person.wait() == 0


@pytest.mark.parametrize("args", [("-a",), ("--", MINE)])
def test_a_commit_that_holds_the_index_is_named_with_its_process(
    root: Path, args: tuple[str, ...]
) -> None:
    with committing(root, *args) as pid:
        holder = Vault.open(root).status().git or ""
        assert "git holds .git/index.lock since " in holder
        assert f"(process {pid}, `git -c core.editor=" in holder
        assert f"process {pid}" in publication.run(root)
        assert any(holder in row.detail for row in doctor(root))
        assert len(list((root / "inbox").glob("*.json"))) == DROPPED
    assert Vault.open(root).status().git is None
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_commit_without_a_lock_is_named_while_something_waits(root: Path) -> None:
    git(root, "add", MINE)
    with committing(root) as pid:
        assert not (root / ".git/index.lock").exists()
        status = Vault.open(root).status()
        assert "a `git commit` is open since " in (status.git or "")
        assert f"process {pid}" in (status.git or "")
        assert status.inbox == DROPPED
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_commit_that_was_forgotten_in_its_editor_is_not_waited_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_activity, "_OPEN_COMMIT_SECONDS", 0.0)
    git(root, "add", MINE)
    opened, done = root.parent / "opened", root.parent / "done"
    editor = f"sh -c 'touch {opened}; while [ ! -e {done} ]; do sleep 0.05; done; echo m > $1' -"
    command = ["git", "-c", f"core.editor={editor}", "commit", "-q"]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL) as person:
        until(opened.exists)
        assert publication.run(root) == ""
        done.touch()
        assert person.wait() != 0  # git says so, and keeps the message
    assert git(root, "commit", "-qnm", "once more").returncode == 0
    assert not publication.faults(root)


def test_a_lock_of_ours_is_nothing_to_wait_for(root: Path) -> None:
    (root / ".git/index.lock").write_text(f"skillvault {os.getpid()}\n")
    assert Vault(root).status().git is None


def test_a_commit_that_is_opened_while_we_wait_for_rest_is_waited_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(root, "add", MINE)
    seconds_until_quiet = IndexFile.seconds_until_quiet
    opened: list[int] = []

    with ExitStack() as persons:  # whose end asserts that git was content

        def open_meanwhile(self: IndexFile) -> float:
            if not opened:
                opened.append(persons.enter_context(committing(root)))
            return seconds_until_quiet(self)

        monkeypatch.setattr(IndexFile, "seconds_until_quiet", open_meanwhile)
        assert "a `git commit` is open here" in publication.run(root)
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_git_that_holds_the_index_after_the_branch_moved_makes_nothing_wait(
    root: Path,
) -> None:
    with ExitStack() as persons:

        def commit_in_an_editor() -> None:
            git(root, "add", MINE)
            persons.enter_context(committing(root, "-a"))

        with publication.in_the_middle("index-unlocked", commit_in_an_editor):
            publication.run(root)  # what it would publish next waits
        assert not list((root / "inbox").glob("*.json"))
        assert Vault(root).status().outcomes == publication.RECORDED + DROPPED
    for _ in range(2):
        publication.let_time_pass(root)
        assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_journal_that_cannot_be_read_pauses_and_questions_are_answered(root: Path) -> None:
    (root / ".git/skillvault/intent-aaaa.json").write_text("{")
    status = Vault(root).status()
    assert status.outcomes == publication.RECORDED
    assert "the journal cannot be read" in (status.paused or "")
    assert not Vault(root).check().problems
    (row,) = [row for row in doctor(root) if row.check == "killed writer"]
    assert row.state == "problem"
