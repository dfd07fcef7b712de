"""The index heals itself: what cannot be is built anew from git, once, and that is said."""

import gc
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from skillvault.loop.registry import AGENDA
from skillvault.model.errors import DamagedIndexError
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.search.ranking import Terms
from tests.conftest import Person, unguarded
from tests.given import NOW, as_file, trade
from tests.thorough import pairs

Harm = Callable[[Path], None]
PAGE = 4096
INDEX = ".git/skillvault/index.db"


def executed(*statements: str) -> Harm:
    """Return a harm that runs SQL statements on the index."""

    def harm(place: Path) -> None:
        with closing(sqlite3.connect(place)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    return harm


def overwritten(page: int, content: bytes) -> Harm:
    """Return a harm that overwrites one page of the index."""

    def harm(place: Path) -> None:
        with place.open("rb+") as file:
            file.seek(page * PAGE)
            file.write(content)

    return harm


def cut_off(place: Path) -> None:
    os.truncate(place, 3 * PAGE)


# Whatever asks meets these.
LOUD: dict[str, Harm] = {
    "a truncated file": cut_off,
    "no database": overwritten(0, b"x" * PAGE),
    "a page of nothing": overwritten(1, bytes(PAGE)),
    "a page of noise": overwritten(2, b"\xfe\x01" * (PAGE // 2)),
    "no table of files": executed("drop table file"),
    "no table of the state": executed("drop table state"),
    "records that are none": executed("update file set value = x'ff01'"),
    "a kept policy that is none": executed(
        "update state set value = substr(value, 1, 40) || x'ff' where name = 'policy'"
    ),
    "a commit that git does not have": executed(
        "update state set value = hex(zeroblob(20)) where name = 'commit'"
    ),
    "an older commit": executed(
        "update state set value = (select sha from commits where depth = 1) where name = 'commit'"
    ),
    "another vault.yaml": executed(
        "update file set blob = hex(zeroblob(20)) where path = 'vault.yaml'",
        "delete from state where name = 'policy'",
    ),
    "no texts to be found": executed("delete from ranked_text_content"),
}
# What is right by itself only `check` and `doctor` can tell.
SILENT: dict[str, Harm] = {
    "a file less": executed("delete from file where path like 'evaluations/%'"),
    "a file too many": executed(
        "insert into file (path, blob, top) select 'memory/none.md', blob, 'memory' from file "
        "where path = 'vault.yaml'"
    ),
    "another blob": executed(
        "update file set blob = hex(zeroblob(20)) where path like 'outcomes/%'"
    ),
    "an outcome less": executed("delete from outcome where n = (select min(n) from outcome)"),
    "an outcome twice": executed(
        "insert into outcome select n + 100000, id, domain, action, target, trust, at, event, "
        "session, decision, status, task, agent, scope, counts from outcome"
    ),
    "a commit less": executed("delete from commits where depth = 2"),
    "a commit too many": executed(
        "insert into commits values (100000, hex(zeroblob(20)), 0, 1, '', 'run', '')"
    ),
    "a trailer less": executed("delete from trailer where c = (select max(c) from trailer)"),
    "nothing to be found": executed("delete from ranked"),
    "another text": executed("update ranked_text set body = 'nothing' where rowid > 0"),
}


@pytest.fixture(scope="module")
def taught(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that has learned."""
    vault = Vault(unguarded(_new_vault, tmp_path_factory.mktemp("taught") / "vault"))
    files = [(f"{n}.json", as_file(trade(n, -0.11 - n / 1000))) for n in range(8)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    told(vault)
    root = vault.root
    del vault
    gc.collect()  # who was told still holds the index open, and would be waited for
    with closing(sqlite3.connect(root / INDEX)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
    return root


@pytest.fixture
def learned(tmp_path: Path, taught: Path) -> Vault:
    """A vault that has learned, its index in one file."""
    return Vault(unguarded(taught, tmp_path / "vault"))


def place(vault: Vault) -> Path:
    return vault.root / INDEX


def told(vault: Vault) -> tuple[object, ...]:
    """Return the answer that a fresh process gets from each command."""
    fresh = Vault.open(vault.root)
    served = fresh.recommend("perps", "a long that is stopped out in a cascade").recommended
    report = fresh.run(now=NOW)
    texts = fresh.search("funding", semantic=False)
    return served, fresh.status(), report.done, report.waiting, texts, fresh.check().problems


@pytest.mark.parametrize("name", LOUD)
def test_whatever_cannot_be_is_built_anew_and_the_command_goes_on(
    learned: Vault, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = told(learned)
    LOUD[name](place(learned))
    assert told(learned) == before
    assert len(caplog.messages) <= 1
    caplog.clear()
    assert told(learned) == before
    assert caplog.messages == []


@pytest.mark.parametrize(("name", "door"), pairs(list(SILENT), ["check", "doctor"]))
def test_what_git_says_otherwise_is_told_once_and_built_anew(
    learned: Vault, name: str, door: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = told(learned)
    SILENT[name](place(learned))
    if door == "check":
        assert Vault.open(learned.root).check().problems == []
    else:
        rows = {row.check: row.state for row in doctor(learned.root, now=NOW)}
        assert rows["database"] == "note"
    (message,) = caplog.messages
    assert message.startswith(f"{place(learned)}: damaged (")
    assert message.endswith("it is built again from git")
    assert told(learned) == before
    assert caplog.messages == [message]


def test_doctor_says_what_is_damaged_by_itself(learned: Vault) -> None:
    executed("insert into commits select c + 100000, sha || 'x', part, 1, '', '', '' from commits")(
        place(learned)
    )
    rows = {row.check: row for row in doctor(learned.root, now=NOW)}
    assert rows["database"].state == "note"
    rows = {row.check: row for row in doctor(learned.root, now=NOW)}
    assert rows["database"].state == "ok"


def test_nothing_is_committed_by_what_the_index_does_not_know(learned: Vault) -> None:
    person = Person(learned.root)
    executed(
        "delete from file where path like 'evaluations/%'",
        "insert into due select 'evaluate', id from outcome",
    )(place(learned))
    tip = person.git("rev-parse", "HEAD")
    report = Vault.open(learned.root).run(now=NOW)
    assert person.git("rev-parse", "HEAD") == tip
    assert {one.reason for one in report.waiting} <= {"changed in git meanwhile; run again"}
    assert Vault.open(learned.root).run(now=NOW).waiting == []
    assert person.git("rev-parse", "HEAD") == tip


def test_what_fails_again_is_said_with_the_next_step() -> None:
    database = IndexDatabase(None, lambda: None, AGENDA)
    with pytest.raises(DamagedIndexError, match=r"fails again .*; run `git fsck --full`"):
        database.rows("select nothing from nowhere")


def test_a_pin_has_its_index_built_anew_once(
    learned: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    head = learned.store.snapshot()
    with pytest.raises(DamagedIndexError, match="fails again"):
        head.rows("select nothing from nowhere")
    assert len(caplog.messages) == 1


def test_what_tells_the_meaning_may_fail_and_the_index_stays(
    learned: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    def near(_terms: Terms, _texts: Sequence[Sequence[str]]) -> list[float]:
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        learned.store.snapshot().search("funding", 3, nearness=near)
    assert caplog.messages == []


@pytest.mark.parametrize("harm", [None, "a trailer less"])
def test_who_commits_while_it_is_compared_with_git_is_no_contradiction(
    learned: Vault,
    harm: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if harm:
        SILENT[harm](place(learned))
    store = Vault.open(learned.root).store
    store.follow()
    git, trades = store.git, [trade(10, 0.21), trade(11, 0.22)]
    read_files, read_commits = git.objects.files, git.history.commits

    def record_another() -> None:
        if trades:
            assert learned.record([("b.json", as_file(trades.pop()))], now=NOW).done

    def files(commit: str) -> object:
        record_another()
        return read_files(commit)

    def commits(span: str) -> object:
        record_another()
        return read_commits(span)

    monkeypatch.setattr(git.objects, "files", files)
    monkeypatch.setattr(git.history, "commits", commits)
    assert store.index.verify() is bool(harm)
    assert trades == []
    assert len(caplog.messages) == bool(harm)


def test_a_history_made_deeper_is_read_anew(vault: Vault, person: Person, tmp_path: Path) -> None:
    files = [(f"{n}.json", as_file(trade(n, -0.11 - n / 1000))) for n in range(3)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    assert vault.skills() != []
    person.git("rm", "-rq", "skills", "evaluations/*.links.yaml")
    person.git("commit", "-qm", "not these")
    person.git("commit", "--allow-empty", "-qm", "later")
    clone = tmp_path / "clone"
    person.git("clone", "-q", "--depth", "1", f"file://{vault.root}", str(clone))
    theirs = Person(clone)
    assert "shallow" in (Vault.open(clone).status().paused or "")
    theirs.git("fetch", "-q", "--unshallow")
    before = theirs.git("rev-parse", "HEAD")
    Vault.open(clone).run(now=NOW)
    assert [skill.name for skill in Vault.open(clone).skills()] == []
    assert theirs.git("rev-parse", "HEAD") == before
