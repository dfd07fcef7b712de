"""Set up a vault from vault_template/, and add the local files that a new clone lacks."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.model.change import Change
from skillvault.model.errors import PausedError, UsageError
from skillvault.model.lazy import regex
from skillvault.model.policy import Policy
from skillvault.model.text import strict_yaml
from skillvault.model.text.text import is_slug
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.git.config import ATTRIBUTE, DRIVER, driver_command
from skillvault.vault.git.remote import clone_name
from skillvault.vault.git.repository import Git

BRANCH = "main"
HUNKS = "diff.skillvault.xfuncname"
KEY_LINE = "^[A-Za-z_]+:.*$"
# Git's settings for many files, without `feature.manyFiles`, because later versions then write no
# checksum of the index. Values of the person stay.
MANY_FILES = {"index.version": "4", "core.untrackedCache": "true"}
HOOKS = ("pre-commit", "post-merge")
_HOOK_MARK = "# Installed by `skillvault init"
_RULES_MERGE = regex(
    rf"^/?{re.escape(layout.LEARNINGS)}\s(?:.*\s)?[-!]?merge(?:=(\S+))?(?=\s|$)", re.MULTILINE
)
_PYTHON_LINE = regex(r"^python=(.*)$", re.MULTILINE)
_TEMPLATE_FILES = (layout.VAULT_FILE, "README.md", layout.LEARNINGS, ".gitattributes", ".gitignore")


class SetupReport(Struct):
    """The steps that `init` did, and the steps that it left to the user, one line each."""

    did: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def check_root(root: Path, domains: Sequence[str], *, nested: bool = False) -> None:
    """Raise UsageError if a folder cannot become a vault.

    With `nested`, the folder may be inside another repository.
    """
    check_domains(domains)
    if advice := layout.explain_bare_repository(root):
        raise UsageError(f"{root}: {advice}")
    if root.name == ".git" or any(map(layout.explain_bare_repository, root.parents)):
        raise UsageError(f"{root}: is a git directory; choose a folder outside it")
    if files := [name for name in layout.UNTRACKED if (root / name).is_file()]:
        raise UsageError(f"{root / files[0]}: must be a folder in a vault; rename that file")
    vault = layout.vault_above(root)
    if vault not in (None, root):
        raise UsageError(f"{root}: is inside the vault {vault}; choose a folder outside it")
    repository = next((f for f in (root, *root.parents) if (f / ".git").exists()), root)
    if repository != root and not nested:
        raise UsageError(
            f"{root}: is inside the git repository {repository}, which would not hold the vault's "
            "files; choose a folder outside it, or pass --nested for a repository of its own"
        )


@contextmanager
def undo_on_failure(root: Path) -> Iterator[None]:
    """Remove the files that the block created in `root`, and new parent folders, if it fails.

    A commit in an existing repository stays, with its files.
    """
    names = (".git", ".git/skillvault", *_TEMPLATE_FILES, *layout.UNTRACKED)
    missing_paths = [path for path in (root / name for name in names) if not os.path.lexists(path)]
    folders = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        yield
    except BaseException:
        arguments = ("cat-file", "-e", f"HEAD:{layout.VAULT_FILE}")
        if root / ".git" in missing_paths or Git(root).answer(*arguments, ok=(0, 1, 128))[0]:
            for path in filter(os.path.lexists, missing_paths):  # False for too long names, too
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            for folder in folders:
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        raise


def check_domains(domains: Sequence[str]) -> None:
    """Raise UsageError if a name of the option cannot be a domain."""
    for name in domains:
        if not is_slug(name):
            advice = "use lower-case letters, digits and single hyphens"
            raise UsageError(f"--domain {name}: cannot be a folder name; {advice}")


def commit_first(store: Store, branch: str, domains: Sequence[str], now: datetime) -> SetupReport:
    """Make the first commit of a vault, or report domains that vault.yaml lacks."""
    report, snapshot = SetupReport(), store.snapshot()
    if layout.VAULT_FILE not in snapshot.files:
        change = _first_change(store.root, branch, domains)
        policy = replace(Policy(), branch=branch)
        store.apply([store.stage(change)], snapshot.commit, now=now, policy=policy, first=True)
        report.did.append(f"the first commit ({change.subject})")
    elif new_domains := [name for name in domains if name not in snapshot.policy.domains]:
        report.left.append(f"add {', '.join(new_domains)} to `domains` in vault.yaml and commit")
    return report


def _first_change(root: Path, branch: str, domains: Sequence[str]) -> Change:
    source = layout.resource("vault_template")
    missing_names = [name for name in _TEMPLATE_FILES if not (root / name).exists()]
    files = {name: (source / name).read_bytes() for name in missing_names}
    if layout.VAULT_FILE in files:
        domain_line = f"domains: [{', '.join(map(strict_yaml.scalar, domains))}]"
        branch_line = f"branch: {strict_yaml.scalar(branch)}"
        policy_text = files[layout.VAULT_FILE].decode().replace("domains: []", domain_line)
        files[layout.VAULT_FILE] = policy_text.replace("branch: main", branch_line).encode()
    else:
        # Written by a person, or by an init that was interrupted.
        files[layout.VAULT_FILE] = (root / layout.VAULT_FILE).read_bytes()
    return Change(
        step="init",
        subject=f"a vault for {', '.join(domains)}" if domains else "a vault",
        files=tuple(sorted(files.items())),
    )


def open_repository(root: Path) -> tuple[Git, str]:
    """Return (git, branch) for the repository at `root`, which is created if missing."""
    root.mkdir(parents=True, exist_ok=True)
    git = Git(root)
    if not (root / ".git").exists():
        if problem := git.committer.identity_problem():
            raise PausedError(f"paused: {problem}")
        git.init(BRANCH)
    git.dirs()
    branch = git.branch()
    if branch is None:
        advice = "run `git switch BRANCH` (the branch that learns)"
        raise UsageError(f"{root}: HEAD is detached; {advice}")
    return git, branch


def add_local_files(root: Path, git: Git, report: SetupReport, *, post_merge: bool) -> None:
    """Create the inbox, the hooks and the git settings that a clone lacks."""
    if Inbox(root).create_folders():
        report.did.append("inbox/ and quarantine/")
    for name in HOOKS if post_merge else HOOKS[:1]:
        _install_hook(root, git, name, report)
    _exclude_inbox(root, git, report)
    _install_driver(root, git)
    _install_rules_merge(root, git, report)  # its line must follow the lines of the driver
    # A hunk of a record's diff names its key.
    if git.text("config", "--local", "--get", HUNKS, ok=(0, 1)) != KEY_LINE:
        git.run("config", "--local", HUNKS, KEY_LINE)
    _prepare_for_many_files(git)
    clone_name(git)


def _prepare_for_many_files(git: Git) -> None:
    """Let git write a smaller index and remember folders without new files."""
    missing_keys = [key for key in MANY_FILES if not git.text("config", "--get", key, ok=(0, 1))]
    for key in missing_keys:
        git.run("config", "--local", key, MANY_FILES[key])
    if "index.version" in missing_keys:  # the setting alone only affects a new index
        version = MANY_FILES["index.version"]
        git.answer("update-index", "--index-version", version, ok=(0, 128))  # 128: a git is at work


def _hook_command(name: str) -> str:
    command = "check --staged" if name == "pre-commit" else "run"
    return f"{shlex.quote(sys.executable)} -P -m skillvault --vault . {command}"


def _install_hook(root: Path, git: Git, name: str, report: SetupReport) -> None:
    folder = git.hooks_dir()
    target = folder / name
    text = (layout.resource("hooks") / name).read_text(encoding="utf-8")
    text = text.replace("'@PYTHON@'", shlex.quote(sys.executable))
    if not any(folder.resolve().is_relative_to(top) for top in (root, *git.dirs())):
        report.left.append(
            f"core.hooksPath is {folder}, which other repositories may share, so no "
            f"{name} hook was installed; call there, for this vault: {_hook_command(name)}"
        )
        return
    old_text = _read_text(target)
    if old_text == text:
        return
    if target.exists() and _HOOK_MARK not in old_text:
        advice = f"add to it: {_hook_command(name)}"
        report.left.append(f"{target} is yours and was not changed; {advice}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    target.chmod(0o755)
    report.did.append(f"the {name} hook")


def find_hooks(git: Git) -> dict[Path, str]:
    """Return the Python interpreter that each hook of `init` names."""
    pythons: dict[Path, str] = {}
    for path in (git.hooks_dir() / name for name in HOOKS):
        text = _read_text(path)
        if _HOOK_MARK in text and (python := _PYTHON_LINE.search(text)):
            pythons[path] = "".join(shlex.split(python[1]))
    return pythons


def _append_lines(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    text = _read_text(path)
    with path.open("a", encoding="utf-8") as file:
        separator = "" if text.endswith("\n") or not text else "\n"
        file.write(separator + "\n".join([*lines, ""]))


def _exclude_inbox(root: Path, git: Git, report: SetupReport) -> None:
    exclude_file = git.dirs()[1] / "info" / "exclude"
    ignored_paths = (_read_text(root / ".gitignore") + "\n" + _read_text(exclude_file)).split()
    missing_lines = [f"/{name}/" for name in layout.UNTRACKED if f"/{name}/" not in ignored_paths]
    if missing_lines:
        _append_lines(exclude_file, ["# skillvault's inbox is not in git", *missing_lines])
        report.did.append(".git/info/exclude")


def _install_rules_merge(root: Path, git: Git, report: SetupReport) -> None:
    """Let git merge LEARNINGS.md as `sync` does, unless the user chose another merge.

    For clones without the driver, .gitattributes names `union`. That would join two appended rules,
    because both sides end with the same separator.
    """
    attributes_file, attributes = _read_attributes(root, git)
    merges = _RULES_MERGE.findall(attributes)
    if any(name != "union" for name in merges):
        return
    _append_lines(attributes_file, [f"{layout.LEARNINGS} {ATTRIBUTE}"])
    if not merges:
        report.did.append(".git/info/attributes")


def _install_driver(root: Path, git: Git) -> None:
    """Make `git merge` apply the same rules as `skillvault sync`."""
    command = driver_command()
    if git.text("config", "--local", "--get", DRIVER, ok=(0, 1)) != command:
        git.run("config", "--local", DRIVER, command)
    attributes_file, attributes = _read_attributes(root, git)
    if ATTRIBUTE not in attributes:
        template = layout.resource("vault_template") / ".gitattributes"
        lines = [line for line in _read_text(template).splitlines() if ATTRIBUTE in line]
        _append_lines(attributes_file, lines)


def _read_attributes(root: Path, git: Git) -> tuple[Path, str]:
    file = git.dirs()[1] / "info" / "attributes"
    return file, _read_text(root / ".gitattributes") + "\n" + _read_text(file)


def configured_driver(root: Path, git: Git) -> str | None:
    """Return the command of the merge driver, or "" if it is not configured.

    Return None if .gitattributes does not name the driver.
    """
    needs_driver = ATTRIBUTE in _read_text(root / ".gitattributes")
    return git.text("config", "--get", DRIVER, ok=(0, 1)) if needs_driver else None


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
