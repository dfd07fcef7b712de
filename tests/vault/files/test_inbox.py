"""inbox: the door takes regular files only, loses none, and says why it refuses one."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.errors import BadInputError
from skillvault.vault.files.inbox import MAX_OUTCOME, Inbox
from tests.given import NOW, as_file, raw

PATIENCE = 30.0  # seconds within which a busy machine has done next to nothing
ERROR = BadInputError("domain: missing; add it", code="missing-key", key="domain", line=3)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    made = Inbox(tmp_path)
    made.create()
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
        inbox.read(name)
    return caught.value.code


# ── what is seen ─────────────────────────────────────────────────────────────────────


def test_quarantine_is_for_its_owner_only_and_making_the_folders_twice_is_nothing(
    inbox: Inbox,
) -> None:
    assert (inbox.root / "quarantine").stat().st_mode & 0o777 == 0o700
    assert inbox.create() is False


def test_names_are_sorted_and_both_doors_are_seen(inbox: Inbox) -> None:
    for name in ("b.yaml", "a.json", "untrusted/c.md", "what.txt"):
        drop(inbox, name)
    assert inbox.names() == ["a.json", "b.yaml", "untrusted/c.md", "what.txt"]


@pytest.mark.parametrize("name", [".hidden.yaml", "a.tmp", "a.yaml.part", "a.yaml~", ".a.swp"])
def test_a_draft_of_another_program_is_not_seen(inbox: Inbox, name: str) -> None:
    drop(inbox, name)
    drop(inbox, f"untrusted/{name}")
    assert inbox.names() == []


def test_a_folder_a_pipe_and_a_socket_are_left_alone(inbox: Inbox) -> None:
    (inbox.root / "inbox/folder.yaml").mkdir()
    os.mkfifo(inbox.root / "inbox/pipe.yaml")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(inbox.root / "inbox/socket.yaml"))
        assert inbox.names() == []


def test_without_an_inbox_nothing_waits(tmp_path: Path) -> None:
    assert (Inbox(tmp_path).names(), Inbox(tmp_path).quarantined()) == ([], [])


# ── what is taken ────────────────────────────────────────────────────────────────────


def test_a_file_is_worth_what_its_door_is_worth(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    drop(inbox, "untrusted/a.yaml")
    found = [inbox.read(name) for name in inbox.names()]
    assert [(f.name, f.trust) for f in found if f] == [
        ("a.yaml", "local"),
        ("untrusted/a.yaml", "untrusted"),
    ]


def test_a_link_is_not_followed(inbox: Inbox, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("x: 1\n")
    (inbox.root / "inbox/a.yaml").symlink_to(tmp_path / "secret.yaml")
    (inbox.root / "inbox/b.yaml").symlink_to("/nowhere")
    assert [refused(inbox, name) for name in inbox.names()] == ["not-a-file", "not-a-file"]


def test_a_link_in_quarantine_is_the_link_and_its_target_is_untouched(
    inbox: Inbox, tmp_path: Path
) -> None:
    target = tmp_path / "target.yaml"
    target.write_text("x: 1\n")
    (inbox.root / "inbox/a.yaml").symlink_to(target)
    inbox.refuse("a.yaml", ERROR, NOW)
    assert (inbox.root / "quarantine/a.yaml").is_symlink()
    assert (reason(inbox, "a.yaml")["sha256"], target.read_text()) == (None, "x: 1\n")
    assert inbox.requeue_changed() == []


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
        assert inbox.read("a.yaml") is not None
    else:
        assert refused(inbox, "a.yaml") == "too-large"


def test_five_megabytes_are_refused_with_their_size(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", b"x" * 5 * 1024 * 1024)
    with pytest.raises(BadInputError, match="5120 KiB; an outcome may have 256 KiB"):
        inbox.read("a.yaml")


def test_another_ending_is_refused_with_the_ones_there_are(inbox: Inbox) -> None:
    drop(inbox, "a.txt")
    with pytest.raises(BadInputError, match=r"\.yaml, \.yml, \.json, \.md"):
        inbox.read("a.txt")


def test_a_file_that_vanished_since_the_scan_is_nothing(inbox: Inbox) -> None:
    assert inbox.read("gone.yaml") is None
    inbox.done(["gone.yaml"])


# ── waiting until files are still ────────────────────────────────────────────────────


def test_old_files_are_taken_at_once(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", age=120)
    start = time.monotonic()
    assert inbox.settle(60)[1] == []
    assert time.monotonic() - start < PATIENCE


def test_a_young_file_is_waited_for(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", age=0)
    start = time.monotonic()
    assert inbox.settle(0.4)[1] == []
    assert 0.3 < time.monotonic() - start < PATIENCE


def test_a_file_from_the_future_is_taken_when_it_was_still_for_the_time(inbox: Inbox) -> None:
    drop(inbox, "untrusted/a.yaml", age=-100_000)
    start = time.monotonic()
    assert inbox.settle(0.3)[1] == []
    assert 0.2 < time.monotonic() - start < PATIENCE


def test_a_file_that_is_written_all_the_time_is_named_and_left(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.files.inbox._PATIENCE", 0.2)  # the clock
    drop(inbox, "old.yaml")
    path = drop(inbox, "a.yaml", age=0)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.02):
            path.write_bytes(b"x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert inbox.settle(0.2)[1] == ["a.yaml"]
    finally:
        stop.set()
        writer.join()


# ── putting files in ─────────────────────────────────────────────────────────────────


def test_a_file_is_put_under_a_free_name_and_replaces_none(inbox: Inbox) -> None:
    names = list(inbox.put([("a.yaml", b"1"), ("a.yaml", b"2"), ("b/../a.yaml", b"3")]))
    assert names == ["a.yaml", "a-2.yaml", "a-3.yaml"]
    assert [(inbox.root / "inbox" / name).read_bytes() for name in names] == [b"1", b"2", b"3"]
    assert sorted(p.name for p in (inbox.root / "inbox").iterdir()) == [*sorted(names), "untrusted"]


@pytest.mark.parametrize(
    "name",
    [".outcome.yaml", "x" * 400 + ".json", "é" * 200 + ".md", "a\nb\x1b[1m.yaml", "\udcff.md"],
)
def test_a_file_that_was_put_is_seen_whatever_its_name(inbox: Inbox, name: str) -> None:
    found = list(inbox.put([(name, b"x"), (name, b"y")]))
    assert inbox.names() == sorted(found)
    assert all(one.isprintable() for one in found)


# ── quarantine ───────────────────────────────────────────────────────────────────────


def test_a_refused_file_is_moved_with_its_reason_beside_it(inbox: Inbox) -> None:
    drop(inbox, "a.yaml", b"bytes\xff")
    made = inbox.refuse("a.yaml", ERROR, NOW)
    assert (made.file, made.code, made.message, made.line) == (
        "a.yaml",
        "missing-key",
        ERROR.message,
        3,
    )
    assert (inbox.root / "quarantine/a.yaml").read_bytes() == b"bytes\xff"
    state = (inbox.root / "quarantine/a.yaml").stat()
    assert reason(inbox, "a.yaml") == {
        "code": "missing-key",
        "message": "domain: missing; add it",
        "line": 3,
        "sha256": hashlib.sha256(b"bytes\xff").hexdigest(),
        "state": [state.st_size, state.st_mtime_ns],
        "at": "2026-11-20T12:00:00Z",
        "from": "a.yaml",
    }
    assert (inbox.names(), inbox.quarantined()) == ([], ["a.yaml"])


def test_the_same_name_again_gets_a_number(inbox: Inbox) -> None:
    for content in (b"1", b"2", b"3"):
        drop(inbox, "a.yaml", content)
        inbox.refuse("a.yaml", ERROR, NOW)
    drop(inbox, "untrusted/a.yaml", b"4")
    inbox.refuse("untrusted/a.yaml", ERROR, NOW)
    folder = inbox.root / "quarantine"
    assert {n: (folder / n).read_bytes() for n in inbox.quarantined()} == {
        "a.yaml": b"1", "a-2.yaml": b"2", "a-3.yaml": b"3", "untrusted-a.yaml": b"4",
    }  # fmt: skip


def test_a_file_named_like_a_reason_is_not_taken_for_one_nor_overwritten(inbox: Inbox) -> None:
    drop(inbox, "a.error.json", b"mine")
    drop(inbox, "a", b"other")
    for name in inbox.names():
        inbox.refuse(name, ERROR, NOW)
    folder = inbox.root / "quarantine"
    assert {(folder / n).read_bytes() for n in inbox.quarantined()} == {b"mine", b"other"}
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("length", [250, 255])
def test_the_longest_names_are_quarantined_too(inbox: Inbox, length: int) -> None:
    name = "x" * (length - 5) + ".yaml"
    drop(inbox, name)
    drop(inbox, f"untrusted/{name}")
    for one in inbox.names():
        inbox.refuse(one, ERROR, NOW)
    assert len(inbox.quarantined()) == 2
    assert all(name.endswith(".yaml") for name in inbox.quarantined())


def test_a_name_that_cannot_be_printed_is_quarantined_under_one_that_can(inbox: Inbox) -> None:
    raw_name = os.fsencode(inbox.root / "inbox") + b"/a\xff\n\x1b[31m.yaml"
    Path(os.fsdecode(raw_name)).write_bytes(b"x")
    made = inbox.refuse(inbox.names()[0], ERROR, NOW)
    assert made.file == "a___[31m.yaml"
    assert reason(inbox, made.file)["from"] == "a\udcff\n\x1b[31m.yaml"


def test_a_file_that_vanished_before_it_was_refused_leaves_no_reason(inbox: Inbox) -> None:
    made = inbox.refuse("gone.yaml", ERROR, NOW)
    assert (made.code, list((inbox.root / "quarantine").iterdir())) == ("missing-key", [])


def test_a_corrected_file_goes_back_through_the_door_it_came_by(inbox: Inbox) -> None:
    for name in ("a.yaml", "untrusted/b.yaml"):
        drop(inbox, name)
        inbox.refuse(name, ERROR, NOW)
    assert inbox.requeue_changed() == []
    for name in ("a.yaml", "untrusted-b.yaml"):
        (inbox.root / "quarantine" / name).write_bytes(b"better")
    assert sorted(inbox.requeue_changed()) == ["a.yaml", "untrusted/b.yaml"]
    assert (inbox.names(), inbox.quarantined()) == (["a.yaml", "untrusted/b.yaml"], [])
    assert list((inbox.root / "quarantine").iterdir()) == []


def test_a_corrected_file_does_not_replace_one_that_arrived_meanwhile(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    inbox.refuse("a.yaml", ERROR, NOW)
    drop(inbox, "a.yaml", b"new")
    (inbox.root / "quarantine/a.yaml").write_bytes(b"better")
    assert inbox.requeue_changed() == ["a-2.yaml"]
    assert (inbox.root / "inbox/a.yaml").read_bytes() == b"new"


@pytest.mark.parametrize("said", ["", "{", "[]", "null", "\xff", None])
def test_a_quarantined_file_without_a_readable_reason_stays(inbox: Inbox, said: str | None) -> None:
    place = inbox.root / "quarantine/a.yaml"
    place.write_bytes(b"x")
    if said is not None:
        place.with_name("a.yaml.error.json").write_text(said, encoding="latin-1")
    assert (inbox.requeue_changed(), inbox.quarantined()) == ([], ["a.yaml"])


def test_a_reason_cannot_send_a_file_out_of_the_inbox(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    inbox.refuse("a.yaml", ERROR, NOW)
    path = inbox.root / "quarantine/a.yaml.error.json"
    said = {**reason(inbox, "a.yaml"), "from": "../../x.yaml", "sha256": "", "state": None}
    path.write_text(json.dumps(said))
    assert inbox.requeue_changed() == ["x.yaml"]
    assert inbox.names() == ["x.yaml"]


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
    assert len(vault.store.head().outcomes) == 1
    assert vault.inbox.names() == []
    assert vault.check().problems == []


def test_what_comes_by_the_untrusted_door_stays_untrusted(vault: Vault) -> None:
    (vault.root / "inbox/untrusted/a.json").write_bytes(as_file(raw(source__trust="local")))
    vault.run(["record"], now=NOW)
    assert [o.trust for o in vault.store.head().outcomes.values()] == ["untrusted"]


def test_a_quarantined_file_that_is_corrected_is_taken_by_the_next_run(vault: Vault) -> None:
    (vault.root / "inbox/a.json").write_bytes(b"{")
    vault.run(["record"], now=NOW)
    assert vault.run(["record"], now=NOW).quarantined == []
    (vault.root / "quarantine/a.json").write_bytes(as_file(raw()))
    vault.run(["record"], now=NOW)
    assert len(vault.store.head().outcomes) == 1
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
