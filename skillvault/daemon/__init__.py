"""The daemon: wake, wait for quiet, run, sleep. It decides nothing.

Truth is a scan: at start, after each wake, every 30 s and when the folders were replaced.
What is due is the vault's answer, by `Vault.run`; what is kept here only saves idle runs.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from math import inf
from pathlib import Path
from typing import Any

from msgspec import Struct

from skillvault.api import Vault, question
from skillvault.daemon.inbox_events import InboxEvents, MakeObserver, native, opened
from skillvault.learning.capture.rules import STEP as CAPTURE
from skillvault.loop import capture
from skillvault.loop.registry import STEPS
from skillvault.loop.run import Done, Report, Tracker
from skillvault.model.errors import NotAVaultError, SkillvaultError
from skillvault.vault.commit.pack import pack
from skillvault.vault.commit.store import clear_taken
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import is_untrusted
from skillvault.vault.files.inbox import WRITING

_TICK = 0.25  # seconds in which a wish to stop and a replaced folder are noticed
_EARLY = 0.05  # seconds of quiet left to Vault.run: watchdog tells of some renames 0.5 s late
_LOOSE = 20_000  # objects that are packed even if outcomes arrive without an end
_CAPTURE_PAUSE = 60.0  # seconds between two captures
_WITHOUT_CAPTURE = tuple(name for name in STEPS if name != CAPTURE)
_UNREST = 10  # quiet times after which a stream of events is not waited for any longer

Traces = frozenset[tuple[str, int, int, int]]


class Pace(Struct, frozen=True):
    """Seconds between two looks: when all is done, when something failed or is being written.

    `sync`: between two times that the clones are brought together.
    """

    scan: float = 30.0
    retry: float = 5.0
    soon: float = 1.0
    sync: float = 60.0


class _StoppedError(Exception):
    """The wish to stop was noticed, where nothing is half done."""


class Watch:
    """One vault and its daemon.

    `say` takes what a person must know, `on_report` what each completed run reports;
    `make` makes what watches the folders, `synchronize` brings the clones together.
    """

    def __init__(  # noqa: PLR0913 (each keyword is a wish of its door)
        self,
        vault: Vault,
        *,
        stopping: Callable[[], bool],
        say: Callable[[str], None],
        on_done: Callable[[Done], None],
        on_report: Callable[[Report], None],
        track: Tracker | None = None,
        make: MakeObserver = native,
        pace: Pace | None = None,
        synchronize: Callable[[], None] | None = None,
    ) -> None:
        self._vault = vault
        self._stopping = stopping
        self._say = say
        self._on_done = on_done
        self._on_report = on_report
        self._track: Tracker = track or (lambda items, _what: items)
        self._make = make
        self._pace = pace or Pace()
        self._synchronize = synchronize
        self._synchronized = -inf
        self._sent: str | None = None  # the commit at which the clones were brought together last
        self._events: InboxEvents | None = None
        self._how = ""
        self._trouble: str | None = None
        # How things stood when the last completed run began, but for its own commits.
        self._unfinished = True
        self._full = False  # there is no room for untrusted files before another day
        self._day: date | None = None
        self._head: str | None = None
        self._quarantine: Traces = frozenset()
        self._quiet = 0.0
        # Wakes in which something was evaluated; losing the count only promotes earlier.
        self._cycles = 0
        self._every = 1
        self._captured = -inf

    def run(self) -> None:
        """Look, run what is due, sleep, until `stopping` says so.

        VaultBusyError if another daemon does so already.
        """
        try:
            with self._vault.store.lock_daemon():
                while True:
                    self._turn()
        except _StoppedError:
            self._say("stopped")
        finally:
            self._close()

    def _turn(self) -> None:
        """One look, one run where something is due, one sleep; what fails is said once."""
        try:
            events = self._opened()
            pause = self._work() if self._due() else self._rest()
            pause = min(pause, self._brought_together())
            if self._trouble:
                self._say("resumed")
                self._trouble = None
            self._sleep(events, pause)
        except BrokenPipeError:
            raise  # nobody reads what we print
        except (SkillvaultError, OSError) as error:
            self._unfinished = True
            if self._trouble != (sentence := _sentence(error)):
                self._say(sentence)
                self._trouble = sentence
            self._nap(self._pace.retry)

    # ── looking ──────────────────────────────────────────────────────────────────────

    def _opened(self) -> InboxEvents:
        """What watches the inbox, made anew if its folders are."""
        root = self._vault.root
        if not (root / ".git").exists():
            raise NotAVaultError(f"{root}: the vault is gone; put it back, or stop this daemon")
        if self._events is None or self._events.stale():
            self._close()
            self._events, how = opened(self._vault.inbox, self._make)
            if how != self._how:
                self._say(how)
                self._how = how
        return self._events

    def _due(self) -> bool:
        """Whether anything may have changed since the last completed run; never what."""
        store = self._vault.store
        clear_taken(store)  # what returns to the inbox is due
        return bool(
            self._unfinished
            or self._day != _today()
            or self._arrived()
            or self._mended()
            or self._head != store.tip()
            or self._rules_wait()
        )

    def _rules_wait(self) -> bool:
        """Whether rules are to be captured, and the last time is long enough ago."""
        return self._may_capture() and capture.is_due(question(self._vault))

    def _may_capture(self) -> bool:
        return time.monotonic() - self._captured >= _CAPTURE_PAUSE

    def _arrived(self) -> bool:
        """Whether a file waits that may be taken now."""
        names = self._vault.inbox.names()
        return any(not (self._full and is_untrusted(name)) for name in names)

    def _mended(self) -> bool:
        """Whether a quarantined file was changed; they are read only where it looks so."""
        traces = _traces(self._vault.root / layout.QUARANTINE)
        if traces == self._quarantine:
            return False
        if self._vault.inbox.quarantine.changed_files():
            return True
        self._quarantine = traces
        return False

    # ── working ──────────────────────────────────────────────────────────────────────

    def _work(self) -> float:
        """One run; the seconds until the next look."""
        store, inbox = self._vault.store, self._vault.inbox
        day, before = _today(), store.tip()
        if before != self._head:  # a person's commit; ours never touch the policy
            policy = store.head().policy
            self._quiet = max(0.0, policy.record.settle_seconds - _EARLY)
            self._every = policy.promote.every
        steps = () if self._may_capture() else _WITHOUT_CAPTURE
        self._captured = time.monotonic() if self._rules_wait() else self._captured
        report = self._vault.run(
            steps,
            on_done=self._on_done,
            between=self._stop_if_asked,
            track=self._tracked,
            patience=self._pace.soon,
            consolidate=(self._cycles + 1) % self._every == 0,
        )
        self._cycles += any(done.change.step == "evaluate" for done in report.done)
        self._day, self._head = day, self._seen(before, report)
        obstacles = inbox.obstacles()
        waiting = [file for file in report.waiting if file.reason not in obstacles]
        self._unfinished = any(not file.tomorrow for file in waiting)
        self._full = any(file.path == layout.UNTRUSTED for file in waiting)
        self._on_report(report)
        pack(store.git, _LOOSE)
        writing = any(file.reason == WRITING for file in waiting)
        moved = self._head != store.tip()  # somebody committed while this run was at work
        again = writing or moved or (report.done and self._arrived())
        return self._pace.soon if again else self._pace.scan

    def _seen(self, before: str | None, report: Report) -> str | None:
        """The commit up to which all was looked at; None if a person's came in between."""
        if not report.done:
            return before
        last = report.done[-1].commit
        count = self._vault.store.git.text("rev-list", "--count", f"{before}..{last}")
        return last if int(count) == len({done.commit for done in report.done}) else None

    def _tracked(self, parts: Sequence[Any], what: str) -> Iterable[Any]:
        for part in self._track(parts, what):
            self._stop_if_asked()
            yield part

    def _rest(self) -> float:
        """Use the time if nothing is due; the seconds until the next look."""
        vault = self._vault
        pack(vault.store.git)
        return self._pace.scan

    def _brought_together(self) -> float:
        """Sync after each group of commits, and every minute; the seconds until the next time."""
        if self._synchronize is None:
            return inf
        age = time.monotonic() - self._synchronized
        tip = self._vault.store.tip()
        if tip != self._sent or age >= self._pace.sync:
            self._synchronized = time.monotonic()
            self._synchronize()
            self._sent = self._vault.store.tip()
            return self._pace.soon if self._sent != tip else self._pace.sync
        return self._pace.sync - age

    # ── waiting ──────────────────────────────────────────────────────────────────────

    def _sleep(self, events: InboxEvents, seconds: float) -> None:
        """Until something happened and it is quiet again; at most so long."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0:
            self._stop_if_asked()
            if events.heard(min(_TICK, remaining)) or events.stale():
                self._wait_for_quiet(events)
                return

    def _wait_for_quiet(self, events: InboxEvents) -> None:
        """Until nothing was heard for as long as a file must be still; not for ever."""
        end = time.monotonic() + _UNREST * self._quiet
        quiet = time.monotonic() + self._quiet
        while (remaining := min(quiet, end) - time.monotonic()) > 0:
            self._stop_if_asked()
            if events.heard(min(_TICK, remaining)):
                quiet = time.monotonic() + self._quiet

    def _nap(self, seconds: float) -> None:
        """Sleep, whatever happens."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._stop_if_asked()
            time.sleep(_TICK)

    def _stop_if_asked(self) -> None:
        if self._stopping():
            raise _StoppedError

    def _close(self) -> None:
        events, self._events = self._events, None
        if events:
            events.stop()


def _traces(folder: Path) -> Traces:
    """What betrays a change of a folder's files, without reading them."""
    traces: list[tuple[str, int, int, int]] = []
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            state = path.lstat()
        except FileNotFoundError:
            continue  # a person is at work there
        traces.append((path.name, state.st_ino, state.st_size, state.st_mtime_ns))
    return frozenset(traces)


def _sentence(error: SkillvaultError | OSError) -> str:
    if isinstance(error, SkillvaultError):
        return str(error)
    return f"{error.filename or 'the system'}: {error.strerror or error}"


def _today() -> date:
    return datetime.now(UTC).date()
