"""The loop of `skillvault watch`: wait for an event, wait until it is quiet, run the due work.

An event only starts a scan of the folders. The daemon also scans at its start, every 30 s, and
after the folders were replaced. `Vault.run` finds the due work; the state here only saves idle
runs.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from math import inf
from typing import Any

from msgspec import Struct

from skillvault.api import Vault, question
from skillvault.daemon.inbox_events import (
    InboxEvents,
    MakeObserver,
    branch_files,
    native,
    open_events,
)
from skillvault.learning.capture.rules import STEP as CAPTURE
from skillvault.loop import capture
from skillvault.loop.registry import STEPS
from skillvault.loop.run import ChangeResult, Report, Tracker
from skillvault.model.errors import NotAVaultError, SkillvaultError
from skillvault.vault.commit.cold import follow_month, hides_domain
from skillvault.vault.commit.pack import pack
from skillvault.vault.commit.store import clear_taken
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import is_untrusted
from skillvault.vault.files.inbox import WRITING

_CHECK_SECONDS = 0.25  # between two checks for a stop and for replaced folders
_EVENT_DELAY_SECONDS = 0.05  # a late event; `Vault.run` waits for this part of the quiet time
_CAPTURE_SECONDS = 60.0  # between two captures
_STEPS_BESIDE_CAPTURE = tuple(name for name in STEPS if name != CAPTURE)
_MAX_QUIET_TIMES = 10  # a stream of events delays a run by at most so many quiet times


class Pace(Struct, frozen=True):
    """Seconds until the next scan: when idle, after a failure, and while a file is being written.

    `sync` is the number of seconds between two syncs.
    """

    scan: float = 30.0
    retry: float = 5.0
    soon: float = 1.0
    sync: float = 60.0


class _StoppedError(Exception):
    """A stop was requested, and no work is half done."""


class Watch:
    """The daemon of one vault.

    `say` prints a line for a person. `on_done` receives each finished change, and `on_report` the
    report of each run. `make_observer` creates the observer of the folders. `synchronize` runs a
    sync with the remote. `on_start` is called once, after the lock keeps other daemons out.
    """

    def __init__(  # noqa: PLR0913 (each keyword is an option of the command)
        self,
        vault: Vault,
        *,
        stopping: Callable[[], bool],
        say: Callable[[str], None],
        on_done: Callable[[ChangeResult], None],
        on_report: Callable[[Report], None],
        track: Tracker | None = None,
        make_observer: MakeObserver = native,
        pace: Pace | None = None,
        synchronize: Callable[[], None] | None = None,
        on_start: Callable[[], object] = lambda: None,
    ) -> None:
        self._vault = vault
        self._stopping = stopping
        self._say = say
        self._on_done = on_done
        self._on_report = on_report
        self._track: Tracker = track or (lambda items, _label: items)
        self._make_observer = make_observer
        self._pace = pace or Pace()
        self._synchronize = synchronize
        self._on_start = on_start
        self._synced_at = -inf
        self._synced_tip: str | None = None  # the commit of the last sync
        self._events: InboxEvents | None = None
        self._watch_sentence = ""
        self._last_failure: str | None = None
        self._has_unfinished = True
        self._is_full = False  # the quota of untrusted files is used up today
        self._day: date | None = None  # the day of the last run
        self._scanned_tip: str | None = None  # the last commit that a run has processed
        self._quiet_seconds = 0.0
        # The number of runs that evaluated something; a lost count only promotes earlier.
        self._cycles = 0
        self._promote_every = 1
        self._captured_at = -inf

    def run(self) -> None:
        """Scan, run due work and sleep, until `stopping` returns True.

        Raise VaultBusyError if another daemon is running.
        """
        try:
            with self._vault.store.lock_daemon():
                self._on_start()
                while True:
                    self._run_cycle()
        except _StoppedError:
            self._say("stopped")
        finally:
            self._close()

    def _run_cycle(self) -> None:
        """Scan, run due work and sleep; print a failure only once if it repeats."""
        try:
            events = self._open_events()
            pause = self._run_due() if self._is_due() else self._pause()
            pause = min(pause, self._sync_if_due())
            if self._last_failure:
                self._say("resumed")
                self._last_failure = None
            self._sleep(events, pause)
        except BrokenPipeError:
            raise  # nobody reads the output
        except (SkillvaultError, OSError) as error:
            self._has_unfinished = True
            if self._last_failure != (sentence := _sentence(error)):
                self._say(sentence)
                self._last_failure = sentence
            self._wait(self._pace.retry)

    # ── scanning ─────────────────────────────────────────────────────────────────────

    def _open_events(self) -> InboxEvents:
        """Return the events of the inbox; open them again if the folders were replaced."""
        root = self._vault.root
        if not (root / ".git").exists():
            raise NotAVaultError(f"{root}: the vault is gone; put it back, or stop this daemon")
        if self._events is None or self._events.is_stale():
            self._close()
            store = self._vault.store
            refs = branch_files(store.git.dirs()[1], store.snapshot().policy.branch)
            self._events, sentence = open_events(self._vault.inbox, refs, self._make_observer)
            if sentence != self._watch_sentence:
                self._say(sentence)
                self._watch_sentence = sentence
        return self._events

    def _is_due(self) -> bool:
        """Return True if the vault or the inbox may have changed since the last complete run."""
        store = self._vault.store
        clear_taken(store)  # files may return to the inbox
        return bool(
            self._has_unfinished
            or self._day != _today()
            or self._has_arrivals()
            or self._vault.inbox.quarantine.changed_files()
            or self._scanned_tip != store.tip()
            or self._rules_wait()
        )

    def _rules_wait(self) -> bool:
        """Return True if rules are due for capture and the last capture was long enough ago."""
        return self._may_capture() and capture.is_due(question(self._vault))

    def _may_capture(self) -> bool:
        return time.monotonic() - self._captured_at >= _CAPTURE_SECONDS

    def _has_arrivals(self) -> bool:
        """Return True if a file in the inbox may be recorded now."""
        names = self._vault.inbox.names()
        return any(not (self._is_full and is_untrusted(name)) for name in names)

    # ── working ──────────────────────────────────────────────────────────────────────

    def _run_due(self) -> float:
        store, inbox = self._vault.store, self._vault.inbox
        day, tip = _today(), store.tip()
        if tip != self._scanned_tip:  # a person's commit may change the policy
            policy = store.snapshot().policy
            self._quiet_seconds = max(0.0, policy.record.settle_seconds - _EVENT_DELAY_SECONDS)
            self._promote_every = policy.promote.every
        steps = () if self._may_capture() else _STEPS_BESIDE_CAPTURE
        self._captured_at = time.monotonic() if self._rules_wait() else self._captured_at
        report = self._vault.run(
            steps,
            on_done=self._on_done,
            between=self._stop_if_asked,
            track=self._track_items,
            patience=self._pace.soon,
            consolidate=(self._cycles + 1) % self._promote_every == 0,
        )
        self._cycles += any(result.change.step == "evaluate" for result in report.done)
        # A month may be over, or a pull may have added a domain.
        if day != self._day or (tip != self._scanned_tip and hides_domain(store.git)):
            try:
                follow_month(store, day)
            except SkillvaultError as error:
                self._say(str(error))
        self._day, self._scanned_tip = day, self._scanned_commit(tip, report)
        obstacles = inbox.obstacles()
        waiting_files = [file for file in report.waiting if file.reason not in obstacles]
        self._has_unfinished = any(not file.tomorrow for file in waiting_files)
        self._is_full = any(file.path == layout.UNTRUSTED for file in waiting_files)
        self._on_report(report)
        is_writing = any(file.reason == WRITING for file in waiting_files)
        has_moved = self._scanned_tip != store.tip()  # somebody committed during the run
        has_more = is_writing or has_moved or (report.done and self._has_arrivals())
        return self._pace.soon if has_more else self._pace.scan

    def _scanned_commit(self, tip: str | None, report: Report) -> str | None:
        """Return the last commit of a run, or None if somebody else committed meanwhile."""
        if not report.done:
            return tip
        last_commit = report.done[-1].commit
        count = self._vault.store.git.text("rev-list", "--count", f"{tip}..{last_commit}")
        return last_commit if int(count) == len({result.commit for result in report.done}) else None

    def _track_items(self, items: Sequence[Any], label: str) -> Iterable[Any]:
        for item in self._track(items, label):
            self._stop_if_asked()
            yield item

    def _pause(self) -> float:
        """Pack objects if nothing is due, and return the seconds until the next scan."""
        pack(self._vault.store.git)
        return self._pace.scan

    def _sync_if_due(self) -> float:
        """Sync after commits and every minute; return the seconds until the next sync."""
        if self._synchronize is None:
            return inf
        age = time.monotonic() - self._synced_at
        tip = self._vault.store.tip()
        if tip != self._synced_tip or age >= self._pace.sync:
            self._synced_at = time.monotonic()
            self._synchronize()
            self._synced_tip = self._vault.store.tip()
            return self._pace.soon if self._synced_tip != tip else self._pace.sync
        return self._pace.sync - age

    # ── waiting ──────────────────────────────────────────────────────────────────────

    def _sleep(self, events: InboxEvents, seconds: float) -> None:
        """Sleep for at most `seconds`, or until events have come and stopped."""
        end = time.monotonic() + seconds
        while (seconds_left := end - time.monotonic()) > 0:
            self._stop_if_asked()
            if events.wait(min(_CHECK_SECONDS, seconds_left)) or events.is_stale():
                self._wait_for_quiet(events)
                return

    def _wait_for_quiet(self, events: InboxEvents) -> None:
        """Wait until no event has come for some time, up to a limit."""
        end = time.monotonic() + _MAX_QUIET_TIMES * self._quiet_seconds
        quiet_end = time.monotonic() + self._quiet_seconds
        while (seconds_left := min(quiet_end, end) - time.monotonic()) > 0:
            self._stop_if_asked()
            if events.wait(min(_CHECK_SECONDS, seconds_left)):
                quiet_end = time.monotonic() + self._quiet_seconds

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._stop_if_asked()
            time.sleep(_CHECK_SECONDS)

    def _stop_if_asked(self) -> None:
        if self._stopping():
            raise _StoppedError

    def _close(self) -> None:
        events, self._events = self._events, None
        if events:
            events.stop()


def _sentence(error: SkillvaultError | OSError) -> str:
    if isinstance(error, SkillvaultError):
        return str(error)
    return f"{error.filename or 'the system'}: {error.strerror or error}"


def _today() -> date:
    return datetime.now(UTC).date()
