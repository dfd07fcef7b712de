"""The recipe of docs/team.md for a merge with conflicts, run as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import HAND_MADE

DOCUMENT = Path(__file__).parents[2] / "docs/team.md"
RECIPE = re.compile(r"```sh\n(git diff --name-only.*?)```", re.DOTALL)


def resolved(clone: Vault) -> "subprocess.CompletedProcess[str]":
    """The recipe, as a person types it."""
    prelude = f'set -e; skillvault() {{ {sys.executable} -m skillvault "$@"; }}\n'
    (recipe,) = RECIPE.findall(DOCUMENT.read_text(encoding="utf-8"))
    return subprocess.run(
        ["sh", "-c", prelude + recipe], cwd=clone.root, check=False, capture_output=True, text=True
    )


def test_the_recipe_takes_what_the_other_side_removed_away(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    for name in ("kept", "removed"):
        person.write(f"skills/{name}/SKILL.md", HAND_MADE.format(name=name))
    person.git("add", "-A")
    person.git("commit", "-qnm", "two skills")
    person.git("clone", "-q", str(vault.root), str(tmp_path / "clone"))
    clone, _ = Vault.init(tmp_path / "clone", now=NOW)
    other = Person(clone.root)
    person.write("skills/kept/SKILL.md", HAND_MADE.format(name="kept") + "theirs\n")
    person.git("rm", "-q", "skills/removed/SKILL.md")
    person.git("commit", "-qnam", "theirs")
    for name in ("kept", "removed"):
        other.write(f"skills/{name}/SKILL.md", HAND_MADE.format(name=name) + "mine\n")
    other.git("commit", "-qnam", "mine")
    assert "CONFLICT" in other.git("pull", "--no-rebase", "--no-edit", ok=False)
    done = resolved(clone)
    assert (done.returncode, "all holds" in done.stdout) == (0, True), done.stderr
    assert list(clone.store.head().skills) == ["kept"]
    assert (clone.root / "skills/kept/SKILL.md").read_text().endswith("theirs\n")


def test_the_recipe_after_a_conflict_resolves_it_and_touches_no_edit(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("clone", "-q", str(vault.root), str(tmp_path / "clone"))
    clone, _ = Vault.init(tmp_path / "clone", now=NOW)
    for own, days in ((vault, [0]), (clone, [0, 1])):
        own.record([(f"{day}.json", as_file(raw(day))) for day in days], now=NOW)
        own.run(now=NOW)
    other = Person(clone.root)
    assert "CONFLICT" in other.git("pull", "--no-rebase", "--no-edit", ok=False)
    edited = {"README.md": "mine\n", "notes/draft.md": "a draft of mine\n"}
    for path, text in edited.items():
        other.write(path, text)
    done = resolved(clone)
    assert (done.returncode, "all holds" in done.stdout) == (0, True), done.stderr
    assert {path: (clone.root / path).read_text() for path in edited} == edited
    assert other.git("rev-list", "--count", "--merges", "HEAD") == "1"
    (name,) = [skill.name for skill in clone.skills()]
    assert clone.store.head().skills[name].created == vault.store.head().skills[name].created
    clone.run(now=NOW)  # it has both outcomes by now
    assert clone.run(now=NOW).done == []
