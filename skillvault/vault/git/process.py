"""How git is launched, and what of the environment and the config must not reach it.

The one home of GitPython, which launches git and nothing else. Whatever the vault's own
config could make git run is switched off here.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillvault.model.errors import GitError

# Location, config injection and executables must not reach us from the environment;
# GIT_AUTHOR_*, GIT_COMMITTER_* and GIT_CONFIG_GLOBAL are the person's and stay.
_STRIPPED = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_PREFIX "
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_CONFIG GIT_CONFIG_PARAMETERS "
    "GIT_CONFIG_COUNT GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_PAGER "
    "GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_ASKPASS "
    "GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_REPLACE_REF_BASE GIT_GLOB_PATHSPECS "
    "GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_TRACE GIT_CEILING_DIRECTORIES "
    "GIT_DEFAULT_HASH GIT_ATTR_SOURCE PAGER".split()
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_OFF = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.sshCommand=false",
    "core.quotePath=false",
    "diff.external=",
    "submodule.recurse=false",
    "gc.auto=0",
    "log.showSignature=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "trailer.separators=:",
)  # fmt: skip
# What signs where the person's own config names nothing; the vault's may not name any.
_SIGNERS = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "",
}
_TRUE = frozenset({"true", "yes", "on", "1"})
_SETTINGS = tuple(part for setting in _OFF for part in ("-c", setting))
_NAMES = ("name", "email")
_NAMING = re.compile(r"(user|author|committer)\.(name|email)$")
_DIRS = "skillvault.dirs"
CLONE = "skillvault.clone"
_REMOTE = re.compile(r"remote\.(?P<name>.+)\.url")
_TRACKED = re.compile(r"branch\.(?P<branch>.+)\.remote")
_ELSEWHERE = re.compile(r"include\.|includeif\.|extensions\.worktreeconfig$")
_FILTER_STEPS = ("clean", "smudge", "process")


COMPLETION = "git config --unset remote.origin.partialclonefilter && git fetch --refetch"
PARTIAL = f"this clone is partial and lacks what is needed; run `{COMPLETION}`"


def launched(
    root: Path,
    args: Sequence[str],
    stdin: bytes,
    env: Mapping[str, str],
    *,
    patience: float | None = None,
    lock: int | None = None,
) -> tuple[int, bytes, bytes]:
    """(exit code, stdout, stderr) of one git call in `root`, with `stdin` given to it.

    After `patience` seconds it is killed and TimeoutError raised. It inherits the descriptor
    `lock`.
    """
    # Where a person sits at a terminal, it is there that a signing program asks for the key.
    alone = patience is not None and not os.isatty(0)
    child = start(root, args, env, alone=alone, lock=lock)
    try:
        out, err = child.communicate(stdin, timeout=patience)
    except subprocess.TimeoutExpired:
        if alone:
            os.killpg(child.pid, signal.SIGKILL)  # and whatever it waits for
        child.kill()
        child.wait()
        raise TimeoutError(f"git {args[0]} did not end") from None
    except BaseException:
        child.wait()  # what it does is done before anybody looks at what it did
        raise
    return child.returncode, out, err


def start(
    root: Path,
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    alone: bool = False,
    lock: int | None = None,
) -> "subprocess.Popen[bytes]":
    """A git process in `root` that reads its stdin; it inherits the descriptor `lock`.

    `alone`: in a session of its own.
    """
    import git  # noqa: PLC0415 (50 ms, and a question of a plain repository starts no process)

    ours = {**_ENVIRONMENT, **env}
    unset = sorted(name for name in _STRIPPED - ours.keys() if name in os.environ)
    prefix = ["env", *(part for name in unset for part in ("-u", name))] if unset else []
    try:
        process = git.Git(str(root)).execute(
            [*prefix, "git", *_SETTINGS, *args],
            as_process=True,
            istream=subprocess.PIPE,
            env=ours,
            start_new_session=alone,
            **({"pass_fds": (lock,)} if lock is not None else {}),
        )
    except git.exc.GitCommandNotFound:  # the folder to work in may be what is missing
        raise GitError(f"git cannot be started in {root}; install git, or put it back") from None
    child = process.proc
    if child is None:
        raise GitError(f"git {args[0]}: could not be started")
    process.proc = None  # else it is killed with GitPython's object
    return child


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Git settings as the variables that a git call reads them from."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


class Config:
    """A repository's settings, of the output of `config --show-scope --show-origin -z --list`."""

    def __init__(self, listing: bytes) -> None:
        fields = listing.decode(errors="surrogateescape").split("\0")
        # (scope, key, value), in the order in which later ones win; None: the key alone stands.
        self.lines: list[tuple[str, str, str | None]] = []
        self.files: set[str] = set()  # in which they stand
        for scope, origin, setting in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            key, separator, value = setting.partition("\n")
            self.lines.append((scope, key, value if separator else None))
            self.files |= {origin.removeprefix("file:")} if origin.startswith("file:") else set()

    @property
    def signs(self) -> bool:
        """Whether commits are to be signed."""
        return self._true("commit.gpgsign", absent=False)

    @property
    def modes(self) -> bool:
        """Whether files of the work tree have their mode."""
        return self._true("core.filemode", absent=True)

    @property
    def bare(self) -> bool:
        """Whether the repository has no work tree."""
        return self._true("core.bare", absent=False)

    @property
    def scattered(self) -> bool:
        """Whether more files may have a say than those that were read, or none is a repository's.

        What is included may depend on the branch, or on files that are not there yet.
        """
        own = any(scope == "local" for scope, _, _ in self.lines)
        return not own or any(_ELSEWHERE.match(key) for _, key, _ in self.lines)

    @property
    def dirs(self) -> tuple[str, ...]:
        """The folders outside the vault that its `shelf.dirs` may name."""
        return tuple(value for _, key, value in self.lines if key == _DIRS and value)

    @property
    def clone(self) -> str:
        """What the clone is called among those of its vault; "" if it has no name."""
        names = [value for _, key, value in self.lines if key == CLONE]
        return names[-1] or "" if names else ""

    @property
    def remotes(self) -> tuple[str, ...]:
        """The remotes that have an address, in their order."""
        names = (_REMOTE.fullmatch(key) for _, key, _ in self.lines)
        return tuple(dict.fromkeys(match["name"] for match in names if match))

    @property
    def tracked(self) -> dict[str, str]:
        """branch -> the remote that its config names."""
        named = ((_TRACKED.fullmatch(key), value) for _, key, value in self.lines)
        return {match["branch"]: value for match, value in named if match and value}

    @property
    def identity(self) -> dict[str, str | None]:
        """What it says of who commits."""
        return {key: value for _, key, value in self.lines if _NAMING.match(key)}

    @property
    def named(self) -> bool:
        """Whether it says who commits: a name and an address."""
        return all(self._says(f"user.{key}") or self._says(f"committer.{key}") for key in _NAMES)

    def _says(self, name: str) -> bool:
        values = [value for _, key, value in self.lines if key == name]
        return bool(values and values[-1] and values[-1].strip())

    def _true(self, name: str, *, absent: bool) -> bool:
        values = [value for _, key, value in self.lines if key == name]
        return absent if not values else values[-1] is None or values[-1].lower() in _TRUE

    def signers(self) -> dict[str, str]:
        """Settings for what signs, where the repository's own config names other programs."""
        own: dict[str, str] = {}
        foreign = False
        for scope, key, value in self.lines:
            if key in _SIGNERS and scope in ("local", "worktree"):
                foreign = True
            elif key in _SIGNERS:
                own[key] = value or ""
        if not foreign:
            return {}
        program = own.get("gpg.openpgp.program", own.get("gpg.program", "gpg"))
        return {**_SIGNERS, **own, "gpg.program": program, "gpg.openpgp.program": program}

    def without_filters(self) -> dict[str, str]:
        """Settings without filters: writing an index runs them on files just saved."""
        keys = {key for _, key, _ in self.lines if key.startswith("filter.")}
        drivers = {key.rpartition(".")[0] for key in keys}
        off = {f"{driver}.{step}": "" for driver in drivers for step in _FILTER_STEPS}
        return off | {f"{driver}.required": "false" for driver in drivers}


