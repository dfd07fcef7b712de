"""Full, failing and read-only disks: it pauses, nothing is lost, and room is all that it needs."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import BadInputError, PausedError, SkillvaultError
from skillvault.vault import failpoint
from tests.conftest import NOW
from tests.crash import scenario
from tests.crash.scenario import DROPPED, RECORDED
from tests.crash.world import World
from tests.given import as_file
from tests.machine.given import Disk, mounted, spent, until
from tests.thorough import one_of

OWN = [(f"own-{n}.json", as_file(scenario.given(n))) for n in range(RECORDED)]
# All of it takes 170 pages and 320 files.
LEVELS = [("fill", 7 * n) for n in range(25)] + [("crowd", 26 * n) for n in range(12)]
HALF = ("fill", 27)  # enough to take in what arrived, not for what follows
RETRY = 1.0  # seconds after which a daemon looks again at what failed; it looks at nothing else
WATCH = f"""
from functools import partial
from skillvault import daemon
from skillvault.cli import main
daemon.Pace = partial(daemon.Pace, scan=3600, retry={RETRY})
main()
"""


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose bad file is in quarantine already."""
    world = World.made(tmp_path_factory.mktemp("machine") / "vault")
    Vault(world.root).inbox.refuse("bad.yaml", BadInputError("bad", code="yaml"), NOW)
    return world


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk."""
    with mounted(tmp_path / "disk") as made:
        yield made


@pytest.fixture
def world(template: World, disk: Disk) -> World:
    """A world of the test's own, on the disk."""
    return template.copied(disk.root / "vault")


def trouble(level: tuple[str, int], disk: Disk) -> None:
    """Fill the disk in one of the two ways."""
    how, room = level
    (disk.fill if how == "fill" else disk.crowd)(room)


def record(world: World) -> None:
    """Record the agent's outcomes."""
    Vault.open(world.root).record(OWN, now=NOW)


def run(world: World) -> None:
    """Do what is due."""
    Vault.open(world.root).run(now=NOW)


def refused(world: World) -> list[str]:
    """Return the errors with which `record` and `run` refuse."""
    said = []
    for act in (record, run):
        try:
            act(world)
        except (SkillvaultError, OSError) as error:
            said.append(str(error))
    return said


# ── what must hold ───────────────────────────────────────────────────────────────────


def fsck(world: World) -> str:
    """Return what git finds broken."""
    return world.person.git("fsck", "--strict", "--no-dangling", "--no-progress", ok=False)


def is_whole(world: World) -> None:
    """Assert that git and `check` find no problem in the committed files, whatever failed."""
    assert fsck(world) == ""
    vault = Vault.open(world.root)
    head = vault.store.snapshot()
    assert vault.check().problems == []
    assert set(head.evaluations) <= set(head.outcomes)
    assert all(one.code == "yaml" for one in vault.inbox.quarantine.files())


def events(world: World) -> Counter[str]:
    """Count the records of each outcome by its event id."""
    outcomes = Vault.open(world.root).store.snapshot().outcomes.values()
    return Counter(one.event_id or "" for one in outcomes)


def given(*, own: int) -> Counter[str]:
    """Return the expected events: `own` outcomes of the agent, and the dropped files."""
    numbers = [*range(own), *range(RECORDED, RECORDED + DROPPED)]
    return Counter(f"event-{number}" for number in numbers)


def taken(world: World) -> int:
    """Count the agent's own outcomes that the vault holds or that wait in the inbox."""
    recorded, waiting = events(world), Vault.open(world.root).inbox.names()
    here = [recorded[f"event-{n}"] > 0 or f"own-{n}.json" in waiting for n in range(RECORDED)]
    assert here == sorted(here, reverse=True)  # it hands them over one after the other
    return sum(here)


def is_done(world: World, own: int) -> None:
    """Assert that one run finishes everything and a second run finds nothing to do."""
    run(world)
    vault = Vault.open(world.root)
    head = vault.store.snapshot()
    assert events(world) == given(own=own)
    assert sorted(head.evaluations) == sorted(head.outcomes)
    assert vault.run(now=NOW).done == []
    assert vault.inbox.names() == []


def is_as_if_nothing_was(world: World, before: tuple[str, str, dict[str, bytes]]) -> None:
    """Assert that the vault takes the outcomes again and works on without trouble."""
    scenario.main(world.root)
    world.check(before)


# ── full ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("level", one_of(5, LEVELS), ids=lambda level: f"{level[0]}-{level[1]}")
def test_whatever_room_is_left_nothing_is_lost_and_room_is_all_that_it_needs(
    world: World, disk: Disk, level: tuple[str, int]
) -> None:
    before = world.hand()
    trouble(level, disk)
    refused(world)
    is_whole(world)
    disk.empty()
    own = taken(world)
    is_done(world, own)
    is_as_if_nothing_was(world, before)


