"""`cold`: a clone without the files of closed months, in which nothing of a person is lost."""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from itertools import product
from pathlib import Path

import pytest

from skillvault import api
from skillvault.api import Vault
from skillvault.model.errors import UncommittedEditError, UsageError
from skillvault.vault.commit.cold import (
    follow_month,
    hides_domain,
    leave_out_months,
    take_back_months,
)
from tests import forked
from tests.conftest import NOW, Person
from tests.crash.world import KILLED
from tests.given import as_file, raw
from tests.thorough import THOROUGH, pairs

TODAY = NOW.date()
DAYS = range(-200, 10, 21)  # from 1 November


def _fill(vault: Vault) -> None:
    files = [(f"{day}.json", as_file(raw(day, decision__target=f"t{day % 3}"))) for day in DAYS]
    vault.record(files, now=NOW)
    vault.run(now=NOW)


@pytest.fixture
def old_vault(prepared: Callable[[Callable[[Vault], None]], Vault]) -> Vault:
    """A vault with outcomes of eight months."""
    return prepared(_fill)


def closed(root: Path) -> list[Path]:
    """The files of closed months in the work tree."""
    tops = ("outcomes", "evaluations")
    files = [path for top in tops for path in sorted((root / top).rglob("*")) if path.is_file()]
    return [path for path in files if path.parts[-3] < "10"]


def trace(root: Path, *words: str) -> str:
    """The trace of what git does in a command of the program."""
    path = root.with_name("trace")
    path.unlink(missing_ok=True)
    environment = {"GIT_TRACE2_EVENT": str(path)}
    done = forked.program("--vault", str(root), *words, environment=environment)
    assert done.returncode == 0
    return path.read_text() if path.exists() else ""


def test_the_files_of_closed_months_leave_and_return(old_vault: Vault, person: Person) -> None:
    root = old_vault.root
    files = {path: path.read_bytes() for path in closed(root)}
    report = leave_out_months(old_vault.store, TODAY, 2)
    sizes = sum(map(len, files.values()))
    assert (report.files, report.size, report.stay) == (len(files), sizes, {})
    assert closed(root) == []
    assert person.status() == ""
    assert "outcomes/coding/2026/04/" in person.git("ls-files", "--sparse")
    assert leave_out_months(old_vault.store, TODAY, 2).files == 0
    assert take_back_months(old_vault.store).returned == len(files)
    assert {path: path.read_bytes() for path in closed(root)} == files
    assert person.status() == ""
    assert "sparse" not in (root / ".git/config").read_text().lower()


def test_the_window_moves_with_the_month(old_vault: Vault, person: Person) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    october = old_vault.root / "outcomes/coding/2026/10"
    assert october.is_dir()
    leave_out_months(old_vault.store, date(2026, 12, 1), 2)
    assert not october.exists()
    leave_out_months(old_vault.store, date(2026, 12, 1), 3)
    assert october.is_dir()
    assert person.status() == ""


def test_no_command_expands_the_index(old_vault: Vault, tmp_path: Path) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    late = tmp_path / "late.json"
    late.write_bytes(as_file(raw(-150, decision__target="late")))
    new = tmp_path / "new.json"
    new.write_bytes(as_file(raw(9, decision__target="new")))
    for words in (
        ("record", str(late)),
        ("record", str(new)),
        ("run",),
        ("status",),
        ("recommend", "fix the flaky test"),
        ("check",),
        ("log",),
        ("doctor",),
    ):
        assert "ensure_full_index" not in trace(old_vault.root, *words), words
    assert closed(old_vault.root) == []


def test_a_late_outcome_is_recorded_and_stays_out(old_vault: Vault, person: Person) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    (done,) = old_vault.record([("late.json", as_file(raw(-150)))], now=NOW).done
    old_vault.run(now=NOW)
    assert closed(old_vault.root) == []
    assert person.status() == ""
    assert person.git("ls-tree", "-r", "--name-only", "HEAD", "outcomes/coding/2026/06")
    person.git("revert", "--no-edit", str(done.commit))
    assert person.status() == ""


def test_a_new_domain_stays_in_the_work_tree(old_vault: Vault, person: Person) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    old_vault.record([("new.json", as_file(raw(9, domain="new")))], now=NOW)
    old_vault.run(now=NOW)
    person.git("switch", "-q", "--detach", "HEAD~3")
    person.git("switch", "-q", "main")
    assert list((old_vault.root / "outcomes/new").rglob("*.yaml"))
    assert not hides_domain(old_vault.store.git)


