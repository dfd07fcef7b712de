"""store: the commit protocol. Nothing of a person's is lost, swallowed or left changed."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.loop.registry import AGENDA
from skillvault.model.change import Change, Edit, Move
from skillvault.model.errors import GitError, PausedError, UncommittedEditError, VaultBusyError
from skillvault.model.records import Problem, Skill
from skillvault.vault.commit.store import Store
from tests.conftest import Person
from tests.given import as_file, raw
from tests.vault.given import HAND_MADE, NOW, applied, files, script, thought_of

PATH = "skills/a-skill/SKILL.md"
PIN = Change(step="pin", subject="a-skill", edits=(Edit(PATH, ("metadata", "status"), "pinned"),))
RETIRE = Change(
    step="retire",
    subject="a-skill",
    edits=(Edit(PATH, ("metadata", "status"), "retired"),),
    moves=(Move("skills/a-skill", "archive/a-skill"),),
)


@pytest.fixture
def skill(person: Person) -> Path:
    """A committed skill that a person wrote."""
    place = person.write(PATH, HAND_MADE.format(name="a-skill"))
    commit(person)
    return place


def commit(person: Person, message: str = "mine") -> None:
    person.git("add", "-A")
    person.git("commit", "-qm", message)


def state(person: Person) -> tuple[str, str, dict[str, bytes]]:
    """(HEAD, the index, the work tree) as they stand."""
    seen = {
        path.relative_to(person.root).as_posix(): path.read_bytes()
        for path in sorted(person.root.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }
    return person.git("rev-parse", "HEAD"), person.git("ls-files", "--stage", "-t"), seen


def touched(person: Person, commit_id: str = "HEAD") -> list[str]:
    return person.git("diff-tree", "--no-commit-id", "-r", "--name-only", commit_id).splitlines()


def signing(person: Person, *lines: str) -> None:
    """The person signs with a program that takes its time: these lines run meanwhile, once."""
    flag = person.root.parent / "ran"
    program = script(
        person.root.parent / "gpg",
        "cat >/dev/null",
        f"if [ ! -e {flag} ]; then touch {flag}",
        *lines,
        "fi",
        'echo "[GNUPG:] SIG_CREATED D" >&2',
        "echo '-----BEGIN PGP SIGNATURE-----'; echo; echo made; echo '-----END PGP SIGNATURE-----'",
    )
    person.git("config", "--global", "gpg.program", str(program))
    person.git("config", "--global", "commit.gpgsign", "true")


# ── what a commit touches ────────────────────────────────────────────────────────────


def test_a_commit_touches_exactly_its_paths_and_leaves_nothing_to_commit(
    vault: Vault, person: Person
) -> None:
    after = applied(vault, files(notes_a="a\n", notes_b="b\n"))
    assert person.git("rev-parse", "HEAD") == after.commit
    assert touched(person) == ["notes/a.md", "notes/b.md"]
    assert person.status() == ""
    assert (vault.root / "notes/a.md").read_text() == "a\n"


def test_the_person_s_next_commit_of_everything_removes_nothing(
    vault: Vault, person: Person
) -> None:
    applied(vault, files(notes_a="a\n"))
    person.write("README.md", "mine\n")
    person.git("commit", "-qam", "mine")
    assert touched(person) == ["README.md"]


def test_work_of_a_person_elsewhere_stays_as_it_is(vault: Vault, person: Person) -> None:
    person.write("staged.md", "staged\n")
    person.write("README.md", "staged\n")
    person.git("add", "staged.md", "README.md")
    person.write("README.md", "and edited\n")
    person.write("vault.yaml", person.git("show", "HEAD:vault.yaml") + "\n# edited\n")
    person.write("new.md", "new\n")
    person.git("add", "-N", "new.md")
    before = person.git("status", "--porcelain=v2")
    applied(vault, files(notes_a="a\n"))
    assert person.git("status", "--porcelain=v2") == before
    assert person.git("show", ":README.md") == "staged"
    assert touched(person) == ["notes/a.md"]


def test_a_removed_file_leaves_no_empty_folder(vault: Vault, person: Person, skill: Path) -> None:
    applied(vault, RETIRE)
    assert touched(person) == ["archive/a-skill/SKILL.md", PATH]
    assert (skill.parent.exists(), person.status()) == (False, "")


def test_an_edit_or_a_move_keeps_the_executable_bit(
    vault: Vault, person: Person, skill: Path
) -> None:
    tool = person.write("skills/a-skill/scripts/run.sh", "#!/bin/sh\n")
    for place in (tool, skill):
        place.chmod(0o755)
    commit(person)
    applied(vault, PIN)
    assert person.git("ls-files", "--stage", PATH).startswith("100755")
    assert skill.stat().st_mode & 0o111
    applied(vault, RETIRE)
    for path in ("archive/a-skill/scripts/run.sh", "archive/a-skill/SKILL.md"):
        assert person.git("ls-files", "--stage", path).startswith("100755")
        assert (vault.root / path).stat().st_mode & 0o111
    assert person.status() == ""


def test_a_file_whose_name_is_not_utf8_moves_with_its_skill(
    vault: Vault, person: Person, skill: Path
) -> None:
    (skill.parent / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    commit(person)
    applied(vault, RETIRE)
    assert (vault.root / "archive/a-skill" / os.fsdecode(b"caf\xe9.txt")).read_text() == "x"
    assert person.status() == ""


def test_a_file_of_a_person_in_the_folder_of_a_moved_skill_stays(
    vault: Vault, person: Person, skill: Path
) -> None:
    person.write("skills/a-skill/notes.txt", "mine\n")
    applied(vault, RETIRE)
    assert (skill.parent / "notes.txt").read_text() == "mine\n"
    assert person.status() == "?? skills/"


# ── a path in a person's hand ────────────────────────────────────────────────────────

MINE = HAND_MADE.format(name="a-skill") + "Mine.\n"


def edited(person: Person) -> None:
    person.write(PATH, MINE)


def staged(person: Person) -> None:
    person.write(PATH, MINE)
    person.git("add", PATH)


def partly_staged(person: Person) -> None:
    staged(person)
    person.write(PATH, MINE + "More.\n")


def staged_and_undone(person: Person) -> None:
    before = (person.root / PATH).read_text()
    staged(person)
    person.write(PATH, before)


def deleted(person: Person) -> None:
    (person.root / PATH).unlink()


def removed_from_the_index(person: Person) -> None:
    person.git("rm", "-q", "--cached", PATH)


def mode_staged(person: Person) -> None:
    person.git("update-index", "--chmod=+x", PATH)


def a_link(person: Person) -> None:
    (person.root / PATH).unlink()
    (person.root / PATH).symlink_to("../../README.md")


def a_linked_folder(person: Person) -> None:
    folder = (person.root / PATH).parent
    folder.rename(person.root.parent / "elsewhere")
    folder.symlink_to(person.root.parent / "elsewhere")


def a_folder(person: Person) -> None:
    (person.root / PATH).unlink()
    (person.root / PATH).mkdir()


HANDS: list[Callable[[Person], None]] = [
    edited, staged, partly_staged, staged_and_undone, deleted, removed_from_the_index, mode_staged,
    a_link, a_linked_folder, a_folder,
]  # fmt: skip


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("change", [PIN, RETIRE], ids=["edit", "move"])
def test_a_path_in_a_person_s_hand_waits_and_keeps_every_byte(
    vault: Vault, person: Person, skill: Path, hand: Callable[[Person], None], change: Change
) -> None:
    hand(person)
    before = state(person)
    with pytest.raises(UncommittedEditError, match=r"skills/a-skill/SKILL.md: .*run again"):
        applied(vault, change)
    assert state(person) == before


def untracked(person: Person) -> None:
    person.write("notes/a.md", "mine\n")


def intended(person: Person) -> None:
    person.write("notes/a.md", "mine\n")
    person.git("add", "-N", "notes/a.md")


def staged_new(person: Person) -> None:
    person.write("notes/a.md", "mine\n")
    person.git("add", "notes/a.md")


def staged_and_gone(person: Person) -> None:
    staged_new(person)
    (person.root / "notes/a.md").unlink()


def a_file_for_the_folder(person: Person) -> None:
    person.write("notes", "mine\n")


def linked_folder(person: Person) -> None:
    (person.root.parent / "elsewhere").mkdir()
    (person.root / "notes").symlink_to(person.root.parent / "elsewhere")


def dangling(person: Person) -> None:
    (person.root / "notes").mkdir()
    (person.root / "notes/a.md").symlink_to("/nowhere/at/all")


@pytest.mark.parametrize(
    "hand",
    [
        untracked,
        intended,
        staged_new,
        staged_and_gone,
        a_file_for_the_folder,
        linked_folder,
        dangling,
    ],
)
def test_a_new_file_does_not_replace_what_a_person_has_there(
    vault: Vault, person: Person, hand: Callable[[Person], None]
) -> None:
    hand(person)
    before = state(person)
    with pytest.raises(UncommittedEditError, match=r"notes/a.md: "):
        applied(vault, files(notes_a="ours\n"))
    assert state(person) == before
    assert not (person.root.parent / "elsewhere/a.md").exists()


def test_what_already_is_as_the_change_writes_it_is_committed(vault: Vault, person: Person) -> None:
    person.write("notes/a.md", "a\n")
    person.git("add", "notes/a.md")
    applied(vault, files(notes_a="a\n"))
    assert (touched(person), person.status()) == (["notes/a.md"], "")


def test_a_move_that_was_interrupted_is_finished(vault: Vault, person: Person, skill: Path) -> None:
    files_then = vault.store.files_of(RETIRE, vault.store.snapshot())
    person.write(
        "archive/a-skill/SKILL.md", (files_then["archive/a-skill/SKILL.md"] or b"").decode()
    )
    skill.unlink()
    applied(vault, RETIRE)
    assert (person.status(), touched(person)) == ("", ["archive/a-skill/SKILL.md", PATH])


def test_one_held_path_does_not_hold_the_others(vault: Vault, person: Person) -> None:
    for day in (0, 1):
        (vault.root / f"inbox/{day}.json").write_bytes(as_file(raw(day)))
    vault.run(["record"], now=NOW)
    first, _ = sorted(vault.store.snapshot().outcomes)
    place = f"evaluations/coding/2026/11/01/{first}.yaml"
    person.write(place, "mine\n")
    report = vault.run(now=NOW)
    assert [waiting.path for waiting in report.waiting] == [place]
    assert len(vault.store.snapshot().evaluations) == 1
    assert (vault.root / place).read_text() == "mine\n"


def test_a_moved_skill_does_not_replace_one_of_its_name(
    vault: Vault, person: Person, skill: Path
) -> None:
    person.write("archive/a-skill/SKILL.md", MINE)
    commit(person)
    before = state(person)
    with pytest.raises(UncommittedEditError, match="exists already"):
        applied(vault, RETIRE)
    assert state(person) == before


# ── while the change is being made ───────────────────────────────────────────────────


def test_a_commit_made_meanwhile_is_kept_and_ours_is_laid_on_top(
    vault: Vault, person: Person
) -> None:
    commit_ours = thought_of(vault, files(notes_a="a\n"))
    person.write("mine.md", "mine\n")
    commit(person)
    mine = person.git("rev-parse", "HEAD")
    commit_ours()
    assert person.git("rev-parse", "HEAD^") == mine
    assert (touched(person), person.status()) == (["notes/a.md"], "")


@pytest.mark.parametrize("change", [PIN, RETIRE], ids=["edit", "move"])
@pytest.mark.parametrize("removed", [False, True], ids=["changed", "removed"])
def test_a_path_that_a_commit_changed_meanwhile_is_refused(
    vault: Vault, person: Person, skill: Path, change: Change, removed: bool
) -> None:
    commit_ours = thought_of(vault, change)
    if removed:
        person.git("rm", "-q", PATH)
    else:
        person.write(PATH, MINE)
    commit(person)
    before = state(person)
    with pytest.raises(UncommittedEditError, match="by a commit meanwhile; run again"):
        commit_ours()
    assert state(person) == before


def test_a_branch_that_moves_at_the_last_moment_is_followed(vault: Vault, person: Person) -> None:
    signing(
        person,
        "echo mine > mine.md",
        "git add mine.md",
        "git -c commit.gpgsign=false commit -qm mine",
    )
    applied(vault, files(notes_a="a\n"))
    assert person.git("log", "--format=%s", "-2").splitlines() == ["note: some files", "mine"]
    assert (touched(person), person.status()) == (["notes/a.md"], "")
    assert person.git("show", "HEAD:mine.md") == "mine"


@pytest.mark.parametrize("line", ["echo mine > {}", "echo mine > {}; git add {}", "rm {}"])
def test_what_a_person_does_while_the_commit_is_signed_is_kept(
    vault: Vault, person: Person, skill: Path, line: str
) -> None:
    head = person.git("rev-parse", "HEAD")
    signing(person, line.replace("{}", PATH))
    with pytest.raises(UncommittedEditError, match=PATH):
        applied(vault, PIN)
    assert (skill.read_text() if skill.exists() else None) == (None if "rm" in line else "mine\n")
    assert person.git("rev-parse", "HEAD") == head
    assert person.git("diff", "--cached", "--name-only") == (PATH if "add" in line else "")


def test_a_file_that_appears_while_the_commit_is_signed_is_kept(
    vault: Vault, person: Person
) -> None:
    signing(person, "mkdir notes", "echo mine > notes/b.md")
    head = person.git("rev-parse", "HEAD")
    with pytest.raises(UncommittedEditError, match=r"notes/b.md"):
        applied(vault, files(notes_a="a\n", notes_b="b\n"))
    assert (vault.root / "notes/b.md").read_text() == "mine\n"
    assert (vault.root / "notes/a.md").exists() is False
    assert person.git("rev-parse", "HEAD") == head


def test_a_file_that_appears_at_the_very_last_moment_is_kept(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, head = vault.root / "notes/b.md", person.git("rev-parse", "HEAD")

    def save(point: str) -> None:
        if point == "intent-written":
            person.write("notes/b.md", "mine\n")

    monkeypatch.setattr("skillvault.vault.commit.publish.reach", save)  # a person's timing
    with pytest.raises(UncommittedEditError, match=r"notes/b.md"):
        applied(vault, files(notes_a="a\n", notes_b="b\n"))
    assert sorted(p.name for p in place.parent.iterdir()) == ["b.md"]
    assert place.read_text() == "mine\n"
    assert (person.git("rev-parse", "HEAD"), person.status()) == (head, "?? notes/")


def test_nothing_of_ours_is_seen_while_another_git_holds_the_index(
    vault: Vault, person: Person
) -> None:
    lock = vault.root / ".git/index.lock"
    lock.touch()
    ours = threading.Thread(target=lambda: applied(vault, files(notes_a="a\n")))
    ours.start()
    try:
        until(lambda: list((vault.root / ".git/skillvault").glob("lock-*")) == [])
        time.sleep(0.2)
        assert person.status() == ""
        assert not (vault.root / "notes").exists()
    finally:
        lock.unlink()
        ours.join()
    assert (person.git("show", "HEAD:notes/a.md"), person.status()) == ("a", "")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ── when it fails ────────────────────────────────────────────────────────────────────


def test_a_branch_that_cannot_be_moved_leaves_index_and_work_tree_as_they_were(
    vault: Vault, person: Person, skill: Path
) -> None:
    skill.chmod(0o755)
    commit(person)
    person.write("staged.md", "staged\n")
    person.git("add", "staged.md")
    before, mode = state(person), skill.stat().st_mode
    lock = vault.root / ".git/refs/heads/main.lock"
    lock.touch()
    for change in (PIN, RETIRE, files(notes_a="a\n", notes_deep_b="b\n")):
        with pytest.raises(VaultBusyError, match=r"another git holds .*main\.lock"):
            applied(vault, change)
        assert (state(person), skill.stat().st_mode) == (before, mode)
    assert not (vault.root / "notes/deep").exists()
    lock.unlink()
    applied(vault, PIN)
    assert person.status() == "A  staged.md"


def test_a_commit_that_cannot_be_made_leaves_index_and_work_tree_as_they_were(
    vault: Vault, person: Person, skill: Path
) -> None:
    person.git("config", "--global", "commit.gpgsign", "true")
    person.git("config", "--global", "gpg.program", "false")
    before = state(person)
    with pytest.raises(PausedError, match="gpg failed to sign"):
        applied(vault, RETIRE)
    assert state(person) == before
    assert list((vault.root / ".git/skillvault").glob("intent*")) == []


def test_a_full_work_tree_leaves_everything_as_it_was(
    vault: Vault, person: Person, skill: Path
) -> None:
    before = state(person)
    long_name = Change(
        step="note", subject="x", files=(("notes/a.md", b"a"), (f"notes/{'x' * 300}", b"b"))
    )
    with pytest.raises((OSError, GitError)):
        applied(vault, long_name)
    assert state(person) == before


def test_an_index_that_is_locked_for_a_moment_is_waited_for(vault: Vault, person: Person) -> None:
    lock = vault.root / ".git/index.lock"
    lock.touch()
    threading.Timer(0.4, lock.unlink).start()
    applied(vault, files(notes_a="a\n"))
    assert person.status() == ""


def test_an_index_that_stays_locked_is_another_s_and_nothing_is_left_behind(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.commit.publish._LOCK_SECONDS", 0.2)  # the clock
    before = state(person)
    lock = vault.root / ".git/index.lock"
    lock.touch()
    with pytest.raises(VaultBusyError, match=r"^git holds \.git/index\.lock since \d\d:\d\d; what"):
        applied(vault, files(notes_a="a\n"))
    assert lock.exists()
    lock.unlink()
    assert state(person) == before


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_that_was_left_behind_is_removed(vault: Vault, person: Person, name: str) -> None:
    lock = vault.root / ".git" / name
    lock.touch()
    os.utime(lock, (0, time.time() - 120))
    applied(vault, files(notes_a="a\n"))
    assert not lock.exists()
    assert person.status() == ""


def test_an_old_lock_that_somebody_holds_open_stays(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.commit.publish._LOCK_SECONDS", 0.2)  # the clock
    lock = vault.root / ".git/index.lock"
    with lock.open("w"):
        os.utime(lock, (0, time.time() - 120))
        with pytest.raises(VaultBusyError):
            applied(vault, files(notes_a="a\n"))
    assert lock.exists()


# ── several writers ──────────────────────────────────────────────────────────────────

WRITER = """
import json, sys
from datetime import UTC, datetime
from skillvault.api import Vault
from tests.given import as_file, raw
vault = Vault.open(sys.argv[1])
for day in range(int(sys.argv[3])):
    given = raw(day, source__agent=sys.argv[2])
    vault.record([("o.json", as_file(given))], now=datetime(2026, 12, 30, tzinfo=UTC))
