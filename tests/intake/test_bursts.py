"""A burst is taken whole: every file a record, none twice, whatever becomes of the folder.

SKILLVAULT_BURST sets how many files the large burst has; `make thorough` has 2,000.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.daemon import Pace
from skillvault.loop.run import ChangeResult
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.test_daemon import watching
from tests.thorough import THOROUGH

WRITERS = 4
BURST = int(os.environ.get("SKILLVAULT_BURST", "2000" if THOROUGH else "200"))
PART = 400 if THOROUGH else 60  # of a burst before the folder is changed, and after
PACE = Pace(scan=2, retry=0.3, soon=0.3)  # a scan finds what was completed in quarantine
PER_FILE = 0.25  # seconds after which a test gives up, with what a start takes
HERE = Path(__file__).resolve().parents[2]


class Writers:
    """Agents that drop outcomes, each in a process of its own."""

    def __init__(self, vault: Vault, first: int, count: int) -> None:
        share = count // WRITERS
        self.numbers = range(first, first + share * WRITERS)
        self.children = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.intake.writer", vault.root, str(at), str(share)],
                cwd=HERE,
            )
            for at in self.numbers[::share]
        ]

    def done(self) -> None:
        """Wait for all; none may fail."""
        assert [child.wait() for child in self.children] == [0] * WRITERS

    def stopped(self) -> None:
        """End all, wherever they are."""
        for child in self.children:
            child.kill()
            child.wait()


@contextmanager
def writing(vault: Vault, first: int, count: int) -> Iterator[Writers]:
    """Agents at work; none outlives the test."""
    writers = Writers(vault, first, count)
    try:
        yield writers
    finally:
        writers.stopped()


def slowly(_done: ChangeResult) -> None:
    """A handler that takes its time."""
    time.sleep(0.3)


def taken(vault: Vault, count: int) -> None:
    """Wait until nothing waits any more, neither in the inbox nor in quarantine."""
    end = time.monotonic() + 60 + PER_FILE * count
    while vault.inbox.names() or vault.inbox.quarantine.file_names():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)


def numbers(vault: Vault) -> list[int]:
    """The numbers of the outcomes that are recorded, sorted."""
    found = (o.decision.target or "" for o in vault.store.snapshot().outcomes.values())
    return sorted(int(target.removeprefix("burst-")) for target in found)


def told(commits: list[str]) -> int:
    """Return how many outcomes the subjects of the record commits count."""
    found = (re.match(r"record: (\d+) outcome", line) for line in commits)
    return sum(int(match[1]) for match in found if match)


def test_each_file_of_a_burst_becomes_one_record(
    vault: Vault, person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.monotonic()
    with watching(vault, pace=PACE, on_done=slowly) as daemon, writing(vault, 0, BURST) as writers:
        writers.done()
        written = time.monotonic() - start
        taken(vault, BURST)
        took = time.monotonic() - start
    assert numbers(vault) == list(writers.numbers)
    assert told(daemon.commits) == len(writers.numbers)
    assert (vault.inbox.names(), vault.inbox.quarantine.file_names()) == ([], [])
    assert person.status() == ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    with capsys.disabled():
        print(
            f"\nburst: {BURST} files, written in {written:.1f} s, taken in {took:.1f} s by "
            f"{len(daemon.runs)} runs and {len(daemon.commits)} commits, peak {peak} MiB"
        )


def removed(inbox: Path) -> None:
    """Remove the folder while others write into it and the daemon makes it anew."""
    with suppress(OSError):
        shutil.rmtree(inbox)
    inbox.mkdir(exist_ok=True)


def replaced(inbox: Path) -> None:
    """Put another folder in its place, by rename."""
    fresh = inbox.with_name("fresh")
    (fresh / "untrusted").mkdir(parents=True)
    inbox.rename(inbox.with_name("old"))
    try:
        fresh.rename(inbox)
    except OSError:  # the daemon has made one, and holds no file in it yet
        fresh.rename(inbox.with_name("unused"))


@pytest.mark.parametrize("change", [removed, replaced])
def test_what_is_dropped_after_the_folder_was_changed_in_a_burst_is_taken(
    vault: Vault, person: Person, change: Callable[[Path], None]
) -> None:
    with watching(vault, pace=PACE, on_done=slowly), writing(vault, 0, PART) as before:
        while not vault.inbox.names():
            time.sleep(0.01)
        change(vault.root / "inbox")
        with writing(vault, 1000, PART) as after:
            after.done()
            before.done()
            taken(vault, 2 * PART)
    found = numbers(vault)
    assert len(set(found)) == len(found)
    assert set(after.numbers) <= set(found)


def test_a_file_whose_end_comes_between_reading_and_refusing_it_is_taken_in_the_end(
    vault: Vault,
) -> None:
    whole = as_file(raw())
    path = vault.root / "inbox/slow.json"
    path.write_bytes(whole[: len(whole) // 2])

    def finish(items: Sequence[Any], _what: str) -> Iterable[Any]:
        path.write_bytes(whole)  # all is read, nothing is refused yet
        return items

    vault.run(["record"], now=NOW, track=finish)
    vault.run(["record"], now=NOW)
    assert len(vault.store.snapshot().outcomes) == 1
