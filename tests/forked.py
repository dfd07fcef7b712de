"""The program in a process that may be killed; forked, as to load it takes most of its time."""

import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from pkgutil import walk_packages

import skillvault
from skillvault.cli import main
from skillvault.vault.failpoint import VARIABLE
from skillvault.vault.git import config, index_file
from tests.crash import scenario

PATIENCE = 240.0  # seconds after which a process says in its log what it waits for, and ends
_FORKING = multiprocessing.get_context("forkserver")
# One server forks for all: every module of the program, and what they load within a function.
_PROGRAM = [module.name for module in walk_packages(skillvault.__path__, "skillvault.")]
_FORKING.set_forkserver_preload(
    ["tests.forked", "git", "pygit2", "Stemmer", "pytest"]
    + [name for name in _PROGRAM if name != "skillvault.__main__"]
)


def started(root: Path, failpoint: str = "") -> BaseProcess:
    """Start `skillvault run` in a process, and return the process."""
    process = _FORKING.Process(target=_run, args=(root, _environment(failpoint)))
    process.start()
    return process


def log_of(root: Path) -> Path:
    """Return the file with the output of the commands in a vault, in their order."""
    return root.with_name(f"{root.name}.log")


def done(root: Path, failpoint: str = "") -> int | None:
    """Run `skillvault run` in a process, and return its exit code."""
    process = started(root, failpoint)
    process.join()
    return process.exitcode


def program(
    *words: str,
    folder: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `skillvault` with these words in a folder, its environment changed by this one."""
    with tempfile.TemporaryDirectory() as place:
        streams = tuple(Path(place) / name for name in ("stdin", "stdout", "stderr"))
        streams[0].write_bytes(stdin)
        env = {**os.environ, **(environment or {})}
        arguments = (words, folder or Path.cwd(), env, streams)
        process = _FORKING.Process(target=_run_program, args=arguments)
        process.start()
        process.join()
        printed = [stream.read_bytes() for stream in streams[1:]]
    assert process.exitcode is not None
    return subprocess.CompletedProcess(words, process.exitcode, *printed)


def played(root: Path, failpoint: str = "") -> int | None:
    """Play the scenario of tests/crash, and return its exit code."""
    process = _FORKING.Process(target=_play, args=(root, _environment(failpoint)))
    process.start()
    process.join()
    return process.exitcode


def called(call: Callable[[Path], None], root: Path, failpoint: str = "") -> int | None:
    """Call a function about a vault in a process, and return its exit code."""
    process = calling(call, root, failpoint)
    process.join()
    return process.exitcode


def calling(call: Callable[[Path], None], root: Path, failpoint: str = "") -> BaseProcess:
    """Start a process that calls a function about a vault, and return the process."""
    process = _FORKING.Process(target=_call, args=(call, root, _environment(failpoint)))
    process.start()
    return process


def _environment(failpoint: str) -> dict[str, str]:
    return {**os.environ, VARIABLE: failpoint}


def _run_program(
    words: Sequence[str], folder: Path, env: Mapping[str, str], streams: Sequence[Path]
) -> None:
    for number, stream in enumerate(streams):
        _open_as(number, stream, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
    run_on_streams(words, folder, env)


def run_on_streams(words: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
    """Run `skillvault` on the standard streams of this process."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    sys.argv = ["skillvault", *words]
    os.chdir(folder)
    _take(env)
    main()


def run_other_program(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
    """Let this process become another program."""
    os.chdir(folder)
    os.execve(command[0], [*command], env)  # noqa: S606


def at_terminal(tty: str, call: Callable[[], None]) -> BaseProcess:
    """Return a process that has the terminal, and calls the function there."""
    ready, opened = _FORKING.Pipe(duplex=False)
    process = _FORKING.Process(target=_call_at_terminal, args=(tty, call, opened))
    process.start()
    opened.close()
    ready.recv()
    return process


def _call_at_terminal(tty: str, call: Callable[[], None], opened: Connection) -> None:
    # A test that runs in the background inherits that this is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    for number in range(3):
        _open_as(number, tty, os.O_RDWR)
    opened.send(None)
    call()


def _open_as(number: int, place: Path | str, flags: int) -> None:
    """Open a file as the standard stream of this number."""
    file = os.open(place, flags)
    os.dup2(file, number)
    os.close(file)


def _run(root: Path, env: Mapping[str, str]) -> None:
    sys.argv = ["skillvault", "--vault", str(root), "run"]
    _log(root, env)
    main()


def _play(root: Path, env: Mapping[str, str]) -> None:
    _log(root, env)
    scenario.play(root)


def _call(call: Callable[[Path], None], root: Path, env: Mapping[str, str]) -> None:
    _log(root, env)
    call(root)


def _log(root: Path, env: Mapping[str, str]) -> None:
    """Take the environment of the test; what is said goes to a file beside the vault."""
    log = log_of(root).open("a", encoding="utf-8", buffering=1)
    sys.stdout = sys.stderr = log
    _take(env)


def _take(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.stderr)
    # As in the test's own process: nobody's git is half-way, and no config was just saved.
    index_file.QUIET_SECONDS = 0.0
    config.MOMENT = 0.02
