"""export and import skills: lines for a person, JSON for a program, an exit code for a script."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.exchange.skills.formats import SKILL_FORMATS
from tests.conftest import NOW, Person

PAGE = "---\nname: {name}\ndescription: Use before {name}.\n---\n\n# {name}\n"


@pytest.fixture
def served(vault: Vault, person: Person) -> Vault:
    """A vault with two live skills."""
    for name in ("one", "two"):
        person.write(f"skills/{name}/SKILL.md", PAGE.format(name=name))
    person.git("add", "-A")
    person.git("commit", "-qm", "skills")
    return vault


def call(vault: Vault, *args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["--vault", str(vault.root), *map(str, args)])


def test_exported_rules_are_counted(served: Vault, tmp_path: Path) -> None:
    for text in ("Use uv for packages.", "Run the tests before you commit."):
        served.memory.add_fact(text, "coding", now=NOW)
    done = call(served, "export", "--to", "gemini", tmp_path / "out")
    assert done.stdout.startswith("exported 2 skills and 2 rules to ")


def test_a_person_reads_what_was_done_and_what_was_left(served: Vault, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dry = call(served, "export", "--to", "codex", out, "--dry-run")
    assert dry.stdout.startswith(f"would export 2 skills to {out}; files: 2 written")
    assert not out.exists()
    done = call(served, "export", "--to", "codex", out)
    assert done.stdout == f"exported 2 skills to {out}; files: 2 written, 0 removed, 0 as before\n"
    assert done.exit_code == 0
    (out / ".agents/skills/one/SKILL.md").write_text("mine\n")
    left = call(served, "export", "--to", "codex", out)
    assert left.stderr.startswith("left as it is: .agents/skills/one/SKILL.md: was edited; put ")
    assert left.exit_code == 1


def test_what_does_not_fit_is_told(served: Vault, person: Person, tmp_path: Path) -> None:
    export = ("export", "--to", "codex", tmp_path / "out", "--budget", "60")
    done = call(served, *export)
    assert done.stderr.startswith("left out: two: takes ")
    assert done.exit_code == 0
    long = PAGE.format(name="one").replace("Use before one.", f"Use before one. {'It ' * 50}.")
    person.write("skills/one/SKILL.md", long)
    person.git("commit", "-qam", "long")
    done = call(served, *export)
    assert "descriptions are cut to 100 characters to fit; --budget allows more\n" in done.stderr


def test_a_program_reads_the_same(served: Vault, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = json.loads(call(served, "export", "--to", "well-known", out, "--json").stdout)
    assert said == {
        "format": "well-known",
        "changed": ["one", "two"],
        "rules": [],
        "folder": str(out),
        "skills": ["one", "two"],
        "left_out": [],
        "cut": None,
        "written": [
            ".well-known/agent-skills/one/SKILL.md",
            ".well-known/agent-skills/two/SKILL.md",
            ".well-known/agent-skills/index.json",
        ],
        "removed": [],
        "unchanged": 0,
        "left": [],
    }


def test_skills_come_in_by_import(vault: Vault, tmp_path: Path) -> None:
    page = tmp_path / "CLAUDE.md"
    page.write_text("## Style\n\nBlack, 100 columns.\n")
    done = call(vault, "import", "skills", page, "--json")
    assert [row["name"] for row in json.loads(done.stdout)["installed"]] == ["style"]
    again = call(vault, "import", "skills", page, "--from", "agents-md")
    assert again.stderr.startswith("style: is here already, from agents-md:")
    assert again.exit_code == 0
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/SKILL.md").write_text("---\nname: bad\n")
    bad = call(vault, "import", "skills", tmp_path / "bad")
    assert "not installed: SKILL.md: line 1: the front matter" in bad.stderr
    assert bad.exit_code == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("skills", "--domain", "perps"), "--domain is for outcomes"),
        (("jsonl", "--from", "eurekaclaw"), "--from is for skills"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    vault: Vault, tmp_path: Path, args: tuple[str, ...], sentence: str
) -> None:
    page = tmp_path / "CLAUDE.md"
    page.write_text("## Style\n")
    refused = call(vault, "import", args[0], page, *args[1:])
    assert sentence in str(refused.exception)


FORMATS = [name for name, format_ in SKILL_FORMATS.items() if format_.write]


@pytest.mark.parametrize("name", FORMATS)
def test_a_skill_counts_as_exported_if_something_of_it_was_written(
    served: Vault, tmp_path: Path, name: str
) -> None:
    command = ("export", "--to", name, tmp_path / "out")
    assert call(served, *command).stdout.startswith("exported 2 skills to")
    assert call(served, *command).stdout.startswith("exported 0 skills to")


@pytest.mark.parametrize("name", FORMATS)
def test_a_skill_that_is_refused_does_not_count(served: Vault, tmp_path: Path, name: str) -> None:
    call(served, "export", "--to", name, tmp_path / "out")
    texts = [p for p in (tmp_path / "out").rglob("*.md*") if "one" in p.read_text()]
    for path in texts:
        path.write_text(path.read_text().replace("Use before one.", "Mine."))
    done = call(served, "export", "--to", name, tmp_path / "out", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, "one" in said["skills"], said["changed"]) == (1, False, [])
