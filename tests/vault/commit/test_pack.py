"""pack: many loose objects become packs, and whoever writes comes first."""

import gc
import shutil
import subprocess
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.commit.fence import gc_lock
from skillvault.vault.commit.locks import writer_lock
from skillvault.vault.commit.pack import count_loose, pack
from tests.conftest import NOW, Person, unguarded
from tests.given import as_file, raw


@pytest.fixture(scope="module")
def loosened(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault of forty outcomes, recorded one at a time."""
    vault = Vault(unguarded(_new_vault, tmp_path_factory.mktemp("loosened") / "vault"))
    for number in range(40):
        vault.record([("a.json", as_file(raw(decision__action=f"act-{number}")))], now=NOW)
    gc.collect()  # a vault that nobody uses any more still holds its index open
    return vault.root


@pytest.fixture
def full(vault: Vault, loosened: Path) -> Vault:
    """A vault of forty outcomes of the test's own."""
    shutil.rmtree(vault.root)
    return Vault(unguarded(loosened, vault.root))


def size(folder: Path) -> int:
    """Bytes on the disk of a repository's objects."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


def loose(person: Person) -> int:
    return int(person.git("count-objects").split()[0])


def test_a_packed_repository_is_at_most_three_times_what_gc_makes_of_it(
    full: Vault, person: Person, tmp_path: Path
) -> None:
    before = full.store.head().outcomes
    assert pack(full.store.git, loose=10)
    assert (loose(person), pack(full.store.git, loose=10)) == (0, False)
    # The same process goes on with the packs.
    full.record([("b.json", as_file(raw(decision__action="other")))], now=NOW)
    assert len(Vault(full.root).store.head().outcomes) == len(before) + 1 == 41
    assert person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    copy = tmp_path / "copy"
    shutil.copytree(full.root / ".git", copy / ".git")
    subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=copy, check=True)
    assert size(full.root / ".git/objects") <= 3 * size(copy / ".git/objects")


def test_few_loose_objects_stay_as_they_are(full: Vault, person: Person) -> None:
    assert not pack(full.store.git)
    assert loose(person) > 100


def test_what_is_not_published_yet_survives(full: Vault, person: Person) -> None:
    orphan = person.git("commit-tree", "-m", "a draft", "HEAD^{tree}")
    person.git("update-ref", "refs/skillvault/pending-1-1", orphan)
    blob = person.git("hash-object", "-w", "vault.yaml")
    assert pack(full.store.git, loose=10)
    assert person.git("cat-file", "-t", orphan) == "commit"
    assert person.git("cat-file", "-t", blob) == "blob"


def test_who_is_wanted_or_meets_a_writer_leaves_all_as_it_was(full: Vault, person: Person) -> None:
    before = loose(person)
    common = full.store.git.dirs()[1]
    with writer_lock(common / "skillvault"):
        assert not pack(full.store.git, loose=10)
    assert not pack(full.store.git, lambda: True, 10)
    with gc_lock(common):
        assert not pack(full.store.git, loose=10)
    assert loose(person) == before
    assert not (common / "gc.pid").exists()
    assert list((common / "objects/pack").iterdir()) == []


@pytest.mark.parametrize("milliseconds", range(2, 30, 3))
def test_whenever_it_is_ended_it_leaves_no_draft(
    full: Vault, milliseconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.commit.pack._LOOK", milliseconds / 1000)
    folder = full.root / ".git/objects/pack"
    persons = folder / "tmp_pack_persons"
    persons.write_bytes(b"half")
    pack(full.store.git, lambda: True, 10)
    left = [path for path in folder.iterdir() if path.name.startswith((".tmp", "tmp"))]
    assert left == [persons]


def test_beside_another_git_a_draft_that_nobody_has_open_stays(full: Vault, person: Person) -> None:
    folder = full.root / ".git/objects/pack"
    persons = folder / "tmp_pack_persons"

    def fetch() -> bool:
        persons.write_bytes(b"received, and about to get its name")
        return True

    command = ["git", "cat-file", "--batch"]
    with subprocess.Popen(command, cwd=full.root, stdin=subprocess.PIPE) as other:
        pack(full.store.git, fetch, 10)
        other.communicate()
    assert persons.exists()


def test_what_a_killed_repack_left_is_removed_once_it_is_old(full: Vault) -> None:
    folder = full.root / ".git/objects/pack"
    old, young = folder / "tmp_pack_old", folder / "tmp_pack_young"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    subprocess.run(["touch", "-d", "2 hours ago", str(old)], check=True)
    assert pack(full.store.git, loose=10)
    assert (old.exists(), young.exists()) == (False, True)


def test_a_partial_clone_is_packed_too(full: Vault, person: Person) -> None:
    person.git("config", "remote.origin.promisor", "true")
    assert pack(full.store.git, loose=10)
    assert loose(person) == 0
    assert count_loose(full.store.git) == 0
