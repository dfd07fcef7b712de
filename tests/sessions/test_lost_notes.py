"""Transcripts and notes that cannot be read: nothing is lost, and no other session is met."""

import itertools
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.exchange.transcripts import reader
from skillvault.model.errors import BadInputError
from tests.conftest import Person
from tests.sessions.test_hooks import TASK, Client, client, notes_of
from tests.thorough import pairs

__all__ = ["client"]
_AGO = 90_000  # seconds after which a session is abandoned


def _nothing(_place: Path) -> None:
    """Leave the place empty."""


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda place: place.symlink_to(target)


def _bytes(content: bytes) -> Callable[[Path], object]:
    return lambda place: place.write_bytes(content)


def _forbid(place: Path) -> None:
    place.write_bytes(b"{}\n")
    place.chmod(0)


def _bind(place: Path) -> None:
    os.mknod(place, stat.S_IFSOCK)


def _fill(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)


HARMS: dict[str, Callable[[Path], object]] = {
    "missing": _nothing,
    "folder": Path.mkdir,
    "fifo": os.mkfifo,
    "socket": _bind,
    "circle": lambda place: place.symlink_to(place),
    "dangling": _link_to("/nowhere/s.jsonl"),
    "device": _link_to("/dev/zero"),
    "terminal": _link_to("/dev/tty"),
    "failing": _link_to("/proc/self/mem"),
    "waiting": _link_to("/proc/kmsg"),
    "forbidden": _forbid,
    "empty": _bytes(b""),
    "latin": _bytes(b"\xff\xfe\x00caf\xe9\n" * 9),
    "torn": _bytes(b'{"sessionId": "s-1", "type": "user", "mess'),
    "another's": _bytes(b'{"a": 1}\n[]\n7\n'),
    "deep": _bytes(b"[" * 100_000 + b"\n"),
    "huge": _fill,
}


@pytest.mark.parametrize(("name", "when"), pairs(list(HARMS), ["from the first", "later"]))
def test_what_was_noted_becomes_an_outcome_whatever_became_of_the_transcript(
    client: Client, name: str, when: str
) -> None:
    harm = HARMS[name]
    place = client.folder / "s-1.jsonl"
    if when == "later":
        place.write_bytes(b"")
    else:
        harm(place)
    begun = time.monotonic()
    client.tell("UserPromptSubmit", prompt_id="p-1", prompt=TASK, transcript_path=str(place))
    client.test(passes=True)
    if when == "later":
        place.unlink()
        harm(place)
    client.stop("All pass.")
    client.end()
    assert time.monotonic() - begun < 2
    (outcome,) = client.outcomes()
    assert (outcome.decision.id, outcome.result.status) == ("p-1", "success")
    assert outcome.result.claim == "All pass."
    assert not notes_of(client).exists()


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "~", "/proc/self/task/x/y"])
def test_a_transcript_of_an_impossible_name_costs_nothing(client: Client, name: str) -> None:
    client.tell("UserPromptSubmit", prompt_id="p-1", prompt=TASK, transcript_path=name)
    client.test(passes=True)
    client.stop()
    assert len(client.outcomes()) == 1


