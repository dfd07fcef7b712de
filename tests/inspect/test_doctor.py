"""doctor: whatever is broken, every other row is still there, and each problem has its fix."""

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault, doctor
from skillvault.cli.commands import cli
from skillvault.inspect.doctor import CHECKS, Examination, Row, Space, _run_check, disk_row
from skillvault.model.errors import BadInputError, GitError, NotAVaultError
from skillvault.vault.commit.locks import writer_lock
from tests.conftest import NOW, Person
from tests.given import as_file, raw

LOCKS = ("writer lock", "daemon lock")
# A check whose rows have the names of what they look at.
NAMES = {"libraries": ("gitpython",), "locks": LOCKS, "inbox": ("inbox", "quarantine")}
MIB = 1024 * 1024


def rows(root: Path) -> dict[str, list[Row]]:
    """check -> its rows; every check must have one, and the exit code must fit."""
    found: dict[str, list[Row]] = {}
    given = doctor(root, now=NOW)
    for row in given:
        found.setdefault(row.check, []).append(row)
    missing = [c for c in CHECKS if not {c, *NAMES.get(c, ())} & found.keys()]
    assert missing == []
    result = CliRunner().invoke(cli, ["--vault", str(root), "doctor"])
    assert result.exit_code == any(row.state == "problem" for row in given), result.output
    return found


def states(root: Path, state: str) -> dict[str, str]:
    """check -> detail of the rows in this state."""
    return {r.check: r.detail for some in rows(root).values() for r in some if r.state == state}


def problems(root: Path) -> dict[str, str]:
    return states(root, "problem")


# ── a vault that works ───────────────────────────────────────────────────────────────


def test_a_sound_vault_has_no_problem_and_nothing_to_note(hooked: Vault) -> None:
    assert (problems(hooked.root), states(hooked.root, "note")) == ({}, {})


def test_looking_changes_no_file(vault: Vault) -> None:
    vault.status()  # its index is open, and stays so

    def every() -> dict[Path, tuple[int, int]]:
        # But for the projection's: whoever reads it may fold its own log.
        found = (p for p in vault.root.rglob("*") if not p.name.startswith("index.db"))
        paths = [vault.root, *found]
        return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in paths}

    before = every()
    rows(vault.root)
    assert every() == before


def test_without_a_name_the_vault_is_found_upward(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.root / "inbox")
    (row,) = [row for row in doctor(now=NOW) if row.check == "vault"]
    assert row.detail == str(vault.root)


def test_the_versions_are_told(vault: Vault) -> None:
    found = rows(vault.root)
    assert {found[name][0].state for name in ("skillvault", "python", "git", "gitpython")} == {"ok"}
    assert found["python"][0].detail == ".".join(map(str, sys.version_info[:3]))


def test_rows_read_as_lines_with_the_fix_beneath(vault: Vault, person: Person) -> None:
    person.git("config", "alias.x", "!id")
    out = CliRunner().invoke(cli, ["--vault", str(vault.root), "doctor"]).output.splitlines()
    at = next(number for number, line in enumerate(out) if "alias.x" in line)
    assert out[at].split()[:2] == ["note", "config"]
    assert out[at + 1].strip() == "fix: git config --local --unset-all alias.x"
    assert out[at].index("alias.x") == out[at + 1].index("fix:")


# ── what is broken ───────────────────────────────────────────────────────────────────


def test_a_folder_that_is_no_vault_says_how_to_make_one(tmp_path: Path) -> None:
    found = problems(tmp_path)
    assert list(found) == ["repository"]
    assert rows(tmp_path)["repository"][0].fix == "skillvault init"


def test_a_project_gets_no_advice_about_its_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Person(tmp_path).git("init", "-q", "-b", "master")
    monkeypatch.chdir(tmp_path)
    problem_checks = [row.check for row in doctor(now=NOW) if row.state != "ok"]
    assert problem_checks == ["vault"]


def test_a_folder_that_does_not_exist_is_no_vault(tmp_path: Path) -> None:
    with pytest.raises(NotAVaultError, match="no vault here"):
        doctor(tmp_path / "not" / "here")


def test_a_repository_without_a_commit_is_told(tmp_path: Path) -> None:
    Vault.init(tmp_path / "other", now=NOW)
    person = Person(tmp_path)
    person.git("init", "-q")
    shutil.rmtree(tmp_path / "other")
    assert set(problems(tmp_path)) == {"vault", "paused"}
    assert "without a commit" in states(tmp_path, "note")["head"]


def test_a_bad_policy_is_a_problem_and_the_branch_is_none(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "formt: 1\n")
    person.git("commit", "-qam", "Break it", "--no-verify")
    found = problems(vault.root)
    assert list(found) == ["policy"]
    assert "formt" in found["policy"]


