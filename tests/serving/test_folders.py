"""folders: the index has what stands in them, and reads what changed and nothing more."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.vault.files import layers as shelves
from tests.conftest import Person

NAMES = ("one", "two", "three")
LONG_AGO = time.time_ns() - 10**12


def put(folder: Path, name: str, text: str, *, settled: bool = True) -> Path:
    """A skill's file, as if it were written long ago."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: What {text} is.\n---\n\n{text}\n")
    for place in (path, path.parent, folder) if settled else ():
        os.utime(place, ns=(LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of layers that are opened from now on."""
    paths: list[str] = []
    read = shelves.skill_bytes

    def noted(path: Path) -> bytes:
        paths.append(path.parent.name)
        return read(path)

    monkeypatch.setattr(shelves, "skill_bytes", noted)
    return paths


def served(vault: Vault) -> dict[str, Any]:
    """All that is served of the other layers, and how it is found."""
    skills = {one.name: one.body.strip() for one in vault.shelf.skills() if one.name in NAMES}
    texts = ("zeppelin", "balloon", "glider")
    found = {text: [(one.id, one.path) for one in vault.search(text, k=20)] for text in texts}
    named = {name: getattr(vault.shelf.get(name), "body", None) for name in NAMES}
    problems = [(Path(one.path).parent.name, one.code) for one in vault.shelf.problems]
    return {"skills": skills, "found": found, "named": named, "problems": problems}


def anew(vault: Vault, folders: Iterable[Path]) -> Vault:
    """The vault without what was computed of it."""
    for path in (vault.root / ".git/skillvault").glob("index.db*"):
        path.unlink()
    return opened_with(vault, folders)


def opened_with(vault: Vault, folders: Iterable[Path]) -> Vault:
    again = Vault.open(vault.root)
    for folder in folders:
        again.shelf.add_dir(folder)
    return again


def aged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is written now count as settled."""
    ahead = time.time_ns() + 10**10
    monkeypatch.setattr("skillvault.vault.files.listing.time.time_ns", lambda: ahead)


def test_a_file_is_read_once_and_again_when_it_changed(
    vault: Vault, tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    beside = tmp_path / "beside"
    for name in NAMES:
        put(beside, name, "zeppelin")
    vault.shelf.add_dir(beside)
    assert sorted(set(opened) & set(NAMES)) == sorted(NAMES)
    opened.clear()
    again = opened_with(vault, [beside])
    assert {one.id for one in again.search("zeppelin")} == set(NAMES)
    assert opened == []
    put(beside, "two", "balloon!")
    again.shelf.reload()
    assert [one.id for one in again.search("balloon")] == ["two"]
    assert opened == ["two"]


def test_what_changed_just_now_is_read_again_though_size_and_time_are_the_same(
    vault: Vault, tmp_path: Path
) -> None:
    path = put(tmp_path / "beside", "one", "zeppelin", settled=False)
    at = path.stat()
    vault.shelf.add_dir(tmp_path / "beside")
    assert served(vault)["named"]["one"].strip() == "zeppelin"
    put(tmp_path / "beside", "one", "blimp-up", settled=False)
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    vault.shelf.reload()
    assert served(vault)["named"]["one"].strip() == "blimp-up"


def test_a_folder_that_somebody_else_added_is_not_mine(vault: Vault, tmp_path: Path) -> None:
    put(tmp_path / "beside", "one", "zeppelin")
    other = opened_with(vault, [tmp_path / "beside"])
    assert other.shelf.get("one") is not None
    assert vault.shelf.get("one") is None
    assert vault.search("zeppelin") == []
    assert [one.id for one in other.search("zeppelin")] == ["one"]


def test_a_hidden_skill_is_not_served_and_its_name_is_known(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    put(tmp_path / "beside", "one", "zeppelin")
    vault.shelf.add_dir(tmp_path / "beside")
    assert [one.id for one in vault.search("zeppelin")] == ["one"]
    person.rule("shelf: {hidden: [one]}")
    assert served(vault)["skills"] == {}
    assert vault.search("zeppelin") == []
    assert "one" not in [one.name for one in vault.shelf.top_k(k=50)]


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop", "break", "own", "disown", "hide", "reload"]),
        st.sampled_from(NAMES),
        st.sampled_from(["zeppelin", "balloon", "glider"]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=8,
)


@given(steps=_STEPS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_an_index_kept_in_step_is_one_made_anew(
    vault: Vault, person: Person, tmp_path: Path, steps: list[tuple[str, str, str, int]]
) -> None:
    folders = [tmp_path / "low", tmp_path / "high"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    kept = opened_with(vault, folders)
    person.git("config", "core.hooksPath", "/dev/null")
    for step, name, text, which in steps:
        _done(person, step, folders[which] / name / "SKILL.md", text)
        kept.shelf.reload()
        served(kept)
    assert served(kept) == served(anew(vault, folders))


def _done(person: Person, step: str, path: Path, text: str) -> None:
    """One thing that happens to a folder, or to the vault's own skills."""
    name = path.parent.name
    match step:
        case "put":
            put(path.parent.parent, name, text)
        case "break" if path.exists():
            path.write_text("no front matter\n")
        case "drop":
            path.unlink(missing_ok=True)
        case "own":
            put(person.root / "skills", name, f"own {text}")
        case "disown":
            (person.root / "skills" / name / "SKILL.md").unlink(missing_ok=True)
        case "hide":
            lines = (person.root / "vault.yaml").read_text().split("shelf:")[0]
            person.write("vault.yaml", f"{lines}shelf: {{hidden: [{name}]}}\n")
    person.git("add", "-A", "skills", "vault.yaml", ok=False)
    person.git("commit", "-qam", step, "--allow-empty")
