"""held: a lock is told, never taken; only one that nobody uses is called stale."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.commit import lock_files as held
from skillvault.vault.commit.lock_files import LockFile
from skillvault.vault.commit.locks import writer_lock

HOUR = 3600.0
WITH_PROC = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


def lock_files(vault: Vault) -> list[LockFile]:
    return held.lock_files(vault.root, *vault.store.git.dirs(), time.time())


def left_behind(vault: Vault, name: str, age: float = HOUR) -> Path:
    path = vault.root / ".git" / name
    path.write_bytes(b"")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_the_holder_of_a_lock_is_named_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    with writer_lock(tmp_path):
        assert f"process {os.getpid()}" in (held.holder(path) or "")
        assert f"process {os.getpid()}" in (held.holder(path) or "")
    assert held.holder(path) is None


def test_a_lock_that_was_looked_at_can_be_taken(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        pass
    assert held.holder(tmp_path / "writer.lock") is None
    with writer_lock(tmp_path, wait=0):
        pass


def test_a_lock_that_was_never_taken_is_free_and_stays_absent(tmp_path: Path) -> None:
    assert held.holder(tmp_path / "writer.lock") is None
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_does_not_say_who_it_is_holds_all_the_same(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        (tmp_path / "writer.lock").write_text("{")
        assert held.holder(tmp_path / "writer.lock") == "a process that does not say which"


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "writer.lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        held.holder(tmp_path / "writer.lock")


def test_a_vault_at_rest_has_no_lock_files(vault: Vault) -> None:
    assert lock_files(vault) == []


@pytest.mark.parametrize(
    "name",
    ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"],
)
def test_an_old_lock_file_that_nobody_uses_is_stale(vault: Vault, name: str) -> None:
    path = left_behind(vault, name)
    (lock,) = lock_files(vault)
    assert (lock.path, lock.stale) == (path, True)
    assert HOUR - 1 < lock.age < HOUR + 60
    assert path.exists()


@pytest.mark.parametrize(("age", "stale"), [(-HOUR, False), (5, False), (50, False), (90, True)])
def test_a_lock_file_is_stale_after_a_minute(vault: Vault, age: float, stale: bool) -> None:
    left_behind(vault, "index.lock", age)
    (lock,) = lock_files(vault)
    assert lock.stale is stale


@WITH_PROC
def test_a_lock_file_that_a_process_has_open_is_not_stale(vault: Vault) -> None:
    path = left_behind(vault, "index.lock")
    with path.open("rb"):
        assert [lock.stale for lock in lock_files(vault)] == [False]
    assert [lock.stale for lock in lock_files(vault)] == [True]


@WITH_PROC
def test_a_lock_file_is_not_stale_while_a_git_works_in_the_vault(vault: Vault) -> None:
    left_behind(vault, "index.lock")
    git = shutil.which("git") or "git"
    with subprocess.Popen(
        [git, "cat-file", "--batch"], cwd=vault.root, stdin=subprocess.PIPE
    ) as process:
        assert [lock.stale for lock in lock_files(vault)] == [False]
        assert process.stdin is not None
        process.stdin.close()
    assert [lock.stale for lock in lock_files(vault)] == [True]


@WITH_PROC
def test_another_program_at_work_in_the_vault_keeps_no_lock(vault: Vault) -> None:
    left_behind(vault, "index.lock")
    waits = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waits, cwd=vault.root, stdin=subprocess.PIPE) as process:
        assert [lock.stale for lock in lock_files(vault)] == [True]
        process.communicate(b"\n")
