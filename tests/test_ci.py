"""CI takes the later Pythons that run; a release stops at the first command that fails."""

import os
import shutil
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


TOOL = """#!/bin/sh
line="$(basename "$0") $*"
case "$line" in
  *"$BROKEN"*) exit 1 ;;
  *"-m venv "*) mkdir -p "$3/bin"
    for name in pip python twine skillvault skillvault-hook; do cp "$0" "$3/bin/$name"; done ;;
  *"-m build "*) mkdir dist; touch dist/a.whl dist/a.tar.gz ;;
  *" init vault "*) mkdir -p vault/skills ;;
  *" recommend "*) echo "- Avoid it" ;;
  *" print(skillvault"*) dirname "$0"; touch "$(dirname "$0")/py.typed" ;;
esac
"""


@pytest.mark.parametrize(
    ("broken", "is_tagged"),
    [("no command", True), ("skillvault run", False), ("install git+file", False)],
)
def test_a_release_is_tagged_only_if_each_command_works(
    tmp_path: Path, broken: str, is_tagged: bool
) -> None:
    root = tmp_path / "clone"
    shutil.copytree(FIND.parent, root / ".ci")
    (root / "pyproject.toml").write_text('version = "1.2.3"\n')
    (root / "CHANGELOG.md").write_text("## [1.2.3] - 2026-12-01\n")
    (root / ".gitignore").write_text("dist\n")
    tool = tmp_path / "python"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    (root / ".ci/python").write_text(f'#!/bin/sh\ntest "$1" = 3.11 && echo "{tool}"\n')
    git = ["git", "-C", str(root), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Version"]):
        subprocess.run([*git, *words], check=True)
    names = {f"GIT_{role}_{part}": "a@example.org" for role in ("AUTHOR", "COMMITTER")
             for part in ("NAME", "EMAIL")}  # fmt: skip
    environment = {**os.environ, **names, "BROKEN": broken}
    done = subprocess.run([root / ".ci/release", "--tag"], env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip
    tags = subprocess.run([*git, "tag"], capture_output=True, text=True, check=True).stdout
    assert (done.returncode == 0, tags == "v1.2.3\n") == (is_tagged, is_tagged), done.stderr
