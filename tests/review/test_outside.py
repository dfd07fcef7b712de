"""A folder outside the vault is read only where this machine's own git config says so."""

import os
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.cli.test_recommend import NOW, call
from tests.conftest import Person
from tests.vault.given import HAND_MADE

NAME = "away"


@pytest.fixture
def beside(vault: Vault, tmp_path: Path) -> Path:
    """A folder of skills on this machine that is no vault's."""
    path = tmp_path / "company/skills" / NAME / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(HAND_MADE.format(name=NAME))
    return path.parents[1]


def _is_served(vault: Vault) -> bool:
    return Vault.open(vault.root).shelf.get(NAME) is not None


def _name(person: Person, folder: str) -> None:
    """As a commit of somebody else does that was pulled."""
    person.rule(f"shelf: {{dirs: [{folder}]}}")


def _link(vault: Vault, person: Person, name: str, target: Path) -> None:
    (vault.root / name).parent.mkdir(parents=True, exist_ok=True)
    (vault.root / name).symlink_to(target)
    person.git("add", "-f", name)
    person.git("commit", "-qm", "a link")


@pytest.mark.parametrize("form", ["relative", "whole", "link"])
def test_what_the_policy_names_outside_is_not_read_unless_this_machine_allows_it(
    vault: Vault, person: Person, beside: Path, form: str
) -> None:
    names = {"relative": "../company/skills", "whole": str(beside), "link": "team"}
    if form == "link":
        _link(vault, person, "team", beside)
    _name(person, names[form])
    assert not _is_served(vault)
    (problem,) = vault.shelf.problems
    assert (problem.path, problem.key, problem.code) == (names[form], "shelf.dirs", "outside")
    person.git("config", "--add", "skillvault.dirs", "/nowhere")
    person.git("config", "--add", "skillvault.dirs", str(beside))
    assert _is_served(vault)


@pytest.mark.parametrize("allowed", ["..", "../company", "../company/skills", "~/company"])
def test_what_lies_in_an_allowed_folder_is_allowed(
    vault: Vault, person: Person, beside: Path, monkeypatch: pytest.MonkeyPatch, allowed: str
) -> None:
    _name(person, "../company/skills")
    person.git("config", "skillvault.dirs", allowed)
    (Path(os.environ["HOME"]) / ".gitconfig").rename(beside.parents[1] / ".gitconfig")
    monkeypatch.setenv("HOME", str(beside.parents[1]))
    assert _is_served(vault)


@pytest.mark.parametrize("allowed", ["../company/skills/away", "../company/skill", ""])
def test_nothing_else_is(vault: Vault, person: Person, beside: Path, allowed: str) -> None:
    _name(person, "../company/skills")
    person.git("config", "skillvault.dirs", allowed)
    assert not _is_served(vault)


def test_one_sentence_tells_how_to_allow_it(vault: Vault, person: Person, beside: Path) -> None:
    _name(person, "../company/skills")
    for command in (("recommend", "--domain", "coding", *NOW), ("skill", "list", "--layers")):
        _, err = call(vault, *command)
        says = f"run `git config --add skillvault.dirs {beside}`"
        assert "not read: ../company/skills: lies outside the vault, so it is not read; " in err
        assert says in err


def test_a_process_that_goes_on_sees_that_it_was_allowed(
    vault: Vault, person: Person, beside: Path
) -> None:
    _name(person, "../company/skills")
    assert vault.shelf.get(NAME) is None
    person.git("config", "skillvault.dirs", str(beside))
    assert vault.shelf.get(NAME) is not None
    person.git("config", "--unset", "skillvault.dirs")
    assert vault.shelf.get(NAME) is None


def test_a_file_that_is_a_link_out_of_the_vault_is_not_read(
    vault: Vault, person: Person, beside: Path
) -> None:
    _link(vault, person, "team/secret.md", beside / NAME / "SKILL.md")
    _link(vault, person, f"team/{NAME}/SKILL.md", beside / NAME / "SKILL.md")
    person.write("docs/ours.md", HAND_MADE.format(name="ours"))
    _link(vault, person, "team/ours.md", Path("../docs/ours.md"))
    _name(person, "team")
    assert not _is_served(vault)
    assert vault.shelf.get("ours") is not None
    assert {(Path(p.path).name, p.code) for p in vault.shelf.problems} == {
        ("secret.md", "link-outside"),
        ("SKILL.md", "link-outside"),
    }


def test_a_folder_that_is_a_link_out_of_the_vault_is_not_walked(
    vault: Vault, person: Person, beside: Path
) -> None:
    _link(vault, person, "team/all", beside)
    _name(person, "team")
    assert not _is_served(vault)


def test_the_callers_own_choice_needs_no_setting(vault: Vault, beside: Path) -> None:
    assert vault.shelf.add_dir(beside) == []
    assert vault.shelf.get(NAME) is not None
