"""Run the `skillvault` commands of a shell script in this process.

The shell sends each command through a pipe and waits. What the command printed comes back as a
piece of shell, which prints it again in the same order and returns the same exit code.
"""

import io
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from skillvault.cli import main

_END = b"--end--"
_HOOK = "pre-commit"
_FUNCTION = r"""
exec 8>"$CALLS/request" 9<"$CALLS/reply"
skillvault() {
  case " $* " in *" - "*) cat ;; esac >"$CALLS/stdin"
  { printf '%s\0' "$#" "$PWD" "$@"; env -0; printf '%s\0' --end--; } >&8
  read -r _ <&9
  . "$CALLS/printed"
  return "$code"
}
git() { command git -c core.hooksPath="$CALLS/hooks" "$@"; }
"""
# The vault's own hook would start a Python in each commit of the script.
_CHECK = f"""#!/bin/sh
[ -x .git/hooks/{_HOOK} ] || exit 0
{_FUNCTION}
skillvault --vault . check --staged
"""


@dataclass(frozen=True)
class _Call:
    """A command that the script asks for."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]


def run_script(script: str, folder: Path, environment: Mapping[str, str]) -> tuple[str, int]:
    """Run a shell script in a folder; what it printed on both streams, and its exit code."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile() as seen:
        calls = Path(place)
        for name in ("request", "reply"):
            os.mkfifo(calls / name)
        hook = calls / "hooks" / _HOOK
        hook.parent.mkdir()
        hook.write_text(_CHECK)
        hook.chmod(0o755)
        shell = subprocess.Popen(
            ["sh", "-e", "-c", _FUNCTION + script],
            cwd=folder,
            env={**environment, "CALLS": place},
            stdin=subprocess.DEVNULL,
            stdout=seen,
            stderr=subprocess.STDOUT,
        )
        with (calls / "request").open("rb") as requests, (calls / "reply").open("wb") as replies:
            for call in _calls(requests):
                (calls / "printed").write_bytes(_answer(call, calls / "stdin"))
                replies.write(b"\n")
                replies.flush()
        code = shell.wait()
        seen.seek(0)
        return seen.read().decode(), code


def _calls(requests: io.BufferedReader) -> Iterator[_Call]:
    """Each command, until the script ends."""
    fields: list[str] = []
    for field in _split(requests):
        if field != _END:
            fields.append(os.fsdecode(field))
            continue
        count, folder, *others = fields
        arguments, environment = others[: int(count)], others[int(count) :]
        yield _Call(arguments, folder, dict(line.split("=", 1) for line in environment))
        fields = []


def _split(stream: io.BufferedReader) -> Iterator[bytes]:
    """The fields of a stream, each ended by a NUL."""
    pending = b""
    while block := stream.read1(1 << 16):
        *fields, pending = (pending + block).split(b"\0")
        yield from fields


class _Recorder(io.RawIOBase):
    """A stream that notes what is written to it, in one list with the other stream."""

    def __init__(self, shell_target: str, printed: list[str]) -> None:
        self._target = shell_target
        self._printed = printed

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        text = bytes(data).decode("utf-8", "surrogateescape")
        self._printed.append(f"printf %s {shlex.quote(text)}{self._target}")
        return len(data)


def _answer(call: _Call, stdin: Path) -> bytes:
    """Run a command; the shell text that prints what it printed."""
    printed: list[str] = []
    # A pipe's stdout is written in blocks and its stderr at once, as Python itself does.
    out = io.TextIOWrapper(io.BufferedWriter(_Recorder("", printed)), "utf-8")
    err = io.TextIOWrapper(
        io.BufferedWriter(_Recorder(" >&2", printed)), "utf-8", line_buffering=True
    )
    with stdin.open(encoding="utf-8") as given, _in_place(call, out, err, given):
        code = _exit_code()
        out.flush()
        err.flush()
    printed.append(f"code={code}")
    return "\n".join(printed).encode("utf-8", "surrogateescape")


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


@contextmanager
def _in_place(
    call: _Call, out: io.TextIOWrapper, err: io.TextIOWrapper, given: io.TextIOBase
) -> Iterator[None]:
    """Take a command's folder, environment, arguments and streams for the block."""
    folder = Path.cwd()
    os.chdir(call.folder)
    try:
        with (
            mock.patch.dict(os.environ, call.environment, clear=True),
            mock.patch.multiple(
                sys, argv=["skillvault", *call.arguments], stdout=out, stderr=err, stdin=given
            ),
        ):
            yield
    finally:
        os.chdir(folder)