"""
EACH = 5


def test_writers_beside_each_other_and_a_person_lose_nothing(vault: Vault, person: Person) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, vault.root, f"agent-{n}", str(EACH)])
        for n in range(3)
    ]
    for number in range(6):
        person.write(f"mine-{number}.md", "mine\n")
        until(lambda: "index.lock" not in person.git("add", "-A", ok=False))
        person.git("commit", "-qm", f"mine {number}", "--no-verify", ok=False)
        time.sleep(0.05)
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    person.git("add", "-A")
    person.git("commit", "-qm", "the rest", "--no-verify", ok=False)
    vault.run(["record"], now=NOW.replace(month=12, day=30))
    head = vault.store.snapshot()
    assert len(head.outcomes) == 3 * EACH
    assert {f"mine-{n}.md" for n in range(6)} <= set(head.files)
    assert (person.status(), vault.inbox.names(), vault.check().problems) == ("", [], [])


# ── reading ──────────────────────────────────────────────────────────────────────────


def test_head_is_the_truth_and_the_work_tree_and_the_index_are_asked_for(
    vault: Vault, person: Person, skill: Path
) -> None:
    staged(person)
    person.write(PATH, "no skill at all\n")
    store = Store(vault.root, AGENDA)
    assert store.snapshot().skills["a-skill"].body == "Do it."
    indexed = store.git_index().read_records([PATH])[PATH]
    assert isinstance(indexed, Skill)
    assert indexed.body == "Do it.\nMine."
    broken = store.work_tree().read_records([PATH])[PATH]
    assert isinstance(broken, Problem)
    assert broken.code == "no-front-matter"


def test_a_link_in_the_work_tree_is_not_read(vault: Vault, person: Person, tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(HAND_MADE.format(name="far"))
    (vault.root / "skills/near").mkdir(parents=True)
    (vault.root / "skills/near/SKILL.md").symlink_to(tmp_path / "SKILL.md")
    (vault.root / "skills/far").symlink_to(tmp_path)
    assert set(vault.store.work_tree().paths) == set()
