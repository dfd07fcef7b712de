"""A writer is killed, and a person removes its lock and goes on in git: nothing is lost."""

from pathlib import Path

import pytest

from tests import forked
from tests.crash.world import KILLED
from tests.person import publication
from tests.person.given import git
from tests.person.publication import MINE, Command
from tests.thorough import pairs

_ASIDE = ("stash", "push", "-q", MINE)
ACTS: dict[str, list[Command]] = {
    "nothing": [],
    "commit -m": [("commit", "-qnm", "p")],
    "commit -am": [("commit", "-qnam", "p")],
    "add -A + commit": [("add", "-A"), ("commit", "-qnm", "p")],
    "checkout + commit": [
        _ASIDE, ("checkout", "-q", "feature"), ("commit", "-qnm", "p"), ("checkout", "-q", "main"),
    ],
    "stash": [("stash", "push", "-q")],
    "reset --hard": [("reset", "-q", "--hard")],
    "clean -fd": [("clean", "-qfd")],
}  # fmt: skip
POINTS = ("objects-written", "intent-written", "before-lock", "index-locked", "file-placed",
          "before-index", "index-written", "before-swap", "branch-moved", "index-unlocking",
          "index-unlocked", "intent-done", "inbox-done")  # fmt: skip
TAKEN_ALONG = {("checkout + commit", point) for point in ("index-written", "before-swap")}


def killed(root: Path, point: str) -> None:
    """A run that is killed at a point."""
    assert forked.done(root, f"{point}=kill") == KILLED, forked.log_of(root).read_text()


@pytest.mark.parametrize(("point", "name"), pairs(POINTS, list(ACTS)))
def test_what_a_person_does_after_a_kill_loses_nothing(
    template: Path, tmp_path: Path, point: str, name: str
) -> None:
    root = publication.copied(template, tmp_path / "vault")
    killed(root, point)
    (root / ".git/index.lock").unlink(missing_ok=True)  # as git's own message advises
    for command in ACTS[name]:
        git(root, *command)
    for _ in range(2):
        publication.run(root)
    git(root, "commit", "-qnam", "the next one")
    if git(root, "stash", "list").stdout:
        git(root, "stash", "pop", "-q")
        git(root, "commit", "-qnam", "what was put aside")
    publication.let_time_pass(root)
    assert publication.run(root) == ""
    publication.let_time_pass(root)
    publication.run(root)
    assert not publication.faults(root)
    on_feature = git(root, "show", "--name-only", "--format=", "feature").stdout.split()
    # What stood staged goes with them to another branch, once they removed the lock that said so.
    assert on_feature == [MINE] or (name, point) in TAKEN_ALONG


@pytest.mark.parametrize("question", ["status", "check", "doctor"])
def test_a_question_gives_back_the_lock_of_a_killed_writer(
    template: Path, tmp_path: Path, question: str
) -> None:
    root = publication.copied(template, tmp_path / "vault")
    killed(root, "index-written")
    assert git(root, "commit", "-qnam", "refused").returncode != 0
    forked.program("--vault", str(root), question)
    assert not (root / ".git/index.lock").exists()
    assert git(root, "commit", "-qnam", "mine").returncode == 0
    assert git(root, "show", "--name-only", "--format=").stdout.split() == [MINE]
    assert publication.run(root) == ""
    assert not publication.faults(root)
