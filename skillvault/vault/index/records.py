"""Query records by id, address and path, and the links between records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from datetime import datetime
from typing import Generic, TypeVar, cast

from msgspec import Struct

from skillvault.model.records import (
    Answer,
    Evaluation,
    Fact,
    Link,
    LinkType,
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
from skillvault.vault.index.reader import FILE_ROWS, Reader, Topic
from skillvault.vault.index.rows import (
    DamagedRowError,
    Parsed,
    Row,
    decode,
    group,
    moment,
    parse_link,
)

_R = TypeVar("_R", Outcome, Evaluation, Session, Fact, Skill, Answer, Retraction)

_PAGE = 1000  # records read at once in an iteration


class Folder(Mapping[str, _R], Generic[_R]):
    """The records of one folder of the vault by id, which are read when they are needed."""

    def __init__(self, reader: Reader, top: str, kind: type[_R]) -> None:
        self._reader = reader
        self._top = top
        self._kind: type[_R] = kind

    def __getitem__(self, record_id: str) -> _R:
        return self.get_many([record_id])[record_id]

    def __contains__(self, record_id: object) -> bool:
        return isinstance(record_id, str) and bool(self.get_many([record_id]))

    def __iter__(self) -> Iterator[str]:
        return (record_id for record_id, _ in self._pages())

    def __len__(self) -> int:
        query = """select count(distinct ref_id) from file
            where top = ? and ref_id is not null and type = ?"""
        return int(self._reader.value(query, [self._top, self._kind.__name__]))

    def values(self) -> ValuesView[_R]:
        """Return a view of the records, which reads one page at a time."""
        return _Values(self)

    def get_many(self, ids: Iterable[str]) -> dict[str, _R]:
        """Return the existing records with these ids."""
        query = """select ref_id, path, blob, type, value from file
            where top = ? and ref_id in {} order by ref_id, path"""
        return dict(self._read(self._reader.rows_matching(query, ids, prefix=[self._top])))

    def _pages(self) -> Iterator[tuple[str, _R]]:
        query = f"""select ref_id, path, blob, type, value from file
            where top = ? and ref_id > ? order by ref_id, path limit {_PAGE}"""
        last_id = ""
        while rows := self._reader.rows(query, [self._top, last_id]):
            last_id = rows[-1][0]
            yield from self._read(rows)

    def _read(self, rows: Iterable[Row]) -> Iterator[tuple[str, _R]]:
        """Yield (id, record) for sorted rows, using the first of several files with one id."""
        previous_id = None
        for record_id, *row in rows:
            record = self._reader.parse_row(tuple(row)) if record_id != previous_id else None
            previous_id = record_id
            if isinstance(record, self._kind):
                yield record_id, record


class _Values(ValuesView[_R]):
    _mapping: Folder[_R]

    def __iter__(self) -> Iterator[_R]:
        return (record for _, record in self._mapping._pages())  # noqa: SLF001 (its own view)


class Records(Topic):
    """All records, readable or not. `in` takes a Ref or an address `<kind>:<id>`."""

    def __contains__(self, address: object) -> bool:
        return self.path_of(parse_ref(str(address))) is not None

    def path_of(self, ref: Ref) -> str | None:
        """Return the path of a record, or None."""
        if ref.kind == "link":
            query = "select path from link l join file on file.n = l.file where l.id = ?"
            paths = self._reader.column(f"{query} order by path limit 1", [ref.id])
        else:
            query = "select path from file where ref_kind = ? and ref_id = ? order by path limit 1"
            paths = self._reader.column(query, [ref.kind, ref.id])
        return next(iter(paths), None)

    def read_tries(self, name: str) -> tuple[str, ...]:
        """Return the tries of a served guide, one for each line of its file of tries."""
        query = "select type, value from file where path = ? and value is not null"
        rows = self._reader.rows(query, [f"skills/{name}/references/{TRIED}"])
        parsed_files = (decode(kind, value) for kind, value in rows)
        return next((record.lines for record in parsed_files if isinstance(record, TryLines)), ())

    def existing(self, refs: Iterable[Ref]) -> set[Ref]:
        """Return the records that exist."""
        ref_list = list(refs)
        links = [ref.id for ref in ref_list if ref.kind == "link"]
        link_ids = self._reader.column_matching("select id from link where id in {}", links)
        query = "select ref_kind, ref_id from file where ref_kind = ? and ref_id in {}"
        rows = self._reader.rows_of(query, (ref for ref in ref_list if ref.kind != "link"))
        return {Ref(*row) for row in rows} | {Ref("link", link_id) for link_id in link_ids}

    def with_prefix(self, kind: RecordKind, prefix: str) -> list[Ref]:
        """Return the records of a kind whose ids begin with `prefix`."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        if kind == "link":
            query = "select distinct id from link where id >= ? and id < ? order by id"
            ids = self._reader.column(query, [prefix, end])
        else:
            query = """select distinct ref_id from file
                where ref_kind = ? and ref_id >= ? and ref_id < ? order by ref_id"""
            ids = self._reader.column(query, [kind, prefix, end])
        return [Ref(kind, record_id) for record_id in ids]

    def count_by_folder(self) -> dict[str, int]:
        """Return the number of records in each folder."""
        query = "select top, count(*) from file where ref_id is not null group by top"
        return dict(self._reader.rows(query))

    def unreadable_paths(self) -> list[str]:
        """Return the paths of the files that should hold a record and cannot be read."""
        return self._reader.column("select path from file where type = 'Problem' order by path")

    def by_path(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """Return the record at each path, or the problem with the record."""
        query = f"{FILE_ROWS} where type is not null and path in {{}}"
        rows = self._reader.rows_matching(query, paths)
        return {row[0]: self._reader.parse_row(row) for row in rows}

    def by_blob(self, keys: Iterable[Key]) -> dict[Key, Parsed]:
        """Return the record of each (path, blob) that the vault has."""
        blobs = dict(keys)
        query = f"{FILE_ROWS} where type is not null and path in {{}}"
        rows = self._reader.rows_matching(query, blobs)
        return {row[:2]: self._reader.parse_row(row) for row in rows if blobs[row[0]] == row[1]}


def parse_ref(key: str) -> Ref:
    """Parse an address `<kind>:<id>`."""
    kind, _, record_id = key.partition(":")
    return Ref(cast("RecordKind", kind), record_id)


class Answers(Folder[Answer]):
    """The answers by the key of their question, and the queries about answers."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "answers", Answer)

    def about(self, subject: str) -> list[Answer]:
        """Return the answers about a subject, ordered by key."""
        query = "select id from answer where subject = ? order by id"
        return list(self.get_many(self._reader.column(query, [subject])).values())

    def count_of_session(self, session: str) -> int:
        """Return the number of answers that came from a session."""
        query = "select count(distinct id) from answer where session = ?"
        return int(self._reader.value(query, [session]))


class Sessions(Folder[Session]):
    """The sessions by id, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "sessions", Session)

    def in_order(self, ids: Iterable[str]) -> list[Session]:
        """Return the existing sessions with these ids, oldest first."""
        return sorted(self.get_many(ids).values(), key=lambda session: session.order)

    def domains_of(self, trust: Trust) -> frozenset[str]:
        """Return the domains whose sessions may be compared with a session of this trust."""
        query = "select distinct domain from session where trust in ('local', ?)"
        return frozenset(self._reader.column(query, [trust]))

    def latest_time(self, domain: str | None = None) -> datetime | None:
        """Return the end of the latest trusted session in a domain, or in all domains."""
        condition = "trust = 'local'" + ("" if domain is None else " and domain = ?")
        values = [] if domain is None else [domain]
        at = self._reader.value(f"select max(at) from session where {condition}", values)
        return None if at is None else moment(at)

    def of_outcome(self, outcome: str) -> list[str]:
        """Return the ids of the sessions that an outcome names as its source."""
        query = """select s.id from outcome o join session s on s.name = o.session
            where o.id = ? and s.trust = o.trust order by s.id"""
        return self._reader.column(query, [outcome])

    def sources_of(self, skill: str) -> list[str]:
        """Return the ids of a skill's source sessions, including those of skills merged into it."""
        query = """with recursive line (id) as (select ?
            union select l.source_id from line join link l on l.target_id = line.id
            where l.type = 'merged' and l.target_kind = 'skill' and l.source_kind = 'skill')
            select distinct l.source_id from line join link l on l.target_id = line.id
            where l.target_kind = 'skill' and l.source_kind = 'session' order by 1"""
        return self._reader.column(query, [skill])