@pytest.mark.parametrize("kind", ["folder", "fifo", "socket", "circle", "device", "failing"])
def test_a_transcript_is_a_regular_file(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "s.jsonl"
    HARMS[kind](place)
    with pytest.raises(BadInputError) as raised:
        reader.Transcript(place)
    assert raised.value.code == "unreadable"


def _abandon(client: Client, session: str = "s-1") -> Path:
    place = notes_of(client, session)
    os.utime(place, (time.time() - _AGO,) * 2, follow_symlinks=False)
    return place


def _ended(client: Client, session: str = "s-1", **told: str) -> Path:
    """Abandon a session that passed its test, and return the path of its notes."""
    values = {"session_id": session, "tool_input": {"command": "pytest -q"}}
    client.tell("UserPromptSubmit", session_id=session, prompt_id=session, prompt=TASK, **told)
    client.tell(
        "PostToolUse",
        **values,
        tool_name="Bash",
        tool_use_id="t-1",
        tool_response={"stdout": "3 passed in 0.1s", "stderr": ""},
    )
    return _abandon(client, session)


_NUMBERS = itertools.count()


def _begins(client: Client) -> bool:
    """Begin a new session and return True if it starts with learned lessons."""
    name = f"s-new-{next(_NUMBERS)}"
    return "<learned>" in client.tell("SessionStart", session_id=name, source="startup")


def test_a_session_that_ended_without_a_word_and_a_transcript_is_handed_in(client: Client) -> None:
    place = _ended(client, transcript_path="/nowhere/s-1.jsonl")
    assert _begins(client)
    (outcome,) = client.outcomes()
    assert (outcome.source.session, outcome.result.status) == ("s-1", "success")
    assert not place.exists()
    assert client.vault.status().quarantine == 0


_UNREADABLE = ["folder", "fifo", "socket", "circle", "dangling", "device", "failing", "latin"]
_UNREADABLE += ["torn", "another's", "deep", "huge"]


@pytest.mark.parametrize("kind", _UNREADABLE)
def test_leftover_notes_that_cannot_be_read_go_to_quarantine(client: Client, kind: str) -> None:
    (place := _ended(client, "s-2")).unlink()
    HARMS[kind](place)
    _abandon(client, "s-2")
    _ended(client, "s-3")
    assert _begins(client)
    assert [outcome.source.session for outcome in client.outcomes()] == ["s-3"]
    (file,) = client.vault.inbox.quarantine.files()
    assert (file.name, file.code) == (f"sessions-{place.name}", "bad-notes")
    assert not os.path.lexists(place)
    assert client.vault.status().quarantine == 1
    assert _begins(client)


_CALL = b'{"type":"called","id":"t-9","tool":"Bash","arguments":%s,"output":"1 failed",%s}\n'
_NAIVE = _CALL % (b"{}", b'"is_error":true,"exit_code":1,"at":"2026-11-20T12:00:00"')
_LATE = _CALL % (b"{}", b'"is_error":true,"exit_code":1,"at":"9999-12-31T23:59:59-14:00"')
_DEEP = _CALL % (b'{"a":%s}' % (b"[" * 100_000), b'"is_error":true')
_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data + b'{"type":"sai',
    "noise": lambda data: data + b"\xff\x00\n",
    "number": lambda data: data + b"7\n",
    "blank": lambda data: data + b"\n",
    "naive time": lambda data: data + _NAIVE,
    "no time": lambda data: data + _LATE,
    "deep": lambda data: data + _DEEP,
}


@pytest.mark.parametrize(("name", "end"), pairs(list(_DAMAGES), ["abandoned", "ended"]))
def test_what_can_be_read_of_damaged_notes_is_handed_in(
    client: Client, name: str, end: str
) -> None:
    damage = _DAMAGES[name]
    place = _ended(client)
    place.write_bytes(damage(place.read_bytes()))
    if end == "ended":
        client.end()
    else:
        _abandon(client)
    assert _begins(client)
    (outcome,) = client.outcomes()
    assert outcome.result.status == "success"
    (file,) = client.vault.inbox.quarantine.files()
    assert (file.code, file.line) == ("bad-notes", 4)


def test_what_follows_a_line_that_cannot_be_read_is_no_prompt_s(client: Client) -> None:
    client.ask(prompt="p-1")
    client.edit()
    with notes_of(client).open("ab") as file:
        file.write(b'{"type":"ask\n')
    client.test(passes=False)
    client.ask("Fix the other test", "p-2")
    client.test(passes=True)
    client.end()
    ends = {one.decision.id: one.result.status for one in client.outcomes()}
    assert ends == {"p-1": "neutral", "p-2": "success"}


def test_notes_that_cannot_be_read_at_all_are_set_aside_at_the_next_prompt(client: Client) -> None:
    client.ask()
    notes_of(client).unlink()
    notes_of(client).mkdir()
    client.ask(prompt="p-2")
    client.test(passes=True)
    client.end()
    assert [outcome.decision.id for outcome in client.outcomes()] == ["p-2"]
    assert client.vault.status().quarantine == 1


def test_notes_in_quarantine_do_not_go_into_the_inbox(client: Client) -> None:
    place = _ended(client)
    place.write_bytes(b"no note\n")
    _abandon(client)
    _begins(client)
    quarantine = client.vault.inbox.quarantine
    (name,) = quarantine.file_names()
    (client.vault.root / "quarantine" / name).write_bytes(b"mended\n")
    client.outcomes()
    assert (quarantine.retry(), quarantine.file_names()) == ([], [name])
    assert quarantine.obstacle(name) is not None
    assert quarantine.drop() == [name]


def test_notes_without_a_prompt_are_forgotten(client: Client) -> None:
    client.test(passes=True)
    place = _abandon(client)
    assert _begins(client)
    assert not place.exists()
    assert client.vault.status().quarantine == 0


def test_leftover_notes_wait_while_the_vault_cannot_be_read(client: Client, person: Person) -> None:
    place = _ended(client)
    policy = (person.root / "vault.yaml").read_text()
    person.rule("nonsense: 1")
    with pytest.raises(BadInputError):
        _begins(client)
    assert place.exists()
    person.write("vault.yaml", policy)
    person.git("commit", "-qam", "Mend it")
    assert _begins(client)
    assert len(client.outcomes()) == 1
