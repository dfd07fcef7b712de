"""--at: what the vault knew at a commit, at a time, at the end of a day."""

import tempfile

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from skillvault.vault.git.repository import check_out_past
from tests.conftest import Person
from tests.vault.given import HAND_MADE

OLD, NEW = "Use the old flag.", "Use the new flag."


@pytest.fixture
def changed(vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault whose skill said something else until the 10th, and stood alone."""
    for day, name, text in ((5, "flags", OLD), (10, "flags", NEW), (10, "later", OLD)):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-11-{day:02d}T18:00:00+00:00")
        body = HAND_MADE.format(name=name).replace("Do it.", text)
        person.write(f"skills/{name}/SKILL.md", body)
        person.git("add", "-A")
        person.git("commit", "-qm", f"{name} on the {day}th")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    return vault


def call(vault: Vault, *args: str) -> str:
    """Run a command and return its output; raise its refusal."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args])
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("at", ["HEAD~2", "2026-11-05", "2026-11-09", "2026-11-10T17:59:59Z"])
def test_a_skill_is_shown_found_and_served_as_it_was(changed: Vault, at: str) -> None:
    assert OLD in call(changed, "skill", "show", "flags", "--at", at)
    assert "later" not in call(changed, "search", "flag", "--at", at)
    served = call(changed, "recommend", "--domain", "perps", "--at", at)
    assert OLD in served
    assert NEW not in served


@pytest.mark.parametrize("at", ["HEAD", "2026-11-10", "2026-11-11"])
def test_a_day_holds_all_its_commits(changed: Vault, at: str) -> None:
    assert NEW in call(changed, "skill", "show", "flags", "--at", at)
    assert "later" in call(changed, "search", "flag", "--at", at)


def test_a_look_back_leaves_nothing_behind(changed: Vault, person: Person) -> None:
    before = person.git("for-each-ref"), person.git("status", "--porcelain")
    with check_out_past(changed.store.git, "main", "HEAD~2") as (place, _):
        assert [skill.name for skill in Vault.open(place).skills()] == ["flags"]
    assert not place.exists()
    assert place.is_relative_to(tempfile.gettempdir())
    assert (person.git("for-each-ref"), person.git("status", "--porcelain")) == before


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("2020-01-01", "no commit that old"),
        ("no-such-branch", "neither a commit nor a time"),
        ("--all", "neither a commit nor a time"),
    ],
)
def test_a_moment_that_there_was_not_is_named(changed: Vault, at: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"--at {at}: .*{words}"):
        call(changed, "search", "flag", "--at", at)


def test_what_was_known_then_is_not_recorded_as_shown(changed: Vault) -> None:
    with pytest.raises(UsageError, match="is not recorded"):
        call(changed, "recommend", "--domain", "perps", "--at", "HEAD", "--decision", "d-1")
    assert list((changed.root / "inbox").glob("*.*")) == []
