"""quarantine: each file with its reason, and its way back."""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from skillvault.model.errors import BadInputError
from skillvault.vault.files.inbox import Inbox
from tests.given import NOW

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


def test_quarantine_is_for_its_owner_only_and_making_the_folders_twice_is_nothing(
    inbox: Inbox,
) -> None:
    assert (inbox.root / "quarantine").stat().st_mode & 0o777 == 0o700
    assert inbox.create_folders() is False


def test_a_link_in_quarantine_is_the_link_and_its_target_is_untouched(
    inbox: Inbox, tmp_path: Path
) -> None:
    target = tmp_path / "target.yaml"
    target.write_text("x: 1\n")
    (inbox.root / "inbox/a.yaml").symlink_to(target)
    inbox.refuse("a.yaml", ERROR, NOW)
    assert (inbox.root / "quarantine/a.yaml").is_symlink()
    assert (reason(inbox, "a.yaml")["sha256"], target.read_text()) == (None, "x: 1\n")
    assert inbox.quarantine.requeue_changed() == []


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
    assert (inbox.names(), inbox.quarantine.file_names()) == ([], ["a.yaml"])


def test_the_same_name_again_gets_a_number(inbox: Inbox) -> None:
    for content in (b"1", b"2", b"3"):
        drop(inbox, "a.yaml", content)
        inbox.refuse("a.yaml", ERROR, NOW)
    drop(inbox, "untrusted/a.yaml", b"4")
    inbox.refuse("untrusted/a.yaml", ERROR, NOW)
    folder = inbox.root / "quarantine"
    assert {n: (folder / n).read_bytes() for n in inbox.quarantine.file_names()} == {
        "a.yaml": b"1", "a-2.yaml": b"2", "a-3.yaml": b"3", "untrusted-a.yaml": b"4",
    }  # fmt: skip


def test_a_file_named_like_a_reason_is_not_taken_for_one_nor_overwritten(inbox: Inbox) -> None:
    drop(inbox, "a.error.json", b"mine")
    drop(inbox, "a", b"other")
    for name in inbox.names():
        inbox.refuse(name, ERROR, NOW)
    folder = inbox.root / "quarantine"
    assert {(folder / n).read_bytes() for n in inbox.quarantine.file_names()} == {b"mine", b"other"}
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("length", [250, 255])
def test_the_longest_names_are_quarantined_too(inbox: Inbox, length: int) -> None:
    name = "x" * (length - 5) + ".yaml"
    drop(inbox, name)
    drop(inbox, f"untrusted/{name}")
    for one in inbox.names():
        inbox.refuse(one, ERROR, NOW)
    assert len(inbox.quarantine.file_names()) == 2
    assert all(name.endswith(".yaml") for name in inbox.quarantine.file_names())


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
    assert inbox.quarantine.requeue_changed() == []
    for name in ("a.yaml", "untrusted-b.yaml"):
        (inbox.root / "quarantine" / name).write_bytes(b"better")
    assert sorted(inbox.quarantine.requeue_changed()) == ["a.yaml", "untrusted/b.yaml"]
    assert (inbox.names(), inbox.quarantine.file_names()) == (["a.yaml", "untrusted/b.yaml"], [])
    assert list((inbox.root / "quarantine").iterdir()) == []


def test_a_corrected_file_does_not_replace_one_that_arrived_meanwhile(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    inbox.refuse("a.yaml", ERROR, NOW)
    drop(inbox, "a.yaml", b"new")
    (inbox.root / "quarantine/a.yaml").write_bytes(b"better")
    assert inbox.quarantine.requeue_changed() == ["a-2.yaml"]
    assert (inbox.root / "inbox/a.yaml").read_bytes() == b"new"


@pytest.mark.parametrize("said", ["", "{", "[]", "null", "\xff", None])
def test_a_quarantined_file_without_a_readable_reason_stays(inbox: Inbox, said: str | None) -> None:
    place = inbox.root / "quarantine/a.yaml"
    place.write_bytes(b"x")
    if said is not None:
        place.with_name("a.yaml.error.json").write_text(said, encoding="latin-1")
    assert (inbox.quarantine.requeue_changed(), inbox.quarantine.file_names()) == ([], ["a.yaml"])


def test_a_reason_cannot_send_a_file_out_of_the_inbox(inbox: Inbox) -> None:
    drop(inbox, "a.yaml")
    inbox.refuse("a.yaml", ERROR, NOW)
    path = inbox.root / "quarantine/a.yaml.error.json"
    said = {**reason(inbox, "a.yaml"), "from": "../../x.yaml", "sha256": "", "state": None}
    path.write_text(json.dumps(said))
    assert inbox.quarantine.requeue_changed() == ["x.yaml"]
    assert inbox.names() == ["x.yaml"]
