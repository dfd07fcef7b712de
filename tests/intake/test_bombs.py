"""Input made to break a reader is refused with its code, or taken, in little time and memory."""

import contextlib
import itertools
import json
import os
import socket
import stat
import string
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.codec import parse_incoming
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_outcome
from skillvault.model.text.front_matter import MAX_FRONT_MATTER
from skillvault.vault.files.arrival import MAX_OUTCOME
from skillvault.vault.files.inbox import Inbox
from tests.conftest import Person
from tests.given import NOW, as_file, raw
from tests.intake.timed import loop_seconds, seconds, taken

GIB = 1024**3
KEYS = [
    "".join(key)
    for key in itertools.islice(itertools.permutations(string.ascii_letters, 3), 50_000)
]
HEAD = "domain: coding\noccurred_at: 2026-11-01T00:00:00Z\ndecision: {action: %s}\n"
END = "result: {status: success}\n"


def text(name: str, more: str = "") -> bytes:
    """A valid outcome in YAML that can be told from the others, with more behind it."""
    return (HEAD % name + END + more).encode()


def number(digits: str) -> bytes:
    """An outcome in JSON with a number as it is written."""
    return as_file(raw(context={"n": "@"})).replace(b'"@"', digits.encode())


def laughs() -> bytes:
    """Nine lists, each of nine of the one before: a billion words."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(["a0: &a0 [lol, lol]", *lines, ""]).encode()


def markdown(front: int) -> bytes:
    """An outcome in markdown whose front matter has so many bytes."""
    plain = text("front").decode()
    fill = "#" * (front - len(plain) - 1)
    return f"---\n{plain}{fill}\n---\nBecause.\n".encode()


BOMBS: dict[str, tuple[bytes, str]] = {
    "laughs.yaml": (laughs(), "anchor"),
    "merge.yaml": (text("merge", "x: {<<: {a: 1}}\n"), "anchor"),
    "object.yaml": (text("tag", 'x: !!python/object/apply:os.system ["true"]\n'), "tag"),
    "lists.json": (b"[" * 100_000, "too-deep"),
    "maps.json": (b'{"a":' * 50_000, "too-deep"),
    "closed.json": (b"[" * 100_000 + b"]" * 100_000, "too-deep"),
    "flow.yaml": (b"a: " + b"[" * 10_000 + b"]" * 10_000, "too-deep"),
    "maps.yaml": (b"{a: " * 10_000, "too-deep"),
    "block.yaml": (b"- " * 100_000, "too-deep"),
    "asked.yaml": (b"? " * 100_000, "bad-key"),
    "large.yaml": (b"# " + b"x" * 300 * 1024, "too-large"),
    "large.json": (b" " * MAX_OUTCOME + as_file(raw()), "too-large"),
    "front.md": (markdown(MAX_FRONT_MATTER + 1), "too-large"),
    "whole-front.md": (markdown(MAX_FRONT_MATTER - 1), "taken"),
    "keys.yaml": ("".join(f"{key}:\n" for key in KEYS).encode(), "missing-key"),
    "kept-keys.yaml": (text("keys", "".join(f"{key}:\n" for key in KEYS)), "taken"),
    "twice.yaml": ("".join(f"{key}:\n" for key in [*KEYS, KEYS[-1]]).encode(), "duplicate-key"),
    "string.json": (as_file(raw(decision__reasoning="word " * 40_000)), "taken"),
    "evidence.json": (as_file(raw(result__evidence="word " * 40_000)), "too-large"),
    "action.json": (as_file(raw(decision__action="x" * 200_000)), "taken"),
    "digits.json": (number("9" * 100_000), "bad-value"),
    "digits.yaml": (text("digits", "x: " + "9" * 100_000), "yaml"),
    "fraction.json": (number("0." + "9" * 100_000), "taken"),
    "infinite.json": (number("1e999999"), "bad-value"),
    "infinite.yaml": (text("infinite", "x: 1e999999"), "yaml"),
    "tiny.json": (number("1e-999999"), "taken"),
    "date.json": (as_file(raw(occurred_at="9999999-99-99")), "wrong-type"),
    "date.yaml": (text("date").replace(b"2026-11-01T00:00:00Z", b"9999999-99-99"), "wrong-type"),
    "late.json": (as_file(raw(occurred_at="9999-12-31T23:59:59-23:59")), "bad-value"),
    "early.json": (as_file(raw(occurred_at="0001-01-01T00:00:00+23:59")), "bad-value"),
    "comments.yaml": (b"#\n" * 100_000 + text("comments"), "taken"),
    "lines.yaml": (b"\r\n" * 120_000 + text("lines"), "taken"),
    "returns.yaml": (b"\r" * 200_000 + text("returns"), "taken"),
    "body.md": (b"---\r\n" + text("body") + b"---\r\n" + b"\r\n" * 100_000, "taken"),
    "rules.md": (b"---\n" + text("rules") + b"---\n" * 60_000, "taken"),
    "spaces.md": (b"---" + b" " * 200_000 + b"x", "no-front-matter"),
    "empty.yaml": (b"", "truncated"),
    "empty.json": (b"", "truncated"),
    "blank.md": (b" \n" * 100_000, "truncated"),
}  # fmt: skip


# ── content ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", [name for name, (data, _) in BOMBS.items() if len(data) <= MAX_OUTCOME]
)
def test_a_bomb_is_soon_taken_or_refused_as_its_code_says(name: str) -> None:
    data, code = BOMBS[name]
    start = time.process_time()
    assert taken(name, data) == code
    assert time.process_time() - start < 25 * loop_seconds()


def test_all_bombs_at_once_leave_the_vault_clean(vault: Vault, person: Person) -> None:
    for name, (data, _) in BOMBS.items():
        (vault.root / "inbox" / name).write_bytes(data)
    report = vault.run(["record"], now=NOW)
    refused = {name: code for name, (_, code) in BOMBS.items() if code != "taken"}
    assert {one.file: one.code for one in report.quarantined} == refused
    assert vault.inbox.quarantine.file_names() == sorted(refused)
    assert len(vault.store.snapshot().outcomes) == len(BOMBS) - len(refused)
    assert (vault.inbox.names(), report.waiting, report.known) == ([], [], [])
    assert vault.check().problems == []
    assert person.status() == ""


@pytest.mark.parametrize(
    "piece",
    [
        "word ",
        "@",
        "a:b@",
        "QUJD",
        "eyJaaaaaaaa.",
        "token=",
        "secret\n",
        "secret(",
        "-----BEGIN A ",
        "`a",
        "'a",
        "secret `a",
        "://a:",
        "://",
        "/",
        "eyJ",
        "secret",
        "api_key",
    ],
)
def test_the_time_of_redaction_grows_with_the_length_of_the_text(
    tmp_path: Path, piece: str
) -> None:
    room = MAX_OUTCOME - len(as_file(raw(decision__reasoning="")))
    count = room // (len(json.dumps(piece)) - 2)
    times = []
    for share in (4, 1):
        path = tmp_path / f"bomb-{share}.json"
        path.write_bytes(as_file(raw(decision__reasoning=piece * (count // share))))
        taken_seconds = seconds(path, 20)
        assert taken_seconds is not None
        times.append(max(taken_seconds, 0.05))
    assert times[1] < 9 * times[0]  # 4 in theory; 16 if each part scans all others


@pytest.mark.parametrize("below", [["a"] * 2000, dict.fromkeys(map(str, range(2000)), "a")])
def test_a_long_key_over_many_values_is_soon_redacted(tmp_path: Path, below: Any) -> None:
    path = tmp_path / "bomb.json"
    path.write_bytes(as_file(raw(x={"k" * 60_000: below})))
    assert (seconds(path, 20) or 99) < 25 * loop_seconds()


def test_the_last_of_many_json_keys_twice_is_soon_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json"
    keys = [*KEYS[:32_000], KEYS[31_999]]
    path.write_text("{" + ",".join(f'"{key}":0' for key in keys) + "}")
    assert (seconds(path, 20) or 99) < 25 * loop_seconds()


# ── words ────────────────────────────────────────────────────────────────────────────


def said(name: str, data: bytes) -> str:
    """Return the message of a refusal."""
    with pytest.raises(BadInputError) as caught:
        parse_outcome(parse_incoming(name, data), trust="local", now=NOW)
    return caught.value.message


@pytest.mark.parametrize(
    "data",
    [as_file(raw(context={"a\nb": [1]})), b'{"a\\nb": 1, "a\\nb": 2}', b'{"a\\nb": "\\u0000"}'],
    ids=["context", "twice", "nul"],
)
def test_a_key_of_two_lines_is_refused_in_one(data: bytes) -> None:
    assert len(said("a.json", data).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", as_file(raw(result__status="x" * 200_000))),
        ("a.json", as_file(raw(source__trust="x" * 200_000))),
        ("a.json", as_file(raw(context={"k" * 200_000: [1]}))),
        ("a.yaml", text("tag", f"x: !{'t' * 200_000} y\n")),
    ],
    ids=["status", "trust", "key", "tag"],
)
def test_a_huge_value_is_refused_in_a_sentence(name: str, data: bytes) -> None:
    assert len(said(name, data)) < 1000


# ── names and kinds of files ─────────────────────────────────────────────────────────

LONG = b"x" * 250 + b".json"
NAMES = (LONG, b"a\nb.json", b"\xff\xfe.json", b"\x1b[31m.json", b"-rf.json", b"\\ '\".json")


def place(vault: Vault, name: bytes) -> Path:
    """Return the path of a file with such a name in the inbox."""
    return Path(os.fsdecode(os.fsencode(vault.root / "inbox") + b"/" + name))


def test_a_good_file_is_taken_and_a_bad_one_refused_whatever_its_name(
    vault: Vault, person: Person
) -> None:
    for at, name in enumerate(NAMES):
        place(vault, name).write_bytes(as_file(raw(decision__target=f"t-{at}")))
    report = vault.run(["record"], now=NOW)
    assert (len(vault.store.snapshot().outcomes), report.quarantined) == (len(NAMES), [])
    for name in NAMES:
        place(vault, name).write_bytes(b"")
    report = vault.run(["record"], now=NOW)
    assert [one.code for one in report.quarantined] == ["truncated"] * len(NAMES)
    assert all(one.file.isprintable() for one in report.quarantined)
    assert (vault.inbox.names(), len(vault.inbox.quarantine.file_names())) == ([], len(NAMES))
    assert person.status() == ""


def kinds(vault: Vault) -> Iterable[Path]:
    """A pipe, a folder, a socket, and as root a device, each named like an outcome."""
    inbox = vault.root / "inbox"
    os.mkfifo(inbox / "pipe.yaml")
    (inbox / "folder.yaml").mkdir()
    # From within the folder: a socket's path has 108 bytes at most.
    with socket.socket(socket.AF_UNIX) as door, contextlib.chdir(inbox):
        door.bind("socket.yaml")
    if os.geteuid() == 0:
        os.mknod(inbox / "device.yaml", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return [path for path in inbox.iterdir() if path.suffix == ".yaml"]


def test_what_is_no_file_is_left_where_it_is_and_holds_nothing_up(
    vault: Vault, person: Person
) -> None:
    found = kinds(vault)
    (vault.root / "inbox/good.json").write_bytes(as_file(raw()))
    report = vault.run(["record"], now=NOW)
    assert {one.path for one in report.waiting} == {f"inbox/{path.name}" for path in found}
    assert (report.quarantined, len(vault.store.snapshot().outcomes)) == ([], 1)
    assert all(path.exists() for path in found)
    assert person.status() == ""


def test_a_link_to_anything_is_moved_away_and_never_followed(vault: Vault) -> None:
    inbox = vault.root / "inbox"
    os.mkfifo(vault.root.parent / "pipe")
    (vault.root.parent / "secret.json").write_bytes(as_file(raw()))
    targets = ("/dev/zero", "/dev/stdin", "/", "/nowhere", "untrusted")
    for at, target in enumerate((*targets, "../../pipe", "../../secret.json")):
        (inbox / f"{at}.json").symlink_to(target)
    report = vault.run(["record"], now=NOW)
    assert {one.code for one in report.quarantined} == {"not-a-file"}
    assert len(vault.inbox.quarantine.file_names()) == 7
    assert (vault.inbox.names(), list(vault.store.snapshot().outcomes)) == ([], [])


def test_a_link_to_itself_is_moved_away_and_the_rest_is_taken(vault: Vault) -> None:
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    (vault.root / "inbox/b.json").symlink_to("b.json")
    report = vault.run(["record"], now=NOW)
    assert [one.code for one in report.quarantined] == ["not-a-file"]
    assert len(vault.store.snapshot().outcomes) == 1


def test_a_link_to_a_folder_is_refused_and_not_told_of_as_a_folder_too(vault: Vault) -> None:
    (vault.root / "inbox/a.json").symlink_to("/")
    report = vault.run(["record"], now=NOW)
    assert [one.code for one in report.quarantined] == ["not-a-file"]
    assert report.waiting == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(vault: Vault) -> None:
    path = vault.root / "inbox/a.json"
    path.write_bytes(as_file(raw()))
    path.chmod(0)
    assert [one.code for one in vault.run(["record"], now=NOW).quarantined] == ["unreadable"]
    assert vault.run(["record"], now=NOW).quarantined == []


# ── a gibibyte that is not there ─────────────────────────────────────────────────────

RUN = """
import json, sys
from pathlib import Path
from skillvault.api import Vault
vault = Vault.open(sys.argv[1])
report = vault.run(["record"])
read = next(line for line in Path("/proc/self/io").read_text().splitlines() if "rchar" in line)
# Not `ru_maxrss`: it counts what the process that started this one had in memory.
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
print(json.dumps([[r.code for r in report.quarantined], peak, int(read.split()[1])]))
"""


def sparse(vault: Vault) -> tuple[list[str], int, int]:
    """(codes, most bytes of memory, bytes read) of a run that meets a huge file."""
    with (vault.root / "inbox/sparse.json").open("wb") as file:
        file.truncate(GIB)
    done = subprocess.run(
        [sys.executable, "-c", RUN, vault.root], capture_output=True, check=True, text=True
    )
    codes, peak, read = json.loads(done.stdout)
    return codes, peak, read


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_gibibyte_is_refused_and_never_in_memory(vault: Vault) -> None:
    codes, peak, _ = sparse(vault)
    assert codes == ["too-large"]
    assert peak < GIB // 4


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs /proc")
def test_a_gibibyte_is_never_read_whole(vault: Vault) -> None:
    _, _, read = sparse(vault)
    assert read < GIB // 4


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs /proc")
def test_a_gibibyte_in_quarantine_is_not_read_again_by_each_run(vault: Vault) -> None:
    sparse(vault)
    done = subprocess.run(
        [sys.executable, "-c", RUN, vault.root], capture_output=True, check=True, text=True
    )
    assert json.loads(done.stdout)[2] < GIB // 4


# ── many that are refused ────────────────────────────────────────────────────────────


def cost(inbox: Inbox, names: range) -> float:
    """Seconds of the processor for each of so many files that are refused."""
    error = BadInputError("not JSON", code="json")
    for at in names:
        (inbox.root / f"inbox/{at}.json").write_bytes(b"{%d" % at)
    start = time.process_time()
    for at in names:
        inbox.refuse(f"{at}.json", error, NOW)
    return (time.process_time() - start) / len(names)


def test_a_refusal_costs_the_same_however_many_lie_in_quarantine(tmp_path: Path) -> None:
    few, many = Inbox(tmp_path / "few"), Inbox(tmp_path / "many")
    for inbox in (few, many):
        inbox.root.mkdir()
        inbox.create_folders()
    assert cost(many, range(400)) < 4 * cost(few, range(25))
