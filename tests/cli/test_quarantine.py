"""quarantine list, retry, drop: nothing goes by accident, and nothing comes back more trusted."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from skillvault.model.records import Trust
from tests.given import NOW, as_file, raw
from tests.thorough import pairs

BAD = as_file(raw(result={"score": -11.2}))


def call(vault: Vault, *args: str) -> tuple[int, str, str]:
    """(exit code, stdout, what was said) of one call; a refusal is an error of ours."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "quarantine", *args])
    if isinstance(result.exception, UsageError):
        return result.exception.exit_code, result.stdout, result.stderr + str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def refused(vault: Vault, *names: str, data: bytes = BAD) -> Path:
    """The quarantine after these files were refused."""
    for name in names:
        (vault.root / "inbox" / name).write_bytes(data)
    vault.run(["record"], now=NOW)
    return vault.root / "quarantine"


def lying(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def outside(vault: Vault) -> Iterator[Path]:
    """A file that no name may reach; it is the same afterwards."""
    path = vault.root.parent / "mine.yaml"
    path.write_text("mine\n")
    yield path
    assert path.read_text() == "mine\n"


# ── list ─────────────────────────────────────────────────────────────────────────────


def test_each_file_is_a_line_with_its_reason_its_time_and_its_door(vault: Vault) -> None:
    refused(vault, "untrusted/wrong.json")
    code, out, _ = call(vault, "list")
    assert code == 0
    (line,) = out.splitlines()
    assert line.startswith("untrusted-wrong.json  [score-range] result.score: -11.2")
    assert line.endswith("2026-11-20T12:00:00Z  from untrusted/wrong.json")


@pytest.mark.parametrize("reason", [None, "", "[]", "{", "[" * 100_000])
def test_a_file_without_a_readable_reason_is_listed_and_says_so(
    vault: Vault, reason: str | None
) -> None:
    (vault.root / "quarantine/stray.yaml").write_bytes(b"x")
    if reason is not None:
        (vault.root / "quarantine/stray.yaml.error.json").write_text(reason)
    assert "stray.yaml  [no-reason] no reason is stored beside it" in call(vault, "list")[1]


def test_status_names_what_is_no_file_in_the_inbox(vault: Vault) -> None:
    os.mkfifo(vault.root / "inbox/pipe.yaml")
    out = CliRunner().invoke(cli, ["--vault", str(vault.root), "status"]).stdout
    assert "left in inbox/: pipe.yaml: a FIFO, and no file; remove it\n" in out


def test_an_empty_quarantine_says_so(vault: Vault) -> None:
    assert call(vault, "list")[1] == "quarantine/ is empty\n"


def test_what_a_file_and_its_reason_say_does_nothing_to_a_terminal(vault: Vault) -> None:
    folder = refused(vault, "a.json")
    (folder / "a.json.error.json").write_text(
        '{"code": 1, "message": "\\u001b[2J\\ud800", "line": true, "from": "\\n", "at": []}'
    )
    Path(os.fsdecode(os.fsencode(folder) + b"/b\xff\x1b.json")).write_bytes(b"x")
    code, out, _ = call(vault, "list")
    assert (code, len(out.splitlines())) == (0, 2)
    assert all(char.isprintable() for line in out.splitlines() for char in line)
    assert call(vault, "list", "--json")[0] == 0


# ── retry ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("door", "trust"), [("", "local"), ("untrusted/", "untrusted")], ids=["local", "untrusted"]
)
def test_a_file_goes_back_through_its_door_and_is_as_trusted_as_before(
    vault: Vault, door: str, trust: Trust
) -> None:
    folder = refused(vault, f"{door}a.json", data=as_file(raw(domain="codin")))
    (name,) = vault.inbox.quarantine.file_names()
    code, out, err = call(vault, "retry", name)
    assert (code, out) == (0, f"{name} -> inbox/{door}a.json\n")
    assert err == "next: skillvault run\n"
    assert (lying(folder), vault.inbox.names()) == ([], [f"{door}a.json"])
    received = vault.inbox.read_file(f"{door}a.json")
    assert received is not None
    assert received.trust == trust


def test_a_file_whose_origin_nobody_knows_comes_back_untrusted(vault: Vault) -> None:
    (vault.root / "quarantine/stray.json").write_bytes(as_file(raw()))
    call(vault, "retry", "stray.json")
    vault.run(["record"], now=NOW)
    assert [o.trust for o in vault.store.snapshot().outcomes.values()] == ["untrusted"]


def test_a_file_that_comes_back_replaces_none_that_arrived_meanwhile(vault: Vault) -> None:
    refused(vault, "a.json")
    (vault.root / "inbox/a.json").write_bytes(b"new")
    assert call(vault, "retry", "a.json")[1] == "a.json -> inbox/a-2.json\n"
    assert (vault.root / "inbox/a.json").read_bytes() == b"new"
    assert (vault.root / "inbox/a-2.json").read_bytes() == BAD


def test_what_is_still_bad_is_refused_again_and_lost_nowhere(vault: Vault) -> None:
    folder = refused(vault, "a.json")
    call(vault, "retry", "--all")
    vault.run(["record"], now=NOW)
    assert lying(folder) == ["a.json", "a.json.error.json"]
    assert (folder / "a.json").read_bytes() == BAD


