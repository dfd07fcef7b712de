"""A company's vaults on one git host: what clones ask of it in an hour, and where it stops.

    python bench/fleet.py [OUTCOMES]

Measured with real git in one vault of so many outcomes (2,000): what a fetch that brings nothing, a
pull of one outcome, a push of one and a whole clone cost the host, in processor time and bytes of
either side, and how long `skillvault sync` takes here. Computed from these: an hour of 50 vaults
with 20 clones each, whose outcomes come at random. A clone syncs after an outcome and every minute,
as `watch --sync` does. A sync holds the vault as it found it until its push arrives: if another
push came first, it merges and pushes again, up to eight times. The network and the host's own
checks, hooks and limits are not in it.
"""

import heapq
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import BinaryIO, NamedTuple

from ground import Ground, arriving
from row import Spent, median, spent
from vaults import known

from skillvault import api
from skillvault.api import Vault

VAULTS, CLONES = 50, 20  # clones of each vault
RATES = (1, 4, 16, 64, 256)  # outcomes an hour of each clone
HOUR, MINUTE = 3600.0, 60.0
BUSY = 4  # outcomes an hour
SIZES = (20, 100, 500, 1_000, 2_000)  # clones of one vault
TRIES, PAUSE = 8, 0.2  # pushes of one sync; seconds before its second one, then twice as much
FETCHES = -1  # in place of a version
AGAIN = 7
LONG = timedelta(days=60)


class Cost(NamedTuple):
    """The host's cost of one request: milliseconds of its processor, bytes in and out."""

    processor: float
    received: float
    sent: float


class Costs(NamedTuple):
    """Each kind of request, and how long a sync with one outcome takes in all."""

    idle: Cost
    pull: Cost
    push: Cost
    clone: Cost
    sync: Spent


# ── what is measured ─────────────────────────────────────────────────────────────────


def served(log: str, command: list[str]) -> int:
    """Serve one request as the host: run git's program and log its cost."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:
        counts = [0, 0]
        ways = ((0, sys.stdin.buffer, git.stdin), (1, git.stdout, sys.stdout.buffer))
        threads = [
            threading.Thread(target=_carry, args=(counts, *way), daemon=True) for way in ways
        ]
        for thread in threads:
            thread.start()
        threads[1].join()
        took = spent(git.wait).processor
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(json.dumps([took, *counts]) + "\n")
    return git.returncode


def _carry(counts: list[int], way: int, source: BinaryIO, target: BinaryIO) -> None:
    while part := os.read(source.fileno(), 1 << 16):
        counts[way] += len(part)
        target.write(part)
        target.flush()
    if way == 0:
        target.close()


class Host:
    """A bare repository that measures the cost of its requests."""

    def __init__(self, folder: Path, vault: Path) -> None:
        self.place = folder / "host.git"
        self._log = folder / "served"
        _git(folder, "clone", "--quiet", "--bare", "--no-local", str(vault), str(self.place))
        _git(self.place, "gc", "--quiet")

    def cost(self, clone: Path, command: str, *words: str) -> Cost:
        """Run one git command of a clone and return its cost here."""
        self._log.write_text("")
        program = {"push": "receive-pack"}.get(command, "upload-pack")
        served_by = shlex.join([sys.executable, __file__, "--serve", str(self._log), "git"])
        _git(clone, command, "--quiet", f"--{program}={served_by} {program}", *words)
        rows = [json.loads(line) for line in self._log.read_text().splitlines()]
        return Cost(*map(sum, zip(*rows, strict=True)))


def measured(folder: Path, outcomes: int) -> Costs:
    """Return the costs in a vault of so many outcomes: the median of a few turns."""
    ground = Ground(folder, quick=True)
    vault = ground.recorded(outcomes)
    host = Host(folder, vault)
    writer, reader = (_clone(host, folder / name) for name in ("writer", "reader"))
    found: dict[str, list[Cost]] = {"push": [], "pull": [], "idle": [], "clone": []}
    syncs = []
    for number, file in enumerate(arriving(2 * AGAIN, ground.ends, "fleet")):
        writer.record([file], now=ground.ends + LONG)
        writer.run(("evaluate",), now=ground.ends + LONG)
        if number % 2:
            syncs.append(spent(partial(api.sync, writer, now=ground.ends + LONG)))
            continue
        found["push"].append(host.cost(writer.root, "push", "origin", "main"))
        for kind in ("pull", "idle"):
            found[kind].append(host.cost(reader.root, "fetch", "origin", "main"))
    for number in range(3):
        place = folder / f"whole-{number}"
        found["clone"].append(host.cost(folder, "clone", "--no-local", str(host.place), str(place)))
    idle, pull, push, clone = (_middle(found[kind]) for kind in Costs._fields[:4])
    return Costs(idle, pull, push, clone, median(syncs))


def _clone(host: Host, place: Path) -> Vault:
    _git(place.parent, "clone", "--quiet", "--no-local", str(host.place), str(place))
    return Vault.init(place)[0]


def _middle(costs: list[Cost]) -> Cost:
    return Cost(*(sorted(column)[len(costs) // 2] for column in zip(*costs, strict=True)))


def _git(place: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=place, check=True, capture_output=True)


# ── what is computed ─────────────────────────────────────────────────────────────────


class Seen(NamedTuple):
    """The host's load in an hour: requests by kind, and syncs that gave up."""

    idle: int
    pulls: int
    pushes: int
    refused: int
    given_up: int

    def load(self, costs: Costs) -> float:
        """Return the share of one core of the host that is at work."""
        pulls, pushes = self.pulls * costs.pull.processor, self.pushes * costs.push.processor
        refused = self.refused * costs.idle.processor  # it reads the refs and no more
        return (pulls + pushes + refused + self.idle * costs.idle.processor) / 1e3 / HOUR

    def sent(self, costs: Costs) -> float:
        """Megabytes that go out."""
        return (self.pulls * costs.pull.sent + self.idle * costs.idle.sent) / 1e6