def is_ours(words: Sequence[str]) -> bool:
    """Whether the command line of a git is one of this program's."""
    return tuple(words[1 : 1 + len(_SETTINGS)]) == _SETTINGS


def failure_of(command: str, err: bytes) -> str:
    """Git's own words for a failure, in one line."""
    lines = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
    fatal = next((i for i, line in enumerate(lines) if "fatal:" in line), 0)
    words = " ".join(lines[fatal : fatal + 2]) or "failed without a message"
    return f"git {command}: {words}" + (f"; {PARTIAL}" if "promisor remote" in words else "")


class Runner:
    """Calls git in one repository. `index` is the index file to read if a hook was handed one."""

    def __init__(self, root: Path, index: str | None = None) -> None:
        self._root = root
        self.index = {"GIT_INDEX_FILE": index} if index else {}
        self._lock: int | None = None

    @contextmanager
    def fenced(self, lock: int) -> Iterator[None]:
        """Let what moves the index and the branch hold this lock's descriptor too.

        Were this process killed, no other one could take the lock before they have ended.
        """
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        patience: float | None = None,
        fenced: bool = False,
    ) -> bytes:
        """Standard output of one git call; GitError with git's own words otherwise.

        After `patience` seconds it is killed and TimeoutError raised. `fenced`: it holds the
        writer's lock as long as it lives.
        """
        settings = {**self.index, **(env or {})}
        lock = self._lock if fenced else None
        code, out, err = launched(self._root, args, stdin, settings, patience=patience, lock=lock)
        if code not in ok:
            raise GitError(failure_of(args[0], err))
        return out

    def answer(
        self,
        *args: str,
        ok: Sequence[int],
        env: Mapping[str, str] | None = None,
        patience: float | None = None,
    ) -> tuple[int, bytes]:
        """(exit code, standard output) of one git call; GitError for a code that is not `ok`.

        `env` and `patience` are those of `run`.
        """
        settings = {**self.index, **(env or {})}
        code, out, err = launched(self._root, args, b"", settings, patience=patience)
        if code not in ok:
            raise GitError(failure_of(args[0], err))
        return code, out

    def start(self, *args: str, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """A git process that is talked to; it holds the writer's lock as long as it lives."""
        return start(self._root, args, env, lock=self._lock)

    @contextmanager
    def alone(self, *args: str, env: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
        """A git process in a session of its own, which ends with this block at the latest.

        Were we killed it goes on, and holds the lock that it is fenced by.
        """
        process = start(self._root, args, env, alone=True, lock=self._lock)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # its own children too
            process.communicate()

    def text(self, *args: str, ok: Sequence[int] = (0,)) -> str:
        """Standard output as one stripped text."""
        return self.run(*args, ok=ok).decode(errors="replace").strip()
