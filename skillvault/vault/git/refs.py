"""Move several refs at once, in two phases: `prepare` locks the refs and HEAD, `commit` moves them.

One `git update-ref --stdin` does this. HEAD is locked with its branch, so no `checkout -b`,
`symbolic-ref`, `branch -m` or `reset --soft` can come between the phases.
"""

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from skillvault.vault.git.process import failure_of

ABSENT = "0" * 40


class RefUpdate(NamedTuple):
    """A ref that moves from `old` to `new`. ABSENT means that there is no ref."""

    ref: str
    new: str
    old: str

    @property
    def command(self) -> str:
        """The line of `update-ref --stdin -z` for this update."""
        if self.new == ABSENT:
            return f"delete {self.ref}\0{self.old}\0"
        return f"update {self.ref}\0{self.new}\0{self.old}\0"


class RefSession:
    """A git process that runs transactions one after the other.

    The refs of a transaction move together, or not at all.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._open = True
        self.error = ""  # a sentence, after `end`

    def begin(self, updates: Sequence[RefUpdate]) -> None:
        """Begin a transaction with these updates."""
        commands = "".join(["start\0", *(update.command for update in updates)])
        self._ask(commands, b"start: ok\n")

    def prepare(self) -> bool:
        """Lock the refs. Return False if a ref is locked or not at its old commit."""
        return self._ask("prepare\0", b"prepare: ok\n")

    def commit(self) -> bool:
        """Move the refs. If git refuses, release the locks and return False."""
        is_moved = self._ask("commit\0", b"commit: ok\n")
        if not is_moved:
            self.end()
        return is_moved

    def end(self) -> None:
        """End the process, which drops an open transaction and releases its locks."""
        if not self._open:
            return
        self._open = False
        _, errors = self._process.communicate()
        self.error = failure_of("update-ref", errors)

    def _ask(self, commands: str, answer: bytes) -> bool:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        try:
            stdin.write(commands.encode(errors="surrogateescape"))
            stdin.flush()
        except BrokenPipeError:
            return False
        return stdout.readline() == answer
