"""CI takes the later Pythons that run, wherever they are, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

FIND = Path(__file__).resolve().parents[1] / ".ci/python"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def find(home: Path, version: str = VERSION) -> tuple[int, str]:
    """(exit code, what is printed)."""
    path = f"{home / 'bin'}:/usr/bin:/bin"
    environment = {"HOME": str(home), "PATH": path}
    done = subprocess.run(
        [FIND, version], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One with a command that is there and does not run, as pyenv puts it on the PATH."""
    shim = tmp_path / "bin" / f"python{VERSION}"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    return tmp_path


def test_a_python_that_does_not_run_is_none(home: Path) -> None:
    assert find(home) == (1, "")


def test_a_python_of_pyenv_is_taken_where_that_of_the_path_does_not_run(home: Path) -> None:
    real = home / f".pyenv/versions/{VERSION}.99/bin/python{VERSION}"
    real.parent.mkdir(parents=True)
    real.symlink_to(sys.executable)
    assert find(home) == (0, str(real))


def test_a_python_of_the_path_is_taken_first(home: Path) -> None:
    (home / f"bin/python{VERSION}").unlink()
    (home / f"bin/python{VERSION}").symlink_to(sys.executable)
    assert find(home) == (0, f"python{VERSION}")
