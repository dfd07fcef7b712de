"""Run git commands, independent of the environment and of programs in the vault's config.

This is the only module that uses GitPython, and only to start git. It switches off every setting
that could make git run a program.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, Unpack

from skillvault.model.errors import GitError

# The environment must not change the repository, the config or the programs of git. The person's
# GIT_AUTHOR_*, GIT_COMMITTER_* and GIT_CONFIG_GLOBAL stay.
_REMOVED_VARIABLES = frozenset(
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
_SAFE_SETTINGS = (
    "core.hooksPath=/dev/null core.fsmonitor=false core.pager=cat core.editor=true "
    "core.sshCommand=false core.quotePath=false diff.external= submodule.recurse=false gc.auto=0 "
    "log.showSignature=false i18n.commitEncoding=UTF-8 i18n.logOutputEncoding=UTF-8 "
    "trailer.separators=:".split()
)
_OPTIONS = tuple(part for setting in _SAFE_SETTINGS for part in ("-c", setting))
OWNER_REMEDY = "git config --global --add safe.directory"  # in git's message about the owner
OTHER_GIT = "another git holds"
NO_REMOTE_REF = "the remote does not have"
UNREADABLE = (
    "cannot be read, so the repository is damaged; `git fsck --full` names what is missing: "
    "fetch it from a remote or a backup"
)
COMPLETION = "git config --unset remote.origin.partialclonefilter && git fetch --refetch"
PARTIAL_ADVICE = f"this clone is partial and lacks what is needed; run `{COMPLETION}`"
_CHECK_REMOTE = "check the address, your connection and your access"
# Patterns of git's messages, and what a person is told. `{0}` is the first group of the pattern.
_SENTENCES = (
    (
        rf"({OWNER_REMEDY} .*)",
        "the repository belongs to another user, so git does not read it; to trust it: {0}",
    ),
    (
        r"repository '(.*)' (?:does not|not found)|fatal: '(.*)' does not|gitfile format: (.*)",
        "there is no git repository at {0}; check the address",
    ),
    (r"unable to access '(.*)': (.*)", f"{{0}} cannot be reached ({{1}}); {_CHECK_REMOTE}"),
    (
        r"could not read Username for '(.*)'|Authentication failed for '(.*)'",
        "{0} wants a password, or has no such repository; check the address and your access",
    ),
    (r"transport '(.*)' not allowed", "{0} is no safe kind of address; use https, ssh or a path"),
    (r"(?:find remote ref|not our ref) (.*)", f"{NO_REMOTE_REF} {{0}}; check its name"),
    (r"(\S.*)\s+fatal: Could not read from remote", f"no remote answers ({{0}}); {_CHECK_REMOTE}"),
    ("promisor remote", PARTIAL_ADVICE),
    (r"(?:object|tree|read|commit) '?([0-9a-f]{40})", f"object {{0}} {UNREADABLE}"),
    (r"(pack-[0-9a-f]{40}\.\w+)", f"{{0}} {UNREADABLE}"),
    (
        "index file (?:smaller|corrupt)|bad (?:index file sha1 )?signature|bad index version",
        "git's index cannot be read; remove .git/index and run `git reset`, which makes it again",
    ),
    (r"bad config line (\d+) in file (.*)", "git cannot read line {0} of {1}; correct it"),
    (r"Unable to create '(.*\.lock)': File exists", f"{OTHER_GIT} {{0}}; wait until it ends"),
)


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that pass settings to git."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def is_own_git(arguments: Sequence[str]) -> bool:
    """Return True if skillvault started the git process with these arguments."""
    return tuple(arguments[1 : 1 + len(_OPTIONS)]) == _OPTIONS


def failure_of(command: str, stderr: bytes) -> str:
    """Return a sentence with the next step for git's error message."""
    text = stderr.decode(errors="replace").replace("\r", "")
    for pattern, sentence in _SENTENCES:
        if match := re.search(pattern, text):
            return sentence.format(*(part for part in match.groups() if part is not None))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = next((i for i, line in enumerate(lines) if "fatal:" in line), 0)
    reason = " ".join(lines[fatal : fatal + 2]).removeprefix("fatal: ") or "it gives no reason"
    return f"git {command} failed ({reason}); correct that, and try again"


