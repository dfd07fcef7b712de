"""fence: a gc.pid that a killed writer of ours left is known as ours; any other is git's."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from skillvault.api import Vault, doctor
from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit.locks import gc_lock

KILLED = """
import os, signal, sys
from pathlib import Path
from skillvault.vault.commit.locks import gc_lock
with gc_lock(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_gc_pid_of_a_killed_writer_holds_nobody_up(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = vault.store.git.dirs()[1]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(common)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (common / "gc.pid").exists()
    monkeypatch.setattr(socket, "gethostname", lambda: "a-new-container")
    with gc_lock(common, 0.0):
        assert (common / "gc.pid").read_text() == f"{os.getpid()} a-new-container"
    assert not (common / "gc.pid").exists()


def test_any_look_at_the_vault_removes_the_gc_pid_of_a_killed_writer(vault: Vault) -> None:
    common = vault.store.git.dirs()[1]
    subprocess.run([sys.executable, "-c", KILLED, str(common)], check=False)
    vault.status()
    assert not (common / "gc.pid").exists()
    assert (common / "skillvault/gc-owner").read_text() == ""


def test_a_gc_pid_of_a_writer_at_work_stays(vault: Vault) -> None:
    common = vault.store.git.dirs()[1]
    with gc_lock(common):
        vault.status()
        assert (common / "gc.pid").exists()


def test_a_gc_pid_of_git_is_named_with_its_process_and_stays(vault: Vault) -> None:
    path = vault.root / ".git/gc.pid"
    path.write_text("4242 other-container")
    said = "git/gc.pid says that `git gc` is at work (process 4242 on other-container)"
    with pytest.raises(VaultBusyError, match=r"remove .git/gc\.pid if no such") as busy:
        gc_lock(path.parent, 0.0).__enter__()
    assert said in str(busy.value)
    assert any(said in row.detail for row in doctor(vault.root))
    assert path.read_text() == "4242 other-container"


def test_who_holds_gc_pid_is_waited_for_and_leaves_nothing(vault: Vault) -> None:
    common = vault.store.git.dirs()[1]
    with gc_lock(common), pytest.raises(VaultBusyError, match=f"process {os.getpid()} on "):
        gc_lock(common, 0.0).__enter__()
    assert not (common / "gc.pid").exists()


def test_a_gc_pid_is_never_seen_without_its_words(vault: Vault) -> None:
    common, seen, done = vault.store.git.dirs()[1], set[str](), threading.Event()

    def look() -> None:
        while not done.is_set():
            with suppress(FileNotFoundError):
                seen.add((common / "gc.pid").read_text())

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(300):
        with gc_lock(common):
            time.sleep(0.001)
    done.set()
    reader.join()
    assert seen
    assert "" not in seen
