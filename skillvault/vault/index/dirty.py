"""What a changed file makes due: the declarations of the rules, compiled to SQL and run.

A key stands in a queue until the step finds nothing to do for it.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from skillvault.model.due import (
    Agenda,
    DomainRecords,
    Event,
    IdPrefix,
    LinkClosure,
    LinkedRecords,
    LinkSource,
    LinkTarget,
    Predecessor,
    Queue,
    Referrers,
    RelatedOutcomes,
    Relation,
    SimilarEvaluations,
    Trigger,
    UsedSkills,
    UsingOutcomes,
)
from skillvault.model.records import Ref
from skillvault.vault.index.rows import bound

_MARK = "insert or ignore into due select"
_TABLES = {
    "outcome": "outcome", "fact": "fact", "session": "session", "skill": "skill", "use": "used",
    "answer": "answer",
}  # fmt: skip
# Kinds with a table of their own.
_TYPED = {"outcome", "fact", "session", "skill", "link", "recommendation", "answer"}
_TYPES = {"link": "type", "skill": "kind"}
_ACTION = ("domain", "action", "trust")
_SAME = {
    "decision": "{new}.decision = {old}.decision",
    "action": " and ".join(f"{{new}}.{name} = {{old}}.{name}" for name in _ACTION),
    "clock": (
        "{new}.domain = {old}.domain and not exists (select 1 from outcome later "
        "where later.domain = {old}.domain and later.at >= {old}.at "
        "and later.n not in (select n from moved))"
    ),
}
# From the run that says something to those that may say the same or the opposite, table by table.
_SAID = {
    "words": (
        ("saying", "{new}.evaluation = {id}"),
        ("saying_key", "{new}.domain = {old}.domain and {new}.words = {old}.words"),
        ("saying_key", "{new}.domain = {old}.domain and {new}.key = {old}.key"),
        ("saying", "{new}.domain = {old}.domain and {new}.words = {old}.words"),
    ),
    "grounds": (
        ("saying", "{new}.evaluation = {id}"),
        ("saying", "{new}.domain = {old}.domain and {new}.words = {old}.words"),
    ),
}
# Files whose numbers stand in these tables; of any other event the keys are handed over.
_FILES: Mapping[Event, str] = {
    "changed": "changed", "gone": "changed", "moved": "moved", "went": "moved",
}  # fmt: skip
_GOING = ("gone", "went")  # what led from a file is known while it is shown as it was


class _Path(NamedTuple):
    """What a `Trigger` reaches: tables in the order they are read in, and the last record's id."""

    kind: str
    id: str
    row: str | None  # its row of the table of its kind, once that is read
    tables: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    before: str = ""

    @property
    def body(self) -> str:
        """The tables and the conditions of the query."""
        where = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"from {' cross join '.join(self.tables)}{where}"  # read in this very order

    @property
    def new(self) -> str:
        """A name for one table more."""
        return f"t{len(self.tables)}"


class Marks(NamedTuple):
    """An agenda as queries: by kind and event those that mark, and those that mark everything."""

    queries: Mapping[tuple[str, Event], list[str]]
    everything: list[str]
    missing: list[Queue]
    steps: frozenset[str]


@cache
def compiled(agenda: Agenda) -> Marks:
    """The queries that the declarations of the rules come to."""
    queries: dict[tuple[str, Event], list[str]] = {}
    missing = [queue for queue in agenda.queues if queue.without]
    for queue in agenda.queues:
        for when in queue.when if queue not in missing else ():
            queries.setdefault((when.kind, when.event), []).append(_query(queue, when))
    everything = [_everything(queue) for queue in agenda.queues if queue.every]
    return Marks(queries, everything, missing, frozenset(agenda.steps))


def mark_files(
    database: sqlite3.Connection,
    marks: Marks,
    numbers: Mapping[int, str],
    moved: Collection[int],
    *,
    going: bool = False,
) -> None:
    """Mark what is due because of these files: number -> the kind of its record.

    `moved` are those that came, went or moved; `going`: they are shown as they were.
    """
    for table, rows in (("changed", numbers), ("moved", moved)):
        database.execute(f"create temp table if not exists {table} (n integer primary key)")
        database.execute(f"delete from {table}")
        database.executemany(f"insert into {table} values (?)", [(n,) for n in rows])
    events = [event for event in _FILES if going or event not in _GOING]
    for kind in sorted(set(numbers.values())):
        for event in events:
            for query in marks.queries.get((kind, event), ()):
                database.execute(query)


