"""Under which keys the facts of the vault are found: which may say the same as another.

What a key is `sameness` says; one that is not kept yet is `loop.alike_facts`' to look through.
"""

from collections.abc import Iterable

from skillvault.vault.index.database import IndexDatabase
from skillvault.vault.index.reader import Reader
from skillvault.vault.index.rows import bound


class FactKeys:
    """The keys that are kept of facts."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def under(self, keys: Iterable[str]) -> set[str]:
        """The facts that are kept under any of these keys."""
        rows = self._reader.rows_in(
            "select distinct fact from fact_key where key in {}", map(bound, keys)
        )
        return {fact for (fact,) in rows}

    def keys_of(self, facts: Iterable[str]) -> set[str]:
        """The keys that these facts are kept under."""
        rows = self._reader.rows_in(
            "select distinct key from fact_key where fact in {}", map(bound, facts)
        )
        return {key for (key,) in rows}


class WritableFactKeys(FactKeys):
    """The keys of facts; more can be kept."""

    def __init__(self, reader: Reader, database: IndexDatabase) -> None:
        super().__init__(reader)
        self._database = database

    def keep_fact(self, fact: str, keys: Iterable[str]) -> None:
        """Keep a fact under these keys alone."""
        self._database.begin()
        name = bound(fact)
        self._database.rows("delete from fact_key where fact = ?", [name])
        rows = [(name, bound(key)) for key in keys]
        query = "insert or ignore into fact_key (fact, key) values (?, ?)"
        self._database.run(lambda database: database.executemany(query, rows) and None)
