"""A person's own `git pull` goes by the rules of sync, file by file."""

from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from tests.clones import Team
from tests.conftest import NOW, Person


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones with a fact and a skill by hand."""
    place = tmp_path_factory.mktemp("by-hand") / "team"
    made = Team.made(_new_vault, place, ["ada", "ben"])
    ada = made.clones[0]
    ada.person.write("memory/perps/f.md", "One thing.\n\nAnother.\n")
    ada.person.write("notes.md", "one\n")
    ada.person.git("add", "-A")
    ada.person.git("commit", "-qm", "By hand")
    made.sync()
    return place


@pytest.fixture
def team(pattern: Path, tmp_path: Path) -> Team:
    """A copy of the two clones."""
    return Team.copied(pattern, tmp_path / "team")


def pulled(team: Team, path: str, ours: tuple[str, str], theirs: tuple[str, str]) -> Person:
    """Let ben pull a file that both changed, and return ben's person."""
    ada, ben = team.clones
    ada.edit(path, theirs)
    ada.person.git("push", "-q", "origin", "main")
    ben.edit(path, ours)
    ben.person.git("pull", "-q", "--no-rebase", "--no-edit", ok=False)
    return ben.person


def test_what_both_changed_of_a_record_is_merged_by_its_rule(team: Team) -> None:
    ben = pulled(team, "memory/perps/f.md", ("One thing.", "One."), ("One thing.", "Some thing."))
    assert ben.status() == ""
    text = (ben.root / "memory/perps/f.md").read_text(encoding="utf-8")
    assert {"One.", "Some thing.", "Another."} == set(filter(None, text.split("\n")))
    assert Vault(ben.root).check().problems == []


def test_a_list_of_links_has_the_lines_of_both(team: Team) -> None:
    line = "- {{type: derived, to: skill/{}, at: '2026-11-20T12:00:00Z'}}\n"
    a, b, c = map(line.format, "abc")
    path = "memory/perps/f.links.yaml"
    ada = team.clones[0]
    ada.person.write(path, b)
    ada.person.git("add", "-A")
    ada.person.git("commit", "-qm", "A link")
    team.sync()
    ben = pulled(team, path, (b, a + b), (b, b + c))
    assert ben.status() == ""
    assert (ben.root / path).read_text(encoding="utf-8") == a + b + c


def test_what_no_rule_decides_is_left_to_the_person(team: Team) -> None:
    ben = pulled(team, "notes.md", ("one", "two"), ("one", "three"))
    assert "UU notes.md" in ben.status()


def test_a_record_that_cannot_be_read_is_left_to_the_person(team: Team) -> None:
    path, broken = "memory/perps/f.md", "---\nid: [\n---\nOne thing, at least."
    ben = pulled(team, path, ("One thing.", "One."), ("One thing.", broken))
    assert f"UU {path}" in ben.status()


def test_doctor_says_where_the_attribute_has_no_driver(team: Team) -> None:
    ada = team.clones[0]
    rows = {row.check: row for row in doctor(ada.root, now=NOW)}
    assert rows["merge driver"].state == "ok"
    ada.person.git("config", "--unset", "merge.skillvault.driver")
    rows = {row.check: row for row in doctor(ada.root, now=NOW)}
    assert (rows["merge driver"].state, rows["merge driver"].fix) == ("note", "skillvault init")
