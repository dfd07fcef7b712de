"""The program in a process that may be killed; forked, as to load it takes most of its time."""

import faulthandler
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
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
    ["tests.forked", "anthropic", "git", "pygit2", "Stemmer", "pytest"]
    + [name for name in _PROGRAM if name != "skillvault.__main__"]
)


def started(root: Path, failpoint: str = "") -> BaseProcess:
    """`skillvault run`, at work."""
    process = _FORKING.Process(target=_run, args=(root, _environment(failpoint)))
    process.start()
    return process


def log_of(root: Path) -> Path:
    """What the commands in a vault said, one after the other."""
    return root.with_name(f"{root.name}.log")


def done(root: Path, failpoint: str = "") -> int | None:
    """Its exit code, when it has ended."""
    process = started(root, failpoint)
    process.join()
    return process.exitcode


def played(root: Path, failpoint: str = "") -> int | None:
    """The exit code of the scenario of tests/crash, when it has ended."""
    process = _FORKING.Process(target=_play, args=(root, _environment(failpoint)))
    process.start()
    process.join()
    return process.exitcode


def called(call: Callable[[Path], None], root: Path, failpoint: str = "") -> int | None:
    """The exit code of a function about a vault, when it has ended."""
    process = calling(call, root, failpoint)
    process.join()
    return process.exitcode


def calling(call: Callable[[Path], None], root: Path, failpoint: str = "") -> BaseProcess:
    """A function about a vault, at work."""
    process = _FORKING.Process(target=_call, args=(call, root, _environment(failpoint)))
    process.start()
    return process


def _environment(failpoint: str) -> dict[str, str]:
    return {**os.environ, VARIABLE: failpoint}


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
    os.environ.clear()
    os.environ.update(env)
    log = log_of(root).open("a", encoding="utf-8", buffering=1)
    sys.stdout = sys.stderr = log
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=log)
    # As in the test's own process: nobody's git is half-way, and no config was just saved.
    index_file.QUIET_SECONDS = 0.0
    config.MOMENT = 0.02
