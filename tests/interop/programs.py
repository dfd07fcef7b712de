"""The real programs of others, where `make interop` put them; without one its tests are skipped.

They run in a home of their own, tell nobody of it, and reach no other machine than this one.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

# The folder of `npm install`, and one with clones of repositories of skills. They are read here,
# for a test sees nothing of the environment that it runs in.
PLACE, CLONES = "SKILLVAULT_INTEROP", "SKILLVAULT_CLONES"
_ENVIRONMENT = {name: os.environ.get(name, "") for name in (PLACE, CLONES)}
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

# They tell nobody of it, and keep as they are.
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "NO_COLOR": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Program:
    """One program, with a home in which nothing of this machine's person stands."""

    def __init__(self, name: str, home: Path) -> None:
        place = _ENVIRONMENT[PLACE]
        if not place:
            pytest.skip(f"{PLACE} is not set; `make interop` installs the programs and sets it")
        self.folder = Path(place).resolve() / "node_modules" / ".bin"
        if not (self.folder / name).exists():
            pytest.skip(f"{self.folder / name} is not there; `make interop` installs it")
        self._name = name
        self.home = home
        self.more: dict[str, str] = {}  # what every run has in its environment
        home.mkdir(parents=True, exist_ok=True)

    @property
    def command(self) -> str:
        """The file of the program."""
        return str(self.folder / self._name)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment in which it runs, with `more`."""
        (self.home / ".codex").mkdir(exist_ok=True)
        return {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "CODEX_HOME": str(self.home / ".codex"),
            **QUIET,
            **self.more,
            **more,
        }

    def run(
        self, *args: str, cwd: Path, told: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the program; return its output and its end, without the codes for a terminal.

        `told` is what it reads on stdin, `more` is added to its environment.
        """
        done = subprocess.run(
            [self.command, *args],
            cwd=cwd,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            input=told,
        )
        done.stdout, done.stderr = (_TERMINAL.sub("", text) for text in (done.stdout, done.stderr))
        return done


def clone(name: str) -> Path:
    """A clone of a repository of skills, `owner-name`."""
    place = Path(_ENVIRONMENT[CLONES]) / name
    if not (_ENVIRONMENT[CLONES] and place.is_dir()):
        pytest.skip(f"no clone {name}; set {CLONES} to a folder that holds it")
    return place


def skills_listed(text: str) -> set[str]:
    """The names that `skills add --list` prints: each alone on an indented line."""
    return set(re.findall(r"^[│ ]+([a-z0-9]+(?:-[a-z0-9]+)*)$", text, re.MULTILINE))


def codex_list(codex: Program, cwd: Path) -> dict[str, str]:
    """Name -> description of the skills of a project as Codex shows them to its model."""
    done = codex.run("debug", "prompt-input", cwd=cwd)
    assert done.returncode == 0, done.stderr
    texts = [
        part.get("text", "")
        for message in json.loads(done.stdout)
        for part in message.get("content", ())
    ]
    lines = (line for text in texts if "<skills_instructions>" in text for line in text.split("\n"))
    entry = re.compile(r"- (?P<name>[a-z0-9-]+): (?P<text>.*) \(file: (?P<root>r\d+)/")
    found: list[re.Match[str]] = [m for m in map(entry.match, lines) if m]
    own = {match["root"] for match in found if match["name"] == "skill-creator"}
    return {match["name"]: match["text"] for match in found if match["root"] not in own}


def as_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def copied(source: Path, target: Path) -> Path:
    """Copy a folder, as somebody else has it, and return the copy."""
    return Path(shutil.copytree(source, target, symlinks=True))
