"""The recipe of CONTRIBUTING for a step, carried out on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from skillvault.loop.registry import STEPS
from tests.given import as_file, trade

ROOT = Path(__file__).resolve().parent.parent
NOW = "2026-11-20T12:00:00Z"
# Where a block goes that is not a new file: its comment -> (a line, whether it goes behind it).
PLACES = {
    "skillvault/loop/registry.py, in _LOOP": ('    Step("expire"', False),
    "skillvault/model/policy.py, before Policy": ("class Policy(Struct", False),
    "skillvault/model/policy.py, in Policy": (
        "    judge: JudgePolicy = field(default_factory=JudgePolicy)\n",
        True,
    ),
}
AGENDA = "from skillvault.loop.registry import AGENDA; print(*AGENDA.steps)"


def blocks() -> dict[str, str]:
    """Return each block of the recipe by the comment at its head."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = page[page.index("## Add a step") : page.index("## Add an import format")]
    code = map(textwrap.dedent, re.findall(r" *```python\n(.*?)```", recipe, re.DOTALL))
    parts = (block.removeprefix("# ").partition("\n") for block in code)
    return {comment: text for comment, _, text in parts}


class Package:
    """A copy of the package, and a vault that is used with it."""

    def __init__(self, folder: Path) -> None:
        self.source, self.vault = folder / "source", folder / "vault"
        for name in ("skillvault", "vault_template", "hooks"):
            shutil.copytree(ROOT / name, self.source / name)

    def follow_recipe(self) -> None:
        """Put each block of the recipe where its comment says."""
        for comment, text in blocks().items():
            path = self.source / comment.partition(",")[0].removeprefix("new: ")
            if comment.startswith("new: "):
                path.write_text(text)
                continue
            line, behind = PLACES[comment]
            source = path.read_text()
            assert source.count(line) == 1, comment
            both = line + text if behind else f"{text}\n\n{line}"
            path.write_text(source.replace(line, both))

    def python(self, *args: str) -> str:
        """Run a Python that knows this package alone, and return its output."""
        place = {"PYTHONPATH": str(self.source)}
        done = subprocess.run(
            [sys.executable, *args],
            cwd=self.vault if self.vault.exists() else self.source,
            env=os.environ | place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def skillvault(self, *args: str) -> str:
        """Run a command of the program and return its output."""
        return self.python("-m", "skillvault", *args)

    def record(self, day: int, score: float) -> None:
        """Put an outcome into the inbox and record it."""
        (self.vault / "inbox" / f"{day}.json").write_bytes(as_file(trade(day, score)))
        self.skillvault("run", "record", "--now", NOW)

    def waiting(self) -> int:
        """Return the number of items that the step has to work on."""
        waiting: dict[str, int] = json.loads(self.skillvault("status", "--json"))["waiting"]
        return waiting["praise"]

    def git(self, *args: str) -> str:
        """Run git and return its output."""
        args = ("git", *args)
        return subprocess.run(
            args, cwd=self.vault, capture_output=True, text=True, check=True
        ).stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package with the step of the recipe, and a vault with two outcomes."""
    package = Package(tmp_path_factory.mktemp("recipe"))
    package.follow_recipe()
    package.skillvault("init", str(package.vault), "--now", NOW)
    package.record(1, 0.7)
    package.record(2, 0.1)
    return package


def test_the_recipe_makes_a_step(package: Package) -> None:
    assert str(package.source) in package.python("-c", "import skillvault; print(skillvault)")
    assert set(package.python("-c", AGENDA).split()) == {*STEPS, "praise"}
    assert package.waiting() == 2

    head = package.git("rev-parse", "HEAD")
    assert "praise: open_long in perps" in package.skillvault("run", "praise", "--dry-run")
    assert package.git("rev-parse", "HEAD") == head
    assert package.waiting() == 2

    package.skillvault("run", "praise", "--now", NOW)
    message = package.git("log", "-1", "--format=%B")
    assert message.startswith("praise: open_long in perps\n")
    assert "Its score is 0.7, at least 0.5." in message
    assert "\nSkillvault-Step: praise\nSkillvault-Source: outcome:" in message
    assert "\nSkillvault-Target: fact:praise-" in message
    assert "praise" in {
        commit["step"] for commit in json.loads(package.skillvault("log", "--json"))
    }
    assert package.skillvault("check") == "no problems found\n"

    # What was waiting for its commit is looked at once more; then only what changes is due.
    head = package.git("rev-parse", "HEAD")
    package.skillvault("run", "praise", "--now", NOW)
    assert package.git("rev-parse", "HEAD") == head
    assert package.waiting() == 0
    package.skillvault("run", "promote", "merge", "assess", "expire", "--now", NOW)
    assert package.waiting() == 0
    package.record(3, 0.9)
    assert package.waiting() == 1

    # What a person takes away is not made again.
    package.skillvault("run", "praise", "--now", NOW)
    package.git("revert", "--no-edit", "HEAD")
    head = package.git("rev-parse", "HEAD")
    package.skillvault("run", "praise", "--now", NOW)
    assert package.git("rev-parse", "HEAD") == head
