"""`search` over 10,000 documents, beside a bare SQLite FTS5 query of the same words."""

import random
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ground import Ground
from row import Figure, Row, at_most, quantile, spent, within

from skillvault import Vault

DOCUMENTS = 10_000
QUERIES = 100


def rows(ground: Ground) -> Iterator[Row]:
    """The time of a query, half of them and nearly all."""
    root = ground.shelf(DOCUMENTS)
    texts = [path.read_text() for path in sorted(root.glob("skills/*/SKILL.md"))]
    asked = queries(texts)
    bare = indexed(texts)
    alone = [spent(partial(matched, bare, query)).wall for query in asked]
    work = f"search, {DOCUMENTS:,} documents"
    theirs = Figure("SQLite FTS5 OR, p50", quantile(alone, 0.5), "ms")
    search = _search(root)
    search(asked[0])  # what is built once is not the query's
    found = [spent(partial(search, query)).wall for query in asked]
    yield within(f"{work}: p50", Figure("search, p50", quantile(found, 0.5), "ms"), theirs, 3)
    note = f"FTS5's p95 {quantile(alone, 0.95):.1f} ms"
    yield at_most(f"{work}: p95", Figure("search, p95", quantile(found, 0.95), "ms"), 30, note)


def _search(root: Path) -> Any:
    """Return a search by words alone, as on a machine without a model."""
    return partial(Vault.open(root).search, k=10, semantic=False)


def queries(texts: list[str], seed: int = 1) -> list[str]:
    """A few words each, taken from the documents."""
    chance = random.Random(seed)
    words = ((w.strip("-.:#") for w in chance.choice(texts).split()) for _ in range(QUERIES))
    return [" ".join(chance.sample(sorted({w for w in of if w.isalpha()}), 6)) for of in words]


def indexed(texts: list[str]) -> sqlite3.Connection:
    """The documents in a full-text index in memory."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table documents using fts5(text)")
    database.executemany("insert into documents values (?)", ([text] for text in texts))
    return database


def matched(database: sqlite3.Connection, query: str) -> list[Any]:
    """The ten best that hold any of the words."""
    wanted = " OR ".join(f'"{word}"' for word in query.split())
    said = "select rowid from documents where documents match ? order by rank limit 10"
    return database.execute(said, [wanted]).fetchall()
