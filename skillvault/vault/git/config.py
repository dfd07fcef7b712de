"""Read the git config of a repository, and find settings and hooks that make git run programs.

Git is asked once, and its answer is cached until a file of the config changes. Only the setting
`core.sharedRepository` is read without git. No program in a config is run here.
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

from skillvault.model.lazy import regex
from skillvault.vault.files import layout
from skillvault.vault.git.process import as_environment

_SHARING = re.compile(rb"(?im)^[ \t]*sharedrepository[ \t]*(?:=[ \t]*(\w+))?")
_UMASK = re.compile(rb"^Umask:\s*([0-7]+)$", re.MULTILINE)
_GROUP_BITS, _ALL_BITS = 0o070, 0o075
_STATUS = Path("/proc/self/status")

_umask_lock = threading.Lock()
_cleared_bits: set[int] = set()  # the bits that this process cleared without knowing its umask


LISTING = ("--show-scope", "--show-origin", "-z", "--list")
CLONE = "skillvault.clone"
COLD = "skillvault.cold"

# The variables by which git finds a person's config; a change makes the cached settings stale.
_FILE_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_LOCATION_VARIABLES = ("HOME", "XDG_CONFIG_HOME", *_FILE_VARIABLES, "GIT_CONFIG_NOSYSTEM")
_IDENTITY_VARIABLES = (
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"),
)
# The signing programs if the person's config names none; the vault's config may not name any.
_SIGNERS = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "",
}
_LOCAL_SCOPES = ("local", "worktree")
_TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
_IDENTITY_KEY = regex(r"(user|author|committer)\.(name|email)$")
_DIRS = "skillvault.dirs"
_REMOTE = regex(r"remote\.(?P<name>.+)\.url")
_PROMISOR = regex(r"remote\.(?P<name>.+)\.promisor")
_BRANCH_REMOTE = regex(r"branch\.(?P<branch>.+)\.remote")
_INCLUDE = regex(r"include\.|includeif\.|extensions\.worktreeconfig$")
_FILTER_STEPS = ("clean", "smudge", "process")
MOMENT = 0.1  # seconds; a file that is saved twice within them may look unchanged


class ConfigLine(NamedTuple):
    """A setting: its scope, its file, its key as git prints it, and its value.

    The value is None for a key without `=`.
    """

    scope: str
    origin: str
    key: str
    value: str | None

    @property
    def is_local(self) -> bool:
        """True for a setting of the repository, not of the user or the machine."""
        return self.scope in _LOCAL_SCOPES


class Settings:
    """The git settings of a repository, parsed from the output of `git config` with LISTING."""

    def __init__(self, listing: bytes) -> None:
        fields = os.fsdecode(listing).split("\0")
        # A later line overrides an earlier one.
        self.lines: list[ConfigLine] = []
        for scope, origin, setting in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            key, separator, value = setting.partition("\n")
            self.lines.append(ConfigLine(scope, origin, key, value if separator else None))

    @property
    def origins(self) -> set[str]:
        """The files that contain the settings."""
        origins = {line.origin for line in self.lines}
        return {name.removeprefix("file:") for name in origins if name.startswith("file:")}

    @property
    def may_depend_on_more(self) -> bool:
        """True if the settings may depend on more files than git read.

        An included file may depend on the branch, or may not exist yet.
        """
        has_local = any(line.scope == "local" for line in self.lines)
        return not has_local or any(_INCLUDE.match(line.key) for line in self.lines)

    @cached_property
    def signs(self) -> bool:
        """True if git signs commits."""
        return self._flag("commit.gpgsign", default=False)

    @cached_property
    def modes(self) -> bool:
        """True if git compares the executable bits of files."""
        return self._flag("core.filemode", default=True)

    @cached_property
    def is_bare(self) -> bool:
        """True if the repository has no work tree."""
        return self._flag("core.bare", default=False)

    @property
    def dirs(self) -> tuple[str, ...]:
        """The folders outside the vault that `shelf.dirs` in vault.yaml may name."""
        return tuple(value for value in self._values(_DIRS) if value)

    @property
    def clone(self) -> str:
        """The name of this clone among the clones of the vault, or ""."""
        names = self._values(CLONE)
        return names[-1] or "" if names else ""

    @property
    def is_sparse(self) -> bool:
        """True if the checkout leaves files out."""
        return self._flag("core.sparsecheckout", default=False)

    @property
    def open_months(self) -> int | None:
        """The number of months that `skillvault cold` keeps here, or None if it keeps all."""
        texts = [value for value in self._values(COLD) if value and value.isdecimal()]
        return int(texts[-1]) if texts and self.is_sparse else None

    @property
    def promisor(self) -> str | None:
        """The remote that has the missing objects of a partial clone, or None in a full clone."""
        names = [match["name"] for line in self.lines if (match := _PROMISOR.fullmatch(line.key))]
        return next(iter([*names, *filter(None, self._values("extensions.partialclone"))]), None)

    @property
    def remotes(self) -> tuple[str, ...]:
        """The remotes that have an address, in the order of the config."""
        matches = (_REMOTE.fullmatch(line.key) for line in self.lines)
        return tuple(dict.fromkeys(match["name"] for match in matches if match))

    @property
    def branch_remotes(self) -> dict[str, str]:
        """The configured remote of each branch."""
        matches = ((_BRANCH_REMOTE.fullmatch(line.key), line.value) for line in self.lines)
        return {match["branch"]: value for match, value in matches if match and value}

    @cached_property
    def has_identity(self) -> bool:
        """True if the config has a name and an address for the committer."""
        keys = ("name", "email")
        return all(self._has(f"user.{key}") or self._has(f"committer.{key}") for key in keys)

    @property
    def email(self) -> str | None:
        """The committer's e-mail address, or None."""
        values = [*self._values("user.email"), os.environ.get("GIT_AUTHOR_EMAIL")]
        return next(filter(None, reversed(values)), None)

    def identity_key(self) -> tuple[object, ...]:
        """Return the settings that decide the committer's name, for comparison."""
        return *self._identity_lines, *map(os.environ.get, _IDENTITY_VARIABLES)

    @cached_property
    def _identity_lines(self) -> tuple[tuple[str, str | None], ...]:
        lines = {line.key: line.value for line in self.lines if _IDENTITY_KEY.match(line.key)}
        return tuple(lines.items())

    @cached_property
    def signing(self) -> dict[str, str]:
        """The environment variables for git commands that make commits."""
        settings = {"user.useConfigOnly": "true"}
        signers = [line for line in self.lines if line.key in _SIGNERS]
        if not self.signs or not any(line.is_local for line in signers):
            return as_environment(settings)
        # The repository's config may not choose the program that signs.
        safe_settings = {line.key: line.value or "" for line in signers if not line.is_local}
        program = safe_settings.get("gpg.openpgp.program", safe_settings.get("gpg.program", "gpg"))
        programs = {"gpg.program": program, "gpg.openpgp.program": program}
        return as_environment(settings | _SIGNERS | safe_settings | programs)

    @cached_property
    def staging(self) -> dict[str, str]:
        """The environment variables for git commands that write an index.

        They keep git from running filter programs on the files.
        """
        keys = {line.key for line in self.lines if line.key.startswith("filter.")}
        drivers = {key.rpartition(".")[0] for key in keys}
        settings = {f"{driver}.{step}": "" for driver in drivers for step in _FILTER_STEPS}
        return as_environment(settings | {f"{driver}.required": "false" for driver in drivers})

    def _values(self, key: str) -> list[str | None]:
        return [line.value for line in self.lines if line.key == key]

    def _has(self, key: str) -> bool:
        values = self._values(key)
        return bool(values and values[-1] and values[-1].strip())

    def _flag(self, key: str, *, default: bool) -> bool:
        values = self._values(key)
        return default if not values else values[-1] is None or values[-1].lower() in _TRUE_WORDS