@pytest.mark.parametrize("level", [("fill", 3), ("fill", 27), ("crowd", 8), ("crowd", 40)])
def test_without_room_it_says_that_it_is_paused_by_the_disk(
    world: World, disk: Disk, level: tuple[str, int]
) -> None:
    trouble(level, disk)
    said = refused(world)
    assert said
    assert [words for words in said if not words.startswith("paused: disk: ")] == []


def test_at_every_level_it_says_that_it_is_paused_by_the_disk(template: World, disk: Disk) -> None:
    odd = []
    for number, level in enumerate(LEVELS[::3]):
        world = template.copied(disk.root / f"vault-{number}")
        trouble(level, disk)
        odd += [(level, words) for words in refused(world) if not words.startswith("paused: disk")]
        disk.empty()
        subprocess.run(["rm", "-rf", world.root], check=True)
    assert odd == []


def test_no_room_for_the_index_is_no_other_git(
    world: World, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reach(name: str) -> None:
        if name == "draft-written":
            disk.fill(0)

    monkeypatch.setattr("skillvault.vault.commit.files.reach", reach)
    with pytest.raises(PausedError, match=r"^paused: disk: no space left"):
        record(world)


def test_where_the_record_is_taken_in_but_not_committed_the_next_run_has_it(
    world: World, disk: Disk
) -> None:
    disk.fill(RECORDED)
    with suppress(SkillvaultError, OSError):
        record(world)
    assert taken(world) == RECORDED
    disk.empty()
    is_done(world, RECORDED)


def test_a_full_disk_leaves_no_draft_in_the_inbox(world: World, disk: Disk) -> None:
    disk.fill(0)
    with pytest.raises(
        PausedError, match=r"^paused: disk: .* then record it again: it is not saved"
    ):
        record(world)
    assert [path.name for path in (world.root / "inbox").glob(".*")] == []


@contextmanager
def full_with_a_bad_file(world: World, disk: Disk) -> Iterator[None]:
    """Drop a bad file on a full disk, which has no room for the reason of its refusal."""
    world.drop("worse.yaml", scenario.BAD)
    disk.fill(0)
    yield
    disk.empty()
    run(world)


def test_a_full_disk_leaves_no_half_of_a_reason(world: World, disk: Disk) -> None:
    with full_with_a_bad_file(world, disk), pytest.raises(PausedError, match=r"^paused: disk"):
        run(world)
    assert [one.name for one in Vault.open(world.root).quarantine.files()] == [
        "bad.yaml",
        "worse.yaml",
    ]
    reasons = sorted(path.name for path in (world.root / "quarantine").glob("*.error.json"))
    assert reasons == ["bad.yaml.error.json", "worse.yaml.error.json"]
    assert all((world.root / "quarantine" / name).stat().st_size for name in reasons)


def test_every_further_try_on_a_full_disk_leaves_nothing_more(world: World, disk: Disk) -> None:
    with full_with_a_bad_file(world, disk):
        counts = []
        for _ in range(4):
            with pytest.raises(PausedError):
                run(world)
            counts.append(len(list((world.root / "quarantine").iterdir())))
    assert counts == [counts[0]] * 4


# ── read-only, failing, without descriptors ──────────────────────────────────────────


def test_on_a_read_only_disk_it_pauses_and_goes_on_when_it_can_write(
    world: World, disk: Disk
) -> None:
    before = world.hand()
    disk.remount("ro")
    try:
        said = refused(world)
        assert Vault.open(world.root).status().quarantine == 1
    finally:
        disk.remount("rw")
    assert len(said) == 2
    assert all("paused: disk: the file system is read-only" in words for words in said)
    is_done(world, own=0)
    is_as_if_nothing_was(world, before)


def test_a_disk_that_becomes_read_only_at_work_is_waited_for(world: World, disk: Disk) -> None:
    record(world)
    before = world.hand()
    world.drop("late.json", as_file(scenario.given(0)))
    disk.remount("ro")
    try:
        with pytest.raises(PausedError, match=r"^paused: disk: the file system is read-only"):
            run(world)
    finally:
        disk.remount("rw")
    is_done(world, RECORDED)
    is_as_if_nothing_was(world, before)


@pytest.mark.parametrize(
    "point", ["inbox-filled", "objects-written", "intent-written", "file-placed", "index-written",
              "before-swap", "branch-moved", "intent-done", "inbox-done"]
)  # fmt: skip
def test_an_input_output_error_pauses_and_the_next_run_mends_it(
    template: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    world = template.copied(tmp_path / "vault")
    before = world.hand()
    monkeypatch.setenv(failpoint.VARIABLE, f"{point}=raise")
    monkeypatch.setattr(failpoint, "_counts", {})
    with pytest.raises(PausedError, match=r"^paused: disk: an input/output error"):
        record(world)
    monkeypatch.delenv(failpoint.VARIABLE)
    is_whole(world)
    is_done(world, taken(world))
    is_as_if_nothing_was(world, before)


SCARCE = """
import resource, sys
from pathlib import Path
from skillvault.api import Vault
from skillvault.model.errors import PausedError
from tests.machine.test_disk import NOW, OWN
vault = Vault.open(Path(sys.argv[1]))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), hard))
ended = 0
for act in (lambda: vault.record(OWN, now=NOW), lambda: vault.run(now=NOW)):
    try:
        act()
    except PausedError as error:
        print(error)
        ended = 7
sys.exit(ended)
"""


@pytest.mark.parametrize("limit", one_of(3, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20]))
def test_with_too_few_descriptors_it_pauses_and_with_enough_it_goes_on(
    template: World, tmp_path: Path, limit: int
) -> None:
    world = template.copied(tmp_path / "vault")
    before = world.hand()
    args = [sys.executable, "-c", SCARCE, str(world.root), str(limit)]
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 7), done.stderr
    assert [line for line in done.stdout.splitlines() if not line.startswith("paused: disk")] == []
    assert bool(done.stdout) == (done.returncode == 7)
    is_whole(world)
    is_done(world, taken(world))
    is_as_if_nothing_was(world, before)


