"""standing: what is read without git is what git says, and where there is doubt nothing is."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.vault.git import repository as files
from skillvault.vault.git.repository import Git


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit on a branch whose name has a folder, beside one like it."""
    _git(tmp_path, "init", "-q", "--template=", "-b", "team/main", "repo")
    place = tmp_path / "repo"
    _git(place, "commit", "-q", "--allow-empty", "-m", "one")
    _git(place, "branch", "other/team/main")
    _git(place, "commit", "-q", "--allow-empty", "-m", "two")
    return place


def test_a_loose_and_a_packed_branch_are_read_as_git_reads_them(root: Path) -> None:
    git = Git(root)
    assert files.git_dir(root) == git.ask_dirs()[0]
    assert files.plain_tip(root / ".git", "team/main") == git.head() == git.tip("team/main")
    _git(root, "pack-refs", "--all")
    assert not (root / ".git/refs/heads/team/main").exists()
    assert files.plain_tip(root / ".git", "team/main") == git.head()
    _git(root, "commit", "-q", "--allow-empty", "-m", "three")
    assert files.plain_tip(root / ".git", "team/main") == git.head()


def _edited(text: str) -> Callable[[Path], None]:
    def add(root: Path) -> None:
        with (root / ".git/config").open("a") as file:
            file.write(text)

    return add


def _linked(root: Path) -> None:
    (root / ".git").rename(root.parent / "apart")
    (root / ".git").symlink_to(root.parent / "apart")


def _pointed(root: Path) -> None:
    (root / ".git").rename(root.parent / "apart")
    (root / ".git").write_text(f"gitdir: {root.parent / 'apart'}\n")


@pytest.mark.parametrize(
    "doubt",
    [
        _edited("[extensions]\n\tobjectFormat = sha256\n"),
        _edited("[Core] worktree = ..\n"),
        _edited("[core]\n\tbare = true\n"),
        _edited("[core]\n\tbare\n"),
        _edited("[core]\n\trepositoryformatversion = 2\n"),
        _edited("[user]\n\tname = a\\\nb\n"),
        _edited("= not a config\n"),
        _linked,
        _pointed,
        lambda root: _git(root, "checkout", "-q", "--detach"),
        lambda root: (root / ".git/config").unlink(),
        lambda root: (root / ".git/objects").rename(root / "objects"),
    ],
)
def test_where_there_is_doubt_git_is_asked(root: Path, doubt: Callable[[Path], object]) -> None:
    doubt(root)
    assert files.git_dir(root) is None


def test_a_folder_of_another_repository_is_asked_for(root: Path) -> None:
    (root / "below").mkdir()
    assert files.git_dir(root / "below") is None


def test_a_branch_that_is_no_plain_ref_is_asked_for(root: Path) -> None:
    git = Git(root)
    ref = root / ".git/refs/heads/team/main"
    ref.write_text("ref: refs/heads/other/team/main\n")
    assert files.plain_tip(root / ".git", "team/main") is None
    ref.unlink()
    assert files.plain_tip(root / ".git", "team/main") is None  # a branch without a commit
    assert git.head() is None
    (root / ".git/packed-refs").write_text(
        "# pack-refs with: peeled\nnot an id refs/heads/team/main\n"
    )
    assert files.plain_tip(root / ".git", "team/main") is None


def test_the_tip_of_a_branch_does_not_depend_on_head(root: Path) -> None:
    older, newer = (Git(root).tip(name) for name in ("other/team/main", "team/main"))
    assert older != newer == Git(root).head()
    _git(root, "checkout", "-q", "--detach", "HEAD~1")
    assert Git(root).branch() is None
    assert [Git(root).tip(name) for name in ("other/team/main", "team/main")] == [older, newer]
    assert Git(root).tip("team") is None


def test_another_owner_is_left_to_git(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert files.git_dir(root) is None