class CachedSettings(Struct, frozen=True):
    """Settings, with the state of the files and variables that git read for them."""

    settings: Settings
    files: tuple[Path, ...]
    state: tuple[object, ...]

    @property
    def is_current(self) -> bool:
        """True if git would read the same settings again."""
        return self.state == _read_file_states(self.files)


def cache_settings(settings: Settings, root: Path, since: float) -> CachedSettings | None:
    """Return settings that may be cached, or None if they may not.

    Git was asked at the unix time `since`. It may have missed files that were saved about then.
    """
    if settings.may_depend_on_more:
        return None
    files = tuple(sorted({*(root / name for name in settings.origins), *_list_user_files()}))
    state = _read_file_states(files)
    times = (status.st_ctime for file in files if (status := _read_status(file)))
    return CachedSettings(settings, files, state) if max(times) < since - MOMENT else None


def _list_user_files() -> Iterator[Path]:
    """Yield the config files outside the repository, even if they do not exist yet."""
    yield Path("/etc/gitconfig")
    yield from (Path(name) for key in _FILE_VARIABLES if (name := os.environ.get(key)))
    home = Path(os.environ.get("HOME", "/"))
    yield home / ".gitconfig"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git/config"


def _read_file_states(files: tuple[Path, ...]) -> tuple[object, ...]:
    return *map(os.environ.get, _LOCATION_VARIABLES), *map(_stamp_file, files)


def _stamp_file(file: Path) -> tuple[int, ...] | None:
    """Return values that change when a file is saved or replaced."""
    status = _read_status(file)
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except OSError:
        return None


def obey_sharing(common_dir: Path) -> None:
    """Make the files of this process writable for the group if the repository is shared.

    Git sets the modes of its own files. The files of skillvault and of the work tree depend on the
    umask. `git init --shared` writes the setting to the config of the repository.
    """
    try:
        settings = _SHARING.findall((common_dir / "config").read_bytes())
    except OSError:
        return  # git itself reports the error
    if settings and (bits := _shared_bits(settings[-1].decode().lower())):
        with _umask_lock:
            _clear_umask(bits)


