"""A person whose HEAD is elsewhere: the vault is that of its branch, wherever they stand."""

from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import PausedError
from tests.conftest import NOW
from tests.person import publication
from tests.person.given import git
from tests.person.publication import DROPPED, MINE, RECORDED, Command
from tests.thorough import pairs

PLACES: dict[str, list[Command]] = {
    "another branch": [("checkout", "-q", "feature")],
    "an older commit": [("checkout", "-q", "--detach", "HEAD~2")],
    "the founding": [("checkout", "-q", ":/init: ")],
    "a branch without a commit": [("switch", "-q", "--orphan", "empty")],
    "a rebase": [("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-qi", "HEAD~1")],
}


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """A vault of three outcomes, five more in its inbox, a person with nothing in hand."""
    place = publication.copied(template, tmp_path / "vault")
    git(place, "checkout", "-q", MINE)
    return place


@pytest.mark.parametrize(("name", "fresh"), pairs(list(PLACES), [False, True]))
def test_the_vault_is_that_of_its_branch(root: Path, name: str, fresh: bool) -> None:
    before = Vault.open(root).status()
    for command in PLACES[name]:
        assert git(root, *command).returncode == 0
    if fresh:
        (root / ".git/skillvault/index.db").unlink()
    status = Vault(root).status()
    assert (status.outcomes, status.evaluations) == (before.outcomes, before.evaluations)
    assert status.outcomes == RECORDED
    with pytest.raises(PausedError):
        Vault(root).run(now=NOW)  # as a daemon does, which opened it before
    assert len(list((root / "inbox").glob("*.json"))) == DROPPED
    git(root, "rebase", "--abort")
    git(root, "checkout", "-qf", "main")
    assert publication.run(root) == ""
    publication.let_time_pass(root)
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_what_lies_in_the_inbox_is_not_taken_for_recorded_by_another_branch(
    root: Path,
) -> None:
    tip = git(root, "rev-parse", "main").stdout.strip()
    assert publication.run(root) == ""
    git(root, "checkout", "-q", "-b", "aside")
    git(root, "branch", "-f", "main", tip)  # the outcomes are on `aside` alone by now
    publication.let_time_pass(root)
    assert "on branch aside" in publication.run(root)
    git(root, "checkout", "-q", "main")
    assert publication.run(root) == ""
    publication.let_time_pass(root)
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_branch_under_another_name_is_told_with_both_ways_on(
    root: Path,
) -> None:
    git(root, "branch", "-m", "main", "trunk")
    sentence = publication.run(root)
    assert "there is no branch main, on which the vault learns" in sentence
    assert "git branch -m trunk main" in sentence
    assert Vault(root).status().outcomes == RECORDED
    text = (root / "vault.yaml").read_text()
    (root / "vault.yaml").write_text(text.replace("branch: main", "branch: trunk"))
    git(root, "commit", "-qnam", "trunk learns")
    assert publication.run(root) == ""
    assert Vault(root).status().outcomes == RECORDED + DROPPED


def test_a_check_before_a_commit_elsewhere_looks_at_what_that_commit_changes(
    root: Path,
) -> None:
    git(root, "checkout", "-q", "feature")
    skill = root / "skills/broken/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("no front matter\n")
    git(root, "add", "skills")
    assert [p.path for p in Vault(root).check(staged=True).problems] == ["skills/broken/SKILL.md"]
    git(root, "commit", "-qnm", "a mistake, on another branch")
    (root / MINE).write_text("another\n")
    git(root, "add", MINE)
    assert not Vault(root).check(staged=True).problems
    skill.unlink()
    assert [note.path for note in Vault(root).check().notes] == ["skills/broken/SKILL.md"]


def test_a_vault_that_moves_to_another_branch_is_read_there(root: Path) -> None:
    assert Vault(root).status().paused is None
    git(root, "switch", "-q", "-c", "trunk")
    text = (root / "vault.yaml").read_text()
    (root / "vault.yaml").write_text(text.replace("branch: main", "branch: trunk"))
    git(root, "commit", "-qnam", "trunk learns")
    assert publication.run(root) == ""
    status = Vault(root).status()
    assert (status.outcomes, status.paused) == (RECORDED + DROPPED, None)
    (root / ".git/skillvault/index.db").unlink()
    assert Vault(root).status().outcomes == RECORDED + DROPPED