def test_a_domain_that_a_pull_hid_returns(old_vault: Vault, person: Person) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    note = person.write("outcomes/pulled/2026/11/02/note.txt", "a note\n")
    person.git("add", "--sparse", "-A")
    person.git("commit", "-qnm", "a domain from elsewhere")
    person.git("sparse-checkout", "reapply")
    assert not note.exists()
    assert hides_domain(old_vault.store.git)
    follow_month(old_vault.store, TODAY)
    assert note.read_text() == "a note\n"
    assert not hides_domain(old_vault.store.git)


def test_an_outcome_of_a_closed_month_is_retracted_and_its_skill_undone(
    old_vault: Vault, person: Person
) -> None:
    leave_out_months(old_vault.store, TODAY, 2)
    head = old_vault.store.snapshot()
    api.retract(old_vault, min(head.outcomes), "it was a mistake", now=NOW)
    api.undo(old_vault, head.skills.names("skills")[0], now=NOW)
    assert old_vault.check().problems == []
    assert closed(old_vault.root) == []
    assert person.status() == ""


def test_what_a_person_did_in_a_closed_month_stays_with_its_month(
    old_vault: Vault, person: Person
) -> None:
    edited, staged, *_ = [path for path in closed(old_vault.root) if path.suffix == ".yaml"]
    edited.write_text("edited\n")
    staged.write_text("staged\n")
    person.git("add", str(staged))
    added = old_vault.root / "outcomes/coding/2026/06/mine.txt"
    added.parent.mkdir(parents=True, exist_ok=True)
    added.write_text("mine\n")
    ignored = old_vault.root / "outcomes/coding/2026/07/kept~"
    ignored.parent.mkdir(parents=True, exist_ok=True)
    (old_vault.root / ".git/info/exclude").open("a").write("*~\n")
    ignored.write_text("ignored\n")
    status = person.status()
    report = leave_out_months(old_vault.store, TODAY, 2)
    names = {path.relative_to(old_vault.root).as_posix() for path in (edited, staged, added)}
    assert names <= report.stay.keys()
    contents = [path.read_text() for path in (edited, staged, added, ignored)]
    assert contents == ["edited\n", "staged\n", "mine\n", "ignored\n"]
    assert person.status() == status


def test_beside_an_intent_to_add_nothing_is_done(old_vault: Vault, person: Person) -> None:
    person.write("note.md", "a note\n")
    person.git("add", "-N", "note.md")
    files = closed(old_vault.root)
    with pytest.raises(UncommittedEditError, match="note"):
        leave_out_months(old_vault.store, TODAY, 2)
    assert closed(old_vault.root) == files


def test_a_sparse_checkout_of_a_person_is_left_alone(old_vault: Vault, person: Person) -> None:
    person.git("sparse-checkout", "set", "outcomes")
    with pytest.raises(UsageError, match="sparse checkout of yours"):
        leave_out_months(old_vault.store, TODAY, 2)
    with pytest.raises(UsageError, match="leaves nothing out"):
        take_back_months(old_vault.store)


class Months:
    """A person who works at random in closed months, and the contents of those months."""

    def __init__(self, vault: Vault, person: Person, seed: int) -> None:
        self._vault = vault
        self._person = person
        self._chance = random.Random(seed)
        self._moves = [self.edit, self.add, self.remove, self.stage, self.ignore, self.intend]
        self._moves += [self.unstage, self.commit, self.record]

    def play(self) -> None:
        """Do a few things of a person, and move the window before and after."""
        for _ in range(self._chance.randrange(1, 4)):
            for _ in range(self._chance.randrange(3)):
                self._chance.choice(self._moves)()
            contents, status = self.contents(), self.status()
            today = date(2026, self._chance.randrange(5, 13), 1)
            with suppress(UncommittedEditError, UsageError):
                if self._chance.random() < 0.3:
                    take_back_months(self._vault.store)
                else:
                    leave_out_months(self._vault.store, today, self._chance.randrange(1, 4))
            assert self.status() == status
            assert self.contents() == contents

    def status(self) -> str:
        """Return git's status of the files, new and ignored ones included."""
        return self._person.git("status", "--porcelain", "-uall", "--ignored=matching")

    def contents(self) -> dict[str, bytes]:
        """Return the bytes of each file, from the index if the file is left out."""
        root, git = self._vault.root, self._vault.store.git
        paths = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
        files = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
        sparse_paths = git.index_file.sparse_paths()
        entries = git.index_file.all_entries().items()
        left_out = {path: entry.id for path, entry in entries if path in sparse_paths}
        blobs = git.blobs(left_out.values())
        return {path: blobs[blob] for path, blob in left_out.items()} | files

    def _path(self) -> str:
        paths = self._person.git("ls-tree", "-r", "--name-only", "HEAD", "outcomes", "evaluations")
        return self._chance.choice(paths.split())

    def edit(self) -> None:
        """Save a file, which may have been left out."""
        self._person.write(self._path(), f"edited {self._chance.random()}\n")

    def add(self) -> None:
        """Save a new file beside another."""
        name = self._chance.choice(("mine.yaml", "mine.txt"))
        self._person.write(str(Path(self._path()).parent / name), f"{self._chance.random()}\n")

    def ignore(self) -> None:
        """Save a file that git ignores."""
        self._person.write(f"{self._path()}~", "ignored\n")

    def remove(self) -> None:
        """Remove a file."""
        (self._vault.root / self._path()).unlink(missing_ok=True)

    def stage(self) -> None:
        """Stage all, or one file."""
        self._person.git(
            "add", "--sparse", *self._chance.choice((["-A"], [self._path()])), ok=False
        )

    def intend(self) -> None:
        """Add a file to git without its content; not in a sparse index, where git 2.39 breaks."""
        if self._vault.store.git.settings().is_sparse:
            return
        self.add()
        with_path = self._chance.choice(self.status().splitlines())[3:]
        self._person.git("add", "-N", "--sparse", with_path, ok=False)

    def unstage(self) -> None:
        """Remove everything from the index that is not committed."""
        self._person.git("reset", "-q", ok=False)

    def commit(self) -> None:
        """Commit what is staged."""
        self._person.git("commit", "-qnm", "by hand", ok=False)

    def record(self) -> None:
        """Let the program record an outcome of any month."""
        day, target = self._chance.randrange(-200, 10), str(self._chance.random())
        self._vault.record([("a.json", as_file(raw(day, decision__target=target)))], now=NOW)


