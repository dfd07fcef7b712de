"""search: what is found, of which trust, and what never takes a place from it."""

import json

import pytest

from skillvault.api import Vault
from skillvault.serving.inquiry import SearchResult
from tests.cli.test_recommend import call
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import HAND_MADE, anew

WORD = "zeppelin"
FACT = "---\nid: {id}\ndomain: coding\ntrust: {trust}\n---\n\nA {word} needs a mooring mast.\n"


def _tell(vault: Vault, day: int, *, untrusted: bool) -> None:
    """An outcome that teaches a sentence, through one of the doors."""
    text = f"the {WORD} lost gas"
    lesson = {"do": f"check the valves before {text}", "because": text, "evidence": text}
    given = raw(day, result={"status": "failure", "evidence": text}, lesson=lesson)
    if untrusted:
        (vault.root / "inbox/untrusted" / f"o{day}.json").write_bytes(as_file(given))
    else:
        vault.record([(f"o{day}.json", as_file(given))], now=NOW)


def _commit(person: Person, path: str, text: str) -> None:
    person.write(path, text)
    person.git("add", "-f", path)
    person.git("commit", "-qm", path)


def _flood(vault: Vault, person: Person) -> None:
    """Four untrusted outcomes and an untrusted fact."""
    for day in range(1, 5):
        _tell(vault, day, untrusted=True)
    text = FACT.format(id="theirs", trust="untrusted", word=f"{WORD} {WORD}")
    _commit(person, "memory/coding/theirs.md", text)
    vault.run(now=NOW, patience=10)


def _rows(found: list[SearchResult]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.trust, one.id) for one in found]


@pytest.fixture
def ours(vault: Vault, person: Person) -> Vault:
    """A vault with a fact and an evaluation that say the word."""
    _commit(person, "memory/coding/ours.md", FACT.format(id="ours", trust="local", word=WORD))
    _tell(vault, 0, untrusted=False)
    vault.run(now=NOW)
    return vault


@pytest.fixture
def flooded(ours: Vault, person: Person) -> Vault:
    """The same after a flood."""
    _flood(ours, person)
    return ours


def test_untrusted_records_are_found_only_if_they_are_asked_for(flooded: Vault) -> None:
    assert len(flooded.store.snapshot().evaluations) == 5
    found = flooded.search(WORD, k=50)
    assert {one.trust for one in found} == {"local"}
    assert {one.kind for one in found} >= {"fact", "evaluation"}
    every = flooded.search(WORD, k=50, untrusted=True)
    assert _rows(found) == [row for row in _rows(every) if row[1] == "local"]
    assert sum(one.trust == "untrusted" for one in every) == 5
    assert "theirs" in [one.id for one in every]
    assert len(flooded.search(WORD, k=2, untrusted=True)) == 2
    assert {one.kind for one in flooded.search(WORD, kind="fact", untrusted=True)} == {"fact"}
    assert flooded.search(WORD, domain="perps", untrusted=True) == []


def test_however_many_there_are_they_change_no_score(ours: Vault, person: Person) -> None:
    before = ours.search(WORD)
    _flood(ours, person)
    assert len(before) >= 2
    assert ours.search(WORD) == before


def test_every_row_says_its_trust(flooded: Vault) -> None:
    text, _ = call(flooded, "search", WORD, "--untrusted")
    assert text.count("  untrusted\n") == 5
    rows = json.loads(call(flooded, "search", WORD, "--json")[0])
    assert {row["trust"] for row in rows} == {"local"}


def test_an_index_made_anew_finds_the_same(flooded: Vault) -> None:
    again = anew(flooded.root)
    for untrusted in (False, True):
        assert again.search(WORD, untrusted=untrusted) == flooded.search(WORD, untrusted=untrusted)
    assert flooded.store.index.verify() is False


def test_what_a_person_trusts_in_its_file_is_found_and_what_they_do_not_is_not(
    flooded: Vault, person: Person
) -> None:
    paths = sorted((flooded.root / "outcomes").rglob("*.yaml"))
    turned = {"trust: untrusted": "trust: local", "trust: local": "trust: untrusted"}
    ids: set[str] = set()
    for path in paths:
        text = path.read_text()
        before = next(line for line in turned if line in text)
        path.write_text(text.replace(before, turned[before]))
        if turned[before] == "trust: local":
            ids.add(path.stem)
    person.git("commit", "-qam", "the other way round")
    found = [row[2] for row in _rows(flooded.search(WORD, k=50)) if row[0] == "evaluation"]
    assert (len(ids), set(found)) == (4, ids)
    assert anew(flooded.root).search(WORD, k=50) == flooded.search(WORD, k=50)


def test_what_a_person_let_in_is_found_and_says_whose_it_is(vault: Vault, person: Person) -> None:
    text = HAND_MADE.format(name="theirs").replace("What it does", f"How a {WORD} is moored")
    marked = text.replace("\n---\n\n", "\nmetadata:\n  trust: untrusted\n---\n\n")
    _commit(person, "proposed/theirs/SKILL.md", marked)
    assert vault.search(WORD, untrusted=True) == []
    vault.curate.approve("theirs", now=NOW)
    assert _rows(vault.search(WORD)) == [("skill", "untrusted", "theirs")]


@pytest.mark.parametrize("domain", [None, "coding"])
def test_a_skill_of_the_package_takes_only_a_place_that_nothing_else_fills(
    vault: Vault, person: Person, domain: str | None
) -> None:
    asked = "what a lift says about a skill"
    person.rule("shelf: {seeds: [coding]}")
    text = "---\nid: f-1\ndomain: coding\n---\n\nA lift broke down.\n"
    _commit(person, "memory/coding/f-1.md", text)
    assert [one.id for one in vault.search(asked, k=1, domain=domain)] == ["f-1"]
    both = vault.search(asked, k=2, domain=domain)
    assert {one.id for one in both} == {"f-1", "reading-a-lift"}
    assert [one.score for one in both] == sorted((o.score for o in both), reverse=True)
