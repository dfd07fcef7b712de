"""A person's git leaves a commit of ours in no branch: nothing of it is lost, or in their way."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from skillvault.model.errors import UncommittedEditError
from skillvault.vault.check import find_losses
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.person import publication
from tests.person.given import git
from tests.person.publication import DROPPED, MINE, RECORDED


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """A vault that has just published five outcomes, the person's file as committed."""
    place = publication.copied(template, tmp_path / "vault")
    git(place, "checkout", "-q", MINE)
    assert publication.run(place) == ""
    return place


def tips(root: Path) -> tuple[str, str]:
    """(the tip before the program's commits, the tip)."""
    log = git(root, "log", "--format=%H %s").stdout.splitlines()
    before = next(line for line in log if line.endswith("main of mine"))
    return before.split(" ")[0], log[0].split(" ")[0]


def lost(root: Path) -> set[str]:
    vault = Vault(root)
    commits = find_losses(vault.store.git, vault.store.snapshot())
    return {path for commit in commits for path in commit.files}


def pick(root: Path) -> None:
    """Run the command that doctor prints."""
    (row,) = [row for row in doctor(root) if row.check == "lost commits"]
    assert row.fix
    program, *args = row.fix.split(" ")
    assert program == "git"
    assert git(root, *args).returncode == 0


def test_what_a_stale_git_left_staged_is_ours(root: Path) -> None:
    before, _ = tips(root)
    git(root, "reset", "-q", "--soft", before)  # as a git that read HEAD before we moved it
    assert git(root, "diff", "--cached", "--name-only").stdout != ""
    for _ in range(2):
        publication.let_time_pass(root)
        assert publication.run(root) == ""
    assert not publication.faults(root)
    assert lost(root) == set()


def test_what_a_person_edits_of_it_is_theirs(root: Path) -> None:
    before, _ = tips(root)
    git(root, "reset", "-q", "--soft", before)
    path = git(root, "diff", "--cached", "--name-only", "--", "evaluations").stdout.split()[0]
    (root / path).write_text("mine\n")
    git(root, "add", path)
    publication.let_time_pass(root)
    publication.run(root)
    assert (root / path).read_text() == git(root, "show", f":{path}").stdout == "mine\n"
    assert Vault(root).status().outcomes == RECORDED + DROPPED


def test_a_commit_that_stands_in_another_branch_or_again_in_this_one_is_not_lost(
    root: Path,
) -> None:
    before, after = tips(root)
    git(root, "branch", "aside")
    git(root, "reset", "-q", "--hard", before)
    assert lost(root) == set()
    git(root, "branch", "-D", "aside")
    assert lost(root)
    git(root, "cherry-pick", f"{before}..{after}")
    assert lost(root) == set()


def test_what_a_person_removed_by_a_commit_is_not_lost(root: Path) -> None:
    before, _ = tips(root)
    git(root, "reset", "-q", "--hard", before)
    paths = lost(root)
    assert paths
    publication.let_time_pass(root)
    publication.run(root)  # what was in the inbox has returned
    assert Vault(root).status().outcomes == RECORDED + DROPPED
    git(root, "rm", "-rq", "outcomes", "evaluations", "skills")
    git(root, "commit", "-qnm", "away with it")
    assert lost(root) == set()


def test_lost_records_are_named_and_brought_back_with_their_provenance(root: Path) -> None:
    before, _ = tips(root)
    vault = Vault(root)
    skill = vault.skills()[0].name
    outcomes, sources = vault.status().outcomes, vault.why(skill)["sources"]
    git(root, "reset", "-q", "--hard", before)
    for path in (root / ".git/skillvault/taken").glob("*"):
        shutil.rmtree(path)  # what would return by itself
    (note,) = [note for note in vault.check().notes if note.code == "lost"]
    (row,) = [row for row in doctor(root) if row.check == "lost commits"]
    assert row.state == "note"
    assert f"{row.detail}; bring them back with `{row.fix}`" == note.message
    pick(root)
    assert lost(root) == set()
    assert vault.status().outcomes == outcomes
    assert vault.why(skill)["sources"] == sources
    assert publication.run(root) == ""
    assert not publication.faults(root)


def test_a_decision_that_was_lost_is_brought_back(root: Path) -> None:
    vault = Vault(root)
    name = vault.skills()[0].name
    vault.curate.retire(name, now=NOW)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert name in vault.store.snapshot().skills
    assert any(note.code == "lost" for note in vault.check().notes)
    pick(root)
    assert name not in vault.store.snapshot().skills
    assert vault.store.snapshot().skills.archived[name].status == "retired"
    assert not vault.check().problems
    assert lost(root) == set()


def test_a_removal_is_a_lost_moves_only_as_long_as_the_file_stands_in_its_new_home(
    root: Path,
) -> None:
    vault = Vault(root)
    name = vault.skills()[0].name
    vault.curate.retire(name, now=NOW)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "rm", "-q", "-f", f"skills/{name}/SKILL.md")  # as the lost commit took it away
    with pytest.raises(UncommittedEditError, match="staged in the index"):
        vault.curate.pin(name, now=NOW)
    assert git(root, "diff", "--cached", "--name-status").stdout.startswith("D\t")


def test_what_a_lost_commit_moved_away_is_not_written_where_it_stood(root: Path) -> None:
    vault = Vault(root)
    name = vault.skills()[0].name
    vault.curate.retire(name, now=NOW)
    git(root, "reset", "-q", "--soft", "HEAD~1")  # its move stays staged
    staged = git(root, "diff", "--cached", "--name-status").stdout
    with pytest.raises(UncommittedEditError, match="staged in the index"):
        vault.curate.pin(name, now=NOW)
    assert git(root, "diff", "--cached", "--name-status").stdout == staged
    assert not (root / "skills" / name).exists()


def test_a_move_that_a_lost_commit_left_staged_is_ours(root: Path) -> None:
    vault = Vault(root)
    name = vault.skills()[0].name
    vault.curate.retire(name, now=NOW)
    git(root, "reset", "-q", "--soft", "HEAD~1")
    vault.curate.retire(name, now=NOW)
    assert vault.store.snapshot().skills.archived[name].status == "retired"
    assert git(root, "status", "--porcelain").stdout == ""


def test_what_a_run_did_to_several_skills_is_brought_back_as_a_whole(
    vault: Vault, person: Person
) -> None:
    for number in range(4):
        failure = raw(number, decision__action=f"drain-{number}", result__status="failure")
        vault.record([("a.json", as_file(failure))], now=NOW + timedelta(minutes=number))
        vault.run(now=NOW + timedelta(minutes=number))
    assert vault.log(1)[0].subject == "refresh: evolved-coding"
    before = dict(vault.store.snapshot().files.items())
    person.git("reset", "-q", "--hard", "HEAD~1")
    pick(vault.root)
    assert dict(vault.store.snapshot().files.items()) == before
    assert vault.run(now=NOW + timedelta(minutes=9)).done == []
    assert not vault.check().problems


def test_what_was_learned_anew_meanwhile_is_not_lost(root: Path) -> None:
    before, _ = tips(root)
    git(root, "reset", "-q", "--hard", before)
    publication.let_time_pass(root)
    assert publication.run(root) == ""
    assert lost(root) == set()
