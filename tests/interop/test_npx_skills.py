"""npx skills: of a vault whose skills all wait it lists and installs nothing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import HAND_MADE

# Where `make interop` puts the programs.
PLACE = Path(os.environ.get("SKILLVAULT_INTEROP") or Path(__file__).parents[2] / ".interop")
PROGRAMS = PLACE / "node_modules/.bin"
SECONDS = 300  # after which a program that asks for something is given up

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "skills").exists(), reason=f"no npx skills in {PLACE}; run `make interop`"
)
DEPTHS = [(), ("--full-depth",)]


@pytest.fixture
def waiting(vault: Vault, person: Person) -> Vault:
    """A vault with a skill of an untrusted source, one that was retired, and none to serve."""
    (vault.root / "inbox/untrusted/theirs.json").write_bytes(as_file(raw(0)))
    vault.run(now=NOW, patience=10)
    vault.record([("ours.json", as_file(raw(1, decision__target="ours")))], now=NOW)
    vault.run(now=NOW)
    for skill in vault.skills():
        vault.curate.retire(skill.name, now=NOW)
    head = vault.store.head().skills
    assert (len(head.proposed), len(head.archived), vault.skills()) == (1, 1, [])
    return vault


def _skills(project: Path, *args: str) -> str:
    """What the client says, in a project of its own; it asks nobody and tells nobody."""
    project.mkdir(exist_ok=True)
    env = {
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": os.environ["HOME"],
        "DO_NOT_TRACK": "1",
        "DISABLE_TELEMETRY": "1",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [str(PROGRAMS / "node"), str(PROGRAMS / "skills"), *args],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout + done.stderr)


def _installed(project: Path) -> list[str]:
    """The skills that lie in a project, for whatever agent."""
    return sorted({path.parent.name for path in project.rglob("SKILL.md")})


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("form", ["path", "url"])
def test_skills_that_wait_are_neither_listed_nor_installed(
    waiting: Vault, tmp_path: Path, depth: tuple[str, ...], form: str
) -> None:
    place = str(waiting.root) if form == "path" else waiting.root.as_uri()
    said = _skills(tmp_path / "project", "add", place, "--list", *depth)
    assert "No valid skills found" in said
    _skills(tmp_path / "project", "add", place, "--all", *depth)
    assert _installed(tmp_path / "project") == []


@pytest.mark.parametrize("depth", DEPTHS)
def test_beside_one_that_is_served_they_are_not_installed_either(
    waiting: Vault, person: Person, tmp_path: Path, depth: tuple[str, ...]
) -> None:
    person.write("skills/live/SKILL.md", HAND_MADE.format(name="live"))
    _skills(tmp_path / "project", "add", str(waiting.root), "--all", *depth)
    assert _installed(tmp_path / "project") == ["live"]


def test_what_is_approved_is_installed(waiting: Vault, tmp_path: Path) -> None:
    (name,) = waiting.store.head().skills.proposed
    waiting.curate.approve(name, now=NOW)
    _skills(tmp_path / "project", "add", str(waiting.root), "--all")
    assert _installed(tmp_path / "project") == [name]


def test_those_of_an_older_vault_are_listed_until_init_marks_them(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    for path in ("proposed/one/SKILL.md", "archive/two/SKILL.md"):
        person.write(path, HAND_MADE.format(name=Path(path).parent.name))
    person.git("add", "-A")
    person.git("commit", "-qm", "as it was")
    before = _skills(tmp_path / "project", "add", str(vault.root), "--list")
    assert ("one" in before, "two" in before) == (True, True)
    Vault.init(vault.root, now=NOW)
    assert "No valid skills found" in _skills(
        tmp_path / "project", "add", str(vault.root), "--list"
    )
