"""What skills changed, from a million uses: all of them, and after one more outcome."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ground import Ground
from row import Figure, Row, at_most, spent

from skillvault.learning.effect.estimate import Sums
from skillvault.steps.effects import Uses
from skillvault.steps.registry import AGENDA
from skillvault.vault.commit.store import Store
from skillvault.vault.index.database import IndexDatabase
from skillvault.vault.index.snapshot import Staged

USES, DOMAINS, SKILLS, TOGETHER = 1_000_000, 20, 100, 4
SECONDS, AGAIN = 60, 5  # what "in seconds" is taken for: all of them, one domain of them


def rows(ground: Ground) -> Iterator[Row]:
    """A million uses in twenty domains; a tenth of them where there is little time."""
    count = USES // 10 if ground.quick else USES
    database = IndexDatabase(None, lambda: None, AGENDA)
    database.begin()
    for name in ("outcome", "used"):
        some = list(_outcomes(count) if name == "outcome" else _used(count))
        marks = ", ".join("?" * len(some[0]))
        for row in some:
            database.rows(f"insert into {name} values ({marks})", row)  # noqa: S608
    head = Staged(database, lambda _: {})
    uses = Uses(Store(Path(), AGENDA))
    whole = _timed(database, head, uses, [f"d{n}" for n in range(DOMAINS)])
    one = _timed(database, head, uses, ["d0"])
    known = head.uses.sums(Sums)
    if sum(len(sums.columns) for sums in known.values()) != DOMAINS * SKILLS:
        raise AssertionError("not every skill was assessed")
    work = f"lifts of {DOMAINS * SKILLS:,} skills from {count:,} uses"
    yield at_most(work, Figure("all", whole, "s"), SECONDS)
    yield at_most("the same", Figure(f"one domain of {DOMAINS} again", one, "s"), AGAIN)


def _timed(database: IndexDatabase, head: Staged, uses: Uses, due: list[str]) -> float:
    for domain in due:
        database.rows("insert or ignore into due values ('lift', ?)", [domain])
    return spent(lambda: uses.follow(head)).wall / 1e3


def _outcomes(count: int) -> Iterator[tuple[Any, ...]]:
    chance = random.Random(1)
    for n in range(count // TOGETHER):
        status = "success" if chance.random() < 0.5 else "failure"
        place = (f"d{n % DOMAINS}", "fix", f"t{n % 7}", "local", n)
        yield n, f"o{n}", *place, None, None, None, status, None


def _used(count: int) -> Iterator[tuple[Any, ...]]:
    chance = random.Random(2)
    for n in range(count // TOGETHER):
        for skill in chance.sample(range(SKILLS), TOGETHER):
            yield f"o{n}", f"s{n % DOMAINS}-{skill}", n, "tool", 1.0, None, "shown"
