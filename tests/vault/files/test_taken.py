"""A file that is taken from the inbox goes for good once its commit is seen in the branch."""

import os
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.change import Change
from skillvault.vault.commit.store import clear_taken
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import applied


@pytest.fixture
def recorded(vault: Vault) -> Path:
    """The folder of what one run took, with one outcome."""
    vault.record([("one.json", as_file(raw(1)))], now=NOW)
    return vault.root / ".git/skillvault/taken"


def let_time_pass(folder: Path) -> None:
    for place in folder.iterdir():
        os.utime(place, (1, 1))


def test_what_was_just_taken_is_kept(vault: Vault, recorded: Path) -> None:
    clear_taken(vault.store)
    (commit,) = recorded.iterdir()
    assert [path.name for path in commit.iterdir()] == ["one.json"]


def test_what_the_branch_has_goes_at_a_later_look(vault: Vault, recorded: Path) -> None:
    vault.run(now=NOW)
    let_time_pass(recorded)
    vault.run(now=NOW)
    assert (list(recorded.iterdir()), vault.inbox.names()) == ([], [])


def test_what_the_branch_has_goes_with_a_later_commit(vault: Vault, recorded: Path) -> None:
    let_time_pass(recorded)
    applied(vault, Change(step="note", subject="a note", files=(("note.md", b"a note"),)))
    assert list(recorded.iterdir()) == []


def test_what_the_branch_lost_returns_and_is_recorded_again(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("reset", "-q", "--hard", "HEAD~1")
    assert len(vault.store.snapshot().outcomes) == 0
    let_time_pass(recorded)
    vault.run(now=NOW)
    assert len(vault.store.snapshot().outcomes) == 1


def test_nothing_is_decided_while_a_person_is_in_the_middle_of_something(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("checkout", "-q", "--detach")
    let_time_pass(recorded)
    clear_taken(vault.store)
    assert len(list(recorded.iterdir())) == 1


def test_nothing_is_decided_while_the_policy_cannot_be_read(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.write("vault.yaml", "format: 1\ngenerate:\n")
    person.git("commit", "-qanm", "half a policy")
    let_time_pass(recorded)
    assert [problem.path for problem in vault.check().problems] == ["vault.yaml"]
    assert len(list(recorded.iterdir())) == 1


def test_a_file_that_returns_replaces_none_that_arrived_since(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("reset", "-q", "--hard", "HEAD~1")
    (vault.root / "inbox/one.json").write_bytes(as_file(raw(2)))
    let_time_pass(recorded)
    clear_taken(vault.store)
    assert vault.inbox.names() == ["one-2.json", "one.json"]


def test_what_was_taken_is_its_owner_s_alone(recorded: Path) -> None:
    (file,) = (path for path in recorded.rglob("*") if path.is_file())
    assert [path.stat().st_mode & 0o777 for path in (recorded, file)] == [0o700, 0o600]


def test_what_was_taken_is_for_the_group_whose_vault_it_is(vault: Vault) -> None:
    vault.root.chmod(0o775)
    umask = os.umask(0o002)
    try:
        vault.record([("one.json", as_file(raw(1)))], now=NOW)
    finally:
        os.umask(umask)
    folder = vault.root / ".git/skillvault/taken"
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    assert [path.stat().st_mode & 0o777 for path in (folder, file)] == [0o770, 0o660]


@pytest.mark.parametrize("command", ["run", "record", "status", "check"])
def test_any_look_at_the_vault_lets_go_of_what_was_taken(
    vault: Vault, recorded: Path, command: str
) -> None:
    let_time_pass(recorded)
    looks = {
        "run": lambda: vault.run(["evaluate"], now=NOW),
        "record": lambda: vault.record([("two.json", as_file(raw(2)))], now=NOW),
        "status": vault.status,
        "check": vault.check,
    }
    before = set(recorded.iterdir())
    looks[command]()
    assert not before & set(recorded.iterdir())
