"""A file that is taken from the inbox goes for good once its commit is seen in the branch."""

import os
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.commit.store import review_taken
from tests.conftest import NOW, Person
from tests.given import as_file, raw


@pytest.fixture
def recorded(vault: Vault) -> Path:
    """The folder of what one run took, with one outcome."""
    vault.record([("one.json", as_file(raw(1)))], now=NOW)
    return vault.root / ".git/skillvault/taken"


def let_time_pass(folder: Path) -> None:
    for place in folder.iterdir():
        os.utime(place, (1, 1))


def test_what_was_just_taken_is_kept(vault: Vault, recorded: Path) -> None:
    vault.run(now=NOW)
    (commit,) = recorded.iterdir()
    assert [path.name for path in commit.iterdir()] == ["one.json"]


def test_what_the_branch_has_goes_at_a_later_look(vault: Vault, recorded: Path) -> None:
    vault.run(now=NOW)
    let_time_pass(recorded)
    vault.run(now=NOW)
    assert (list(recorded.iterdir()), vault.inbox.names()) == ([], [])


def test_what_the_branch_lost_returns_and_is_recorded_again(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("reset", "-q", "--hard", "HEAD~1")
    assert len(vault.store.head().outcomes) == 0
    let_time_pass(recorded)
    vault.run(now=NOW)
    assert len(vault.store.head().outcomes) == 1


def test_nothing_is_decided_while_a_person_is_in_the_middle_of_something(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("checkout", "-q", "--detach")
    let_time_pass(recorded)
    review_taken(vault.store.git, vault.store.taken, "main")
    assert len(list(recorded.iterdir())) == 1


def test_a_file_that_returns_replaces_none_that_arrived_since(
    vault: Vault, person: Person, recorded: Path
) -> None:
    person.git("reset", "-q", "--hard", "HEAD~1")
    (vault.root / "inbox/one.json").write_bytes(as_file(raw(2)))
    let_time_pass(recorded)
    review_taken(vault.store.git, vault.store.taken, "main")
    assert vault.inbox.names() == ["one-2.json", "one.json"]
