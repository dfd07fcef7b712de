"""init: skills of an older vault that hosts must not load are marked, and nothing else changes."""

from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.records import Problem, Ref
from tests.conftest import NOW, Person
from tests.vault.given import HAND_MADE

WAITING, ARCHIVED = "proposed/one/SKILL.md", "archive/two/SKILL.md"


@pytest.fixture
def older(vault: Vault, person: Person) -> Vault:
    """A vault of a version that knew no mark."""
    for path in (WAITING, ARCHIVED):
        person.write(path, HAND_MADE.format(name=Path(path).parent.name))
    person.git("add", "-A")
    person.git("commit", "-qm", "as it was")
    return vault


def init(vault: Vault) -> tuple[list[str], list[str]]:
    made = Vault.init(vault.root, now=NOW)[1]
    return [line for line in made.did if "hook" not in line], made.left


def unmarked(vault: Vault) -> list[Problem]:
    return [note for note in vault.check().notes if note.code == "not-internal"]


def test_init_marks_them_by_one_commit_that_names_them(older: Vault, person: Person) -> None:
    assert [note.path for note in unmarked(older)] == [ARCHIVED, WAITING]
    assert "skillvault init" in unmarked(older)[0].message
    did, left = init(older)
    assert (did, left) == (["metadata.internal: true in 2 skills that hosts must not load"], [])
    message = person.git("log", "-1", "--format=%B")
    assert message.startswith("init: mark 2 skills that hosts must not load\n")
    assert (f"  {WAITING}" in message, f"  {ARCHIVED}" in message) == (True, True)
    assert person.git("diff", "--numstat", "HEAD~").split() == [
        *("2", "0", ARCHIVED),
        *("2", "0", WAITING),
    ]
    assert (unmarked(older), person.status()) == ([], "")
    count = person.git("rev-list", "--count", "HEAD")
    assert init(older) == ([], [])
    assert person.git("rev-list", "--count", "HEAD") == count


def test_a_file_that_is_edited_locally_waits(older: Vault, person: Person) -> None:
    edited = (older.root / WAITING).read_text() + "More.\n"
    person.write(WAITING, edited)
    did, left = init(older)
    assert did == ["metadata.internal: true in 1 skill that hosts must not load"]
    assert len(left) == 1
    assert left[0].startswith(f"{WAITING}: edited and not committed")
    assert left[0].endswith("run `skillvault init` again")
    assert (older.root / WAITING).read_text() == edited


def test_in_a_paused_vault_it_is_left_for_later(older: Vault, person: Person) -> None:
    person.git("switch", "-qc", "elsewhere")
    did, left = init(older)
    assert did == []
    assert left[0].startswith("run `skillvault init` again, to mark 2 skills: ")


def test_marking_a_skill_is_no_decision_about_it(older: Vault) -> None:
    touching = [Ref("skill", "one"), Ref("skill", "two")]
    before = older.store.head().history.commits_touching(touching)
    assert len(before) == 1
    init(older)
    assert older.store.head().history.commits_touching(touching) == before


def test_a_live_skill_that_hosts_leave_out_is_a_note(vault: Vault, person: Person) -> None:
    text = HAND_MADE.format(name="live")
    marked = text.replace("\n---\n\n", "\nmetadata:\n  internal: true\n---\n\n")
    person.write("skills/live/SKILL.md", marked)
    checked = vault.check()
    assert checked.problems == []
    assert "internal" in [note.code for note in checked.notes]