def test_a_mark_that_was_deleted_is_brought_back_by_its_fix(vault: Vault, person: Person) -> None:
    (vault.root / "vault.yaml").unlink()
    (row,) = [r for some in rows(vault.root).values() for r in some if r.state == "problem"]
    assert row.check == "vault"
    assert row.fix == "git restore vault.yaml"
    person.git(*row.fix.split()[1:])
    assert problems(vault.root) == {}


def test_a_model_without_a_key_is_told(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.write("vault.yaml", "format: 1\njudge: {provider: claude}\n")
    person.git("commit", "-qam", "Ask Claude")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "ANTHROPIC_API_KEY is not set" in states(vault.root, "note")["judge"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    (row,) = rows(vault.root)["judge"]
    assert row.state == "ok"
    assert "made-up" not in row.detail
    monkeypatch.setattr("skillvault.inspect.doctor.find_spec", lambda _: None)
    assert "SDK is not installed" in states(vault.root, "note")["judge"]


def test_a_detached_head_and_a_foreign_branch_are_what_pauses(vault: Vault, person: Person) -> None:
    person.git("checkout", "-q", "--detach")
    assert problems(vault.root) == {"paused": "HEAD is detached"}
    person.git("checkout", "-qb", "other")
    assert list(problems(vault.root)) == ["paused"]


def test_a_merge_with_conflicts_is_told_with_what_is_unmerged(vault: Vault, person: Person) -> None:
    for branch in ("one", "two"):
        person.git("checkout", "-qb", branch, "main")
        person.write("README.md", branch)
        person.git("commit", "-qam", branch)
    person.git("checkout", "-q", "main")
    person.git("merge", "-q", "one")
    person.git("merge", "-q", "two", ok=False)
    assert problems(vault.root) == {"paused": "a merge is in progress"}
    assert states(vault.root, "note")["index"] == "unmerged: README.md"


def test_objects_that_were_not_packed_are_told(vault: Vault) -> None:
    folder = vault.root / ".git" / "objects" / "17"
    folder.mkdir(exist_ok=True)
    for number in range(40):
        (folder / f"{number:038x}").touch()
    assert "were not packed" in states(vault.root, "note")["objects"]


def test_a_shallow_clone_is_told(vault: Vault, person: Person, tmp_path: Path) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    Person(tmp_path).git("clone", "-q", "--depth=1", vault.root.as_uri(), "clone")
    assert "shallow" in problems(tmp_path / "clone")["paused"]
    assert "inbox" in states(tmp_path / "clone", "note")


def test_a_bare_repository_is_told_and_mended_by_its_fix(vault: Vault, person: Person) -> None:
    person.git("config", "core.bare", "true")
    (row,) = rows(vault.root)["repository"]
    assert row.state == "problem"
    assert row.fix is not None
    person.git(*row.fix.split()[1:])
    assert problems(vault.root) == {}


def test_objects_that_are_gone_are_told_and_end_no_other_check(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", now=NOW)
    shutil.rmtree(vault.root / ".git/objects")
    (vault.root / ".git/objects").mkdir()
    found = problems(vault.root)
    assert list(found) == ["head"]
    assert "cannot be read" in found["head"]
    assert "git fsck" in (rows(vault.root)["head"][0].fix or "")
    assert "identity" in states(vault.root, "ok")


@pytest.mark.parametrize("path", [".git/HEAD", ".git/config", ".git/index"])
def test_a_spoilt_file_of_git_is_told_and_ends_no_other_check(tmp_path: Path, path: str) -> None:
    vault, _ = Vault.init(tmp_path / "vault", now=NOW)
    (vault.root / path).write_bytes(b"[\x00spoilt\n")
    assert problems(vault.root) != {}
    assert {"skillvault", "python", *LOCKS, "disk"} <= states(vault.root, "ok").keys()


def test_a_git_dir_that_is_gone_is_told(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", now=NOW)
    shutil.rmtree(vault.root / ".git")
    assert list(problems(vault.root)) == ["repository"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(5, "Input/output error"),
        GitError("git said no"),
        BadInputError("no such key", code="x"),
        ImportError("no module named pygit2"),
        KeyError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_check_fails_of_is_a_row_behind_those_it_had(
    tmp_path: Path, error: Exception
) -> None:
    def failing(_: Examination) -> Iterator[Row]:
        yield Row("first", "ok", "fine")
        raise error

    first, failed = _run_check("some", failing, Examination(tmp_path, NOW))
    assert (first.check, failed.check, failed.state) == ("first", "some", "problem")
    assert str(error) in failed.detail


# ── who commits ──────────────────────────────────────────────────────────────────────


def test_without_an_identity_the_commands_are_named(vault: Vault, person: Person) -> None:
    person.git("config", "--global", "--remove-section", "user")
    (row,) = rows(vault.root)["identity"]
    assert row.state == "problem"
    assert row.fix is not None
    for command in row.fix.split(" && "):
        person.git(*command.split()[1:])
    assert rows(vault.root)["identity"][0].detail == "NAME <ADDRESS>"


@pytest.mark.parametrize(
    ("form", "key"),
    [("openpgp", "gpg.program"), ("openpgp", "gpg.openpgp.program"), ("ssh", "gpg.ssh.program")],
)
def test_a_signing_program_that_is_missing_is_a_problem(
    vault: Vault, person: Person, form: str, key: str
) -> None:
    person.git("config", "--global", "commit.gpgSign", "true")
    person.git("config", "--global", "gpg.format", form)
    person.git("config", "--global", key, "/no/such/signer")
    assert "/no/such/signer" in problems(vault.root)["signing"]
    person.git("config", "--global", key, "/bin/true")
    assert "/bin/true" in rows(vault.root)["signing"][0].detail


def test_a_program_that_the_vault_itself_names_signs_nothing(vault: Vault, person: Person) -> None:
    person.git("config", "--global", "commit.gpgSign", "true")
    person.git("config", "--global", "gpg.program", "/bin/true")
    person.git("config", "--local", "gpg.program", "/bin/false")
    (row,) = rows(vault.root)["signing"]
    assert "/bin/true" in row.detail
    assert "not used" in row.detail


# ── what git would run, locks ────────────────────────────────────────────────────────


def test_foreign_code_is_a_note_and_is_not_run(vault: Vault) -> None:
    person = Person(vault.root)  # not the fixture: its fsck would run the trap
    trap = person.write("inbox/trap.sh", f"#!/bin/sh\ntouch {vault.root}/sprung\n")
    trap.chmod(0o755)
    keys = ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "core.editor")
    for key in keys:
        person.git("config", key, str(trap))
    shutil.copy(trap, vault.root / ".git/hooks/post-checkout")
    found = rows(vault.root)
    assert [row.state for row in found["config"]] == ["note"] * len(keys)
    assert {row.state for row in found["hooks"]} == {"note"}
    assert not (vault.root / "sprung").exists()


def test_who_holds_the_writer_lock_is_told(vault: Vault) -> None:
    _, common = vault.store.git.dirs()
    with writer_lock(common / "skillvault"):
        assert f"process {os.getpid()}" in rows(vault.root)["writer lock"][0].detail


def test_a_stale_lock_is_a_problem_that_its_command_mends(vault: Vault, person: Person) -> None:
    path = vault.root / ".git/index.lock"
    path.touch()
    os.utime(path, (0, 0))
    (row,) = rows(vault.root)["git lock"]
    assert (row.state, row.fix) == ("problem", f"rm {path}")


# ── what happened, what waits ────────────────────────────────────────────────────────


def test_the_newest_commit_of_the_program_is_told_with_its_age(
    vault: Vault, person: Person
) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW - timedelta(days=3))
    person.git("commit", "-q", "--allow-empty", "-m", "mine")
    (row,) = rows(vault.root)["last commit"]
    assert row.detail.startswith("record: 1 outcome in coding, 2026-11-17")
    assert row.detail.endswith(", 3 days ago")


def test_what_waits_is_counted_with_the_next_step(vault: Vault) -> None:
    for name in ("inbox/a.json", "inbox/untrusted/b.json", "quarantine/c.json"):
        (vault.root / name).write_bytes(b"{")
    found = rows(vault.root)
    assert (found["inbox"][0].detail, found["inbox"][0].fix) == (
        "waiting: 2 files",
        "skillvault run",
    )
    assert found["quarantine"][0].detail == "waiting: 1 file"


@pytest.mark.parametrize(
    ("free", "inodes", "error", "state"),
    [
        (500 * MIB, 10_000, None, "ok"),
        (500 * MIB, None, None, "ok"),
        (500 * MIB - 1, None, None, "note"),
        (500 * MIB, 9_999, None, "note"),
        (50 * MIB, 10_000, None, "note"),
        (50 * MIB - 1, 10_000, None, "problem"),
        (500 * MIB, 999, None, "problem"),
        (500 * MIB, 10_000, OSError(30, "Read-only file system"), "problem"),
    ],
)
def test_a_disk_must_have_room(
    free: int, inodes: int | None, error: OSError | None, state: str, tmp_path: Path
) -> None:
    assert disk_row("disk", tmp_path, Space(free, inodes, error)).state == state
