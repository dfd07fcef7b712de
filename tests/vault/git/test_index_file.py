"""index_file: what it tells of git's index is what git tells of it."""

import os
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.thorough import one_of

PATHS = ("a", "a-b", "a.md", "a/b", "a/b-c", "a/b0", "ab", "b/c/d", "tab\tin\nit", "é", "odd\udcff")


def _git(root: Path, *args: str, stdin: str = "") -> str:
    command = ["git", "-C", str(root), *args]
    data = os.fsencode(stdin)
    return os.fsdecode(subprocess.run(command, input=data, capture_output=True, check=True).stdout)


def _said(root: Path) -> dict[str, Entry]:
    """Return git's entries of an index, without those that wait to be merged."""
    lines = [line.split("\t", 1) for line in _git(root, "ls-files", "-sz").split("\0")[:-1]]
    parts = [(*meta.split(" "), path) for meta, path in lines]
    return {path: Entry(mode, blob) for mode, blob, stage, path in parts if stage == "0"}


def _set(root: Path, entries: Mapping[str, Entry]) -> None:
    """Let the index have these entries alone."""
    _git(root, "read-tree", "--empty")
    lines = "".join(f"{e.mode} {e.id}\t{path}\0" for path, e in entries.items())
    _git(root, "update-index", "-z", "--add", "--index-info", stdin=lines)


def _commit(root: Path, entries: Mapping[str, Entry]) -> None:
    """Let HEAD have these entries alone."""
    _set(root, entries)
    tree = _git(root, "write-tree").strip()
    commit = _git(root, "commit-tree", tree, "-m", "x").strip()
    _git(root, "update-ref", "refs/heads/main", commit)


def _drawn(chance: random.Random, blobs: list[str]) -> dict[str, Entry]:
    """Some of the paths, none of them above another one."""
    paths = {path for path in PATHS if chance.random() < 0.6}
    files = [path for path in paths if not any(one.startswith(f"{path}/") for one in paths)]
    modes = ("100644", "100755")
    return {path: Entry(chance.choice(modes), chance.choice(blobs)) for path in files}


@pytest.mark.parametrize("seed", one_of(3, range(12)))
def test_entries_are_those_of_git(seed: int, tmp_path: Path) -> None:
    """A path's own entry, and those below it that HEAD does not have so."""
    chance, git = random.Random(seed), Git(tmp_path)
    git.init("main")
    blobs = [git.objects.write_blob(text) for text in (b"", b"x")]
    committed = _drawn(chance, blobs) if seed else {}
    if committed:
        _commit(tmp_path, committed)
    entries = _drawn(chance, blobs)
    _set(tmp_path, entries)
    wanted = chance.sample((*PATHS, "b", "b/c", "c"), 6)
    assert git.index_file.all_entries() == entries
    assert git.index_file.entries(wanted) == {
        path: entry
        for path, entry in entries.items()
        if path in wanted
        or (any(path.startswith(f"{name}/") for name in wanted) and committed.get(path) != entry)
    }


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_entry_that_waits_to_be_merged_is_no_entry(stage: int, tmp_path: Path) -> None:
    git = Git(tmp_path)
    git.init("main")
    one = Entry("100644", git.objects.write_blob(b"x"))
    _commit(tmp_path, {"a": one, "b": one})
    assert not git.index_file.current().unmerged
    lines = f"0 {'0' * 40}\tb\0" + f"100644 {one.id} {stage}\tb\0"
    _git(tmp_path, "update-index", "-z", "--index-info", stdin=lines)
    assert git.index_file.current().unmerged
    assert git.index_file.entries(["a", "b"]) == _said(tmp_path) == {"a": one}


def test_a_file_that_is_to_be_added_is_an_empty_one(vault: Vault, person: Person) -> None:
    person.write("mine.txt", "one\n")
    person.git("add", "-N", "mine.txt")
    index = vault.store.git.index_file
    assert index.entries(["mine.txt"]).keys() == {"mine.txt"}
    assert index.entries(["mine.txt"])["mine.txt"] == _said(vault.root)["mine.txt"]


def test_a_publication_leaves_what_is_staged_known(
    vault: Vault, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an index that is as the program left it, git is not asked."""
    person.write("mine.txt", "one\n")
    person.git("add", "mine.txt")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    entries = _said(vault.root)
    assert "mine.txt" in entries
    with monkeypatch.context() as context:
        context.setenv("PATH", str(tmp_path))
        assert Git(vault.root).index_file.entries(list(entries)) == entries


def test_an_index_is_compared_anew_when_head_moves(vault: Vault, person: Person) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    index = vault.store.git.index_file
    before = index.current()
    entries = _said(vault.root)
    person.git("reset", "-q", "--soft", "HEAD~1")
    assert (before.differences, index.current().checksum) == ({}, before.checksum)
    assert index.current().differences
    assert index.entries(list(entries)) == entries


def test_an_edit_of_the_second_of_its_git_add_is_seen_after_a_publication(
    vault: Vault, person: Person
) -> None:
    """Git tells such an edit of the same size by the time of its index alone."""
    person.git("config", "core.trustctime", "false")
    mine = person.write("mine.txt", "one\n")
    os.utime(mine, (1e9, 1e9))
    person.git("add", "mine.txt")
    os.utime(vault.root / ".git/index", (1e9, 1e9))
    mine.write_text("two\n")
    os.utime(mine, (1e9, 1e9))
    vault.record([("a.json", as_file(raw()))], now=NOW)
    assert "-one\n+two" in person.git("diff", "mine.txt")
