"""pack: many loose objects become packs, and whoever writes comes first."""

import gc
import shutil
import subprocess
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import GitError
from skillvault.vault.commit.locks import gc_lock, writer_lock
from skillvault.vault.commit.pack import LOOSE, count_loose, pack
from skillvault.vault.git.objects import MAX_PACKS, MIN_PACKED, Entry, release_packs
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
    before = full.store.snapshot().outcomes
    assert pack(full.store.git, 10)
    assert (loose(person), pack(full.store.git, 10)) == (0, False)
    # The same process goes on with the packs.
    full.record([("b.json", as_file(raw(decision__action="other")))], now=NOW)
    assert len(Vault(full.root).store.snapshot().outcomes) == len(before) + 1 == 41
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
    assert pack(full.store.git, 10)
    assert person.git("cat-file", "-t", orphan) == "commit"
    assert person.git("cat-file", "-t", blob) == "blob"


def test_beside_a_writer_or_a_gc_all_stays_as_it_was(full: Vault, person: Person) -> None:
    before = loose(person)
    common = full.store.git.dirs()[1]
    with writer_lock(common / "skillvault"):
        assert not pack(full.store.git, 10)
    with gc_lock(common):
        assert not pack(full.store.git, 10)
    assert loose(person) == before
    assert not (common / "gc.pid").exists()
    assert list((common / "objects/pack").iterdir()) == []


def test_a_person_who_is_committing_is_not_waited_for(full: Vault, person: Person) -> None:
    (full.root / ".git/index.lock").touch()
    assert pack(full.store.git, 10)
    assert loose(person) == 0


def test_no_hook_or_program_of_the_config_runs(full: Vault, person: Person, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = full.root / ".git/hooks/pre-auto-gc"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    person.git("config", "gc.recentObjectsHook", f"touch {ran}")
    person.git("config", "gc.auto", "1")
    assert pack(full.store.git, 10)
    assert not ran.exists()


def test_what_only_a_reflog_or_nothing_names_is_never_removed(full: Vault, person: Person) -> None:
    for key in ("gc.pruneExpire", "gc.reflogExpire", "gc.reflogExpireUnreachable"):
        person.git("config", key, "now")
    blob = person.git("hash-object", "-w", "vault.yaml")
    person.write("mine.txt", "mine")
    person.git("add", "mine.txt")
    person.git("stash", "push", "-m", "mine")
    log = person.git("reflog")
    assert pack(full.store.git, 10)
    assert person.git("cat-file", "-t", blob) == "blob"
    assert person.git("reflog") == log
    assert "mine" in person.git("stash", "list")


def test_packs_stay_few(full: Vault, person: Person) -> None:
    person.git("config", "maintenance.incremental-repack.auto", "1")
    for number in range(12):
        full.record([("b.json", as_file(raw(decision__action=f"more-{number}")))], now=NOW)
        assert pack(full.store.git, -1)
    packs = list((full.root / ".git/objects/pack").glob("*.pack"))
    assert len(packs) <= 6
    assert len(full.store.snapshot().outcomes) == 52
    assert person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_a_partial_clone_is_packed_too(full: Vault, person: Person) -> None:
    person.git("config", "remote.origin.promisor", "true")
    assert pack(full.store.git, 10)
    assert loose(person) == 0
    assert count_loose(full.store.git) == 0


def test_the_graph_of_commits_has_the_paths_that_each_changes(full: Vault, person: Person) -> None:
    assert pack(full.store.git, 10)
    person.git("commit-graph", "verify")
    graphs = (full.root / ".git/objects/info/commit-graphs").glob("*.graph")
    assert all(b"BDAT" in graph.read_bytes() for graph in graphs)
    assert pack(full.store.git, -1)
    assert len(person.git("log", "--format=%h", "--", "vault.yaml").splitlines()) == 1


def _packs(vault: Vault, suffix: str = "pack") -> list[Path]:
    return list((vault.root / ".git/objects/pack").glob(f"*.{suffix}"))


def _record(vault: Vault, name: str, count: int) -> None:
    """Record many outcomes together."""
    actions = [f"{name}-{number}" for number in range(count)]
    files = [(f"{action}.json", as_file(raw(decision__action=action))) for action in actions]
    assert len(vault.record(files, now=NOW).done) == 1


def test_a_large_commit_is_one_pack(vault: Vault, person: Person) -> None:
    before = loose(person)
    _record(vault, "many", MIN_PACKED)
    assert (len(_packs(vault)), _packs(vault, "keep")) == (1, [])
    assert loose(person) < before + MIN_PACKED
    assert len(Vault(vault.root).store.snapshot().outcomes) == MIN_PACKED
    assert person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_objects_stay_loose_beside_many_packs(vault: Vault, person: Person) -> None:
    for number in range(MAX_PACKS + 1):
        (vault.root / f".git/objects/pack/pack-{number:040}.pack").touch()
    before = loose(person)
    gathering = vault.store.git.objects.gathering
    with gathering.hold():
        for number in range(MIN_PACKED):
            vault.store.git.objects.write_blob(b"%d" % number)
        gathering.store()
    assert loose(person) == before + MIN_PACKED


def test_a_repack_removes_nothing_that_is_being_published(vault: Vault, person: Person) -> None:
    objects = vault.store.git.objects
    mine = vault.root / f".git/objects/pack/pack-{0:040}.keep"
    mine.write_text("by hand\n")
    with objects.gathering.hold():
        blobs = [objects.write_blob(b"%d" % number) for number in range(MIN_PACKED)]
        objects.gathering.store()
        person.git("repack", "-a", "-d", "-q")
        person.git("prune", "--expire=now")
        assert {person.git("cat-file", "-t", blob) for blob in blobs} == {"blob"}
    assert _packs(vault, "keep") == [mine]


def test_what_is_gathered_and_not_stored_is_dropped(vault: Vault) -> None:
    objects = vault.store.git.objects
    with objects.gathering.hold():
        tree = objects.write_tree(None, {"a/b": Entry("100644", objects.write_blob(b"b"))})
        assert objects.write_tree(tree, {}) == tree
    with pytest.raises(GitError, match="cannot be read"):
        objects.files(tree)


def test_a_commit_packs_what_was_left_loose(vault: Vault, person: Person) -> None:
    for number in range(LOOSE * 3 // 2):
        vault.store.git.objects.write_blob(b"%d" % number)
    _record(vault, "one", 1)
    assert (loose(person), len(_packs(vault))) == (0, 1)
    assert len(vault.store.snapshot().outcomes) == 1


def test_a_commit_merges_many_packs(vault: Vault) -> None:
    gathering = vault.store.git.objects.gathering
    for number in range((MAX_PACKS + 1) * MIN_PACKED):
        gathering.hold_object(3, b"%d" % number)
        if len(gathering.objects) == MIN_PACKED:
            gathering.store()
    release_packs(vault.root / ".git/objects")
    assert len(_packs(vault)) == MAX_PACKS + 1
    _record(vault, "one", 1)
    assert len(_packs(vault)) == 1
