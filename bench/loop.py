"""Cost of one more outcome in the whole loop, beside git's add and commit of its files.

Four streams feed a vault of their own each: few subjects, about a thousand subjects, one action,
and many facts on one topic. At each size outcomes come one at a time, then in batches of a hundred.
After each outcome a copy of the repository commits the same files in the same places by git alone.
Milliseconds are the processor's, git's processes included. An exponent says how the cost grows with
the vault: 0 not at all, 1 as the vault does.

    python bench/table.py [--quick] --only loop
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import pairwise, repeat
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from commits import committed
from ground import Ground, head
from row import Figure, Row, Spent, at_most, quantile, spent, within
from stream import START, STEP, stream

from skillvault import Vault
from skillvault.vault.files import layout

BATCH = 100  # outcomes
BATCHES = 3
BULK = 500  # outcomes of one run, while a vault is filled
SINGLE = 20  # outcomes one at a time, at each size
LARGE, LARGE_STREAM = 100_000, "a thousand subjects"  # outcomes, to which one stream is grown
ASKED = {1_000: 3.0, 10_000: 1.3}  # times git's own cost
ASKED_GROWTH = 0.10  # exponent
ASKED_LARGE = 2.5  # times the cost in 10,000, with git's index written

Raw = dict[str, Any]


# ── what arrives ─────────────────────────────────────────────────────────────────────


def _few_subjects(one: Raw, _chance: Random) -> Raw:
    name, number = one["decision"]["target"].rsplit("-", 1)
    return _about(one, f"{name}-{int(number) % 4}")


def _many_subjects(one: Raw, chance: Random) -> Raw:
    """Return an outcome of one of a thousand subjects: 250 targets, two actions, two domains."""
    return _about(one, f"{one['decision']['target'].rsplit('-', 1)[0]}-{chance.randrange(250)}")


def _one_action(one: Raw, _chance: Random) -> Raw:
    one["domain"], one["decision"]["action"] = "coding", "fix"
    return one


_CAUSES = (
    "the pool is exhausted", "a lock is held", "the cache is cold", "a retry storm runs",
    "DNS answers late", "the queue is full", "a disk is slow", "the certificate is renewed",
)  # fmt: skip
_PARTS = ("gateway", "ledger", "courier", "invoice", "voucher", "stock", "session", "tariff")
_REMEDIES = (
    "shorten its transaction", "cap its workers", "warm it before the switch", "stagger its calls",
    "pin its resolver", "drain it first", "move its log away", "watch its expiry",
)  # fmt: skip


def _one_topic(one: Raw, chance: Random) -> Raw:
    """Return an outcome whose reasoning is one of 512 statements about the same timeout."""
    words = map(chance.choice, (_PARTS, _CAUSES, _REMEDIES))
    reasoning = "The checkout timeout comes from the {}: {}. I {} and measure again.".format(*words)
    one["decision"] |= {"action": "fix", "target": "checkout", "reasoning": reasoning}
    one["domain"] = "coding"
    return one


def _about(one: Raw, target: str) -> Raw:
    """Return an outcome with another target, wherever it names it."""
    found: Raw = json.loads(json.dumps(one).replace(one["decision"]["target"], target))
    return found


STREAMS: dict[str, Callable[[Raw, Random], Raw]] = {
    "few subjects": _few_subjects,
    "a thousand subjects": _many_subjects,
    "one action": _one_action,
    "one topic": _one_topic,
}


# ── what it costs ────────────────────────────────────────────────────────────────────


class Cost(NamedTuple):
    """Average cost of an outcome in a vault of a size; `batched` is the cost in a batch.

    Half of the outcomes cost at most `usual`, 95 of 100 at most `late`. `processes` counts git's
    processes, `objects` the new objects in git.
    """

    ours: float
    usual: float
    late: float
    git: float
    processes: float
    objects: float
    batched: float


class _Processes:
    """A count of the git processes that this one starts."""

    def __init__(self) -> None:
        self.count = 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, values: Sequence[Any]) -> None:
        if event == "subprocess.Popen":
            self.count += any(Path(str(word)).name == "git" for word in values[1] or ())


class FedVault:
    """A vault that a stream feeds, and the repository in which git alone commits the same."""

    def __init__(self, ground: Ground, name: str, processes: _Processes) -> None:
        self._ground = ground
        self._name = name.replace(" ", "-")
        self._processes = processes
        self._vault = Vault.open(ground.new(f"loop-{self._name}"))
        self._arriving = map(STREAMS[name], stream(sys.maxsize), repeat(Random(name)))
        self._count = 0

    def fill(self, size: int) -> None:
        """Feed it until it has so many outcomes."""
        while self._count < size:
            self._feed(min(BULK, size - self._count))

    def cost(self, single: int) -> Cost:
        """Feed the next outcomes, one at a time and in batches, and return their cost."""
        root = self._vault.root
        self._feed(1)  # which pays for what is read once
        git = self._ground.repository(root, f"loop-git-{self._name}")
        ours, theirs, processes, objects = [], [], 0, _objects(root)
        for _ in range(single):
            tip, count = head(root), self._processes.count
            ours.append(self._feed(1).processor)
            processes += self._processes.count - count
            files = _changed(root, tip)
            theirs.append(spent(partial(committed, git, files)).processor)
        objects = _objects(root) - objects
        self._ground.drop(git)
        batched = [self._feed(BATCH).processor / BATCH for _ in range(BATCHES)]
        return Cost(
            ours=statistics.mean(ours),
            usual=statistics.median(ours),
            late=quantile(ours, 0.95),
            git=statistics.mean(theirs),
            processes=processes / single,
            objects=objects / single,
            batched=statistics.mean(batched),
        )

    def _feed(self, count: int) -> Spent:
        """Do what is due with the next outcomes."""
        still = time.time() - 60  # nobody has written on them for a while
        for _ in range(count):
            place = self._vault.root / layout.INBOX / f"{self._count}.json"
            place.write_text(json.dumps(next(self._arriving)))
            os.utime(place, (still, still))
            self._count += 1
        now = START + self._count * STEP + timedelta(days=1)
        return spent(partial(self._vault.run, now=now))


def _changed(root: Path, since: str) -> dict[str, bytes | None]:
    """The files that came, changed or (None) went since a commit."""
    command = ["git", "diff", "--name-only", "--no-renames", "-z", since, "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    places = {path: root / path for path in done.stdout.split("\0") if path}
    return {path: at.read_bytes() if at.exists() else None for path, at in places.items()}


def _objects(root: Path) -> int:
    """Count the objects of a repository, loose or packed."""
    command = ["git", "count-objects", "--verbose"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    counts = dict(line.split(": ") for line in done.stdout.splitlines())
    return int(counts["count"]) + int(counts["in-pack"])


# ── the rows ─────────────────────────────────────────────────────────────────────────


def rows(ground: Ground) -> Iterator[Row]:
    """Each stream at two sizes and its growth; one of them in a large vault too."""
    sizes = (200, 1_000) if ground.quick else (1_000, 10_000)
    processes = _Processes()
    for name in STREAMS:
        large = (LARGE,) if name == LARGE_STREAM and not ground.quick else ()
        yield from measured(FedVault(ground, name, processes), name, (*sizes, *large))


def measured(
    vault: FedVault, name: str, sizes: Sequence[int], single: int = SINGLE
) -> Iterator[Row]:
    """The rows of one stream: each size, and how the cost grows from one to the next."""
    found: dict[int, Cost] = {}
    for size in sizes:
        vault.fill(size)
        cost = found[size] = vault.cost(single)
        note = (
            f"median {cost.usual:.0f}, p95 {cost.late:.0f} ms; {cost.processes:.1f} git processes, "
        )
        note += f"{cost.objects:.1f} objects; in batches of {BATCH} {cost.batched:.0f} ms"
        mine, git = Figure("processor", cost.ours, "ms"), Figure("git's", cost.git, "ms")
        asked = ASKED.get(size, max(ASKED.values()))
        yield within(f"one outcome through the loop, {name}, at {size:,}", mine, git, asked, note)
    for less, more in pairwise(sizes):
        yield from _growth(name, (less, found[less]), (more, found[more]))


def _growth(name: str, small: tuple[int, Cost], large: tuple[int, Cost]) -> Iterator[Row]:
    (less, before), (more, after) = small, large
    work = f"its growth, {name}, {less:,} -> {more:,}"
    if more == LARGE:
        ours, theirs = (Figure(f"at {n:,}", one.ours, "ms") for n, one in (large, small))
        yield within(work, ours, theirs, ASKED_LARGE)
        return
    times = math.log(more / less)
    for how, ends in (
        ("one at a time", (before.ours, after.ours)),
        (f"batches of {BATCH}", (before.batched, after.batched)),
    ):
        figure = Figure(f"exponent, {how}", math.log(ends[1] / ends[0]) / times, "")
        yield at_most(work, figure, ASKED_GROWTH, f"{ends[0]:.1f} to {ends[1]:.1f} ms")
