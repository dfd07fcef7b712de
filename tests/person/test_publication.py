"""A person's git in the middle of a publication: nothing is lost, and each byte stays theirs."""

import subprocess
from pathlib import Path

import pytest

from tests.machine.given import until
from tests.person import publication
from tests.person.given import git
from tests.person.publication import AS_ASKED, COMMANDS
from tests.thorough import pairs

POINTS = ("objects-written", "intent-written", "file-placed", "before-index", "index-written",
          "before-swap", "branch-moved", "intent-done", "inbox-done")  # fmt: skip


# At this point alone `clean` removes what the program is about to commit.
CLEANED = ("file-placed", "clean -fd")


@pytest.mark.parametrize(("point", "name"), sorted({*pairs(POINTS, list(COMMANDS)), CLEANED}))
def test_a_command_in_the_middle_loses_nothing(
    template: Path, tmp_path: Path, point: str, name: str
) -> None:
    root = publication.copied(template, tmp_path / "vault")
    with publication.interrupted(root, point, COMMANDS[name]) as codes:
        publication.run(root)
    assert codes, f"{point} is not reached"
    faults = publication.go_on(root)
    publication.let_time_pass(root)
    publication.run(root)
    publication.let_time_pass(root)
    publication.run(root)
    open_faults = [*faults, *publication.faults(root)]
    if name in AS_ASKED:
        open_faults = [
            fault for fault in open_faults if fault.startswith(("lost", "twice", "fsck", "a lock"))
        ]
    assert not open_faults


def test_a_commit_that_is_open_in_an_editor_is_waited_for(template: Path, tmp_path: Path) -> None:
    root = publication.copied(template, tmp_path / "vault")
    opened = tmp_path / "opened"
    editor = f"sh -c 'touch {opened}; sleep 1; echo mine > $1' -"
    command = ["git", "-c", f"core.editor={editor}", "commit", "-q", "mine.txt"]
    with subprocess.Popen(command, cwd=root) as person:
        until(opened.exists)
        assert publication.run(root) == ""
        assert person.wait() == 0
    assert git(root, "log", "-1", "--format=%s", "main").stdout != "mine\n"
    assert "mine\n" in git(root, "log", "--format=%s", "main").stdout
    assert not publication.faults(root)


def test_one_that_stays_open_is_said_and_what_arrived_waits(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.commit.publish._GIT_SECONDS", 0.1)
    root = publication.copied(template, tmp_path / "vault")
    opened, done = tmp_path / "opened", tmp_path / "done"
    editor = f"sh -c 'touch {opened}; while [ ! -e {done} ]; do sleep 0.1; done; echo mine > $1' -"
    git(root, "add", "mine.txt")
    command = ["git", "-c", f"core.editor={editor}", "commit", "-q"]
    with subprocess.Popen(command, cwd=root) as person:
        until(opened.exists)
        assert "a `git commit` is open here" in publication.run(root)
        assert len(list((root / "inbox").glob("*.json"))) == publication.DROPPED
        done.touch()
        assert person.wait() == 0
    publication.run(root)
    assert not publication.faults(root)
