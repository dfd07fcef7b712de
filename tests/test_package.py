"""What people install: the wheel carries all that `init` needs."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = re.compile(r"pip install (?:-e )?['\"]?(?P<what>[\w.-]+)")


def test_every_install_hint_names_our_distribution() -> None:
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("skillvault/**/*.py")]
    hints = [
        (path.name, hint["what"])
        for path in texts
        for hint in INSTALL.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len([name for name, _ in hints if name.endswith(".py")]) >= 3
    # The documents may name the other product's, to warn of it.
    allowed = {PROJECT["name"], "."}
    warnings = {("CONTRIBUTING.md", "skillvault"), ("README.md", "skillvault")}
    assert [hint for hint in hints if hint[1] not in allowed and hint not in warnings] == []


def test_the_distribution_is_named_apart_from_the_import() -> None:
    assert PROJECT["name"] == "skillvault-git"
    assert list(PROJECT["scripts"]) == ["skillvault"]


def test_the_wheel_makes_a_vault_by_itself(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    assert (installed / "skillvault/model/english/common_words.txt").is_file()
    assert (installed / "skillvault/learning/effect/cues.txt").is_file()
    assert (installed / "skillvault/learning/tries/words.txt").is_file()
    assert (installed / "skillvault/model/reasoning.txt").is_file()
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
