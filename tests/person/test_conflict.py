"""Two clones that learned from one outcome, brought together by a person's own `git pull`."""

from pathlib import Path

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import as_file, raw


def test_a_pull_after_both_learned_has_no_conflict_and_touches_no_edit(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("clone", "-q", str(vault.root), str(tmp_path / "clone"))
    clone, _ = Vault.init(tmp_path / "clone", now=NOW)
    for own, days in ((vault, [0]), (clone, [0, 1])):
        own.record([(f"{day}.json", as_file(raw(day))) for day in days], now=NOW)
        own.run(now=NOW)
    other = Person(clone.root)
    edited = {"README.md": "mine\n", "notes/draft.md": "a draft of mine\n"}
    for path, text in edited.items():
        other.write(path, text)
    assert "CONFLICT" not in other.git("pull", "--no-rebase", "--no-edit")
    assert clone.check().problems == []
    assert {path: (clone.root / path).read_text() for path in edited} == edited
    assert other.git("rev-list", "--count", "--merges", "HEAD") == "1"
    (name,) = [skill.name for skill in clone.skills()]
    assert clone.store.head().skills[name].created == vault.store.head().skills[name].created
    clone.run(now=NOW)  # it has both outcomes by now
    assert clone.run(now=NOW).done == []
