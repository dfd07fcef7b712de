"""What a repository's own config and hooks would make git run. Nothing of it is run here.

`process` switches all of it off; this is for telling a person that it is there.
"""

import os
import re
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from skillvault.vault.files import layout
from skillvault.vault.git.config import Settings
from skillvault.vault.git.merge_file import DRIVER, is_own_driver

# Keys as git prints them: the section and the last part in lower case.
_NAMES_PROGRAM = re.compile(
    r"core\.(?:hookspath|pager|editor|sshcommand|askpass|gitproxy|alternaterefscommand)"
    r"|diff\.external|diff\..+\.(?:command|textconv)|merge\..+\.driver"
    r"|filter\..+\.(?:clean|smudge|process)"
    r"|gpg\.(?:.+\.)?program|gpg\.ssh\.defaultkeycommand|credential\.(?:.+\.)?helper"
    r"|sequence\.editor|interactive\.difffilter|web\.browser|help\.browser"
    r"|(?:difftool|mergetool|guitool|browser|man)\..+\.(?:cmd|path)"
    r"|uploadpack\.packobjectshook|gc\.recentobjectshook|hook\..+\.command"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|url\.ext::.*\.(?:push)?insteadof"
    r"|trailer\..+\.(?:command|cmd)|tar\..+\.command"
    r"|sendemail\.(?:.+\.)?(?:to|cc|header|sendmail)cmd|imap\.tunnel|instaweb\.httpd"
    r"|lfs\.customtransfer\..+\.path|lfs\.extension\..+\.(?:clean|smudge)"
    r"|include\.path|includeif\..+\.path"
)
_SWITCH_OR_PROGRAM = re.compile(r"core\.fsmonitor|pager\..+")
_SWITCH = re.compile(r"true|false|yes|no|on|off|[-+]?[0-9]+[kmg]?", re.IGNORECASE)
_COMMAND_AFTER = (
    (re.compile(r"alias\..+|submodule\..+\.update"), "!"),
    (re.compile(r"remote\..+\.(?:push)?url"), "ext::"),
)
_SAMPLE = ".sample"


class Setting(Struct, frozen=True):
    """A key of the repository's own config with its values, and the file it stands in."""

    key: str
    values: tuple[str, ...]
    file: Path


def settings(config: Settings, root: Path) -> list[Setting]:
    """The settings of the repository that name a program, by key.

    Where git says a relative path, it is relative to `root`.
    """
    lines = [
        (line.key, (root / line.origin.removeprefix("file:")).resolve(), line.value)
        for line in config.lines
        if line.own and line.value and _runs(line.key, line.value)
    ]
    lines.sort(key=lambda line: line[:2])
    return [
        Setting(key, tuple(value for *_, value in group), file)
        for (key, file), group in groupby(lines, key=lambda line: line[:2])
    ]


def _runs(key: str, value: str) -> bool:
    if _SWITCH_OR_PROGRAM.fullmatch(key):
        return not _SWITCH.fullmatch(value)
    if key == DRIVER and is_own_driver(value):
        return False
    if key == "protocol.ext.allow":
        return value != "never"
    if any(rule.fullmatch(key) and value.startswith(mark) for rule, mark in _COMMAND_AFTER):
        return True
    return _NAMES_PROGRAM.fullmatch(key) is not None


def removal(setting: Setting, own: Path, common: Path) -> str:
    """The command that removes a setting; `own` and `common` are the git dirs."""
    place = {common / "config": "--local", own / "config.worktree": "--worktree"}.get(
        setting.file, f"--file {shlex.quote(str(setting.file))}"
    )
    return f"git config {place} --unset-all {shlex.quote(setting.key)}"


def hooks(folder: Path) -> Iterator[Path]:
    """The hooks that git would run, without those that `init` made."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        runs = path.is_file() and os.access(path, os.X_OK) and path.suffix != _SAMPLE
        if runs and not _is_ours(path):
            yield path


def _is_ours(path: Path) -> bool:
    """Whether a hook is, but for the Python it names, what `init` installs under this name."""
    template = layout.resource("hooks") / path.name
    if not template.is_file():
        return False
    present = path.read_text(encoding="utf-8", errors="replace").splitlines()
    installed = template.read_text(encoding="utf-8").splitlines()
    differing = [pair for pair in zip(present, installed, strict=False) if pair[0] != pair[1]]
    return len(present) == len(installed) and all(
        theirs.startswith("python=") and mine.startswith("python=") and _is_plain(theirs)
        for theirs, mine in differing
    )


def _is_plain(assignment: str) -> bool:
    """Whether a shell only sets a variable here: the value is one quoted word."""
    name, _, value = assignment.partition("=")
    try:
        words = shlex.split(value)
    except ValueError:
        return False
    return len(words) == 1 and f"{name}={shlex.quote(words[0])}" == assignment
