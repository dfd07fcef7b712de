"""Time to assess the skills after a million uses: all of them, and after one more outcome."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ground import Ground
from row import Figure, Row, Spent, at_most, spent

from skillvault.learning.effect.lift import Sums
from skillvault.loop.effects import Uses
from skillvault.loop.registry import AGENDA
from skillvault.vault.commit.store import Store
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.snapshot import Staging

USES, DOMAINS, SKILLS, TOGETHER = 1_000_000, 20, 100, 4
SECONDS, AGAIN = 12, 0.6  # of a million: all of them, and one domain again


def rows(ground: Ground) -> Iterator[Row]:
    """Assess a million uses in twenty domains, or a tenth of them in a quick run."""
    yield from assessed(USES // 10 if ground.quick else USES)


def assessed(count: int) -> Iterator[Row]:
    """Yield the time for all lifts of so many uses, then for those of one domain again."""
    database = IndexDatabase(None, lambda: None, AGENDA)
    database.begin()
    for name, found in (("outcome", _outcomes(count)), ("used", _used(count))):
        for row in found:
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            database.rows(f"insert into {name} ({names}) values ({marks})", [*row.values()])  # noqa: S608
    head = Staging(database, lambda _: {})
    uses = Uses(Store(Path(), AGENDA))
    whole = _timed(database, head, uses, [f"d{n}" for n in range(DOMAINS)])
    one = _timed(database, head, uses, ["d0"])
    known = head.uses.sums(Sums)
    if sum(len(sums.columns) for sums in known.values()) != DOMAINS * SKILLS:
        raise AssertionError("not every skill was assessed")
    counted = sum(group.count for sums in known.values() for group in sums.groups)
    if counted < count // TOGETHER * 63 // 64:  # they are added up at points
        raise AssertionError("not every decision was counted")
    work = f"lifts of {DOMAINS * SKILLS:,} skills from {count:,} uses"
    yield _within(work, "all", whole, SECONDS)
    yield _within("the same", f"one domain of {DOMAINS} again", one, AGAIN)


def _within(work: str, what: str, cost: Spent, seconds: float) -> Row:
    note = f"{cost.processor / 1e3:.2f} s of the processor"
    return at_most(work, Figure(what, cost.wall / 1e3, "s"), seconds, note)


def _timed(database: IndexDatabase, head: Staging, uses: Uses, due: list[str]) -> Spent:
    for domain in due:
        database.rows("insert or ignore into due values ('lift', ?)", [f"{domain} 0"])
    return spent(lambda: uses.count_uses(head))


def _outcomes(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    for n in range(count // TOGETHER):
        status = "success" if chance.random() < 0.5 else "failure"
        place = {"domain": f"d{n % DOMAINS}", "action": "fix", "target": f"t{n % 7}"}
        ended = {"trust": "local", "at": n, "status": status, "counts": 1}
        yield {"n": n, "id": f"o{n}", **place, **ended}


def _used(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(2)
    applied = {"match": "tool", "confidence": 1.0, "offer": "shown"}
    for n in range(count // TOGETHER):
        for skill in chance.sample(range(SKILLS), TOGETHER):
            yield {"outcome": f"o{n}", "skill": f"s{n % DOMAINS}-{skill}", "made": n, **applied}
