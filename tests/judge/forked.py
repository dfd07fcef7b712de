"""The command in a process that may be killed; forked, as to load the SDK takes seconds."""

import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

from skillvault.cli import main

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    ["anthropic", "tests.judge.forked", "skillvault.judge.claude.judge"]
)


def started(root: Path, failpoint: str = "") -> BaseProcess:
    """`skillvault run`, at work."""
    env = {**os.environ, "SKILLVAULT_FAILPOINT": failpoint}
    process = _FORKING.Process(target=_run, args=(root, env))
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


def _run(root: Path, env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["skillvault", "--vault", str(root), "run"]
    with log_of(root).open("a", encoding="utf-8") as log:
        sys.stdout = sys.stderr = log
        main()