# ── the daemon ───────────────────────────────────────────────────────────────────────


class Daemon:
    """`skillvault watch` in a process of its own, and what it says."""

    def __init__(self, root: Path, place: Path) -> None:
        self._said = place / "said"
        with self._said.open("wb") as said:
            self.child = subprocess.Popen(
                [sys.executable, "-c", WATCH, "watch"], cwd=root, stdout=said, stderr=said
            )

    @property
    def lines(self) -> list[str]:
        """Its words so far."""
        return self._said.read_text().splitlines()

    def end(self) -> int:
        """Its exit code after SIGTERM."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(10)


@contextmanager
def watched(world: World, place: Path) -> Iterator[Daemon]:
    """Start a daemon and wait for its first words; kill it if it does not end."""
    daemon = Daemon(world.root, place)
    try:
        until(lambda: daemon.lines)
        yield daemon
    finally:
        daemon.child.kill()
        daemon.child.wait()


def of_space(daemon: Daemon) -> list[str]:
    """Return the daemon's lines about the full disk."""
    return [line for line in daemon.lines if "no space left" in line.lower()]


def waits_idly(daemon: Daemon) -> None:
    """Assert that the daemon reports the full disk, stays alive and does almost nothing."""
    until(lambda: of_space(daemon))
    before = spent(daemon.child.pid)
    time.sleep(RETRY + 1)
    assert daemon.child.poll() is None
    assert spent(daemon.child.pid) - before < 0.25 * (RETRY + 1)


def goes_on(daemon: Daemon, world: World, disk: Disk) -> None:
    """Make room; the daemon takes everything at its next look and ends on request."""
    disk.empty()
    until(lambda: events(world) == given(own=0))
    until(lambda: "resumed" in daemon.lines)
    assert daemon.end() == 0
    is_done(world, own=0)


@pytest.mark.parametrize("level", [HALF, ("crowd", 8)], ids=str)
def test_a_daemon_on_a_full_disk_waits_idly_and_goes_on_by_itself(
    world: World, disk: Disk, tmp_path: Path, level: tuple[str, int]
) -> None:
    trouble(level, disk)
    with watched(world, tmp_path) as daemon:
        waits_idly(daemon)
        goes_on(daemon, world, disk)


def test_a_daemon_whose_disk_fills_up_waits_idly_and_goes_on_by_itself(
    world: World, disk: Disk, tmp_path: Path
) -> None:
    (world.root / "inbox").rename(disk.root / "aside")
    with watched(world, tmp_path) as daemon:
        until((world.root / "inbox/untrusted").is_dir)
        time.sleep(1)  # it has looked
        disk.fill(0)
        for path in (disk.root / "aside").glob("*.json"):
            path.rename(world.root / "inbox" / path.name)
        waits_idly(daemon)
        goes_on(daemon, world, disk)


def test_a_daemon_that_starts_on_a_full_disk_waits_for_room(
    world: World, disk: Disk, tmp_path: Path
) -> None:
    disk.fill(0)
    with watched(world, tmp_path) as daemon:
        waits_idly(daemon)
        goes_on(daemon, world, disk)


def test_a_daemon_on_a_full_disk_says_once_that_it_is_paused(
    world: World, disk: Disk, tmp_path: Path
) -> None:
    disk.crowd(8)
    with watched(world, tmp_path) as daemon:
        until(lambda: of_space(daemon))
        time.sleep(4 * RETRY)
        said = of_space(daemon)
    assert len(said) == 1
    assert said[0].startswith("paused: disk")


def test_a_daemon_that_cannot_write_a_reason_says_once_that_it_is_paused(
    world: World, disk: Disk, tmp_path: Path
) -> None:
    world.drop("worse.yaml", scenario.BAD)
    disk.fill(1)  # for its lock
    with watched(world, tmp_path) as daemon:
        until(lambda: of_space(daemon))
        time.sleep(4 * RETRY)
        said = of_space(daemon)
    assert len(said) == 1
    assert said[0].startswith("paused: disk")
