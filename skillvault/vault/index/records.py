"""The records of the vault: those of a folder by their ids, and all by their addresses."""

from collections.abc import Iterable, Iterator, Mapping, ValuesView
from datetime import datetime
from typing import Generic, TypeVar, cast

from skillvault.model.records import (
    Answer,
    Evaluation,
    Fact,
    Outcome,
    RecordKind,
    Ref,
    Retraction,
    Session,
    Skill,
    Trust,
)
from skillvault.model.skill_evidence import TRIED, TryLines
from skillvault.vault.files.work_tree import Key
from skillvault.vault.index.reader import FILE, Reader, Topic
from skillvault.vault.index.rows import Parsed, Row, decoded, moment

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


class Records(Topic):
    """Every record, readable or not; `in` takes a Ref or its `<kind>:<id>`."""

    def __contains__(self, address: object) -> bool:
        return self.path_of(ref_from(str(address))) is not None

    def path_of(self, ref: Ref) -> str | None:
        """The path of a record; None if there is no such record."""
        query = "select path from file where ref_kind = ? and ref_id = ? order by path limit 1"
        if ref.kind == "link":
            query = (
                "select path from link l join file on file.n = l.file "
                "where ? = 'link' and l.id = ? order by path limit 1"
            )
        path: str | None = self._reader.value(query, [ref.kind, ref.id])
        return path

    def tried(self, name: str) -> tuple[str, ...]:
        """Return the tries of a served guide, a line each, as the file beside it has them."""
        query = "select type, value from file where path = ? and value is not null"
        rows = self._reader.rows(query, [f"skills/{name}/references/{TRIED}"])
        found = (decoded(kind, value) for kind, value in rows)
        return next((one.lines for one in found if isinstance(one, TryLines)), ())

    def existing(self, refs: Iterable[Ref]) -> set[Ref]:
        """Those of these records that are there."""
        pending = list(refs)
        links = [ref for ref in pending if ref.kind == "link"]
        others = [ref for ref in pending if ref.kind != "link"]
        query = "select ref_kind, ref_id from file where ref_kind = ? and ref_id in {}"
        rows = [*self._reader.rows_of(query, others)]
        rows += self._reader.rows_of(
            "select 'link', id from link where ? = 'link' and id in {}", links
        )
        return {Ref(*row) for row in rows}

    def with_prefix(self, kind: RecordKind, prefix: str) -> list[Ref]:
        """The records of a kind whose id begins with a text."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        query = (
            "select distinct ref_id from file "
            "where ref_kind = ? and ref_id >= ? and ref_id < ? order by ref_id"
        )
        if kind == "link":
            query = (
                "select distinct id from link where ? = 'link' and id >= ? and id < ? order by id"
            )
        return [Ref(kind, name) for (name,) in self._reader.rows(query, [kind, prefix, end])]

    def count_by_folder(self) -> dict[str, int]:
        """How many records each of the vault's folders has."""
        query = "select top, count(*) from file where ref_id is not null group by top"
        return dict(self._reader.rows(query))

    def at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record, or the problem that keeps it from being read."""
        query = f"{FILE} where type is not null and path in {{}}"
        return {row[0]: self._reader.record(row) for row in self._reader.rows_in(query, paths)}

    def at_blobs(self, keys: Iterable[Key]) -> dict[Key, Parsed]:
        """(path, blob) -> its record, of those (path, blob) that the vault has."""
        blobs = dict(keys)
        query = f"{FILE} where type is not null and path in {{}}"
        rows = self._reader.rows_in(query, blobs)
        return {
            (path, blob): self._reader.record((path, blob, *values))
            for path, blob, *values in rows
            if blobs[path] == blob
        }


def ref_from(key: str) -> Ref:
    """The address that `<kind>:<id>` is."""
    kind, _, record_id = key.partition(":")
    return Ref(cast("RecordKind", kind), record_id)


class Answers(Folder[Answer]):
    """Key of a question -> its answer, and the queries about answers."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "answers", Answer)

    def about(self, subject: str) -> list[Answer]:
        """What was answered about a subject, by key."""
        query = "select id from answer where subject = ? order by id"
        return list(self.get_many(name for (name,) in self._reader.rows(query, [subject])).values())

    def count_of_session(self, session: str) -> int:
        """How many answers a session gave."""
        query = "select count(distinct id) from answer where session = ?"
        return int(self._reader.value(query, [session]))


class Sessions(Folder[Session]):
    """id -> session, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "sessions", Session)

    def in_order(self, ids: Iterable[str]) -> list[Session]:
        """Those of these sessions that are there, in the order of time."""
        return sorted(self.get_many(ids).values(), key=lambda session: session.order)

    def domains_of(self, trust: Trust) -> frozenset[str]:
        """The domains of the sessions that one of this trust is compared with."""
        query = "select distinct domain from session where trust in ('local', ?)"
        return frozenset(domain for (domain,) in self._reader.rows(query, [trust]))

    def latest_time(self, domain: str | None = None) -> datetime | None:
        """When the latest trusted session ended, of a domain or of all."""
        where = "trust = 'local'" + ("" if domain is None else " and domain = ?")
        values = [] if domain is None else [domain]
        at = self._reader.value(f"select max(at) from session where {where}", values)
        return None if at is None else moment(at)

    def of_outcome(self, outcome: str) -> list[str]:
        """The ids of the sessions that an outcome says it came from."""
        query = (
            "select s.id from outcome o join session s on s.name = o.session "
            "where o.id = ? and s.trust = o.trust order by s.id"
        )
        return [name for (name,) in self._reader.rows(query, [outcome])]

    def behind(self, skill: str) -> list[str]:
        """The ids of the sessions that a skill was distilled from, through merges too."""
        query = (
            "with recursive line (id) as (select ? union select l.source_id from line "
            "join link l on l.target_id = line.id where l.type = 'merged' "
            "and l.target_kind = 'skill' and l.source_kind = 'skill') "
            "select distinct l.source_id from line join link l on l.target_id = line.id "
            "where l.target_kind = 'skill' and l.source_kind = 'session' order by 1"
        )
        return [name for (name,) in self._reader.rows(query, [skill])]
