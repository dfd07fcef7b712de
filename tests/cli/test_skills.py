"""skill list over the layers: which file of a name wins, and for whom it is."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
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
    person.write("more/bad.md", "---\nname: bad\n")
    person.write("vault.yaml", (vault.root / "vault.yaml").read_text() + "shelf: {dirs: [more]}\n")
    person.git("add", ".")
    person.git("commit", "-qm", "more")
    out, err = call(vault, "--layers")
    assert SEED in out
    assert f"not read: {vault.root}/more/bad.md: " in err


def test_what_waits_or_is_archived_is_no_layer(vault: Vault) -> None:
    with pytest.raises(UsageError, match="proposed/ is not a layer"):
        call(vault, "--proposed", "--layers")


# ── what is no file of the vault ─────────────────────────────────────────────────────


def ran(vault: Vault, *args: str) -> str:
    """stdout of a command that ends well."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args])
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_seed_is_shown_and_says_where_it_comes_from(vault: Vault) -> None:
    skill, path = vault.skill(SEED)
    assert ran(vault, "skill", "show", SEED) == Path(path).read_text(encoding="utf-8")
    assert json.loads(ran(vault, "skill", "show", SEED, "--json"))["name"] == skill.name
    assert "comes with the package" in ran(vault, "why", "reading_a_lift")
    assert SEED in ran(vault, "impact", SEED)
    ref = json.loads(ran(vault, "why", SEED, "--json"))["ref"]
    assert ref == {"kind": "skill", "id": SEED, "path": path, "layer": "seed"}


def test_a_seed_is_hidden_and_comes_back_by_a_commit_each(vault: Vault, person: Person) -> None:
    before = (vault.root / "vault.yaml").read_text(encoding="utf-8")
    ran(vault, "skill", "retire", SEED)
    assert vault.store.snapshot().policy.shelf.hidden == (SEED,)
    assert vault.shelf.get(SEED) is None
    assert person.git("log", "-1", "--format=%s") == f"retire: {SEED}"
    assert "Skillvault-Target: skill:reading-a-lift" in person.git("log", "-1", "--format=%B")
    with pytest.raises(UsageError, match="is hidden already"):
        ran(vault, "skill", "retire", SEED)
    with pytest.raises(UsageError, match="is hidden; "):
        ran(vault, "skill", "pin", SEED)
    assert f"retire: {SEED}" in ran(vault, "why", SEED)
    ran(vault, "skill", "restore", SEED)
    assert vault.shelf.get(SEED) is not None
    after = (vault.root / "vault.yaml").read_text(encoding="utf-8")
    assert after == f"{before}shelf:\n  hidden: []\n"
    assert vault.check().problems == []
    assert person.status() == ""


def test_several_skills_are_decided_by_a_commit_each(vault: Vault, person: Person) -> None:
    names = [skill.name for skill in vault.shelf.skills()][:2]
    lines = ran(vault, "skill", "retire", *names).splitlines()
    assert [line.partition(" ")[2] for line in lines] == [f"retire: {name}" for name in names]
    assert vault.store.snapshot().policy.shelf.hidden == tuple(names)
    restored = json.loads(ran(vault, "skill", "restore", *names, "--json"))
    assert [change["step"] for change in restored["changes"]] == ["restore", "restore"]


def test_a_hidden_seed_wins_nothing_and_is_said_to_be_hidden(vault: Vault) -> None:
    ran(vault, "skill", "retire", SEED)
    (line,) = [one for one in call(vault, "--layers")[0].splitlines() if SEED in one]
    assert (line[:2], line.endswith("SKILL.md  (hidden)")) == ("  ", True)
    (row,) = json.loads(call(vault, "--layers", "--tag", "lift", "--json")[0])
    assert (row["wins"], row["hidden"]) == (False, True)
    assert call(vault, "--tag", "lift")[0] == "no skill of any layer matches\n"
    shown = CliRunner().invoke(cli, ["--vault", str(vault.root), "skill", "show", SEED])
    assert f"hidden; `skillvault skill restore {SEED}` serves it again\n" in shown.stderr
    assert json.loads(ran(vault, "skill", "show", SEED, "--json"))["hidden"] is True


def test_a_seed_is_pinned_in_the_policy(vault: Vault) -> None:
    ran(vault, "skill", "pin", SEED)
    assert vault.store.snapshot().policy.shelf.pinned == (SEED,)
    (one,) = vault.recommend("coding", pins=[SEED], k=1).recommended
    assert one.status == "pinned"
    with pytest.raises(UsageError, match="is pinned already"):
        ran(vault, "skill", "pin", SEED)


def test_a_pinned_seed_is_let_go_by_restore_and_by_retire(vault: Vault, person: Person) -> None:
    ran(vault, "skill", "pin", SEED)
    ran(vault, "skill", "restore", SEED)
    assert vault.store.snapshot().policy.shelf.pinned == ()
    with pytest.raises(UsageError, match="is neither hidden nor pinned"):
        ran(vault, "skill", "restore", SEED)
    ran(vault, "skill", "pin", SEED)
    ran(vault, "skill", "retire", SEED)
    rules = vault.store.snapshot().policy.shelf
    assert (rules.hidden, rules.pinned) == ((SEED,), ())
    said = (
        "Sets shelf.hidden in vault.yaml to [reading-a-lift] and shelf.pinned in vault.yaml to []."
    )
    assert said in " ".join(person.git("log", "-1", "--format=%b").split())
    assert vault.check().problems == []


def test_a_skill_of_the_vault_comes_before_one_of_another_layer(overridden: Vault) -> None:
    assert "Mine." in ran(overridden, "skill", "show", SEED)
    ran(overridden, "skill", "retire", SEED)
    assert overridden.store.snapshot().policy.shelf.hidden == ()
    seed = overridden.shelf.get(SEED)
    assert seed is not None
    assert seed.origin == "seed"
