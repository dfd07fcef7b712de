"""Run queries on the index, and return rows or records. Every topic uses this reader."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from skillvault.model.errors import GitError
from skillvault.model.policy import Policy
from skillvault.model.records import Problem, Record, Ref
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.index.queues import Queues
from skillvault.vault.index.rows import DamagedRowError, Parsed, Row, bind, decode, read_value
from skillvault.vault.search import ranking

_R = TypeVar("_R", bound=Record)
_Value = TypeVar("_Value")
_Result = TypeVar("_Result")
Blobs = Callable[[Iterable[str]], Mapping[str, bytes]]

_POLICY = msgspec.msgpack.Decoder(Policy)
_ID_CHARACTERS = 40  # of a blob
_CHUNK = 500  # values in one query

FILE_ROWS = "select f.path, f.blob, f.type, f.value from file f"


class Rows(ABC):
    """A source of rows: the index, or a pinned state of it."""

    @abstractmethod
    def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the database. If the database is unusable, rebuild it and run again."""

    @abstractmethod
    def change(self, work: Callable[[sqlite3.Connection, Queues], _Result]) -> _Result:
        """Change derived data. Other connections see the change after it is saved."""

    @abstractmethod
    def mend(self, error: Exception) -> None:
        """Rebuild the index if the error means that it is damaged, else raise the error."""

    @abstractmethod
    def verify(self) -> bool:
        """Rebuild the index if it contradicts git. Return True if it was rebuilt."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query."""
        parameters = [bind(value) for value in values]
        return self.run(lambda database: database.execute(query, parameters).fetchall())

    def search_index(
        self, text: str, limit: int, filters: ranking.Filters, nearness: ranking.Near | None = None
    ) -> list[ranking.Hit]:
        """Return the documents that match a text best. Their ids are `<kind>:<id>`."""

        def find(database: sqlite3.Connection) -> ranking.Hits:
            try:
                return ranking.find(database, text, limit, filters, by_meaning=nearness is not None)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise DamagedRowError(f"the search fails: {error}") from error

        return self.run(find).rank(nearness)

    def decode_values(
        self, query: str, decode: Callable[[bytes], _Value], values: Sequence[Any] = ()
    ) -> dict[str, _Value]:
        """Return the decoded values by key, for a query that selects (key, value)."""
        parameters = [bind(value) for value in values]

        def decode_rows(database: sqlite3.Connection) -> dict[str, _Value]:
            rows = database.execute(query, parameters)
            return {key: read_value(value, decode) for key, value in rows}

        return self.run(decode_rows)

    def rows_matching(
        self, query: str, values: Iterable[Any], *, prefix: Sequence[Any] = ()
    ) -> Iterator[Row]:
        """Run a query in which `{}` is a list of values, in chunks, and yield its rows."""
        value_list = list(values)
        for start in range(0, len(value_list), _CHUNK):
            chunk = value_list[start : start + _CHUNK]
            placeholders = ",".join("?" * len(chunk))
            yield from self.rows(query.format(f"({placeholders})"), [*prefix, *chunk])

    def rows_of(
        self, query: str, refs: Iterable[Ref], *, prefix: Sequence[Any] = ()
    ) -> Iterator[Row]:
        """Run a query once for each kind of record, and yield its rows.

        The last `?` of the query is the kind, and its `{}` is the list of ids.
        """
        ids: dict[str, list[str]] = {}
        for ref in refs:
            ids.setdefault(ref.kind, []).append(ref.id)
        for kind, kind_ids in ids.items():
            yield from self.rows_matching(query, kind_ids, prefix=[*prefix, kind])

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first value of the first row, or None."""
        rows = self.rows(query, values)
        return rows[0][0] if rows else None

    def policy(self, blob: str) -> Policy | None:
        """Return the stored policy if it was read from this blob of vault.yaml, or None."""
        stored_policy = self.stored_policy()
        return stored_policy[1] if stored_policy and stored_policy[0] == blob else None

    def stored_policy(self) -> tuple[str, Policy] | None:
        """Return (blob, policy) of the last readable vault.yaml, or None."""

        def decode_policy(value: bytes) -> tuple[str, Policy]:
            return value[:_ID_CHARACTERS].decode(), _POLICY.decode(value[_ID_CHARACTERS:])

        query = "select name, value from state where name = 'policy'"
        return self.decode_values(query, decode_policy).get("policy")


class Reader:
    """A reader of rows, records and the bytes of files.

    `blobs` returns bytes by blob id.
    """

    def __init__(self, source: Rows, blobs: Blobs) -> None:
        self.source = source
        self.rows = source.rows
        self.rows_matching = source.rows_matching
        self.rows_of = source.rows_of
        self.value = source.value
        self.change = source.change
        self.blobs = blobs

    def column(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the first value of each row of a query."""
        return [value for value, *_ in self.rows(query, values)]

    def column_matching(
        self, query: str, values: Iterable[Any], *, prefix: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the first value of each row that `rows_matching` yields."""
        return [value for value, *_ in self.rows_matching(query, values, prefix=prefix)]

    def parse_row(self, row: Row) -> Parsed:
        """Return the record in a row of `file`, or the problem with the record."""
        path, _, kind, value = row
        if value is not None:  # else it must be parsed from the blob
            try:
                return decode(kind, value)
            except DamagedRowError as error:
                self.source.mend(error)
        content = self.read_bytes([path]).get(path)
        if content is None:  # only a damaged index has such a row
            return Problem(path, None, "gone", "not in git; ask again")
        return parse_record(path, content)

    def change_rows(self, query: str, values: Sequence[Any] = ()) -> None:
        """Run a query that changes rows."""
        self.change_many(query, [values])

    def change_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a query that changes rows, once for each tuple of values."""
        parameters = [tuple(map(bind, row)) for row in rows]
        self.change(lambda database, _: database.executemany(query, parameters))

    def read_bytes(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of existing files, by path."""
        path_list = list(paths)
        try:
            return self._bytes_of(path_list)
        except GitError:
            if not self.source.verify():  # the index is right, so git lacks an object
                raise
        return self._bytes_of(path_list)

    def _bytes_of(self, paths: Iterable[str]) -> dict[str, bytes]:
        blobs: dict[str, str] = dict(
            self.rows_matching("select path, blob from file where path in {}", paths)
        )
        contents = self.blobs(blobs.values())
        return {path: contents[blob] for path, blob in blobs.items()}

    def records(self, rows: Iterable[Row], kind: type[_R]) -> list[_R]:
        """Return the records of this kind among rows of `file`."""
        records = map(self.parse_row, rows)
        return [record for record in records if isinstance(record, kind)]


class Topic:
    """A group of queries about one topic, such as the links or the uses of skills."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
