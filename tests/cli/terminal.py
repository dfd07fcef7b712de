"""A terminal that a test looks at: a program on a pty, and what its screen shows."""

import os
import pty
import select
import termios
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing import util
from pathlib import Path

import pyte

from tests import forked

_PATIENCE = 60.0
util.get_temp_dir()  # for the socket of the server that forks, whatever TMPDIR a test sets


class Terminal:
    """A command of this program, or of another `program`, on a screen of so many columns.

    It has the environment of the test unless another one is given.
    """

    def __init__(
        self,
        root: Path,
        *args: str,
        columns: int,
        lines: int = 60,
        program: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        screen = {"TERM": "xterm-256color", "COLUMNS": str(columns), "NO_COLOR": "1"}
        env = {**(os.environ if environment is None else environment), **screen}
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (lines, columns))
        call = (
            partial(forked.run_other_program, [program, *args], root, env)
            if program
            else partial(forked.run_on_streams, args, root, env)
        )
        self._process = forked.at_terminal(os.ttyname(slave), call)
        os.close(slave)

    @property
    def text(self) -> str:
        """The text that the screen shows."""
        return "\n".join(line.rstrip() for line in self._screen.display).strip()

    def wait(self, shows: Callable[[str], bool], *, raw: bool = False) -> str:
        """Wait until `shows` holds and (`raw`) single keys are taken; return the screen's text."""
        deadline = time.monotonic() + _PATIENCE
        text, is_open = self.text, True
        while not (shows(text) and (not raw or self._is_raw())):
            assert is_open and time.monotonic() < deadline, text  # noqa: PT018 (one rule)
            if select.select([self._master], [], [], 0.05)[0]:
                is_open = self._read()
                text = self.text  # to draw the screen takes longer than the program
        return text

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Wait until the program has ended, and return its exit code."""
        while self._read():
            pass
        os.close(self._master)
        self._process.join()
        code = self._process.exitcode
        assert code is not None
        return code

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program has ended
            return False
        self._stream.feed(data)
        return bool(data)

    def _is_raw(self) -> bool:
        return not termios.tcgetattr(self._master)[3] & termios.ICANON
