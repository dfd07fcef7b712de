"""The records of one of the vault's folders as a mapping, read when they are asked for."""

from collections.abc import Iterable, Iterator, Mapping, ValuesView
from typing import Generic, TypeVar

from skillvault.model.records import Answer, Evaluation, Fact, Outcome, Retraction, Session, Skill
from skillvault.vault.index.reader import Reader
from skillvault.vault.index.rows import Row

_R = TypeVar("_R", Outcome, Evaluation, Session, Fact, Skill, Answer, Retraction)

_PAGE = 1000  # records read at once if all of them are looked at


class Folder(Mapping[str, _R], Generic[_R]):
    """id -> record of one folder of the vault, in the order of the ids; read when asked for."""

    def __init__(self, reader: Reader, top: str, kind: type[_R]) -> None:
        self._reader = reader
        self._top = top
        self._kind: type[_R] = kind

    def __getitem__(self, name: str) -> _R:
        return self.get_many([name])[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get_many([name]))

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pages())

    def __len__(self) -> int:
        query = (
            "select count(distinct ref_id) from file "
            "where top = ? and ref_id is not null and type = ?"
        )
        return int(self._reader.value(query, [self._top, self._kind.__name__]))

    def values(self) -> ValuesView[_R]:
        """The records, a page at a time."""
        return _Values(self)

    def get_many(self, names: Iterable[str]) -> dict[str, _R]:
        """Those of these ids that are there."""
        query = (
            "select ref_id, path, blob, type, value from file "
            "where top = ? and ref_id in {} order by ref_id, path"
        )
        return dict(self._read(self._reader.rows_in(query, names, before=[self._top])))

    def _pages(self) -> Iterator[tuple[str, _R]]:
        query = (
            "select ref_id, path, blob, type, value from file where top = ? and ref_id > ? "
            f"order by ref_id, path limit {_PAGE}"
        )
        last = ""
        while rows := self._reader.rows(query, [self._top, last]):
            last = rows[-1][0]
            yield from self._read(rows)

    def _read(self, rows: Iterable[Row]) -> Iterator[tuple[str, _R]]:
        """The records of rows that are sorted; of two of one id the first."""
        previous = None
        for record_id, *row in rows:
            record = self._reader.record(tuple(row)) if record_id != previous else None
            previous = record_id
            if isinstance(record, self._kind):
                yield record_id, record


class _Values(ValuesView[_R]):
    _mapping: Folder[_R]

    def __iter__(self) -> Iterator[_R]:
        return (record for _, record in self._mapping._pages())  # noqa: SLF001 (its own view)
