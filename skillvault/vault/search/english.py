"""English for the search: stems, words of questions; texts without spaces are cut.

General words say little of what a text is about. FTS5 makes the stems, which are read back from a
table in memory.
"""

import re
import sqlite3
from collections.abc import Sequence

from skillvault.model.text.text import UNSPACED

FIELDS = ("name", "description", "body", "task")
TOKENS = "porter unicode61"
_RUN = re.compile(f"[{UNSPACED}]{{2,}}")

# What a question or a request is put in more often than what it is about.
GENERAL_WORDS = frozenset(
    """
    come comes coming came feel feels feeling felt find finds finding found get gets getting got
    gotten give gives giving gave given go goes going went gone keep keeps keeping kept know knows
    knew known let lets like likes look looks looking looked make makes making made need needs
    needed put puts say says saying said see sees seeing saw seen start starts starting started
    take takes taking took taken tell tells telling told think thinks thinking thought try tries
    trying tried use uses want wants wanting wanted
    again anyway hello help helps hey hi maybe no now ok okay please sure thank thanks yes
    kind kinds lot lots many much someone something sort sorts thing things type types way ways
    """.split()
)


def spaced(text: str) -> str:
    """A text whose runs of scripts without spaces are cut into pairs of characters.

    So that a word within such a run is found; the pairs overlap.
    """
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return " ".join(["", *(text[i : i + 2] for i in range(len(text) - 1)), ""])


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
        """(stem, field, how often) of the fields' texts, by stem."""
        self._database.execute("delete from t")
        self._database.execute("insert into t values (?, ?, ?, ?)", texts)
        return self._database.execute("select term, col, cnt from v order by term, col").fetchall()