def mark(database: sqlite3.Connection, marks: Marks, event: Event, ids: Iterable[str]) -> None:
    """Mark what is due because of an event that is no file's, of the records of these ids."""
    rows = [(bound(record_id),) for record_id in ids]
    for (_, of), queries in marks.queries.items():
        for query in queries if of == event else ():
            database.executemany(query, rows)


def mark_missing(database: sqlite3.Connection, marks: Marks, refs: Collection[Ref]) -> None:
    """Let those of these records be due that have no record of another kind, and no others."""
    for queue in marks.missing:
        kinds = {when.kind for when in queue.when}
        keys = [(bound(name),) for name in sorted({ref.id for ref in refs if ref.kind in kinds})]
        database.executemany(f"delete from due where step = '{queue.name}' and key = ?", keys)
        database.executemany(f"{_everything(queue)} and t0.id = ?", keys)


def mark_everything(database: sqlite3.Connection, marks: Marks) -> None:
    """Mark all that there is, for every queue."""
    for query in marks.everything:
        database.execute(query)


def _everything(queue: Queue) -> str:
    kind = str(queue.every)
    path = _Path(kind, "t0.skill" if kind == "use" else "t0.id", "t0", (f"{_TABLES[kind]} t0",))
    found = f"{_MARK} distinct '{queue.name}', {_key(queue, path)} {path.body}"
    if kind == "skill":
        found += " where t0.n > 0"  # else of another layer
    if queue.without is None:
        return found
    there = f"select 1 from file e where e.ref_id = t0.id and e.ref_kind = '{queue.without}'"
    return f"{found} where not exists ({there})"


def _query(queue: Queue, when: Trigger) -> str:
    path = _begun(when)
    for relation in when.along:
        path = _followed(path, relation)
    if queue.key != ("id",) and path.row is None:
        path = _with_row(path)
    return f"{path.before}{_MARK} '{queue.name}', {_key(queue, path)} {path.body}"


def _key(queue: Queue, path: _Path) -> str:
    fields = (path.id if name == "id" else f"coalesce({path.row}.{name}, '')" for name in queue.key)
    return " || ' ' || ".join(fields)


def _begun(when: Trigger) -> _Path:
    kind, table = when.kind, _FILES.get(when.event)
    if table is None:
        return _Path(kind, "t0.id", None, ("(select ? as id) t0",))
    conditions = [f"t0.n in (select n from {table})"]
    if when.types:
        types = ", ".join(f"'{name}'" for name in when.types)
        conditions.append(f"t0.{_TYPES[kind]} in ({types})")
    if kind in _TYPED:
        return _Path(kind, "t0.id", "t0", (f"{kind} t0",), tuple(conditions))
    conditions.append(f"t0.ref_kind = '{kind}'")
    return _Path(kind, "t0.ref_id", None, ("file t0",), tuple(conditions))


def _with_row(path: _Path) -> _Path:
    # An evaluation goes by its outcome's id.
    table = "outcome" if path.kind == "evaluation" else path.kind
    alike = (f"{path.new}.id = {path.id}", f"{path.new}.n > 0")  # else of another layer
    return _joined(path, path.kind, f"{table} {path.new}", *alike)


def _joined(path: _Path, kind: str, table: str, *conditions: str) -> _Path:
    row = path.new
    record_id = f"{row}.skill" if kind == "use" else f"{row}.id"
    added = (*path.tables, table), (*path.conditions, *conditions)
    return _Path(kind, record_id, row, *added, path.before)