_CHUNK_BYTES = 1 << 18  # that are read at once from git


class CallOptions(TypedDict, total=False):
    """The options of a git call; see `Runner.answer`."""

    stdin: bytes
    env: Mapping[str, str] | None
    ok: Sequence[int]
    patience: float | None
    hold_lock: bool


class Runner:
    """A launcher of git in one repository. A hook passes the `index` file that git gave it."""

    def __init__(self, root: Path, index: str | None = None) -> None:
        self._root = root
        self.index = {"GIT_INDEX_FILE": index} if index else {}
        self._lock: int | None = None

    @contextmanager
    def share_lock(self, lock: int) -> Iterator[None]:
        """Let git processes that change the index or the branch inherit this lock.

        If this process is killed, they hold the lock until they have ended.
        """
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None

    def run(self, *args: str, **options: Unpack[CallOptions]) -> bytes:
        """Return the standard output of a git call. See `answer` for the arguments."""
        return self.answer(*args, **options)[1]

    def text(self, *args: str, ok: Sequence[int] = (0,)) -> str:
        """Return the standard output of a git call as stripped text."""
        return self.run(*args, ok=ok).decode(errors="replace").strip()

    def answer(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        patience: float | None = None,
        hold_lock: bool = False,
    ) -> tuple[int, bytes]:
        """Return (exit code, standard output) of a git call.

        Raises GitError if the code is not in `ok`. After `patience` seconds git is killed and
        TimeoutError is raised. With `hold_lock` git holds the writer lock until it ends.
        """
        # At a terminal, git stays in the session, because a signing program asks there.
        new_session = patience is not None and not os.isatty(0)
        process = self.start(*args, env=env, new_session=new_session, hold_lock=hold_lock)
        try:
            output, errors = process.communicate(stdin, timeout=patience)
        except subprocess.TimeoutExpired:
            if new_session:
                os.killpg(process.pid, signal.SIGKILL)  # with its children
            process.kill()
            process.wait()
            raise TimeoutError(f"git {args[0]} did not end") from None
        except BaseException:
            process.wait()  # let git finish first
            raise
        if process.returncode not in ok:
            raise GitError(failure_of(args[0], errors))
        return process.returncode, output

    def fields(self, *args: str, env: Mapping[str, str] | None = None) -> Iterator[bytes]:
        """Yield the NUL-terminated fields of git's output while git prints them."""
        process = self.start(*args, env=env, hold_lock=False)
        assert process.stdout
        try:
            remainder = b""
            while chunk := process.stdout.read(_CHUNK_BYTES):
                *fields, remainder = (remainder + chunk).split(b"\0")
                yield from fields
        except BaseException:
            process.kill()
            raise
        finally:
            _, err = process.communicate()
        if process.returncode:
            raise GitError(failure_of(args[0], err))

    @contextmanager
    def detach(self, *args: str, env: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
        """Start git in a new session, and stop it at the end of the block.

        If this process is killed, git goes on and holds the shared lock.
        """
        process = self.start(*args, env=env, new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # its own children too
            process.communicate()

    def start(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        new_session: bool = False,
        hold_lock: bool = True,
    ) -> "subprocess.Popen[bytes]":
        """Start a git process that reads its stdin. The caller ends the process."""
        import git  # noqa: PLC0415 (50 ms; many commands start no git)

        settings = {**_ENVIRONMENT, **self.index, **(env or {})}
        names = sorted(name for name in _REMOVED_VARIABLES - settings.keys() if name in os.environ)
        prefix = ["env", *(part for name in names for part in ("-u", name))] if names else []
        try:
            # GitPython would expand `$` and `~` in a text, and replace a missing folder by its own.
            process = git.Git(self._root).execute(
                [*prefix, "git", *_OPTIONS, "-C", str(self._root.absolute()), *args],
                as_process=True,  # else git gets no stdin, and its children outlive a timeout
                istream=subprocess.PIPE,
                env=settings,
                start_new_session=new_session,
                pass_fds=(self._lock,) if hold_lock and self._lock is not None else (),
            )
        except git.exc.GitCommandNotFound:
            raise GitError("git cannot be started; install git") from None
        child, process.proc = process.proc, None  # else GitPython kills the process with its object
        if child is None:
            raise GitError(f"git {args[0]}: could not be started")
        return child
