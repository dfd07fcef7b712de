"""The daemon in a real folder with a real git; its signals in a process of its own."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers.api import BaseObserver, EventEmitter

from skillvault import daemon
from skillvault.api import Vault
from skillvault.cli.run import print_run
from skillvault.cli.sync import _report_printer
from skillvault.daemon import Pace, Watch, inbox_events
from skillvault.learning.rejection import Rejection
from skillvault.loop.run import ChangeResult, Report, WaitingWork
from skillvault.model.intake import parse_outcome
from skillvault.vault.commit.cold import leave_out_months
from skillvault.vault.files import layout
from tests import forked
from tests.conftest import Person
from tests.given import as_file, raw
from tests.loop.test_promote import from_memory, loss
from tests.thorough import pairs

PATIENCE = 90.0  # seconds after which a test gives up; nothing is measured with it
BRISK = Pace(scan=0.3, retry=0.3, soon=0.3)
SLOW = Pace(scan=3600, retry=0.3, soon=0.3)  # what is taken was not found by a scan
POLLING = "watching inbox/ by polling (this file system gives no events)"
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a CI may have it ignored
from skillvault.cli import main
main()
"""


def until(true: Callable[[], object]) -> None:
    """Wait until the condition is true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def still(seconds: float = 1.2) -> None:
    """Wait long enough for an unwanted event to show."""
    time.sleep(seconds)


def an_outcome(target: str = "checkout") -> bytes:
    """Return an outcome of an hour ago by the real clock."""
    at = datetime.now(UTC) - timedelta(hours=1)
    made = (at - timedelta(hours=1)).isoformat()
    given = raw(occurred_at=at.isoformat(), decision__made_at=made, decision__target=target)
    return as_file(given)


def drop(vault: Vault, name: str, folder: str = "inbox") -> None:
    """Write an outcome under another name and rename it, as an agent does."""
    draft = vault.root / folder / f".{name}.tmp"
    draft.write_bytes(an_outcome(name))
    draft.rename(vault.root / folder / f"{name}.json")


def recorded(vault: Vault) -> int:
    """Count the committed outcomes."""
    return len(vault.store.snapshot().outcomes)


class Daemon:
    """A daemon in a thread: what it said, the commits it told of, the runs it completed."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.commits: list[str] = []
        self.runs: list[Report] = []
        self.enough = threading.Event()
        self.failure: BaseException | None = None

    def work(self, watch: Watch) -> None:
        """Run the watch to its end and keep the error that ended it."""
        try:
            watch.run()
        except BaseException as error:
            self.failure = error
            raise


@contextmanager
def watching(
    vault: Vault,
    *,
    pace: Pace = SLOW,
    make: inbox_events.MakeObserver = inbox_events.native,
    on_done: Callable[[ChangeResult], None] | None = None,
    on_report: Callable[[Report], None] | None = None,
    synchronize: Callable[[], None] | None = None,
) -> Iterator[Daemon]:
    """A daemon that has looked once; it must end when it is asked to."""
    told = Daemon()

    def committed(done: ChangeResult) -> None:
        told.commits.append(done.change.headline)
        if on_done:
            on_done(done)

    def reported(report: Report) -> None:
        told.runs.append(report)
        if on_report:
            on_report(report)

    watch = Watch(
        Vault.open(vault.root),
        stopping=told.enough.is_set,
        say=told.said.append,
        on_done=committed,
        on_report=reported,
        make_observer=make,
        pace=pace,
        synchronize=synchronize,
    )
    thread = threading.Thread(target=told.work, args=(watch,))
    thread.start()
    try:
        until(lambda: told.runs or told.said[1:])
        yield told
    finally:
        told.enough.set()
        thread.join(PATIENCE)
    assert told.failure is None
    assert told.said[-1] == "stopped"


class Deaf(EventEmitter):
    """A watcher of a file system without events."""

    def queue_events(self, timeout: float) -> None:
        self.stopped_event.wait(timeout)


