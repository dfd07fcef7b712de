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
    assert (
        clone.store.snapshot().skills[name].created == vault.store.snapshot().skills[name].created
    )
    clone.run(now=NOW)  # it has both outcomes by now
    assert clone.run(now=NOW).done == []
    assert clone.check().problems == []
    folder = clone.root / "skills" / name / "references"
    assert {path.name for path in folder.iterdir()} == {"evidence.yaml", "tried.md"}


def test_what_both_wrote_in_one_guide_is_in_it_after_a_pull(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    vault.record([("0.json", as_file(raw(0)))], now=NOW)
    vault.run(now=NOW)
    (name,) = [skill.name for skill in vault.skills()]
    person.git("clone", "-q", str(vault.root), str(tmp_path / "clone"))
    clone, _ = Vault.init(tmp_path / "clone", now=NOW)
    other = Person(clone.root)
    deeds = ("I sort the rows before I compare them.", "I seed the random generator.")
    for number, (own, who) in enumerate(((vault, person), (clone, other))):
        path = own.root / "skills" / name / "SKILL.md"
        path.write_text(path.read_text() + f"\n## Of {number}\n\nAsk {number}.\n")
        who.git("commit", "-qam", "mine")
        given = raw(number + 1, decision__reasoning=deeds[number])
        own.record([(f"{number}.json", as_file(given))], now=NOW)
        own.run(now=NOW)
    assert "CONFLICT" not in other.git("pull", "--no-rebase", "--no-edit")
    clone.run(now=NOW)
    text = (clone.root / "skills" / name / "SKILL.md").read_text()
    assert all(f"## Of {number}\n\nAsk {number}.\n" in text for number in (0, 1))
    assert all(deed.rstrip(".") in text for deed in deeds)
    assert ": 3 outcomes" in text
    assert clone.run(now=NOW).done == []
    assert clone.check().problems == []