def _leave_out(root: Path) -> None:
    leave_out_months(Vault(root).store, TODAY, 2)


def _take_back(root: Path) -> None:
    take_back_months(Vault(root).store)


POINTS = ("cone-written", "cone-set", "window-installed", "closed-file-aside:2")
POINTS_OFF = ("months-returned", "window-installed", "cone-unset:1", "cone-unset:3")
KILLS = [*product([_leave_out], POINTS), *product([_take_back], POINTS_OFF)]
ACTS = ("nothing", "edit", "remove", "stage", "unstage", "commit", "ignore", "record")


@pytest.mark.parametrize(("kill", "act"), pairs(KILLS, ACTS))
def test_a_kill_inside_cold_loses_nothing(
    old_vault: Vault, person: Person, kill: tuple[Callable[[Path], None], str], act: str
) -> None:
    move, point = kill
    (old_vault.root / ".git/info/exclude").open("a").write("*~\n")
    person.write("outcomes/coding/2026/06/mine.txt", "mine\n")
    months = Months(old_vault, person, seed=1)
    if move is _take_back:
        _leave_out(old_vault.root)
    contents = months.contents()
    assert forked.called(move, old_vault.root, f"{point}=kill") == KILLED
    assert contents.items() <= months.contents().items()
    (old_vault.root / ".git/index.lock").unlink(missing_ok=True)  # as git's own message advises
    if act != "nothing":
        getattr(months, act)()
    contents = {path: data for path, data in months.contents().items() if "/.skill" not in path}
    with suppress(UsageError):  # it leaves nothing out any more
        move(old_vault.root)
    assert months.contents() == contents
    _leave_out(old_vault.root)
    take_back_months(old_vault.store)
    assert months.contents() == contents
    assert "sparse" not in (old_vault.root / ".git/config").read_text().lower()
    person.git("write-tree")  # git may name staged trees in a sparse index before it writes them


@pytest.mark.parametrize("saved", [b"saved once more\n", None])
def test_a_file_that_was_aside_at_a_kill_is_put_back(old_vault: Vault, saved: bytes | None) -> None:
    place = closed(old_vault.root)[0]
    aside = place.with_name(f".skillvault-{place.name}-999999999-1.tmp")
    aside.write_bytes(b"saved\n")
    place.unlink()
    if saved:
        place.write_bytes(saved)
    leave_out_months(old_vault.store, TODAY, 2)
    assert place.read_bytes() == (saved or b"saved\n")
    assert not aside.exists()


@pytest.mark.parametrize(
    "seed", range(int(os.environ.get("SKILLVAULT_SEQUENCES", "8" if THOROUGH else "2")))
)
def test_nothing_of_a_person_is_lost(old_vault: Vault, person: Person, seed: int) -> None:
    (old_vault.root / ".git/info/exclude").open("a").write("*~\n")
    Months(old_vault, person, seed).play()
    person.git("write-tree")  # git may name staged trees in a sparse index before it writes them