# ── what arrives ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("folder", ["inbox", "inbox/untrusted"])
def test_a_file_that_is_dropped_while_it_runs_is_committed(vault: Vault, folder: str) -> None:
    with watching(vault) as told:
        assert told.said == ["watching inbox/"]
        drop(vault, "one", folder)
        until(lambda: "record: 1 outcome in coding" in told.commits)
        until(lambda: "evaluate: 1 outcome in coding" in told.commits)
    assert vault.inbox.names() == []


def test_a_rule_that_is_appended_is_committed_but_not_twice_in_a_minute(vault: Vault) -> None:
    with watching(vault) as told:
        vault.learn("Always run the linter first.")
        until(lambda: "capture: adopt 1 rule" in told.commits)
        vault.learn("Always run the tests next.")
        drop(vault, "one")
        until(lambda: "record: 1 outcome in coding" in told.commits)
        still(1)
    assert told.commits.count("capture: adopt 1 rule") == 1
    assert "tests next" in (vault.root / "LEARNINGS.md").read_text()


@pytest.mark.parametrize("how", ["written", "linked", "moved in"])
def test_however_a_file_gets_there_it_is_seen(vault: Vault, tmp_path: Path, how: str) -> None:
    source, target = tmp_path / "x.json", vault.root / "inbox" / "x.json"
    source.write_bytes(an_outcome())
    with watching(vault):
        if how == "written":
            shutil.copy(source, target)
        elif how == "linked":
            os.link(source, target)
        else:
            source.rename(target)
        until(lambda: recorded(vault) == 1)


def test_what_waits_at_the_start_is_taken(vault: Vault) -> None:
    drop(vault, "early")
    with watching(vault):
        until(lambda: recorded(vault) == 1)


def test_of_a_burst_of_hundreds_of_files_all_are_taken(vault: Vault) -> None:
    with watching(vault):
        for number in range(300):
            drop(vault, f"burst-{number}", "inbox" if number % 3 else "inbox/untrusted")
        until(lambda: recorded(vault) == 300)
        until(lambda: not vault.inbox.names())
    assert vault.inbox.quarantine.file_names() == []


def test_a_stream_of_files_without_a_pause_is_not_waited_for_to_end(vault: Vault) -> None:
    with watching(vault):
        end = time.monotonic() + PATIENCE
        number = 0
        while recorded(vault) == 0:
            assert time.monotonic() < end
            drop(vault, f"stream-{number}")
            number += 1
            time.sleep(0.05)


