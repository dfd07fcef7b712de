"""trees: the tree of a commit, built from its own folders alone, is git's own tree."""

import random
from pathlib import Path

import pytest

from skillvault.model.errors import GitError
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git

FOLDERS = ("", "a/", "a/b/", "a/b/c/", "a-b/", "z/é/", "z/with space/", "a.b/", "line\nbreak/")


def _entries(chance: random.Random, git: Git) -> dict[str, Entry | None]:
    names = [f"{chance.choice(FOLDERS)}{chance.choice('mnop')}.md" for _ in range(6)]
    blob = git.objects.write_blob(str(chance.random()).encode())
    mode = chance.choice(["100644", "100755"])
    return {name: Entry(mode, blob) if chance.random() < 0.6 else None for name in names}


def _by_index(git: Git, base: str | None, entries: dict[str, Entry | None], index: Path) -> str:
    """The same tree by way of an index, as git itself makes it."""
    env = {"GIT_INDEX_FILE": str(index)}
    git.run("read-tree", base or "--empty", env=env)
    lines = (
        f"{e.mode} {e.id}\t{path}\0" if e else f"0 {'0' * 40}\t{path}\0"
        for path, e in entries.items()
    )
    git.run("update-index", "-z", "--index-info", stdin="".join(lines).encode(), env=env)
    return git.run("write-tree", env=env).decode().strip()


def test_a_tree_is_the_one_that_git_makes(tmp_path: Path) -> None:
    git = Git(tmp_path)
    git.init("main")
    chance = random.Random(7)
    base = None
    for number in range(40):
        entries = _entries(chance, git)
        tree = git.objects.write_tree(base, entries)
        assert tree == _by_index(git, base, entries, tmp_path / f"index-{number}")
        base = tree


def test_the_root_of_nothing_is_the_empty_tree(tmp_path: Path) -> None:
    git = Git(tmp_path)
    git.init("main")
    assert git.objects.write_tree(None, {"a/b": None}) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_a_file_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    git = Git(tmp_path)
    git.init("main")
    blob = git.objects.write_blob(b"x")
    base = git.objects.write_tree(None, {"a": Entry("100644", blob)})
    with pytest.raises(GitError, match="a file stands where a folder is needed"):
        git.objects.write_tree(base, {"a/b": Entry("100644", blob)})