_LINK = "select id, type, source_kind, source_id, target_kind, target_id, at, metadata from link"


class LinkEnds(Struct, frozen=True):
    """A link's type, source and target."""

    type: LinkType
    source: Ref
    target: Ref


class Links(Topic, Mapping[str, Link]):
    """The links by id, and the queries about them. Of links with one id the earlier counts."""

    def __getitem__(self, link_id: str) -> Link:
        return self.get_many([link_id])[link_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reader.column("select distinct id from link order by id"))

    def __len__(self) -> int:
        return int(self._reader.value("select count(distinct id) from link"))

    def get_many(self, ids: Iterable[str]) -> dict[str, Link]:
        """Return the existing links with these ids."""
        query, link_ids = f"{_LINK} where id in {{}}", list(ids)
        links = self._links(lambda: list(self._reader.rows_matching(query, link_ids)))
        return {link.id: link for link in links}

    def by_target(self, refs: Iterable[Ref]) -> list[Link]:
        """Return the links to these records, ordered by id."""
        return self._by_end("target", refs)

    def by_source(self, refs: Iterable[Ref]) -> list[Link]:
        """Return the links from these records, ordered by id."""
        return self._by_end("source", refs)

    def _by_end(self, end: str, refs: Iterable[Ref]) -> list[Link]:
        query = f"{_LINK} where {end}_kind = ? and {end}_id in {{}}"
        distinct_refs = list(dict.fromkeys(refs))
        return self._links(lambda: list(self._reader.rows_of(query, distinct_refs)))

    def of_type(self, link_type: str) -> list[Link]:
        """Return the links of a type, ordered by id."""
        return self._links(lambda: self._reader.rows(f"{_LINK} where type = ?", [link_type]))

    def _links(self, query_rows: Callable[[], Sequence[Row]]) -> list[Link]:
        try:
            links = [parse_link(row) for row in query_rows()]
        except DamagedRowError as error:
            self._reader.source.mend(error)
            links = [parse_link(row) for row in query_rows()]
        links.sort(key=lambda link: (link.id, link.created_at), reverse=True)
        return [*{link.id: link for link in links}.values()][::-1]

    def path_of_list(self, owner: Ref) -> str | None:
        """Return the path of a record's list of links, or None."""
        query = """select f.path from link l join file f on f.n = l.file
            where l.{0}_id = ? and l.{0}_kind = ? {1} order by f.path limit 1"""
        ends = [query.format("source", ""), query.format("target", "and l.source_kind = 'origin'")]
        paths = (self._reader.value(query, [owner.id, owner.kind]) for query in ends)
        return next(filter(None, paths), None)

    def lists_of(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of these links by the path of the list that has them."""
        query = "select f.path, l.id from link l join file f on f.n = l.file where l.id in {}"
        return group(self._reader.rows_matching(query, ids))

    def source_ids(self, target: Ref, link_type: str) -> list[str]:
        """Return the ids of the records that have a link of this type to a record, sorted."""
        query = """select source_id from link
            where target_kind = ? and target_id = ? and type = ? order by source_kind, source_id"""
        return self._reader.column(query, [target.kind, target.id, link_type])

    def sources_among(self, refs: Iterable[Ref], target: Ref) -> set[str]:
        """Return the ids of the records among `refs` that have a link to `target`."""
        query = """select source_id from link
            where target_kind = ? and target_id = ? and source_kind = ? and source_id in {}"""
        rows = self._reader.rows_of(query, refs, prefix=[target.kind, target.id])
        return {source_id for (source_id,) in rows}

    def merge_targets(self, refs: Iterable[Ref]) -> dict[str, str]:
        """Return for each skill the evolved skill into which it was merged."""
        query = """select source_id, target_id from link
            where type = 'merged' and source_kind = ? and source_id in {} order by id"""
        return dict(self._reader.rows_of(query, refs))

    def ends(self) -> dict[str, LinkEnds]:
        """Return the type and the ends of every link, by id."""
        query = """select id, type, source_kind, source_id, target_kind, target_id
            from link order by id"""
        return {
            link_id: LinkEnds(link_type, Ref(kind, source), Ref(target_kind, target))
            for link_id, link_type, kind, source, target_kind, target in self._reader.rows(query)
        }

    def count_by_type(self) -> dict[str, int]:
        """Return the number of links of each type."""
        query = "select type, count(*) from link group by type order by type"
        return dict(self._reader.rows(query))
