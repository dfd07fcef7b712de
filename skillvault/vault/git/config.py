"""A repository's config: its settings for commits, and what of it would make git run a program.

Git alone reads a config, but for `core.sharedRepository`. What it said is kept as long as every
file that it read, or could have read, is unchanged. Nothing of a config is run here.
"""

import os
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from skillvault.vault.files import layout
from skillvault.vault.git.process import as_environment

_SETTING = re.compile(
    rb"^[ \t]*sharedrepository[ \t]*(?:=[ \t]*(\w+))?", re.IGNORECASE | re.MULTILINE
)
_UMASK = re.compile(rb"^Umask:\s*([0-7]+)$", re.MULTILINE)
_GROUP, _ALL = 0o070, 0o075
_STATUS = Path("/proc/self/status")

_turn = threading.Lock()
_cleared: set[int] = set()  # the bits that this process cleared where it cannot read its umask


LISTING = ("--show-scope", "--show-origin", "-z", "--list")
CLONE = "skillvault.clone"

# Where git looks for a person's config; it makes one state with the files themselves.
_PLACES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_NAMES = (
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
)
# What signs where the person's own config names nothing; the vault's may not name any.
_SIGNERS = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "",
}
_OWN_SCOPES = ("local", "worktree")
_TRUE = frozenset({"true", "yes", "on", "1"})
_PARTS = ("name", "email")
_NAMING = re.compile(r"(user|author|committer)\.(name|email)$")
_DIRS = "skillvault.dirs"
_REMOTE = re.compile(r"remote\.(?P<name>.+)\.url")
_TRACKED = re.compile(r"branch\.(?P<branch>.+)\.remote")
_ELSEWHERE = re.compile(r"include\.|includeif\.|extensions\.worktreeconfig$")
_FILTER_STEPS = ("clean", "smudge", "process")
_MOMENT = 0.1  # seconds in which a file may be saved twice and look the same

State = tuple[object, ...]


class ConfigLine(NamedTuple):
    """A setting: where it stands, its key as git prints it, its value; None: the key alone."""

    scope: str
    origin: str
    key: str
    value: str | None

    @property
    def own(self) -> bool:
        """Whether the repository itself says it, and not the person or the machine."""
        return self.scope in _OWN_SCOPES


class Settings:
    """The settings of git in a repository, of the output of `config` with LISTING."""

    def __init__(self, listing: bytes) -> None:
        fields = os.fsdecode(listing).split("\0")
        # In the order in which later ones win.
        self.lines: list[ConfigLine] = []
        for scope, origin, setting in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            key, separator, value = setting.partition("\n")
            self.lines.append(ConfigLine(scope, origin, key, value if separator else None))

    @property
    def origins(self) -> set[str]:
        """The files in which they stand."""
        places = {line.origin for line in self.lines}
        return {name.removeprefix("file:") for name in places if name.startswith("file:")}

    @property
    def scattered(self) -> bool:
        """Whether more files may have a say than those that were read, or none is a repository's.

        What is included may depend on the branch, or on files that are not there yet.
        """
        own = any(line.scope == "local" for line in self.lines)
        return not own or any(_ELSEWHERE.match(line.key) for line in self.lines)

    @cached_property
    def signs(self) -> bool:
        """Whether commits are to be signed."""
        return self._true("commit.gpgsign", absent=False)

    @cached_property
    def modes(self) -> bool:
        """Whether the executable bit of a file in the work tree means anything."""
        return self._true("core.filemode", absent=True)

    @cached_property
    def bare(self) -> bool:
        """Whether the repository has no work tree."""
        return self._true("core.bare", absent=False)

    @property
    def dirs(self) -> tuple[str, ...]:
        """The folders outside the vault that its `shelf.dirs` may name."""
        return tuple(value for value in self._values(_DIRS) if value)

    @property
    def clone(self) -> str:
        """What the clone is called among those of its vault; "" if it has no name."""
        names = self._values(CLONE)
        return names[-1] or "" if names else ""

    @property
    def remotes(self) -> tuple[str, ...]:
        """The remotes that have an address, in their order."""
        names = (_REMOTE.fullmatch(line.key) for line in self.lines)
        return tuple(dict.fromkeys(match["name"] for match in names if match))

    @property
    def tracked(self) -> dict[str, str]:
        """branch -> the remote that its config names."""
        named = ((_TRACKED.fullmatch(line.key), line.value) for line in self.lines)
        return {match["branch"]: value for match, value in named if match and value}

    @cached_property
    def named(self) -> bool:
        """Whether it says who commits: a name and an address."""
        return all(self._says(f"user.{key}") or self._says(f"committer.{key}") for key in _PARTS)

    def who(self) -> tuple[object, ...]:
        """All that git makes a person's name of; the same says the same name."""
        return *self._names.items(), *map(os.environ.get, _NAMES)

    @cached_property
    def _names(self) -> dict[str, str | None]:
        return {line.key: line.value for line in self.lines if _NAMING.match(line.key)}

    @cached_property
    def signing(self) -> dict[str, str]:
        """What to make commits with, as git's environment."""
        plain = {"user.useConfigOnly": "true"}
        signers = [line for line in self.lines if line.key in _SIGNERS]
        if not self.signs or not any(line.own for line in signers):
            return as_environment(plain)
        # The repository's own config may name no program that signs.
        trusted = {line.key: line.value or "" for line in signers if not line.own}
        program = trusted.get("gpg.openpgp.program", trusted.get("gpg.program", "gpg"))
        programs = {"gpg.program": program, "gpg.openpgp.program": program}
        return as_environment(plain | _SIGNERS | trusted | programs)

    @cached_property
    def staging(self) -> dict[str, str]:
        """What to write an index with, as git's environment: no filter runs on files just saved."""
        keys = {line.key for line in self.lines if line.key.startswith("filter.")}
        drivers = {key.rpartition(".")[0] for key in keys}
        off = {f"{driver}.{step}": "" for driver in drivers for step in _FILTER_STEPS}
        return as_environment(off | {f"{driver}.required": "false" for driver in drivers})

    def _values(self, key: str) -> list[str | None]:
        return [line.value for line in self.lines if line.key == key]

    def _says(self, key: str) -> bool:
        values = self._values(key)
        return bool(values and values[-1] and values[-1].strip())

    def _true(self, key: str, *, absent: bool) -> bool:
        values = self._values(key)
        return absent if not values else values[-1] is None or values[-1].lower() in _TRUE