def _followed(path: _Path, relation: Relation) -> _Path:  # noqa: C901,PLR0911 (one a relation)
    row = path.new
    match relation:
        case LinkSource() | LinkTarget():
            return _at_end(path, relation)
        case Referrers(kind, of, first):
            conditions = tuple(_linked(row, path, relation))
            if first:
                before = (*_linked("l", path, relation), f"l.source_id < {row}.source_id")
                conditions += (f"not exists (select 1 from link l where {' and '.join(before)})",)
            links = _joined(path, kind, f"link {row}", *conditions)
            return links._replace(id=f"{row}.source_id", row=None)
        case LinkClosure(of):
            return _closed(path, of)
        case RelatedOutcomes(of):
            alike = _SAME[of].format(new=row, old=path.row)
            return _joined(path, "outcome", f"outcome {row}", alike)
        case DomainRecords(kind):
            known = f"(select domain from skill where skill.id = {path.id} and skill.n > 0)"
            alike = f"coalesce({known}, {row}.domain) = {row}.domain"
            return _joined(path, kind, f"{kind} {row}", alike)
        case LinkedRecords(kind):
            return _reached(path, kind)
        case SimilarEvaluations(of):
            return _saying(path, of)
        case IdPrefix(text):
            return path._replace(conditions=(*path.conditions, f"{path.id} glob '{text}*'"))
        case Predecessor():
            return _joined(path, "fact", f"fact {row}", f"{row}.id = {path.row}.supersedes")
        case UsedSkills():
            return _joined(path, "use", f"used {row}", f"{row}.{path.kind} = {path.id}")
        case UsingOutcomes():
            uses = _joined(path, "use", f"used {row}", f"{row}.skill = {path.id}")
            return _joined(uses, "outcome", f"outcome {uses.new}", f"{uses.new}.id = {row}.outcome")


def _at_end(path: _Path, relation: LinkSource | LinkTarget) -> _Path:
    """The record at one end of a link."""
    end = f"{path.row}.{'source' if isinstance(relation, LinkSource) else 'target'}"
    conditions = (*path.conditions, f"{end}_kind = '{relation.kind}'")
    if isinstance(relation, LinkSource) and relation.to:
        conditions += (f"{path.row}.target_kind = '{relation.to}'",)
    return path._replace(kind=relation.kind, id=f"{end}_id", row=None, conditions=conditions)


def _closed(path: _Path, of: str) -> _Path:
    """What a path reaches, and all with a link of a type to it, and so on."""
    links = " and ".join(_pointing("l", path.kind, "line.id"))
    before = (
        f"with recursive line (id) as (select {path.id} {path.body} union select l.source_id "
        f"from line cross join link l where {links} and l.source_kind = '{path.kind}' "
        f"and l.type = '{of}') "
    )
    return _Path(path.kind, "t0.id", None, ("line t0",), before=before)


def _reached(path: _Path, kind: str) -> _Path:
    """The records of a kind to which links lead from what a path reaches, and so on."""
    start = "evaluation" if path.kind == "outcome" else path.kind
    before = (
        f"with recursive line (kind, id) as (select '{start}', {path.id} {path.body} "
        "union select l.target_kind, l.target_id from line cross join link l "
        "where l.source_id = line.id and l.source_kind = line.kind "
        f"and (l.type != 'contradicted' or '{kind}' = 'fact')) "
    )
    return _Path(kind, "t0.id", None, ("line t0",), (f"t0.kind = '{kind}'",), before)


def _saying(path: _Path, of: str) -> _Path:
    """The evaluations whose words, or whose grounds, are kept beside those of what is reached."""
    start, old = path.id, path.row
    for table, condition in _SAID[of]:
        row = path.new
        path = _joined(
            path, "evaluation", f"{table} {row}", condition.format(new=row, old=old, id=start)
        )
        old = row
    return path._replace(id=f"{old}.evaluation", row=None)


def _linked(row: str, path: _Path, relation: Referrers) -> Iterator[str]:
    """That the link of a row leads from a record of a kind to what a path reaches."""
    yield from _pointing(row, path.kind, path.id)
    yield f"{row}.source_kind = '{relation.kind}'"
    if relation.type:
        yield f"{row}.type = '{relation.type}'"


def _pointing(row: str, kind: str, record_id: str) -> tuple[str, str]:
    """That the link of a row points to a record."""
    return f"{row}.target_id = {record_id}", f"{row}.target_kind = '{kind}'"
