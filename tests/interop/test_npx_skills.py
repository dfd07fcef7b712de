"""npx skills: of a vault whose skills all wait it lists and installs nothing."""

from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.interop.programs import Program
from tests.vault.given import HAND_MADE

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
    head = vault.store.snapshot().skills
    assert (len(head.proposed), len(head.archived), vault.skills()) == (1, 1, [])
    return vault


@pytest.fixture
def client(tmp_path: Path) -> Program:
    """The client, with a home of its own."""
    return Program("skills", tmp_path / "home")


def _skills(client: Program, *args: str) -> str:
    """Run the client in a project of its own, and return its output."""
    project = client.home / "project"
    project.mkdir(exist_ok=True)
    done = client.run(*args, cwd=project)
    return done.stdout + done.stderr


def _installed(client: Program) -> list[str]:
    """The skills that it put anywhere, for whatever agent."""
    return sorted({path.parent.name for path in client.home.rglob("SKILL.md")})


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("form", ["path", "url"])
def test_skills_that_wait_are_neither_listed_nor_installed(
    waiting: Vault, client: Program, depth: tuple[str, ...], form: str
) -> None:
    place = str(waiting.root) if form == "path" else waiting.root.as_uri()
    said = _skills(client, "add", place, "--list", *depth)
    assert "No valid skills found" in said
    _skills(client, "add", place, "--all", *depth)
    assert _installed(client) == []


@pytest.mark.parametrize("depth", DEPTHS)
def test_beside_one_that_is_served_they_are_not_installed_either(
    waiting: Vault, person: Person, client: Program, depth: tuple[str, ...]
) -> None:
    person.write("skills/live/SKILL.md", HAND_MADE.format(name="live"))
    _skills(client, "add", str(waiting.root), "--all", *depth)
    assert _installed(client) == ["live"]


def test_what_is_approved_is_installed(waiting: Vault, client: Program) -> None:
    (name,) = waiting.store.snapshot().skills.proposed
    waiting.curate.approve(name, now=NOW)
    _skills(client, "add", str(waiting.root), "--all")
    assert _installed(client) == [name]
