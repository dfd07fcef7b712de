"""skill list over the layers: which file of a name wins, and for whom it is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.errors import UsageError
from tests.conftest import Person

SEED = "reading-a-lift"


def call(vault: Vault, *args: str) -> tuple[str, str]:
    """(stdout, stderr) of one `skill list`, which ends well."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "skill", "list", *args])
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.fixture
def overridden(vault: Vault, person: Person) -> Vault:
    """A vault with a skill of its own in the place of a seed, for another role."""
    text = f"---\nname: {SEED}\ndescription: d\nmetadata:\n  roles: trader\n---\n\nMine.\n"
    person.write(f"skills/{SEED}/SKILL.md", text)
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    return vault


def test_the_file_that_wins_is_marked(overridden: Vault) -> None:
    out, err = call(overridden, "--layers")
    lines = [line.split() for line in out.splitlines() if SEED in line]
    assert [line[:-1] for line in lines] == [[SEED, "seed"], ["*", SEED, "vault"]]
    assert lines[1][-1] == f"skills/{SEED}/SKILL.md"
    assert Path(lines[0][-1]).is_file()
    assert err == "* marks the file that is served\n"


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("--tag", "bandit", "--tag", "nothing", "--stage", "theory"), 3),
        (("--role", "trader"), 1),
        (("--role", "reviewer", "--tag", "lift"), 0),
        (("--layers", "--role", "reviewer", "--tag", "lift"), 1),
    ],
)
def test_tag_role_and_stage_choose_among_what_is_in_force(
    overridden: Vault, args: tuple[str, ...], names: int
) -> None:
    out, _ = call(overridden, *args)
    assert sum("SKILL.md" in line for line in out.splitlines()) == names
    assert names or out == "no skill of any layer matches\n"


def test_without_them_the_vaults_own_are_listed_as_ever(overridden: Vault) -> None:
    assert call(overridden) == (f"{SEED}  testing\n", "")


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_on(
    vault: Vault, person: Person
) -> None:
    person.write("more/bad.md", "no front matter")
    person.write("vault.yaml", (vault.root / "vault.yaml").read_text() + "shelf: {dirs: [more]}\n")
    person.git("add", ".")
    person.git("commit", "-qm", "more")
    out, err = call(vault, "--layers")
    assert SEED in out
    assert f"not read: {vault.root}/more/bad.md: " in err


def test_what_waits_or_is_archived_is_no_layer(vault: Vault) -> None:
    with pytest.raises(UsageError, match="proposed/ is not a layer"):
        call(vault, "--proposed", "--layers")
