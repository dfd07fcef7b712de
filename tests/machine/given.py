"""A small disk of a test's own, which can be filled, and processes that are looked at."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PATIENCE = 120.0  # seconds after which a test gives up
PAGE = 4096  # what a file on a tmpfs takes at least
TICKS = os.sysconf("SC_CLK_TCK")


class Disk:
    """A tmpfs and the ballast on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self, pages: int) -> None:
        """Leave room for so many pages."""
        self._ballast.mkdir()
        with (self._ballast / "one").open("wb") as file:
            size = 0
            while (room := os.statvfs(self.root).f_bavail - pages) > 0:
                with suppress(OSError):  # somebody else took room meanwhile
                    os.posix_fallocate(file.fileno(), size, room * PAGE)
                    size += room * PAGE

    def crowd(self, inodes: int) -> None:
        """Leave room for so many files."""
        self._ballast.mkdir()
        for number in range(os.statvfs(self.root).f_ffree - inodes):
            (self._ballast / str(number)).touch()

    def empty(self) -> None:
        """Make room again."""
        for path in self._ballast.iterdir():
            path.unlink()
        self._ballast.rmdir()

    def remount(self, options: str) -> None:
        """Change how it is mounted."""
        gc.collect()  # a vault that nobody uses any more still holds its projection open
        assert _mounted("-o", f"remount,{options}", str(self.root)) == ""


def _mounted(*args: str) -> str:
    """Run `mount` and return its error, or an empty string if it succeeded."""
    try:
        done = subprocess.run(["mount", *args], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no `mount`"
    return done.stderr.strip() or ("" if done.returncode == 0 else "mount failed")


@contextmanager
def mounted(root: Path, size: str = "16m", inodes: int = 3000) -> Iterator[Disk]:
    """Mount a disk at `root`; skip the test if this machine does not allow a mount."""
    root.mkdir()
    options = f"size={size},nr_inodes={inodes},mode=0755"
    if refused := _mounted("-t", "tmpfs", "-o", options, "tmpfs", str(root)):
        pytest.skip(f"a tmpfs cannot be mounted here: {refused}")
    try:
        yield Disk(root)
    finally:
        # Lazily: what a failed test left open may not keep it.
        subprocess.run(["umount", "--lazy", str(root)], check=True)


def until(true: Callable[[], object], patience: float = PATIENCE) -> float:
    """Wait until the condition is true and return the seconds that this took."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() < begun + patience, "waited in vain"
        time.sleep(0.02)
    return time.monotonic() - begun


def command(*args: str) -> list[str]:
    """`skillvault` with these arguments."""
    return [sys.executable, "-m", "skillvault", *args]


def spent(pid: int) -> float:
    """Processor seconds of a process and of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS
