"""Stems as FTS5 makes them, read back from a table in memory; nothing of a vault is asked."""

import sqlite3
from collections.abc import Sequence

FIELDS = ("name", "description", "body")
TOKENS = "porter unicode61"


class Stems:
    """A stemmer; close it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f"create virtual table t using fts5({', '.join(FIELDS)}, tokenize='{TOKENS}')"
        )
        self._database.execute("create virtual table v using fts5vocab(t, 'col')")

    def close(self) -> None:
        """Let go of the table."""
        self._database.close()

    def counts(self, texts: Sequence[str]) -> list[tuple[str, str, int]]:
        """(stem, field, how often) of the three fields' texts, by stem."""
        self._database.execute("delete from t")
        self._database.execute("insert into t values (?, ?, ?)", texts)
        return self._database.execute("select term, col, cnt from v order by term, col").fetchall()
