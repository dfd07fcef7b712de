"""Reduced cases that the sequences found: uncommitted paths that the program once overlooked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.change import Change, Edit, Move
from skillvault.model.errors import UncommittedEditError
from tests.conftest import NOW, Person
from tests.given import as_file, trade
from tests.person.given import Picture, picture
from tests.vault.given import HAND_MADE, applied, files

PATH = "skills/a-skill/SKILL.md"
PIN = Change(step="pin", subject="a-skill", edits=(Edit(PATH, ("metadata", "status"), "pinned"),))
RETIRE = Change(
    step="retire",
    subject="a-skill",
    edits=(Edit(PATH, ("metadata", "status"), "retired"),),
    moves=(Move("skills/a-skill", "archive/a-skill"),),
)
NOTE = files(notes_a="a\n")


@pytest.fixture
def skill(person: Person) -> Path:
    """A committed skill that a person wrote."""
    place = person.write(PATH, HAND_MADE.format(name="a-skill"))
    _commit(person)
    return place


def _commit(person: Person) -> None:
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")


def _told_of(vault: Vault, change: Change) -> str:
    """Apply a change that must wait; why it does."""
    try:
        applied(vault, change)
    except UncommittedEditError as error:
        return str(error)
    return ""


def _waits(vault: Vault, change: Change) -> bool:
    """Return True if a change waits and leaves everything as it is."""
    before: Picture = picture(vault.root)
    return bool(_told_of(vault, change)) and picture(vault.root) == before


# ── modes ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("change", [PIN, RETIRE], ids=["edit", "move"])
@pytest.mark.parametrize("committed", [0o644, 0o755])
def test_a_mode_that_is_not_staged_is_a_person_s(
    vault: Vault, person: Person, skill: Path, change: Change, committed: int
) -> None:
    skill.chmod(committed)
    person.git("commit", "-qam", "mode", "--allow-empty")
    skill.chmod(committed ^ 0o111)
    assert _waits(vault, change)


@pytest.mark.parametrize("staged", [False, True], ids=["untracked", "staged"])
def test_a_new_file_with_the_same_bytes_and_another_mode_is_a_person_s(
    vault: Vault, person: Person, staged: bool
) -> None:
    person.write("notes/a.md", "a\n").chmod(0o755)
    if staged:
        person.git("add", "-A")
    assert _waits(vault, NOTE)


def test_a_staged_link_with_the_same_blob_is_a_person_s(vault: Vault, person: Person) -> None:
    place = person.root / "notes/a.md"
    place.parent.mkdir()
    place.symlink_to("a\n")
    person.git("add", "-A")
    place.unlink()
    assert _waits(vault, NOTE)


# ── staged as the change writes it, taken back in the work tree ──────────────────────


def test_a_new_file_that_is_staged_and_deleted_is_not_brought_back(
    vault: Vault, person: Person
) -> None:
    place = person.write("notes/a.md", "a\n")
    person.git("add", "-A")
    place.unlink()
    assert _waits(vault, NOTE)


def test_an_edit_that_is_staged_and_undone_is_not_done_again(
    vault: Vault, person: Person, skill: Path
) -> None:
    text = skill.read_text()
    skill.write_bytes(vault.store.files_of(PIN, vault.store.snapshot())[PATH] or b"")
    person.git("add", "-A")
    skill.write_text(text)
    assert _waits(vault, PIN)


# ── a file where the change wants a folder, a folder where it wants a file ───────────


def _lost_in_the_work_tree(person: Person, path: str) -> None:
    place = person.root / path
    place.unlink()
    if place.parent != person.root and not any(place.parent.iterdir()):
        place.parent.rmdir()


@pytest.mark.parametrize("path", ["notes", "notes/a.md/mine"])
def test_a_clash_with_a_staged_path_waits(vault: Vault, person: Person, path: str) -> None:
    person.write(path, "mine\n")
    person.git("add", "-A")
    _lost_in_the_work_tree(person, path)
    assert _waits(vault, NOTE)


def test_a_file_that_is_staged_in_the_place_of_a_folder_waits(vault: Vault, person: Person) -> None:
    note = person.write("notes/b.md", "mine\n")
    _commit(person)
    note.unlink()
    note.parent.rmdir()
    person.write("notes", "mine\n")
    person.git("add", "-A")
    (vault.root / "notes").unlink()
    assert _waits(vault, NOTE)


@pytest.mark.parametrize("path", ["notes", "notes/a.md/mine"])
@pytest.mark.parametrize("staged", [False, True], ids=["deleted", "removed"])
def test_a_clash_with_a_committed_path_waits(
    vault: Vault, person: Person, path: str, staged: bool
) -> None:
    person.write(path, "mine\n")
    _commit(person)
    _lost_in_the_work_tree(person, path)
    if staged:
        person.git("add", "-A")
    assert _waits(vault, NOTE)


# ── a skill's folder that a person renamed ───────────────────────────────────────────

ACTIONS = ("open_long", "add_to_long", "buy_spot", "buy_calls")


def _loss(number: int) -> tuple[str, bytes]:
    reasoning = "Funding is high and I chase the breakout at market."
    more = {"decision__action": ACTIONS[number], "decision__reasoning": reasoning}
    return f"{number}.json", as_file(trade(number, -0.11 - number / 100, **more))


def _learn(vault: Vault, *losses: tuple[str, bytes]) -> None:
    vault.record(losses, now=NOW)
    vault.run(now=NOW, patience=0)


@pytest.mark.parametrize("name", [str.upper, lambda name: name + "-mine" * 9])
def test_an_evolved_skill_in_a_folder_with_an_odd_name_keeps_nothing_from_running(
    vault: Vault, person: Person, name: Callable[[str], str]
) -> None:
    _learn(vault, *map(_loss, range(3)))
    (evolved,) = [skill.name for skill in vault.skills() if skill.kind == "evolved"]
    person.git("mv", f"skills/{evolved}", f"skills/{name(evolved)}")
    person.git("commit", "-qm", "renamed", "--no-verify")
    _learn(vault, _loss(3))
    assert len(vault.store.snapshot().evaluations) == 4
