"""A terminal that a test looks at: a program on a pty, and what its screen shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pyte

_PATIENCE = 60.0


class Terminal:
    """A command of the program on a screen of so many columns, or one of another `program`.

    That one has this environment and no other.
    """

    def __init__(
        self,
        root: Path,
        *args: str,
        columns: int,
        lines: int = 60,
        program: str = "",
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            # A test that runs in the background inherits that this is ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            screen = {"TERM": "xterm-256color", "COLUMNS": str(columns), "NO_COLOR": "1"}
            os.chdir(root)
            if program:
                os.execve(program, [program, *args], {**environment, **screen})  # noqa: S606
            os.environ |= screen
            os.execv(sys.executable, [sys.executable, "-m", "skillvault", *args])  # noqa: S606
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(line.rstrip() for line in self._screen.display).strip()

    def wait(self, shows: Callable[[str], bool], *, raw: bool = False) -> str:
        """What the screen shows once it shows this, and (`raw`) takes single keys."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self._master], [], [], 0.05)
            if ready and not self._read():
                break
            if shows(self.text) and (not raw or self._is_raw()):
                return self.text
        assert shows(self.text), self.text
        return self.text

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Wait until the program has ended; its exit code."""
        while self._read():
            pass
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program has ended
            return False
        self._stream.feed(data)
        return bool(data)

    def _is_raw(self) -> bool:
        return not termios.tcgetattr(self._master)[3] & termios.ICANON
