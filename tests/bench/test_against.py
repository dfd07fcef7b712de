"""Each baseline in the benchmark's table does what it stands for."""

from pathlib import Path

import pytest
from clustering import scanned
from finding import indexed, matched, queries
from projecting import floor
from recommending import chosen, loaded
from remembered import facts
from shelf import shelved
from vaults import made

from skillvault.learning.promote.facts import clusters


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault of 40 skills."""
    for end in ("NAME", "EMAIL"):
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_{end}", "bench")
    return made(tmp_path / "shelf", shelved(40))


def test_the_clusters_of_the_generated_facts_are_the_scans() -> None:
    texts = facts(400)
    assert clusters(texts) == scanned(texts)
    assert len(scanned(texts)) > 5


def test_the_naive_shelf_ranks_shared_words_first(shelf: Path) -> None:
    skills = loaded(shelf / "skills")
    assert len(skills) == 40
    task = f"{' '.join(skills[7].tags)} {skills[7].name}"
    assert skills[7] in chosen(skills, task)


def test_the_bare_index_finds_the_document_of_a_query(shelf: Path) -> None:
    texts = [path.read_text() for path in sorted(shelf.glob("skills/*/SKILL.md"))]
    found = [matched(indexed(texts), query) for query in queries(texts)[:5]]
    assert all(found)


def test_the_floor_reads_every_record(shelf: Path) -> None:
    read = floor(shelf)
    assert len(read) == 40
    assert {"name", "description", "metadata"} <= read[0].keys()
