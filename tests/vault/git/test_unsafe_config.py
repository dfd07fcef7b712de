"""foreign: every setting and hook by which a repository makes git run code is named."""

import shlex
import sys
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.vault.git import config
from skillvault.vault.git.config import ProgramSetting
from tests.conftest import Person


def found(vault: Vault) -> list[ProgramSetting]:
    return config.find_program_settings(vault.store.git.settings(), vault.root)


def removed(vault: Vault, setting: ProgramSetting) -> str:
    return config.removal_command(setting, *vault.store.git.dirs())


# ── settings ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "/x"),
        ("core.hooksPath", "elsewhere"),
        ("core.pager", "x"),
        ("core.editor", "x"),
        ("core.sshCommand", "x"),
        ("core.askPass", "x"),
        ("core.gitProxy", "x"),
        ("core.alternateRefsCommand", "x"),
        ("diff.external", "x"),
        ("diff.a.b.command", "x"),
        ("diff.a.textconv", "x"),
        ("merge.a.driver", "x"),
        ("filter.a.clean", "x"),
        ("filter.a.smudge", "x"),
        ("filter.a.process", "x"),
        ("gpg.program", "x"),
        ("gpg.ssh.program", "x"),
        ("gpg.ssh.defaultKeyCommand", "x"),
        ("credential.helper", "!x"),
        ("credential.https://example.org.helper", "x"),
        ("sequence.editor", "x"),
        ("alias.Co", "!x"),
        ("pager.log", "x"),
        ("uploadpack.packObjectsHook", "x"),
        ("remote.origin.uploadpack", "x"),
        ("remote.origin.receivepack", "x"),
        ("remote.origin.vcs", "x"),
        ("remote.origin.url", "ext::sh -c x"),
        ("remote.origin.pushurl", "ext::sh -c x"),
        ("url.ext::sh -c x.insteadOf", "https://example.org/"),
        ("include.path", "other"),
        ("includeIf.gitdir:/x.path", "other"),
        ("browser.a.cmd", "x"),
        ("difftool.a.cmd", "x"),
        ("mergetool.a.cmd", "x"),
        ("mergetool.a.path", "x"),
        ("man.a.cmd", "x"),
        ("interactive.diffFilter", "x"),
        ("submodule.a.update", "!x"),
        ("trailer.a.command", "x"),
        ("trailer.a.cmd", "x"),
        ("tar.a.command", "x"),
        ("web.browser", "x"),
        ("protocol.ext.allow", "always"),
        ("hook.a.command", "x"),
    ],
)
def test_a_setting_that_names_a_program_is_found_and_removed_by_what_is_said(
    vault: Vault, person: Person, key: str, value: str
) -> None:
    person.git("config", "--local", "--add", key, value)
    person.git("config", "--local", "--add", key, f"{value}2")
    (setting,) = found(vault)
    assert setting.key.lower() == key.lower()
    assert setting.values == (value, f"{value}2")
    person.git(*shlex.split(removed(vault, setting))[1:])
    assert found(vault) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "true"),
        ("core.fsmonitor", "0"),
        ("pager.log", "off"),
        ("alias.co", "checkout"),
        ("submodule.a.update", "rebase"),
        ("protocol.ext.allow", "never"),
        ("remote.origin.url", "https://example.org/vault.git"),
        ("diff.external", ""),
        ("credential.helper", ""),
        ("diff.tool", "vimdiff"),
        ("user.name", "Ada"),
    ],
)
def test_a_setting_that_runs_nothing_is_not_named(
    vault: Vault, person: Person, key: str, value: str
) -> None:
    person.git("config", "--local", key, value)
    assert found(vault) == []


def test_what_the_person_s_own_config_names_is_theirs(vault: Vault, person: Person) -> None:
    person.git("config", "--global", "core.editor", "vim")
    person.git("config", "--global", "credential.helper", "store")
    assert found(vault) == []


def test_a_setting_of_the_work_tree_alone_is_found_and_removed_there(
    vault: Vault, person: Person
) -> None:
    person.git("config", "--local", "extensions.worktreeConfig", "true")
    person.git("config", "--worktree", "core.pager", "x")
    (setting,) = found(vault)
    assert removed(vault, setting) == "git config --worktree --unset-all core.pager"
    person.git(*shlex.split(removed(vault, setting))[1:])
    assert found(vault) == []


def test_a_setting_of_an_included_file_is_removed_from_that_file(
    vault: Vault, person: Person
) -> None:
    person.write("other file", "[core]\n\tpager = x\n")
    person.git("config", "--local", "include.path", "../other file")
    pager, include = found(vault)
    assert removed(vault, include) == "git config --local --unset-all include.path"
    person.git(*shlex.split(removed(vault, pager))[1:])
    assert found(vault) == [include]


def test_a_key_without_a_value_and_one_of_many_lines_are_read(vault: Vault, person: Person) -> None:
    with (vault.root / ".git/config").open("a") as file:
        file.write("[alias]\n\tx\n\ty = !a\\nb\n[core]\n\tfsmonitor\n")
    (setting,) = found(vault)
    assert (setting.key, setting.values) == ("alias.y", ("!a\nb",))


# ── hooks ────────────────────────────────────────────────────────────────────────────


def hook(vault: Vault, name: str, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path = vault.root / ".git/hooks" / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_hooks_of_init_are_no_strangers(vault: Vault) -> None:
    Vault.init(vault.root, post_merge=True)
    folder = vault.root / ".git/hooks"
    assert sorted(path.name for path in folder.iterdir()) == ["post-merge", "pre-commit"]
    assert list(config.find_foreign_hooks(folder)) == []


def test_only_what_git_would_run_is_named(vault: Vault) -> None:
    mine = hook(vault, "post-commit")
    hook(vault, "pre-push.sample")
    hook(vault, "pre-rebase", mode=0o644)
    assert list(config.find_foreign_hooks(mine.parent)) == [mine]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exec ", "id; exec "),
        ("python=", "python=$(id) true; python="),
        (f"python={shlex.quote(sys.executable)}", "python=`id`"),
        (f"python={shlex.quote(sys.executable)}", "python='/bin/python'; id"),
        ("#!/bin/sh\n", "#!/bin/sh\nid\n"),
    ],
)
def test_a_hook_that_only_looks_like_one_of_init_is_named(
    hooked: Vault, old: str, new: str
) -> None:
    path = hooked.root / ".git/hooks/pre-commit"
    hook(hooked, "pre-commit", path.read_text().replace(old, new, 1))
    assert list(config.find_foreign_hooks(path.parent)) == [path]


def test_a_hook_of_init_with_another_python_is_one_of_init(hooked: Vault) -> None:
    path = hooked.root / ".git/hooks/pre-commit"
    hook(hooked, "pre-commit", path.read_text().replace(sys.executable, "/opt/py/bin/python3"))
    assert list(config.find_foreign_hooks(path.parent)) == []


def test_without_a_folder_of_hooks_there_are_none(tmp_path: Path) -> None:
    assert list(config.find_foreign_hooks(tmp_path / "hooks")) == []