def hour(rate: float, sync: float, vaults: int = VAULTS, clones: int = CLONES) -> Seen:
    """Simulate an hour of all vaults; a sync takes `sync` seconds from its fetch to its push."""
    total = [0] * len(Seen._fields)
    for number in range(vaults):
        for place, count in enumerate(_hour_of_vault(Random(number), rate, sync, clones)):
            total[place] += count
    return Seen(*total)


def _hour_of_vault(chance: Random, rate: float, sync: float, clones: int) -> Seen:
    """Simulate one vault; an event is (time, clone, push of this sync or 0, fetched version).

    Outcomes do not depend on the past, so the next sync of a clone is drawn at the end of each.
    """
    version = idle = pulls = pushes = refused = given_up = 0
    has = [0] * clones  # the version that a clone has
    events = [(chance.uniform(0, MINUTE), clone, 0, FETCHES) for clone in range(clones)]
    heapq.heapify(events)
    while events[0][0] < HOUR:
        at, clone, tries, fetched = heapq.heappop(events)
        if fetched == FETCHES:
            idle, pulls = idle + (has[clone] == version), pulls + (has[clone] < version)
            has[clone] = version
            if tries:
                heapq.heappush(events, (at + sync, clone, tries, version))
                continue
        elif fetched == version:  # its push comes first
            version, pushes = version + 1, pushes + 1
            has[clone] = version
        else:
            refused += 1
            if tries < TRIES:
                pause = chance.uniform(0.5, 1) * PAUSE * 2**tries
                heapq.heappush(events, (at + pause, clone, tries + 1, FETCHES))
                continue
            given_up += 1
        # Since its last fetch, as a push takes along what came before; who gave up waits a minute.
        wait = chance.expovariate(rate / HOUR) - sync * bool(tries)
        wait = MINUTE if tries and has[clone] < version else max(0.0, wait)
        heapq.heappush(events, (at + min(wait, MINUTE), clone, int(wait <= MINUTE), FETCHES))
    return Seen(idle, pulls, pushes, refused, given_up)


# ── what is said ─────────────────────────────────────────────────────────────────────


_HEAD = (
    "| {} | pushes | refused | given up | pulls | fetches of nothing | cores | sent |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main(outcomes: int) -> None:
    """Measure, compute, and print both."""
    known()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        costs = measured(Path(folder), outcomes)
    print(f"Measured in a vault of {outcomes:,} outcomes:\n")
    print("| request | the host's processor | it receives | it sends |\n|---|---|---|---|")
    for kind in Costs._fields[:4]:
        processor, received, sent = getattr(costs, kind)
        print(f"| {kind} | {processor:.0f} ms | {received / 1e3:.1f} kB | {sent / 1e3:.1f} kB |")
    wall = costs.sync.wall / 1e3
    print(f"\nA sync with one outcome took {costs.sync.wall:.0f} ms here (processor: ", end="")
    print(f"{costs.sync.processor:.0f} ms).\n")
    print(f"Computed: an hour of {VAULTS} vaults, {CLONES} clones each\n")
    print(
        "| outcomes an hour of a clone | pushes | refused | given up | pulls | fetches of nothing"
    )
    print("| cores | sent |\n|---|---|---|---|---|---|---|---|")
    for rate in RATES:
        print(_row(str(rate), hour(rate, wall), costs))
    print(f"\nOne vault, each of its clones with {BUSY} outcomes an hour:\n")
    print(_HEAD.format("clones"))
    for clones in SIZES:
        print(_row(f"{clones:,}", hour(BUSY, wall, 1, clones), costs))


def _row(name: str, seen: Seen, costs: Costs) -> str:
    counts = (seen.pushes, seen.refused, seen.given_up, seen.pulls, seen.idle)
    cells = [name, *(f"{count:,}" for count in counts), f"{seen.load(costs):.2f}"]
    return f"| {' | '.join(cells)} | {seen.sent(costs):,.0f} MB |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        sys.exit(served(sys.argv[2], sys.argv[3:]))
    main(int(sys.argv[1]) if sys.argv[1:] else 2_000)