class Believed(Struct, frozen=True):
    """Settings, and the state of the files and the environment that they were read from."""

    settings: Settings
    files: tuple[Path, ...]
    state: State

    @property
    def stands(self) -> bool:
        """Whether git would read the same again."""
        return self.state == _state(self.files)


def believed(settings: Settings, root: Path, since: float) -> Believed | None:
    """What git said in `root`; None if that must be asked again each time.

    `since` is when git was asked, in seconds: a file that was saved later, or just before, may
    have been saved unseen.
    """
    if settings.scattered:
        return None
    files = tuple(sorted({*(root / name for name in settings.origins), *_usual()}))
    state = _state(files)
    saved = (status.st_ctime for file in files if (status := _stat(file)))
    return Believed(settings, files, state) if max(saved) < since - _MOMENT else None


def _usual() -> Iterator[Path]:
    """The files beside the repository's own that may be there the next time."""
    yield Path("/etc/gitconfig")
    yield from (Path(name) for key in _PLACES[2:4] if (name := os.environ.get(key)))
    home = Path(os.environ.get("HOME", "/"))
    yield home / ".gitconfig"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git/config"


def _state(files: tuple[Path, ...]) -> State:
    return *map(os.environ.get, _PLACES), *map(_stamp, files)


def _stamp(file: Path) -> tuple[int, ...] | None:
    """What changes when a file is saved or replaced."""
    status = _stat(file)
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _stat(file: Path) -> os.stat_result | None:
    """A file's state; None for one that git cannot read either."""
    try:
        return file.stat()
    except OSError:
        return None


def obey_sharing(common: Path) -> None:
    """Let what this process creates from now on be the group's too, if the repository is shared.

    Git does so for its own files; ours, and those of the work tree, follow the umask. Read without
    git from the repository's own config, where `git init --shared` writes it.
    """
    try:
        settings = _SETTING.findall((common / "config").read_bytes())
    except OSError:
        return  # git says what is wrong with it
    if settings and (bits := _opened(settings[-1].decode().lower())):
        with _turn:
            _clear(bits)


def _clear(bits: int) -> None:
    """Clear bits of the umask; it is left alone where it has none of them.

    Without /proc it can only be read by setting it: other threads create private files meanwhile.
    """
    umask = _read_umask()
    if umask is not None:
        if umask & bits:
            os.umask(umask & ~bits)
    elif bits not in _cleared:
        os.umask(os.umask(0o077) & ~bits)
        _cleared.add(bits)


def _read_umask() -> int | None:
    """The umask of this process, if the system tells."""
    try:
        umask = _UMASK.search(_STATUS.read_bytes())
    except OSError:
        return None
    return int(umask[1], 8) if umask else None


def _opened(value: str) -> int:
    """The bits of a umask that a setting clears."""
    if value in ("", "true", "yes", "on", "group", "1"):
        return _GROUP
    if value in ("all", "world", "everybody", "2"):
        return _ALL
    if re.fullmatch("0[0-7]{3}", value):
        mode = int(value, 8)
        return mode | (mode & 0o444) >> 2  # who may read a file may enter its folder
    return 0


DRIVER = "merge.skillvault.driver"
ATTRIBUTE = "merge=skillvault"
_CALL = "-P -m skillvault merge-driver %O %A %B %P"

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


def driver_command() -> str:
    """The merge driver's command, with the Python that runs now."""
    return f"{shlex.quote(sys.executable)} {_CALL}"


def is_own_driver(command: str) -> bool:
    """Return True if a command is the one that `init` sets, perhaps with another Python."""
    python = command.removesuffix(f" {_CALL}")
    try:
        return python != command and shlex.quote(*shlex.split(python)) == python
    except (ValueError, TypeError):  # no quoted word, or not one alone
        return False


class Setting(Struct, frozen=True):
    """A key of the repository's own config with its values, and the file it stands in."""

    key: str
    values: tuple[str, ...]
    file: Path


def find_program_settings(config: Settings, root: Path) -> list[Setting]:
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


def removal_command(setting: Setting, own: Path, common: Path) -> str:
    """The command that removes a setting; `own` and `common` are the git dirs."""
    place = {common / "config": "--local", own / "config.worktree": "--worktree"}.get(
        setting.file, f"--file {shlex.quote(str(setting.file))}"
    )
    return f"git config {place} --unset-all {shlex.quote(setting.key)}"


def find_foreign_hooks(folder: Path) -> Iterator[Path]:
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
