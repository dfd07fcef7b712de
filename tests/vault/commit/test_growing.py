"""A file that agents append to: what is committed of it, and that nothing which arrives is lost."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.change import Adoption, Change, Replacement
from skillvault.model.errors import UncommittedEditError
from skillvault.vault.commit import files
from skillvault.vault.commit.files import place_file
from skillvault.vault.files.work_tree import blob_id
from tests.conftest import Person
from tests.vault.given import applied

PATH = "RULES.md"
BEGUN = b"# Rules\n\n---\none\n---\n"
SHORT = b"# Rules\n\n---\n"


@pytest.fixture
def rules(person: Person) -> Path:
    """A committed file that agents append to."""
    place = person.write(PATH, BEGUN.decode())
    person.git("add", PATH)
    person.git("commit", "-qm", "rules")
    return place


def adoption(appended: bytes, content: bytes | None = None, left: bytes = b"") -> Change:
    content = appended if content is None else content
    whole = Adoption(PATH, blob_id(BEGUN), appended, content, left)
    return Change(step="capture", subject="adopt", adopts=(whole,))


def shortening(content: bytes = SHORT, blob: str | None = None) -> Change:
    whole = Replacement(PATH, content, blob or blob_id(BEGUN), grows=True)
    return Change(step="capture", subject="shorten", replaces=(whole,))


def committed(person: Person) -> bytes:
    return subprocess.check_output(["git", "show", f"HEAD:{PATH}"], cwd=person.root)


def append(place: Path, text: bytes) -> None:
    with place.open("ab") as file:
        file.write(text)


def test_what_was_appended_is_committed_and_the_file_stays_as_it_is(
    vault: Vault, person: Person, rules: Path
) -> None:
    append(rules, b"two\n---\n")
    inode = rules.stat().st_ino
    applied(vault, adoption(b"two\n---\n"))
    assert committed(person) == rules.read_bytes() == BEGUN + b"two\n---\n"
    assert rules.stat().st_ino == inode
    assert not person.git("status", "--porcelain")


def test_what_is_appended_after_it_was_read_stays_behind(
    vault: Vault, person: Person, rules: Path
) -> None:
    append(rules, b"two\n---\nthree\n---\n")
    applied(vault, adoption(b"two\n---\n"))
    assert committed(person) == BEGUN + b"two\n---\n"
    assert rules.read_bytes() == BEGUN + b"two\n---\nthree\n---\n"


def test_what_may_not_be_committed_never_is_and_what_is_bad_stays_in_the_work_tree(
    vault: Vault, person: Person, rules: Path
) -> None:
    append(rules, b"secret\n---\n\x00bad\n---\nlate\n---\n")
    applied(
        vault, adoption(b"secret\n---\n\x00bad\n---\n", b"[redacted]\n---\n", b"\x00bad\n---\n")
    )
    assert committed(person) == BEGUN + b"[redacted]\n---\n"
    assert rules.read_bytes() == BEGUN + b"[redacted]\n---\n\x00bad\n---\nlate\n---\n"
    assert not list((person.root / ".git/skillvault").glob("late-*"))


def test_a_file_that_was_not_there_is_adopted_whole(vault: Vault, person: Person) -> None:
    place = person.write(PATH, "new\n---\n")
    whole = Adoption(PATH, None, b"new\n---\n", b"new\n---\n")
    applied(vault, Change(step="capture", subject="adopt", adopts=(whole,)))
    assert committed(person) == place.read_bytes() == b"new\n---\n"


@pytest.mark.parametrize("text", ["# Other\n", "# Rules\n\n---\nONE\n---\ntwo\n---\n", ""])
def test_any_other_edit_is_a_persons_and_waits(
    vault: Vault, person: Person, rules: Path, text: str
) -> None:
    rules.write_text(text)
    for change in (adoption(b"two\n---\n"), shortening()):
        with pytest.raises(UncommittedEditError, match="edited and not committed"):
            applied(vault, change)
    assert rules.read_text() == text
    assert committed(person) == BEGUN


def test_what_a_person_staged_waits(vault: Vault, person: Person, rules: Path) -> None:
    append(rules, b"two\n---\n")
    person.git("add", PATH)
    with pytest.raises(UncommittedEditError, match="staged"):
        applied(vault, adoption(b"two\n---\n"))
    assert person.git("diff", "--cached", "--name-only") == PATH


def test_a_file_that_was_deleted_waits(vault: Vault, person: Person, rules: Path) -> None:
    rules.unlink()
    with pytest.raises(UncommittedEditError, match="deleted"):
        applied(vault, shortening())
    assert not rules.exists()


def test_a_new_text_keeps_what_was_appended_since(
    vault: Vault, person: Person, rules: Path
) -> None:
    append(rules, b"two\n---\n")
    applied(vault, shortening())
    assert committed(person) == SHORT
    assert rules.read_bytes() == SHORT + b"two\n---\n"


def test_a_text_computed_of_another_version_is_refused(
    vault: Vault, person: Person, rules: Path
) -> None:
    with pytest.raises(UncommittedEditError, match="changed by a commit meanwhile"):
        applied(vault, shortening(blob="0" * 40))
    assert committed(person) == BEGUN


def test_a_plain_file_is_replaced_only_as_it_is_committed(
    vault: Vault, person: Person, rules: Path
) -> None:
    append(rules, b"two\n---\n")
    whole = Replacement(PATH, SHORT, blob_id(BEGUN))
    with pytest.raises(UncommittedEditError, match="edited and not committed"):
        applied(vault, Change(step="capture", subject="shorten", replaces=(whole,)))


def test_what_is_written_into_the_file_that_was_replaced_is_appended_to_the_new_one(
    vault: Vault, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        file = stack.enter_context(rules.open("ab", buffering=0))

        def placed_late(*args: object, **options: object) -> None:
            place_file(*args, **options)  # type: ignore[arg-type]
            file.write(b"late\n---\n")

        monkeypatch.setattr(files, "place_file", placed_late)
        monkeypatch.setattr(files, "_HELD_SECONDS", 0.0)
        monkeypatch.setattr(files, "find_open_writer", lambda *_: None)
        monkeypatch.setattr(files, "_LATE_SECONDS", 0.1)
        applied(vault, shortening())
    assert rules.read_bytes() == SHORT + b"late\n---\n"


_HOLDER = "import sys; file = open(sys.argv[1], 'ab'); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def holder(rules: Path) -> Iterator[None]:
    """An agent that never closes the file."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(rules)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield
    process.communicate()


@pytest.mark.usefixtures("holder")
def test_a_file_that_somebody_holds_open_is_not_replaced(
    vault: Vault, person: Person, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_HELD_SECONDS", 0.1)
    with pytest.raises(UncommittedEditError, match="holds it open"):
        applied(vault, shortening())
    applied(vault, adoption(b""))  # but nothing is replaced if all is committed as it stands
    assert rules.read_bytes() == BEGUN == committed(person)
