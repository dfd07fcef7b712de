"""locks: one writer at a time; a lock is told, never taken; only an unused one is stale."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit import git_activity, locks
from skillvault.vault.commit.git_activity import GitLock
from skillvault.vault.commit.locks import writer_lock

HOUR = 3600.0
WITH_PROC = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
HOLDER = """
import sys, time
from pathlib import Path
from skillvault.vault.commit.locks import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def git_locks(vault: Vault) -> list[GitLock]:
    return git_activity.git_locks(vault.root, *vault.store.git.dirs(), time.time())


def left_behind(vault: Vault, name: str, age: float = HOUR) -> Path:
    path = vault.root / ".git" / name
    path.write_bytes(b"")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_a_second_writer_is_told_who_holds_the_vault_and_a_killed_one_holds_nothing(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(VaultBusyError, match=f"process {holder.pid}"),
            writer_lock(tmp_path / "lock", wait=0.1),
        ):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with writer_lock(tmp_path / "lock", wait=0.1):
        pass


def test_who_holds_a_lock_is_named_and_never_a_killed_holder_before(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(["true"]) as killed:
        pass
    path.write_text(json.dumps({"pid": killed.pid}))
    with path.open("rb+") as file, ThreadPoolExecutor() as pool:
        assert locks.claim(file.fileno())
        name = pool.submit(locks.holder, path)
        file.write(json.dumps({"pid": os.getpid()}).encode())
        file.truncate()  # the pid before may have had more digits
        assert f"process {os.getpid()}" in (name.result() or "")


def test_a_lock_that_was_given_back_names_nobody(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        assert b"pid" in (tmp_path / locks.WRITER).read_bytes()
    assert (tmp_path / locks.WRITER).read_bytes() == b""


def test_the_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), writer_lock(tmp_path / "lock"):
        raise ValueError("x")
    with writer_lock(tmp_path / "lock", wait=0):
        pass


def test_the_holder_of_a_lock_is_named_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    with writer_lock(tmp_path):
        assert f"process {os.getpid()}" in (locks.holder(path) or "")
        assert f"process {os.getpid()}" in (locks.holder(path) or "")
    assert locks.holder(path) is None


def test_a_lock_that_was_looked_at_can_be_taken(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        pass
    assert locks.holder(tmp_path / "writer.lock") is None
    with writer_lock(tmp_path, wait=0):
        pass


def test_a_lock_that_was_never_taken_is_free_and_stays_absent(tmp_path: Path) -> None:
    assert locks.holder(tmp_path / "writer.lock") is None
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_does_not_say_who_it_is_holds_all_the_same(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        (tmp_path / "writer.lock").write_text("{")
        assert locks.holder(tmp_path / "writer.lock") == "a process that does not say which"


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "writer.lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        locks.holder(tmp_path / "writer.lock")


def test_a_vault_at_rest_has_no_lock_files(vault: Vault) -> None:
    assert git_locks(vault) == []


@pytest.mark.parametrize(
    "name",
    ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"],
)
def test_an_old_lock_file_that_nobody_uses_is_stale(vault: Vault, name: str) -> None:
    path = left_behind(vault, name)
    (lock,) = git_locks(vault)
    assert (lock.path, lock.is_stale) == (path, True)
    assert HOUR - 1 < lock.age < HOUR + 60
    assert path.exists()


@pytest.mark.parametrize(("age", "stale"), [(-HOUR, False), (5, False), (50, False), (90, True)])
def test_a_lock_file_is_stale_after_a_minute(vault: Vault, age: float, stale: bool) -> None:
    left_behind(vault, "index.lock", age)
    (lock,) = git_locks(vault)
    assert lock.is_stale is stale


@WITH_PROC
def test_a_lock_file_that_a_process_has_open_is_not_stale(vault: Vault) -> None:
    path = left_behind(vault, "index.lock")
    with path.open("rb"):
        assert [lock.is_stale for lock in git_locks(vault)] == [False]
    assert [lock.is_stale for lock in git_locks(vault)] == [True]


@WITH_PROC
def test_a_lock_file_is_not_stale_while_a_git_works_in_the_vault(vault: Vault) -> None:
    left_behind(vault, "index.lock")
    git = shutil.which("git") or "git"
    with subprocess.Popen(
        [git, "cat-file", "--batch"], cwd=vault.root, stdin=subprocess.PIPE
    ) as process:
        assert [lock.is_stale for lock in git_locks(vault)] == [False]
        assert process.stdin is not None
        process.stdin.close()
    assert [lock.is_stale for lock in git_locks(vault)] == [True]


@WITH_PROC
def test_another_program_at_work_in_the_vault_keeps_no_lock(vault: Vault) -> None:
    left_behind(vault, "index.lock")
    waits = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waits, cwd=vault.root, stdin=subprocess.PIPE) as process:
        assert [lock.is_stale for lock in git_locks(vault)] == [True]
        process.communicate(b"\n")
