"""The records of the vault's folders as mappings, read when they are asked for."""

from collections.abc import Iterable, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from skillvault.records import Evaluation, Fact, Link, Outcome, Skill

if TYPE_CHECKING:
    from skillvault.vault.index.snapshot import Snapshot

_R = TypeVar("_R", Outcome, Evaluation, Fact, Skill, Link)

_PAGE = 1000  # records read at once where all of them are looked at


class Records(Mapping[str, _R], Generic[_R]):
    """id -> record of one folder of the vault, in the order of the ids; read when asked for."""

    def __init__(self, snapshot: "Snapshot", top: str, kind: type[_R]) -> None:
        self._snapshot = snapshot
        self._top = top
        self._kind: type[_R] = kind

    def __getitem__(self, name: str) -> _R:
        found = self.of([name])
        return found[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.of([name]))

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pages())

    def __len__(self) -> int:
        query = (
            "select count(distinct ref_id) from file "
            "where top = ? and ref_id is not null and type = ?"
        )
        return int(self._snapshot.ask(query, [self._top, self._kind.__name__])[0][0])

    def values(self) -> ValuesView[_R]:
        """The records, a page at a time."""
        return _Values(self)

    def of(self, names: Iterable[str]) -> dict[str, _R]:
        """Those of these ids that are there."""
        query = (
            "select ref_id, path, blob, type, value from file "
            "where top = ? and ref_id in {} order by ref_id, path"
        )
        return dict(self._read(self._snapshot.ask_in(query, names, before=[self._top])))

    def _pages(self) -> Iterator[tuple[str, _R]]:
        query = (
            "select ref_id, path, blob, type, value from file where top = ? and ref_id > ? "
            f"order by ref_id, path limit {_PAGE}"
        )
        last = ""
        while rows := self._snapshot.ask(query, [self._top, last]):
            last = rows[-1][0]
            yield from self._read(rows)

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, _R]]:
        """The records of rows that are sorted; of two of one id the first."""
        before = None
        for record_id, *row in rows:
            record = self._snapshot.record_of(*row) if record_id != before else None
            before = record_id
            if isinstance(record, self._kind):
                yield record_id, record


class _Values(ValuesView[_R]):
    _mapping: Records[_R]

    def __iter__(self) -> Iterator[_R]:
        return (record for _, record in self._mapping._pages())  # noqa: SLF001 (its own view)


class Contents(Mapping[str, str]):
    """path -> blob id of every file of HEAD."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self._snapshot = snapshot

    def __getitem__(self, path: str) -> str:
        found = self._snapshot.ask("select blob from file where path = ?", [path])
        if not found:
            raise KeyError(path)
        return cast("str", found[0][0])

    def __iter__(self) -> Iterator[str]:
        return (path for (path,) in self._snapshot.ask("select path from file order by path"))

    def __len__(self) -> int:
        return int(self._snapshot.ask("select count(*) from file")[0][0])
