"""settings: what a config said is cache_settings while nothing that git reads has changed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.git.config import LISTING, Settings, cache_settings
from skillvault.vault.git.repository import Git
from tests.conftest import Person
from tests.vault.given import applied, files

OFF = "filter.x.clean"
LATER = 60.0  # seconds after which no file counts as just saved
FILTER = '[filter "x"]\n\tclean = cat\n'  # which must be switched off where the index is written


def _home() -> Path:
    return Path(os.environ["HOME"])


def _appended(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as config:
        config.write(text)


def _included(root: Path) -> None:
    _appended(root / ".git/config", f"[include]\n\tpath = {root.parent}/more\n")
    Git(root).settings()
    _appended(root.parent / "more", FILTER)


CHANGES: dict[str, Callable[[Path], object]] = {
    "the repository's": lambda root: _appended(root / ".git/config", FILTER),
    "the person's": lambda _: _appended(_home() / ".gitconfig", FILTER),
    "the person's other one, which was not there": lambda _: _appended(
        Path(os.environ["XDG_CONFIG_HOME"]) / "git/config", FILTER
    ),
    "one that is included": _included,
}


def _said(root: Path) -> Settings:
    return Settings(Git(root).run("config", *LISTING))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_config_that_is_saved_is_heard(vault: Vault, change: Callable[[Path], object]) -> None:
    git = vault.store.git
    time.sleep(0.2)  # until what was saved last is cache_settings
    assert OFF not in git.settings().staging.values()
    change(vault.root)
    assert OFF in git.settings().staging.values()


def test_another_place_of_the_config_is_heard(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = vault.store.git
    time.sleep(0.2)
    assert OFF not in git.settings().staging.values()
    _appended(tmp_path / "elsewhere", FILTER)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "elsewhere"))
    assert OFF in git.settings().staging.values()


def test_what_stands_is_believed(vault: Vault) -> None:
    found = cache_settings(_said(vault.root), vault.root, time.time() + LATER)
    assert found is not None
    assert found.is_current
    _appended(vault.root / ".git/config", "# a comment\n")
    assert not found.is_current


def test_what_was_saved_just_now_is_asked_again(vault: Vault) -> None:
    _appended(vault.root / ".git/config", "# a comment\n")
    saved = (vault.root / ".git/config").stat().st_ctime
    assert cache_settings(_said(vault.root), vault.root, saved) is None


@pytest.mark.parametrize(
    "doubt",
    ["[include]\n\tpath = no-file\n", '[includeIf "onbranch:x"]\n\tpath = no-file\n',
     "[extensions]\n\tworktreeConfig = true\n"],
)  # fmt: skip
def test_a_config_of_more_files_is_asked_each_time(vault: Vault, doubt: str) -> None:
    _appended(vault.root / ".git/config", doubt)
    assert cache_settings(_said(vault.root), vault.root, time.time() + LATER) is None


def test_outside_a_repository_nothing_is_believed(tmp_path: Path) -> None:
    assert cache_settings(_said(tmp_path), tmp_path, time.time() + LATER) is None


def test_who_was_renamed_commits_under_the_new_name(vault: Vault, person: Person) -> None:
    time.sleep(0.2)
    applied(vault, files(notes_a="a\n"))
    person.git("config", "user.name", "Bo Other")
    applied(vault, files(notes_b="b\n"))
    names = person.git("log", "-2", "--format=%an").splitlines()
    assert names == ["Bo Other", "Ada Person"]
