"""The wheel and the sdist carry everything that people need, and no document names an index."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = re.compile(
    r"(?:pip3? install|pipx install|pipx run|uvx(?: --from)?|uv tool install|uv add)"
    r"(?:\s-\S+)*\s+['\"]?(?P<what>[\w.$][^\s'\"`]*)"
)
PLACE = re.compile(r"\.(\[\w+\])?$|git\+")  # a clone, or the URL of the repository
GIT_URL = re.compile(r'"(git\+\$\{SKILLVAULT_GIT_URL:\?[^"]*)"')


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist; they are built once for all tests."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return set(listed.stdout.decode().split("\0")) - {""}


def texts() -> list[Path]:
    """Every text that a user may read: documents, workflows in them, templates, the program."""
    names = ["*.md", "docs/*.md", "Makefile", ".ci/*", "bench/*.md"]
    trees = ["skillvault/**/*", "vault_template/**/*", "plugins/**/*", "hooks/*"]
    suffixes = {"", ".md", ".py", ".json", ".yaml", ".yml", ".sh", ".html"}
    files = [path for pattern in [*names, *trees] for path in ROOT.glob(pattern)]
    return [path for path in files if path.is_file() and path.suffix in suffixes]


def test_nobody_is_told_to_install_us_from_an_index() -> None:
    hints = [
        (path.name, hint["what"])
        for path in texts()
        for hint in INSTALL.finditer(path.read_text(encoding="utf-8"))
        if hint["what"].startswith(".") or "skillvault" in hint["what"].lower()
    ]
    assert len([name for name, _ in hints if name.endswith(".py")]) >= 3
    # README and CONTRIBUTING name the other product to warn of it.
    warnings = {("CONTRIBUTING.md", "skillvault"), ("README.md", "skillvault")}
    assert [hint for hint in hints if not PLACE.match(hint[1]) and hint not in warnings] == []


def test_the_distribution_is_named_apart_from_the_import() -> None:
    assert PROJECT["name"] == "skillvault-git"
    assert list(PROJECT["scripts"]) == ["skillvault"]


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    "page",
    [
        "docs/agents.md",
        "docs/running.md",
        "vault_template/ci/github.yml",
        "vault_template/ci/gitlab.yml",
    ],
)
def test_a_git_url_that_is_not_set_is_one_clear_error(page: str, shell: str) -> None:
    words = GIT_URL.findall((ROOT / page).read_text(encoding="utf-8"))
    assert words
    for word in words:
        command = [shell, "-c", f'echo "{word}"']
        done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
        assert (done.returncode != 0, done.stdout) == (True, "")
        assert "SKILLVAULT_GIT_URL: set" in done.stderr


def test_the_wheel_has_every_file_of_the_package(built: Path, tracked: set[str]) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in tracked if name.startswith("skillvault/")}
    copied = {f"skillvault/{n}" for n in tracked if n.startswith(("vault_template/", "hooks/"))}
    assert "skillvault/py.typed" in package
    assert package | copied <= names
    assert any(name.endswith(".data/scripts/skillvault-hook") for name in names)


def test_the_sdist_has_every_file_of_the_repository(built: Path, tracked: set[str]) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in tracked if (ROOT / name).exists()} - {".gitattributes"} <= names


def test_the_wheel_makes_a_vault_by_itself(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")
    command = [sys.executable, "-m", "skillvault", "init", str(tmp_path / "vault")]
    env = {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    subprocess.run(command, cwd=installed, env=env, check=True, capture_output=True)
    made = {path.name for path in (tmp_path / "vault").iterdir()}
    assert {"vault.yaml", "README.md", ".gitignore", ".gitattributes", "inbox"} <= made
    hook = (tmp_path / "vault/.git/hooks/pre-commit").read_text()
    assert sys.executable in hook
    example = [sys.executable, "-m", "skillvault", "record", "--example"]
    shown = subprocess.run(example, cwd=installed, env=env, check=True, capture_output=True)
    assert shown.stdout.startswith(b"# One outcome")
