"""A command that is run and watched: its output goes where it would have gone, the end is kept.

Writes to this process's own stdout and stderr, and reads nothing of the vault.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, NamedTuple

from skillvault.model.errors import UsageError

_KEPT = 16 * 1024  # bytes of the output's end
_READ = 8192
_KILLED = 128  # what a shell adds to the number of the signal that ended a command


class Ended(NamedTuple):
    """How a command ended, as a shell tells it, and the end of all that it wrote."""

    exit_code: int
    output: str


def watch_command(command: Sequence[str]) -> Ended:
    """Run a command to its end; UsageError for one that cannot be started."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise UsageError(
            f"{command[0]}: {(error.strerror or 'cannot be started').lower()}; nothing was closed, "
            "check the command behind --run --"
        ) from None
    tail = _Tail()
    pairs = ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer))
    threads = [threading.Thread(target=tail.pass_on, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    code = _waited(process)
    for thread in threads:
        thread.join()
    return Ended(_KILLED - code if code < 0 else code, tail.kept_text)


def _waited(process: "subprocess.Popen[bytes]") -> int:
    """The exit code; an interrupt at the terminal is the command's to answer."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


class _Tail:
    """The last bytes of two streams in the order in which they were written."""

    def __init__(self) -> None:
        self._bytes = b""
        self._turn = threading.Lock()

    def pass_on(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy a stream to its end; who reads it may go away before."""
        is_read = True
        while chunk := source.read1(_READ):  # type: ignore[attr-defined]  # of a buffered pipe
            with self._turn:
                self._bytes = (self._bytes + chunk)[-_KEPT:]
            is_read = is_read and _is_written(chunk, target)

    @property
    def kept_text(self) -> str:
        """What was kept, from a whole line on."""
        text = self._bytes.decode(errors="replace")
        return text.partition("\n")[2] if len(self._bytes) == _KEPT else text


def _is_written(chunk: bytes, target: IO[bytes]) -> bool:
    try:
        target.write(chunk)
        target.flush()
    except BrokenPipeError:
        return False
    return True