def test_a_file_that_is_written_slowly_is_taken_whole(vault: Vault) -> None:
    text = an_outcome()
    with watching(vault) as told:
        with (vault.root / "inbox" / "slow.json").open("wb", buffering=0) as file:
            for at in range(0, len(text), 1 + len(text) // 12):
                file.write(text[at : at + 1 + len(text) // 12])
                time.sleep(0.2)
        until(lambda: recorded(vault) == 1)
    assert [report.quarantined for report in told.runs if report.quarantined] == []


def test_a_file_that_cannot_be_taken_is_told_once_and_taken_when_it_is_mended(
    vault: Vault,
) -> None:
    bad = vault.root / "quarantine" / "bad.json"
    with watching(vault, pace=BRISK) as told:
        (vault.root / "inbox" / "bad.json").write_text("{")
        until(bad.exists)
        still()
        assert [one.file for run in told.runs for one in run.quarantined] == ["bad.json"]
        bad.write_bytes(an_outcome())
        until(lambda: recorded(vault) == 1)


# ── the folders ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("how", "door"),
    pairs(
        ["made anew", "made anew at once", "left away", "exchanged"], ["inbox", "inbox/untrusted"]
    ),
)
def test_a_folder_that_is_removed_or_replaced_is_watched_again(
    vault: Vault, door: str, how: str
) -> None:
    folder = vault.root / door
    with watching(vault):
        if how == "exchanged":
            folder.rename(vault.root / "elsewhere")
            folder.mkdir()
        else:
            shutil.rmtree(folder)
            if how == "made anew":
                still(1)
            if how != "left away":
                folder.mkdir(exist_ok=True)
        until((vault.root / "inbox" / "untrusted").is_dir)
        until(folder.is_dir)
        still(1)
        drop(vault, "after", door)
        until(lambda: recorded(vault) == 1)


def test_a_vault_that_is_gone_is_said_and_one_that_comes_back_goes_on(vault: Vault) -> None:
    away = vault.root.with_name("away")
    with watching(vault) as told:
        vault.root.rename(away)
        until(lambda: "the vault is gone" in told.said[-1])
        assert not vault.root.exists()
        away.rename(vault.root)
        until(lambda: told.said[-1] == "resumed")
        drop(vault, "after")
        until(lambda: recorded(vault) == 1)


# ── nothing for nothing ──────────────────────────────────────────────────────────────


def test_what_it_reads_commits_and_removes_does_not_wake_it(vault: Vault) -> None:
    with watching(vault, pace=BRISK) as told:
        until(lambda: told.runs)
        drop(vault, "one")
        until(lambda: recorded(vault) == 1)
        until(lambda: len(told.runs) > 1 and not vault.inbox.names())
        still()
        runs = len(told.runs)
        still()
        assert len(told.runs) == runs
        assert sum(bool(report.done) for report in told.runs) == 1


def test_a_commit_of_a_person_is_looked_at_once(vault: Vault, person: Person) -> None:
    with watching(vault, pace=BRISK) as told:
        still(1)
        runs = len(told.runs)
        person.write("skills/mine/SKILL.md", "---\nname: mine\ndescription: Mine.\n---\n\nLook.\n")
        person.git("add", "skills")
        person.git("commit", "-qm", "A skill of mine")
        until(lambda: len(told.runs) > runs)
        still()
        assert len(told.runs) == runs + 1
    assert person.git("log", "-1", "--format=%s") == "A skill of mine"


@pytest.mark.parametrize("packed", [False, True])
def test_a_commit_that_git_brings_is_seen_without_a_scan(
    vault: Vault, person: Person, packed: bool
) -> None:
    if packed:
        person.git("pack-refs", "--all")
    with watching(vault) as told:
        until(lambda: told.runs)
        runs = len(told.runs)
        person.git("commit", "-q", "--allow-empty", "-m", "From afar")
        until(lambda: len(told.runs) > runs)


def test_a_commit_of_a_person_in_the_middle_of_a_run_is_not_missed(
    vault: Vault, person: Person
) -> None:
    def on_done(done: ChangeResult) -> None:
        if done.change.step == "record":
            person.git("commit", "-q", "--allow-empty", "-m", "Mine, in between")

    with watching(vault, pace=BRISK, on_done=on_done) as told:
        drop(vault, "one")
        until(lambda: len(told.runs) == 3)  # at the start, with the file, after the commit
        still()
        assert [bool(report.done) for report in told.runs] == [False, True, False]


def test_a_new_day_is_looked_at_once(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    with watching(vault, pace=BRISK) as told:
        still(1)
        runs = len(told.runs)
        monkeypatch.setattr(daemon, "_today", lambda: tomorrow)
        until(lambda: len(told.runs) > runs)
        still()
        assert len(told.runs) == runs + 1


def test_a_light_clone_follows_the_month(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    today = datetime.now(UTC).date()
    vault.record([("one.json", an_outcome())])
    vault.run()
    leave_out_months(vault.store, today, 1)
    (outcome,) = (vault.root / "outcomes").rglob("*.yaml")
    with watching(vault, pace=BRISK):
        still(1)
        monkeypatch.setattr(daemon, "_today", lambda: today + timedelta(days=70))
        until(lambda: not outcome.exists())


def test_what_a_person_holds_is_done_when_they_let_go(vault: Vault) -> None:
    given = an_outcome()
    made = parse_outcome(json.loads(given), trust="local", now=datetime.now(UTC))
    held = vault.root / layout.outcome_path("coding", made.id, "evaluations")
    held.parent.mkdir(parents=True)
    held.write_text("mine\n")
    (vault.root / "inbox" / "one.json").write_bytes(given)
    with watching(vault, pace=BRISK) as told:
        until(lambda: told.runs[-1].waiting and not told.runs[-1].done)
        held.unlink()
        until(lambda: "evaluate: 1 outcome in coding" in told.commits)


# ── when it cannot ───────────────────────────────────────────────────────────────────


def test_a_paused_vault_is_said_once_and_resumes_by_itself(vault: Vault, person: Person) -> None:
    person.git("switch", "-q", "--detach")
    drop(vault, "one")
    with watching(vault) as told:
        still(1)
        drop(vault, "two")
        still(1)
        paused = [line for line in told.said if line.startswith("paused: HEAD is detached")]
        assert (len(paused), recorded(vault), len(vault.inbox.names())) == (1, 0, 2)
        person.git("switch", "-q", "main")
        until(lambda: recorded(vault) == 2)
        until(lambda: told.said[-1] == "resumed")


def test_a_paused_light_clone_says_so_once(vault: Vault, person: Person) -> None:
    leave_out_months(vault.store, datetime.now(UTC).date(), 1)
    person.git("switch", "-q", "--detach")
    drop(vault, "one")
    with watching(vault) as told:
        still(2)
        assert len([line for line in told.said if line.startswith("paused: ")]) == 1


def test_a_broken_vault_yaml_is_said_once_and_mended_by_a_commit(
    vault: Vault, person: Person
) -> None:
    good = (vault.root / "vault.yaml").read_text()
    with watching(vault, pace=BRISK) as told:
        person.write("vault.yaml", good + "\nnonsense: 1\n")
        person.git("commit", "-qnam", "Break it")
        drop(vault, "one")
        until(lambda: "vault.yaml: nonsense" in told.said[-1])
        still(1)
        assert len([line for line in told.said if "nonsense" in line]) == 1
        person.write("vault.yaml", good)
        person.git("commit", "-qam", "Mend it")
        until(lambda: recorded(vault) == 1)
        until(lambda: told.said[-1] == "resumed")


def test_a_full_disk_is_said_once_and_waited_for(vault: Vault) -> None:
    full = [True]

    def on_report(_report: Report) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")

    with watching(vault, on_report=on_report) as told:
        still(1)
        assert told.said == ["watching inbox/", "the system: No space left on device"]
        full[0] = False
        until(lambda: told.said[-1] == "resumed")


# ── file systems without events ──────────────────────────────────────────────────────


def test_without_events_it_polls_and_says_so(vault: Vault) -> None:
    with watching(vault, make=lambda: BaseObserver(Deaf)) as told:
        assert told.said == [POLLING]
        drop(vault, "one")
        until(lambda: recorded(vault) == 1)
        drop(vault, "two", "inbox/untrusted")
        until(lambda: recorded(vault) == 2)
        shutil.rmtree(vault.root / "inbox")
        until((vault.root / "inbox" / "untrusted").is_dir)
        drop(vault, "three")
        until(lambda: recorded(vault) == 3)
        runs = len(told.runs)
        vault.store.git.run("commit", "-q", "--allow-empty", "-m", "From afar")
        until(lambda: len(told.runs) > runs)
        assert told.said == [POLLING]


def test_polling_does_not_wake_it_either(vault: Vault) -> None:
    with watching(vault, make=lambda: BaseObserver(Deaf)) as told:
        drop(vault, "one")
        until(lambda: len(told.runs) > 1 and not vault.inbox.names())
        still(2)
        assert sum(bool(report.done) for report in told.runs) == 1
        assert len(told.runs) <= 3


def test_where_the_system_has_no_more_watches_it_polls(vault: Vault) -> None:
    def make() -> BaseObserver:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    with watching(vault, make=make) as told:
        assert told.said == ["watching inbox/ by polling (inotify watch limit reached)"]
        drop(vault, "one")
        until(lambda: recorded(vault) == 1)


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("ext4", False), ("overlay", False), ("nfs4", True), ("9p", True), ("fuse.sshfs", True)],
)
def test_a_file_system_on_which_others_write_is_polled(
    tmp_path: Path, kind: str, shared: bool
) -> None:
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"21 1 0:999 / /other rw - ext4 /dev/x rw\n36 35 {number} / /m rw,noatime master:1 - "
        f"{kind} server:/export rw\n"
    )
    assert inbox_events.is_shared(tmp_path, mounts) == shared
    assert not inbox_events.is_shared(tmp_path, tmp_path / "none")


# ── the command ──────────────────────────────────────────────────────────────────────


class Process:
    """`skillvault watch` as a service runs it."""

    def __init__(self, vault: Vault, place: Path) -> None:
        self.out, self.err = place / "out", place / "err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.child = subprocess.Popen(
                [sys.executable, "-c", START, "watch"],
                cwd=vault.root,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        until(lambda: "watching inbox/" in self.err.read_text() or self.child.poll() is not None)

    def ended(self) -> int:
        """Wait for the end, which must come, and return the exit code."""
        return self.child.wait(PATIENCE)


@pytest.fixture
def process(vault: Vault, tmp_path: Path) -> Iterator[Process]:
    """A running `skillvault watch`."""
    started = Process(vault, tmp_path)
    yield started
    if started.child.poll() is None:
        started.child.kill()
        started.child.wait()


def test_each_commit_is_one_line_on_stdout_at_once(
    vault: Vault, person: Person, process: Process
) -> None:
    drop(vault, "one")
    until(lambda: "evaluate: " in process.out.read_text())
    process.child.terminate()
    assert process.ended() == 0
    log = person.git("log", "--reverse", "--abbrev=10", "--format=%h %s").splitlines()
    assert process.out.read_text().splitlines() == log[1:]
    assert process.err.read_text().splitlines()[-1] == "stopped"


@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_in_the_middle_of_work_it_leaves_nothing_half_done(
    vault: Vault, person: Person, process: Process, wish: signal.Signals
) -> None:
    for number in range(60):
        drop(vault, f"much-{number}")
    until(lambda: "generate: " in process.out.read_text())
    for _ in range(3):  # one that does not wait, and a terminal, which asks git as well
        os.killpg(process.child.pid, wish)
        time.sleep(0.05)
    assert process.ended() == 0
    assert process.err.read_text().splitlines()[-1] == "stopped"
    assert person.status() == ""
    assert not (vault.root / ".git" / "index.lock").exists()
    assert recorded(vault) + len(vault.inbox.names()) == 60
    assert vault.check().problems == []


@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_while_it_sleeps_it_ends(process: Process, wish: signal.Signals) -> None:
    still(1)
    process.child.send_signal(wish)
    assert process.ended() == 0
    assert "Traceback" not in process.err.read_text()


def test_what_waits_is_said_when_it_begins_to_wait(
    vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    tell = _report_printer(vault)
    for paths in (["a"], ["a"], ["a", "b"], ["b"], ["a", "b"]):
        tell(Report(waiting=[WaitingWork(path, "edited") for path in paths]))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"waiting: {path}: edited" for path in ("a", "b", "a")]


def test_what_a_person_removed_is_noted_once_in_a_clone(
    vault: Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(rejected=[Rejection("skill:a", "1" * 40), Rejection("skill:b", "1" * 40)])
    more = Report(rejected=[*report.rejected, Rejection("skill:c", "2" * 40)])
    noted = []
    for each in (report, more, Report(), more):
        print_run(vault, each)
        noted.append(re.findall(r"skill:\w", capsys.readouterr().err))
    assert noted == [["skill:a"], ["skill:c"], [], []]
    print_run(vault, more, verbose=True)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_file_that_is_being_written_holds_up_neither_the_others_nor_its_end(
    vault: Vault, process: Process
) -> None:
    with (vault.root / "inbox" / "endless.json").open("wb", buffering=0) as file:

        def writing(true: Callable[[], bool]) -> bool:
            file.write(b" ")
            return true()

        drop(vault, "one")
        until(lambda: writing(lambda: recorded(vault) == 1))
        process.child.terminate()
        until(lambda: writing(lambda: process.child.poll() is not None))
    assert process.ended() == 0


def test_when_nobody_reads_its_commits_it_ends(vault: Vault) -> None:
    command = [sys.executable, "-m", "skillvault", "watch"]
    with subprocess.Popen(
        command, cwd=vault.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        drop(vault, "one")
        child.wait(PATIENCE)
        assert b"Traceback" not in child.stderr.read()


def _call(vault: Vault, *args: str) -> tuple[int, str, str]:
    done = forked.program("watch", *args, folder=vault.root)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_once_is_one_run(vault: Vault) -> None:
    drop(vault, "one")
    code, out, err = _call(vault, "--once")
    assert (code, "record: 1 outcome in coding" in out, "watching" in err) == (0, True, False)
    assert _call(vault, "--once", "--now", "2030-01-01T00:00:00Z")[0] == 0


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--once",), 7, "HEAD is detached"),
        (("--now", "2026-11-20"), 2, "only with --once"),
        (("--vault", "/"), 3, "no vault here"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    vault: Vault, args: tuple[str, ...], code: int, says: str
) -> None:
    vault.store.git.run("checkout", "-q", "--detach")
    got, out, err = _call(vault, *args)
    assert (got, says in err, out) == (code, True, "")
    assert "Traceback" not in err


def test_only_who_watches_loads_watchdog() -> None:
    code = "import json, sys, skillvault.cli; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not [name for name in json.loads(done.stdout) if name.startswith("watchdog")]


def test_facts_become_skills_in_every_nth_cycle_alone(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", (vault.root / "vault.yaml").read_text() + "promote: {every: 100}\n")
    person.git("commit", "-qam", "seldom")
    ended = datetime.now(UTC) - timedelta(hours=1)
    times: dict[str, Any] = {
        "occurred_at": ended.isoformat(),
        "decision__made_at": (ended - timedelta(hours=1)).isoformat(),
    }
    with watching(vault):
        # Of one action its guide tells what they say.
        for number, action in enumerate(("open_long", "add_long", "hold_long")):
            given = loss(
                0, "SOL-PERP", decision__action=action, source__session=f"s{number}", **times
            )
            (vault.root / "inbox" / f"{number}.json").write_bytes(as_file(given))
        until(lambda: len(vault.store.snapshot().evaluations) == 3)
        until(vault.memory.facts)
    assert from_memory(vault) == []
    vault.run()
    assert from_memory(vault)


def test_when_there_is_no_room_for_untrusted_files_they_wake_nothing_and_delay_nothing(
    vault: Vault, person: Person
) -> None:
    person.rule("record: {untrusted_per_day: {files: 1}}")
    with watching(vault, pace=BRISK) as told:
        for number in range(3):
            drop(vault, f"u{number}", "inbox/untrusted")
        until(lambda: any(file.tomorrow for file in told.runs[-1].waiting))
        until(lambda: recorded(vault) == 1)
        still()
        count = len(told.runs)
        drop(vault, "u3", "inbox/untrusted")
        still()
        assert len(told.runs) == count
        drop(vault, "ours")
        until(lambda: recorded(vault) == 2)
    assert len(vault.inbox.names()) == 3


def test_the_clones_are_brought_together_after_commits_and_again_in_time(vault: Vault) -> None:
    tips: list[str | None] = []

    def synchronize() -> None:
        tips.append(Vault(vault.root).store.tip())

    with watching(vault, synchronize=synchronize) as daemon:
        until(lambda: len(tips) == 1)
        drop(vault, "one")
        until(lambda: len(tips) > 1 and recorded(vault) == 1)
        assert tips[-1] != tips[0]
    with watching(vault, pace=Pace(scan=0.1, sync=0.1), synchronize=synchronize) as daemon:
        before = len(tips)
        until(lambda: len(tips) > before + 2)
    assert daemon.said[-1] == "stopped"