def _clear_umask(bits: int) -> None:
    """Clear bits of the umask.

    Without /proc the umask can only be read by setting it, so a strict one is set meanwhile.
    """
    umask = _read_umask()
    if umask is not None:
        if umask & bits:
            os.umask(umask & ~bits)
    elif bits not in _cleared_bits:
        os.umask(os.umask(0o077) & ~bits)
        _cleared_bits.add(bits)


def _read_umask() -> int | None:
    try:
        match = _UMASK.search(_STATUS.read_bytes())
    except OSError:
        return None
    return int(match[1], 8) if match else None


def _shared_bits(value: str) -> int:
    """Return the bits of the umask that a value of `core.sharedRepository` clears."""
    if value in ("", "true", "yes", "on", "group", "1"):
        return _GROUP_BITS
    if value in ("all", "world", "everybody", "2"):
        return _ALL_BITS
    if re.fullmatch("0[0-7]{3}", value):
        mode = int(value, 8)
        return mode | (mode & 0o444) >> 2  # git lets everybody who may read a file enter its folder
    return 0


DRIVER = "merge.skillvault.driver"
ATTRIBUTE = "merge=skillvault"
_CALL = "-P -m skillvault merge-driver %O %A %B %P"

# Keys as git prints them: the section and the last part in lower case.
_PROGRAM_KEY = regex(
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
_SWITCH_OR_PROGRAM = regex(r"core\.fsmonitor|pager\..+")
_SWITCH = regex(r"true|false|yes|no|on|off|[-+]?[0-9]+[kmg]?", re.IGNORECASE)
_COMMAND_PREFIXES = (
    (regex(r"alias\..+|submodule\..+\.update"), "!"),
    (regex(r"remote\..+\.(?:push)?url"), "ext::"),
)


def driver_command() -> str:
    """Return the command of the merge driver, with the current Python."""
    return f"{shlex.quote(sys.executable)} {_CALL}"


def is_own_driver(command: str) -> bool:
    """Return True if `init` set this command, perhaps with another Python."""
    python = command.removesuffix(f" {_CALL}")
    return python != command and _is_quoted_word(python)


def _is_quoted_word(text: str) -> bool:
    """Return True if a shell reads the text as exactly one word."""
    try:
        return shlex.quote(*shlex.split(text)) == text
    except (ValueError, TypeError):  # an open quotation, or no word or several
        return False


class ProgramSetting(Struct, frozen=True):
    """A setting of the repository that names a program, with its key, values and file."""

    key: str
    values: tuple[str, ...]
    file: Path


def find_program_settings(config: Settings, root: Path) -> list[ProgramSetting]:
    """Return the settings of the repository that name a program, sorted by key.

    `root` resolves the relative paths that git prints.
    """
    lines = [
        (line.key, (root / line.origin.removeprefix("file:")).resolve(), line.value)
        for line in config.lines
        if line.is_local and line.value and _names_program(line.key, line.value)
    ]
    lines.sort(key=lambda line: line[:2])
    return [
        ProgramSetting(key, tuple(value for *_, value in group), file)
        for (key, file), group in groupby(lines, key=lambda line: line[:2])
    ]


def _names_program(key: str, value: str) -> bool:
    if _SWITCH_OR_PROGRAM.fullmatch(key):
        return not _SWITCH.fullmatch(value)
    if key == DRIVER and is_own_driver(value):
        return False
    if key == "protocol.ext.allow":
        return value != "never"
    if any(rule.fullmatch(key) and value.startswith(prefix) for rule, prefix in _COMMAND_PREFIXES):
        return True
    return _PROGRAM_KEY.fullmatch(key) is not None


def removal_command(setting: ProgramSetting, git_dir: Path, common_dir: Path) -> str:
    """Return the git command that removes a setting."""
    option = {common_dir / "config": "--local", git_dir / "config.worktree": "--worktree"}.get(
        setting.file, f"--file {shlex.quote(str(setting.file))}"
    )
    return f"git config {option} --unset-all {shlex.quote(setting.key)}"


def find_foreign_hooks(folder: Path) -> Iterator[Path]:
    """Yield the hooks that git runs, except those that `init` installs."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        is_active = path.is_file() and os.access(path, os.X_OK) and path.suffix != ".sample"
        if is_active and not _is_own_hook(path):
            yield path


def _is_own_hook(path: Path) -> bool:
    template = layout.resource("hooks") / path.name
    if not template.is_file():
        return False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    template_lines = template.read_text(encoding="utf-8").splitlines()
    return len(lines) == len(template_lines) and all(
        line == template_line or (template_line.startswith("python=") and _sets_python(line))
        for line, template_line in zip(lines, template_lines, strict=True)
    )


def _sets_python(line: str) -> bool:
    """Return True if a line of a shell script only sets `python`."""
    return line.startswith("python=") and _is_quoted_word(line.removeprefix("python="))
