"""lock: one writer at a time, freed by any death."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillvault.errors import VaultBusyError
from skillvault.vault.commit.locks import writer_lock

HOLDER = """
import sys, time
from pathlib import Path
from skillvault.vault.commit.locks import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


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


def test_the_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), writer_lock(tmp_path / "lock"):
        raise ValueError("x")
    with writer_lock(tmp_path / "lock", wait=0):
        pass