def test_all_takes_back_what_can_go_and_names_the_rest(vault: Vault, outside: Path) -> None:
    folder = refused(vault, "a.json", "untrusted/b.json")
    (folder / "link.json").symlink_to(outside)
    (folder / "folder").mkdir()
    (folder / "draft.tmp").write_bytes(b"x")
    code, out, err = call(vault, "retry", "--all")
    assert (code, len(out.splitlines())) == (0, 2)
    assert [line.split(":")[1] for line in err.splitlines() if line.startswith("not retried")] == [
        " draft.tmp", " folder", " link.json",
    ]  # fmt: skip
    assert vault.inbox.names() == ["a.json", "untrusted/b.json"]


@pytest.mark.parametrize("origin", ["../../x.json", "/etc/x.json", "untrusted/../../x.json", ".."])
def test_a_reason_sends_a_file_nowhere_but_into_the_inbox(vault: Vault, origin: str) -> None:
    folder = refused(vault, "x.json")
    (folder / "x.json.error.json").write_text(f'{{"from": "{origin}"}}')
    call(vault, "retry", "x.json")
    assert [Path(name).name for name in vault.inbox.names()] == ["x.json"]


def test_a_name_that_the_inbox_would_not_see_is_refused(vault: Vault) -> None:
    (vault.root / "quarantine/draft.tmp").write_bytes(b"x")
    code, _, err = call(vault, "retry", "draft.tmp")
    assert (code, "rename the file" in err) == (2, True)
    assert lying(vault.root / "quarantine") == ["draft.tmp"]


# ── drop ─────────────────────────────────────────────────────────────────────────────


def test_without_yes_nothing_goes_and_what_would_go_is_said(vault: Vault) -> None:
    folder = refused(vault, "a.json")
    code, out, err = call(vault, "drop", "a.json")
    assert (code, out) == (2, "")
    assert "would remove a.json" in err
    assert "--yes" in err
    assert lying(folder) == ["a.json", "a.json.error.json"]


def test_a_file_goes_with_its_reason_and_no_other(vault: Vault) -> None:
    folder = refused(vault, "a.json", "b.json")
    assert call(vault, "drop", "a.json", "a.json", "--yes") == (0, "removed a.json\n", "")
    assert lying(folder) == ["b.json", "b.json.error.json"]


def test_all_leaves_folders_and_what_a_link_leads_to(vault: Vault, outside: Path) -> None:
    folder = refused(vault, "a.json")
    (folder / "link.json").symlink_to(outside)
    (folder / "folder").mkdir()
    (folder / "folder/deep.json").write_text("x")
    assert call(vault, "drop", "--all", "--yes")[0] == 0
    assert lying(folder) == ["folder"]
    assert (folder / "folder/deep.json").exists()


# ── names ────────────────────────────────────────────────────────────────────────────


NAMES = [
    *("gone.json", ".", "..", "../mine.yaml", "../../mine.yaml", "folder/deep.json"),
    *("./a.json", "../quarantine/a.json", "quarantine/a.json", "a.json.error.json", "*"),
]


@pytest.mark.parametrize(("name", "verb"), pairs(NAMES, [("retry",), ("drop", "--yes")]))
def test_a_name_that_is_no_file_of_the_quarantine_is_refused_and_nothing_goes(
    vault: Vault, outside: Path, verb: tuple[str, ...], name: str
) -> None:
    folder = refused(vault, "a.json")
    (folder / "folder").mkdir()
    (folder / "folder/deep.json").write_text("x")
    for one in (name, str(outside)):
        code, _, err = call(vault, *verb, "a.json", one)
        assert (code, "see `skillvault quarantine list`" in err) == (2, True)
    assert lying(folder) == ["a.json", "a.json.error.json", "folder"]
    assert lying(folder / "folder") == ["deep.json"]


@pytest.mark.parametrize("verb", [("retry",), ("drop", "--yes")], ids=["retry", "drop"])
def test_a_quarantine_that_leads_elsewhere_is_not_touched(
    vault: Vault, outside: Path, verb: tuple[str, ...]
) -> None:
    (vault.root / "quarantine").rmdir()
    (vault.root / "quarantine").symlink_to(outside.parent)
    for wanted in ("mine.yaml", "--all"):
        assert call(vault, *verb, wanted)[0] == 2


@pytest.mark.parametrize("verb", ["retry", "drop"])
@pytest.mark.parametrize("args", [(), ("a.json", "--all")], ids=["nothing", "both"])
def test_what_is_meant_must_be_said_once(vault: Vault, verb: str, args: tuple[str, ...]) -> None:
    refused(vault, "a.json")
    assert call(vault, verb, *args)[0] == 2
    assert vault.inbox.quarantine.file_names() == ["a.json"]


@pytest.mark.parametrize("verb", [("retry",), ("drop", "--yes"), ("drop",)])
def test_all_of_nothing_is_nothing(vault: Vault, verb: tuple[str, ...]) -> None:
    code, out, err = call(vault, *verb, "--all")
    assert (code, out) == (0, "")
    assert err.startswith("nothing to")
