"""inbox: the door takes regular files only, loses none, and says why it refuses one."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.errors import BadInputError
from skillvault.vault.files.arrival import MAX_OUTCOME
from skillvault.vault.files.inbox import Inbox, TakenFiles
from tests.given import NOW, as_file, raw

PATIENCE = 30.0  # seconds within which a busy machine has done next to nothing
ERROR = BadInputError("domain: missing; add it", code="missing-key", key="domain", line=3)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    made = Inbox(tmp_path)
    made.create_folders()
    return made


def drop(inbox: Inbox, name: str, data: bytes = b"x: 1\n", age: float = 10) -> Path:
    path = inbox.root / "inbox" / name
    path.write_bytes(data)
    at = time.time() - age
    os.utime(path, (at, at))
    return path


def reason(inbox: Inbox, name: str) -> dict[str, Any]:
    path = inbox.root / "quarantine" / f"{name}.error.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def refused(inbox: Inbox, name: str) -> str:
    with pytest.raises(BadInputError) as caught:
        inbox.read_file(name)
    return caught.value.code


# ── what is seen ─────────────────────────────────────────────────────────────────────


def test_names_are_sorted_and_both_doors_are_seen(inbox: Inbox) -> None:
    for name in ("b.yaml", "a.json", "untrusted/c.md", "what.txt"):
        drop(inbox, name)
    assert inbox.names() == ["a.json", "b.yaml", "untrusted/c.md", "what.txt"]


@pytest.mark.parametrize("name", [".hidden.yaml", "a.tmp", "a.yaml.part", "a.yaml~", ".a.swp"])
def test_a_draft_of_another_program_is_not_seen(inbox: Inbox, name: str) -> None:
    drop(inbox, name)
    drop(inbox, f"untrusted/{name}")
    assert inbox.names() == []


@pytest.mark.parametrize("name", ["a", "untrusted/b"])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [(stat.S_IFDIR, "a folder"), (stat.S_IFIFO, "a FIFO"), (stat.S_IFSOCK, "a socket")],
)
def test_what_is_no_file_is_left_alone_and_named(
    inbox: Inbox, name: str, kind: int, reason: str
) -> None:
    place = inbox.root / "inbox" / name
    if kind == stat.S_IFDIR:
        place.mkdir()
    else:
        os.mknod(place, kind)
    drop(inbox, "c.yaml")
    assert inbox.names() == ["c.yaml"]
    ((why, names),) = inbox.obstacles().items()
    assert (why.startswith(reason), names) == (True, [name])


def test_without_an_inbox_nothing_waits(tmp_path: Path) -> None:
    assert (Inbox(tmp_path).names(), Inbox(tmp_path).quarantine.file_names()) == ([], [])


# ── what is taken ────────────────────────────────────────────────────────────────────


def test_a_file_is_worth_what_its_door_is_worth(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    drop(inbox, "untrusted/a.yaml")
    found = [inbox.read_file(name) for name in inbox.names()]
    assert [(f.name, f.trust) for f in found if f] == [
        ("a.yaml", "local"),
        ("untrusted/a.yaml", "untrusted"),
    ]


def test_a_link_is_not_followed(inbox: Inbox, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("x: 1\n")
    (inbox.root / "inbox/a.yaml").symlink_to(tmp_path / "secret.yaml")
    (inbox.root / "inbox/b.yaml").symlink_to("/nowhere")
    assert [refused(inbox, name) for name in inbox.names()] == ["not-a-file", "not-a-file"]


def test_a_pipe_that_takes_a_file_s_place_does_not_hang_the_run(inbox: Inbox) -> None:
    os.mkfifo(inbox.root / "inbox/a.yaml")
    assert refused(inbox, "a.yaml") == "not-a-file"


def test_a_folder_that_takes_a_file_s_place_is_refused(inbox: Inbox) -> None:
    (inbox.root / "inbox/a.yaml").mkdir()
    assert refused(inbox, "a.yaml") == "not-a-file"


@pytest.mark.parametrize(("size", "fine"), [(MAX_OUTCOME, True), (MAX_OUTCOME + 1, False)])
def test_an_outcome_may_have_256_kib(inbox: Inbox, size: int, fine: bool) -> None:
    drop(inbox, "a.yaml", b"x" * size)
    if fine:
        assert inbox.read_file("a.yaml") is not None
    else:
        assert refused(inbox, "a.yaml") == "too-large"


def test_five_megabytes_are_refused_with_their_size(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", b"x" * 5 * 1024 * 1024)
    with pytest.raises(BadInputError, match="5120 KiB; an outcome may have 256 KiB"):
        inbox.read_file("a.yaml")


def test_another_ending_is_refused_with_the_ones_there_are(inbox: Inbox) -> None:
    drop(inbox, "a.txt")
    with pytest.raises(BadInputError, match=r"\.yaml, \.yml, \.json, \.md"):
        inbox.read_file("a.txt")


def test_a_file_that_vanished_since_the_scan_is_nothing(inbox: Inbox) -> None:
    assert inbox.read_file("gone.yaml") is None
    inbox.mark_done(["gone.yaml"], TakenFiles(inbox.root, inbox.root / "taken"), "0" * 40)
    assert not (inbox.root / "taken").exists()


def test_threads_that_drop_files_at_once_do_not_mix_them_up(inbox: Inbox) -> None:
    def drop_many(thread: int) -> dict[str, bytes]:
        contents = [f"{thread}-{number} ".encode() * 500 for number in range(50)]
        names = inbox.drop(("one.json", content) for content in contents)
        return dict(zip(names, contents, strict=True))

    with ThreadPoolExecutor(8) as pool:
        dropped = [pair for files in pool.map(drop_many, range(8)) for pair in files.items()]
    assert len(inbox.names()) == len(dropped) == 400
    for name, content in dropped:
        assert (inbox.root / "inbox" / name).read_bytes() == content


# ── waiting until files are still ────────────────────────────────────────────────────


def test_old_files_are_taken_at_once(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", age=120)
    start = time.monotonic()
    assert inbox.wait_until_stable(60)[1] == []
    assert time.monotonic() - start < PATIENCE


def test_a_young_file_is_waited_for(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", age=0)
    start = time.monotonic()
    assert inbox.wait_until_stable(0.4)[1] == []
    assert 0.3 < time.monotonic() - start < PATIENCE


def test_a_file_from_the_future_is_taken_when_it_was_still_for_the_time(inbox: Inbox) -> None:
    drop(inbox, "untrusted/a.yaml", age=-100_000)
    start = time.monotonic()
    assert inbox.wait_until_stable(0.3)[1] == []
    assert 0.2 < time.monotonic() - start < PATIENCE


def test_a_file_that_is_written_all_the_time_is_named_and_left(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.files.inbox._CHANGING_SECONDS", 0.2)  # the clock
    drop(inbox, "old.yaml")
    path = drop(inbox, "a.yaml", age=0)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.02):
            path.write_bytes(b"x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert inbox.wait_until_stable(0.2)[1] == ["a.yaml"]
    finally:
        stop.set()
        writer.join()


# ── putting files in ─────────────────────────────────────────────────────────────────


def test_a_file_is_put_under_a_free_name_and_replaces_none(inbox: Inbox) -> None:
    names = list(inbox.drop([("a.yaml", b"1"), ("a.yaml", b"2"), ("b/../a.yaml", b"3")]))
    assert names == ["a.yaml", "a-2.yaml", "a-3.yaml"]
    assert [(inbox.root / "inbox" / name).read_bytes() for name in names] == [b"1", b"2", b"3"]
    assert sorted(p.name for p in (inbox.root / "inbox").iterdir()) == [*sorted(names), "untrusted"]


@pytest.mark.parametrize(
    "name",
    [".outcome.yaml", "x" * 400 + ".json", "é" * 200 + ".md", "a\nb\x1b[1m.yaml", "\udcff.md"],
)
def test_a_file_that_was_put_is_seen_whatever_its_name(inbox: Inbox, name: str) -> None:
    found = list(inbox.drop([(name, b"x"), (name, b"y")]))
    assert inbox.names() == sorted(found)
    assert all(one.isprintable() for one in found)


# ── quarantine ───────────────────────────────────────────────────────────────────────


# ── with the vault around it ─────────────────────────────────────────────────────────


def test_bad_files_are_quarantined_and_the_good_ones_go_on(vault: Vault) -> None:
    bad = {
        "half.yaml": b"domain: coding\ndecision: {",
        "nul.json": as_file(raw(decision__action="a\0b", source__agent="a\0b")),
        "latin.md": "---\ndomain: é\n---\n".encode("latin-1"),
        "big.json": b"x" * 5 * 1024 * 1024,
        "up.json": as_file(raw(domain="../../etc")),
        "line.json": as_file(raw(domain="perps\n")),
        "percent.json": as_file(raw(result={"score": -11.2})),
    }
    for name, data in {**bad, "good.json": as_file(raw())}.items():
        (vault.root / "inbox" / name).write_bytes(data)
    report = vault.run(["record"], now=NOW)
    assert sorted(refused.file for refused in report.quarantined) == sorted(bad)
    assert len(vault.store.snapshot().outcomes) == 1
    assert vault.inbox.names() == []
    assert vault.check().problems == []


def test_what_comes_by_the_untrusted_door_stays_untrusted(vault: Vault) -> None:
    (vault.root / "inbox/untrusted/a.json").write_bytes(as_file(raw(source__trust="local")))
    vault.run(["record"], now=NOW)
    assert [o.trust for o in vault.store.snapshot().outcomes.values()] == ["untrusted"]


def test_a_quarantined_file_that_is_corrected_is_taken_by_the_next_run(vault: Vault) -> None:
    (vault.root / "inbox/a.json").write_bytes(b"{")
    vault.run(["record"], now=NOW)
    assert vault.run(["record"], now=NOW).quarantined == []
    (vault.root / "quarantine/a.json").write_bytes(as_file(raw()))
    vault.run(["record"], now=NOW)
    assert len(vault.store.snapshot().outcomes) == 1
    assert list((vault.root / "quarantine").iterdir()) == []


def test_the_draft_of_a_killed_writer_goes_and_that_of_a_living_one_stays(vault: Vault) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    drafts = [vault.root / "inbox" / f".{pid}.tmp" for pid in (dead, os.getpid())]
    fresh = vault.root / "inbox" / f".{dead}0.tmp"
    for draft in (*drafts, fresh):
        draft.write_text("half")
    for draft in drafts:
        os.utime(draft, (0, time.time() - 120))
    vault.run(now=NOW)
    assert [draft.exists() for draft in (*drafts, fresh)] == [False, True, True]
