"""store: a skill that must not be served says so to hosts, whoever writes or moves it."""

import pytest
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.model.change import Change, Edit, Move, Rewrite
from skillvault.model.errors import UncommittedEditError
from skillvault.model.records import Skill
from skillvault.model.section_marks import format_marks, marks_of
from skillvault.vault.index.snapshot import Snapshot
from tests.conftest import Person
from tests.vault.given import HAND_MADE, applied

TEXT = HAND_MADE.format(name="a-skill")
MINE = TEXT.replace("\n---\n\n", "\nmetadata:\n  # mine\n  kind: 'guide'\n---\n\n")
MARK = "  internal: true\n"


def put(vault: Vault, person: Person, folder: str, text: str) -> None:
    """A person's skill, committed."""
    person.write(f"{folder}/a-skill/SKILL.md", text)
    person.git("add", "-A")
    person.git("commit", "-qm", "by hand")
    vault.store.snapshot()


def move(source: str, target: str, *edits: Edit) -> Change:
    moves = (Move(f"{source}/a-skill", f"{target}/a-skill"),)
    return Change(step="curate", subject="a move", moves=moves, edits=edits)


def text_of(view: Snapshot, folder: str) -> str:
    path = f"{folder}/a-skill/SKILL.md"
    return view.files.read([path])[path].decode()


def test_a_skill_that_is_written_as_proposed_is_internal(vault: Vault) -> None:
    skill = Skill("a-skill", "Does it.", "Do it.", status="proposed", origin="generated")
    view = applied(vault, Change(step="generate", subject="one", writes=(skill,)))
    assert MARK in text_of(view, "proposed")
    written = format_marks(marks_of("Does it.", "Do it."))
    assert view.skills.proposed["a-skill"] == replace(skill, internal=True, written=written)


@pytest.mark.parametrize("text", [TEXT, MINE, TEXT.replace("\n", "\r\n")])
@pytest.mark.parametrize("folder", ["proposed", "archive"])
def test_a_skill_is_internal_as_long_as_it_is_not_served_and_all_other_bytes_stay(
    vault: Vault, person: Person, text: str, folder: str
) -> None:
    put(vault, person, "skills", text)
    away = applied(vault, move("skills", folder))
    assert text_of(away, folder).count("internal: true") == 1
    assert text_of(applied(vault, move(folder, "skills")), "skills").encode() == text.encode()


def test_the_mark_stays_on_the_way_from_one_folder_to_another(vault: Vault, person: Person) -> None:
    put(vault, person, "proposed", MINE.replace("  # mine\n", MARK + "  # mine\n"))
    before = text_of(vault.store.snapshot(), "proposed")
    assert text_of(applied(vault, move("proposed", "archive")), "archive") == before


def test_any_change_to_a_skill_that_waits_marks_it(vault: Vault, person: Person) -> None:
    put(vault, person, "proposed", TEXT)
    rewrite = (Rewrite("proposed/a-skill/SKILL.md", "Do that."),)
    view = applied(vault, Change(step="promote", subject="more", rewrites=rewrite))
    assert MARK in text_of(view, "proposed")


@pytest.mark.parametrize("value", ["false", '"true"', "yes"])
def test_a_value_that_hosts_overlook_becomes_the_boolean(
    vault: Vault, person: Person, value: str
) -> None:
    put(vault, person, "skills", MINE.replace("  kind", f"  internal: {value}\n  kind"))
    assert MARK in text_of(applied(vault, move("skills", "archive")), "archive")


def test_what_a_person_marked_in_skills_is_still_marked_when_it_returns(
    vault: Vault, person: Person
) -> None:
    mine = MINE.replace("  # mine\n", "  internal: true  # for us alone\n")
    put(vault, person, "skills", mine)
    status = Edit("skills/a-skill/SKILL.md", ("metadata", "status"), "retired")
    assert "# for us alone" in text_of(applied(vault, move("skills", "archive", status)), "archive")
    back = replace(status, path="archive/a-skill/SKILL.md", value="testing")
    view = applied(vault, move("archive", "skills", back))
    assert "  internal: true  # for us alone\n" in text_of(view, "skills")


def test_an_edit_of_a_live_skill_leaves_a_persons_mark(vault: Vault, person: Person) -> None:
    put(vault, person, "skills", MINE.replace("  kind", MARK + "  kind"))
    edit = Edit("skills/a-skill/SKILL.md", ("metadata", "status"), "pinned")
    assert MARK in text_of(applied(vault, Change(step="pin", subject="p", edits=(edit,))), "skills")


def test_a_file_that_cannot_be_marked_makes_only_its_change_wait(
    vault: Vault, person: Person
) -> None:
    put(vault, person, "skills", TEXT.replace("\n---\n\n", "\nmetadata: some text\n---\n\n"))
    with pytest.raises(
        UncommittedEditError, match=r"archive/a-skill/SKILL.md: metadata.internal.*by hand"
    ):
        applied(vault, move("skills", "archive"))
    assert vault.store.snapshot().files.below("skills/a-skill") == ["skills/a-skill/SKILL.md"]


@pytest.mark.parametrize("folder", ["proposed", "archive"])
def test_a_skill_that_hosts_must_not_load_and_may_is_a_note(
    folder: str, vault: Vault, person: Person
) -> None:
    person.write(f"{folder}/one/SKILL.md", HAND_MADE.format(name="one"))
    (note,) = [note for note in vault.check().notes if note.key == "metadata.internal"]
    assert note.message.endswith("write `internal: true` under metadata")


def test_a_live_skill_that_hosts_leave_out_is_a_note(vault: Vault, person: Person) -> None:
    text = HAND_MADE.format(name="live")
    marked = text.replace("\n---\n\n", "\nmetadata:\n  internal: true\n---\n\n")
    person.write("skills/live/SKILL.md", marked)
    checked = vault.check()
    assert checked.problems == []
    assert "internal" in [note.code for note in checked.notes]
