"""Baselines for the ranking: FTS5's own bm25, and shared words."""

import re
import sqlite3
from collections.abc import Callable, Sequence

from skillvault.model.text.text import similarity
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document

Rank = Callable[[str], list[str]]


def ours(documents: Sequence[Document]) -> Rank:
    """`skillvault search --words`."""
    database = index_documents(documents)
    return lambda query: [hit.id for hit in ranking.search_texts(database, query, 10)]


def semantic(documents: Sequence[Document]) -> Rank:
    """`skillvault search` with the extra `semantic`."""
    from skillvault.vault.search.vectors import compute_nearness  # noqa: PLC0415 (where the extra is installed)

    database = index_documents(documents)
    return lambda query: [
        hit.id for hit in ranking.search_texts(database, query, 10, nearness=compute_nearness)
    ]


def fts5(documents: Sequence[Document]) -> Rank:
    """SQLite FTS5: each word of the query once, porter stems, bm25 with weights 3, 2, 1."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "create virtual table t using fts5(id unindexed, a, b, c, tokenize = 'porter unicode61')"
    )
    rows = ((one.id, one.name, one.description, one.body) for one in documents)
    database.executemany("insert into t values (?, ?, ?, ?)", rows)
    asked = "select id from t where t match ? order by bm25(t, 0, 3, 2, 1), rowid limit 10"

    def rank(query: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        expression = " OR ".join(f'"{word}"' for word in words)
        return [name for (name,) in database.execute(asked, (expression,))] if words else []

    return rank


def index_documents(documents: Sequence[Document]) -> sqlite3.Connection:
    """Return an index of these documents alone."""
    database = sqlite3.connect(":memory:")
    ranking.create_tables(database)
    ranking.add_documents(database, documents)
    return database


def shared_words(documents: Sequence[Document]) -> Rank:
    """The share of words in common, as facts are compared with each other."""
    texts = {one.id: f"{one.name} {one.description} {one.body}" for one in documents}

    def rank(query: str) -> list[str]:
        return sorted(texts, key=lambda name: (-similarity(query, texts[name]), name))[:10]

    return rank
