"""Put records into the queues of the steps, when files change.

The declarations in `model.due` are compiled to SQL queries. A key stays in a queue until the step
finds nothing to do for the key.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from skillvault.model import due
from skillvault.model.records import Ref
from skillvault.vault.index.rows import bind

_MARK = "insert or ignore into due select"
_TABLES = {
    "outcome": "outcome", "fact": "fact", "session": "session", "skill": "skill", "use": "used",
    "answer": "answer",
}  # fmt: skip
# Kinds with a table of their own.
_TYPED = {"outcome", "fact", "session", "skill", "link", "recommendation", "answer", "correction"}
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
# From a run, table by table, to the runs that may say the same or the opposite.
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
# The tables with the file numbers of an event; for other events the keys are passed.
_FILES: Mapping[due.Event, str] = {
    "changed": "changed", "gone": "changed", "moved": "moved", "went": "moved",
}  # fmt: skip
_GOING = ("gone", "went")  # the index still has the links of the old file


class _Path(NamedTuple):
    """The records that a `Trigger` reaches, as the parts of a query.

    `tables` are in the order of reading. `id` and `row` belong to the last table.
    """

    kind: str
    id: str
    row: str | None  # the row of the record's own table, once that is joined
    tables: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    before: str = ""

    @property
    def body(self) -> str:
        """The tables and the conditions of the query."""
        clause = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"from {' cross join '.join(self.tables)}{clause}"  # keeps the order of the tables

    @property
    def alias(self) -> str:
        """An alias for one more table."""
        return f"t{len(self.tables)}"


class Marks(NamedTuple):
    """An agenda as queries: those for an event by (kind, event), and those that mark everything."""

    queries: Mapping[tuple[str, due.Event], list[str]]
    everything: list[str]
    missing: list[due.Queue]
    steps: frozenset[str]


@cache
def compile_agenda(agenda: due.Agenda) -> Marks:
    """Compile the declarations of an agenda to queries."""
    queries: dict[tuple[str, due.Event], list[str]] = {}
    missing_queues = [queue for queue in agenda.queues if queue.without]
    for queue in agenda.queues:
        for trigger in queue.when if queue not in missing_queues else ():
            query = _compile_trigger(queue, trigger)
            queries.setdefault((trigger.kind, trigger.event), []).append(query)
    marking_queries = [_compile_everything(queue) for queue in agenda.queues if queue.every]
    return Marks(queries, marking_queries, missing_queues, frozenset(agenda.steps))


def mark_files(
    database: sqlite3.Connection,
    marks: Marks,
    numbers: Mapping[int, str],
    moved_numbers: Collection[int],
    *,
    old: bool = False,
) -> None:
    """Mark the records that become due by a change of files; `numbers` maps number to kind.

    `moved_numbers` are new, removed and moved files. With `old`, the index still has the
    old state.
    """
    for table, rows in (("changed", numbers), ("moved", moved_numbers)):
        database.execute(f"create temp table if not exists {table} (n integer primary key)")
        database.execute(f"delete from {table}")
        database.executemany(f"insert into {table} values (?)", [(number,) for number in rows])
    events = [event for event in _FILES if old or event not in _GOING]
    for kind in sorted(set(numbers.values())):
        for event in events:
            for query in marks.queries.get((kind, event), ()):
                database.execute(query)


def mark(database: sqlite3.Connection, marks: Marks, event: due.Event, ids: Iterable[str]) -> None:
    """Mark the records that become due by an event of these records."""
    rows = [(bind(record_id),) for record_id in ids]
    for (_, trigger), queries in marks.queries.items():
        for query in queries if trigger == event else ():
            database.executemany(query, rows)


def mark_missing(database: sqlite3.Connection, marks: Marks, refs: Collection[Ref]) -> None:
    """Mark those of these records that lack a record of another kind, and unmark the others."""
    for queue in marks.missing:
        kinds = {trigger.kind for trigger in queue.when}
        keys = [(bind(name),) for name in sorted({ref.id for ref in refs if ref.kind in kinds})]
        database.executemany(f"delete from due where step = '{queue.name}' and key = ?", keys)
        database.executemany(f"{_compile_everything(queue)} and t0.id = ?", keys)


def mark_everything(database: sqlite3.Connection, marks: Marks) -> None:
    """Mark every record in every queue."""
    for query in marks.everything:
        database.execute(query)


def _compile_everything(queue: due.Queue) -> str:
    kind = str(queue.every)
    path = _Path(kind, "t0.skill" if kind == "use" else "t0.id", "t0", (f"{_TABLES[kind]} t0",))
    query = f"{_MARK} distinct '{queue.name}', {_key_columns(queue, path)} {path.body}"
    if kind == "skill":
        query += " where t0.n > 0"  # else of another layer
    if queue.without is None:
        return query
    records = f"select 1 from file e where e.ref_id = t0.id and e.ref_kind = '{queue.without}'"
    return f"{query} where not exists ({records})"


def _compile_trigger(queue: due.Queue, trigger: due.Trigger) -> str:
    path = _start_path(trigger)
    for relation in trigger.along:
        path = _follow(path, relation)
    if queue.key != ("id",) and path.row is None:
        path = _join_row(path)
    return f"{path.before}{_MARK} '{queue.name}', {_key_columns(queue, path)} {path.body}"


def _key_columns(queue: due.Queue, path: _Path) -> str:
    fields = (path.id if name == "id" else f"coalesce({path.row}.{name}, '')" for name in queue.key)
    return " || ' ' || ".join(fields)


def _start_path(trigger: due.Trigger) -> _Path:
    kind, table = trigger.kind, _FILES.get(trigger.event)
    if table is None:
        return _Path(kind, "t0.id", None, ("(select ? as id) t0",))
    conditions = [f"t0.n in (select n from {table})"]
    if trigger.types:
        types = ", ".join(f"'{name}'" for name in trigger.types)
        conditions.append(f"t0.{_TYPES[kind]} in ({types})")
    if kind in _TYPED:
        return _Path(kind, "t0.id", "t0", (f"{kind} t0",), tuple(conditions))
    conditions.append(f"t0.ref_kind = '{kind}'")
    return _Path(kind, "t0.ref_id", None, ("file t0",), tuple(conditions))


def _join_row(path: _Path) -> _Path:
    # An evaluation goes by its outcome's id.
    table = "outcome" if path.kind == "evaluation" else path.kind
    conditions = (f"{path.alias}.id = {path.id}", f"{path.alias}.n > 0")  # else of another layer
    return _join(path, path.kind, f"{table} {path.alias}", *conditions)


def _join(path: _Path, kind: str, table: str, *conditions: str) -> _Path:
    row = path.alias
    record_id = f"{row}.skill" if kind == "use" else f"{row}.id"
    parts = (*path.tables, table), (*path.conditions, *conditions)
    return _Path(kind, record_id, row, *parts, path.before)


def _follow(path: _Path, relation: due.Relation) -> _Path:  # noqa: C901,PLR0911,PLR0912 (one a relation)
    row = path.alias
    match relation:
        case due.LinkSource() | due.LinkTarget():
            return _follow_end(path, relation)
        case due.Referrers(kind, link_type, first):
            conditions = tuple(_link_conditions(row, path, relation))
            if first:
                earlier_link = (
                    *_link_conditions("l", path, relation),
                    f"l.source_id < {row}.source_id",
                )
                conditions += (
                    f"not exists (select 1 from link l where {' and '.join(earlier_link)})",
                )
            links = _join(path, kind, f"link {row}", *conditions)
            return links._replace(id=f"{row}.source_id", row=None)
        case due.LinkClosure(link_type):
            return _follow_sources(path, link_type)
        case due.RelatedOutcomes(link_type):
            condition = _SAME[link_type].format(new=row, old=path.row)
            return _join(path, "outcome", f"outcome {row}", condition)
        case due.DomainRecords(kind):
            skill_domain = f"(select domain from skill where skill.id = {path.id} and skill.n > 0)"
            condition = f"coalesce({skill_domain}, {row}.domain) = {row}.domain"
            return _join(path, kind, f"{kind} {row}", condition)
        case due.LinkedRecords(kind):
            return _follow_targets(path, kind)
        case due.SimilarEvaluations(link_type):
            return _follow_sayings(path, link_type)
        case due.IdPrefix(text):
            return path._replace(conditions=(*path.conditions, f"{path.id} glob '{text}*'"))
        case due.Predecessor():
            return _join(path, "fact", f"fact {row}", f"{row}.id = {path.row}.supersedes")
        case due.QuotingOutcomes():
            return _join(path, "outcome", f"outcome {row}", f"{row}.scope = {path.row}.scope")
        case due.UsedSkills():
            return _join(path, "use", f"used {row}", f"{row}.{path.kind} = {path.id}")
        case due.UsingOutcomes():
            uses = _join(path, "use", f"used {row}", f"{row}.skill = {path.id}")
            alias = uses.alias
            return _join(uses, "outcome", f"outcome {alias}", f"{alias}.id = {row}.outcome")


def _follow_end(path: _Path, relation: due.LinkSource | due.LinkTarget) -> _Path:
    """Follow a link to the record at one of its ends."""
    end = f"{path.row}.{'source' if isinstance(relation, due.LinkSource) else 'target'}"
    conditions = (*path.conditions, f"{end}_kind = '{relation.kind}'")
    if isinstance(relation, due.LinkSource) and relation.to:
        conditions += (f"{path.row}.target_kind = '{relation.to}'",)
    return path._replace(kind=relation.kind, id=f"{end}_id", row=None, conditions=conditions)


def _follow_sources(path: _Path, link_type: str) -> _Path:
    """Add the sources of links of a type, recursively."""
    links = " and ".join(_target_conditions("l", path.kind, "line.id"))
    prefix = (
        f"with recursive line (id) as (select {path.id} {path.body} union select l.source_id "
        f"from line cross join link l where {links} and l.source_kind = '{path.kind}' "
        f"and l.type = '{link_type}') "
    )
    return _Path(path.kind, "t0.id", None, ("line t0",), before=prefix)


def _follow_targets(path: _Path, kind: str) -> _Path:
    """Follow links to their targets of a kind, recursively."""
    start = "evaluation" if path.kind == "outcome" else path.kind
    prefix = (
        f"with recursive line (kind, id) as (select '{start}', {path.id} {path.body} "
        "union select l.target_kind, l.target_id from line cross join link l "
        "where l.source_id = line.id and l.source_kind = line.kind "
        f"and (l.type != 'contradicted' or '{kind}' = 'fact')) "
    )
    return _Path(kind, "t0.id", None, ("line t0",), (f"t0.kind = '{kind}'",), prefix)


def _follow_sayings(path: _Path, relation: str) -> _Path:
    """Follow the stored words or claims to the evaluations that share them."""
    start, previous_row = path.id, path.row
    for table, condition in _SAID[relation]:
        row = path.alias
        path = _join(
            path,
            "evaluation",
            f"{table} {row}",
            condition.format(new=row, old=previous_row, id=start),
        )
        previous_row = row
    return path._replace(id=f"{previous_row}.evaluation", row=None)


def _link_conditions(row: str, path: _Path, relation: due.Referrers) -> Iterator[str]:
    """Yield the conditions for a link from a record of a kind to the path's records."""
    yield from _target_conditions(row, path.kind, path.id)
    yield f"{row}.source_kind = '{relation.kind}'"
    if relation.type:
        yield f"{row}.type = '{relation.type}'"


def _target_conditions(row: str, kind: str, record_id: str) -> tuple[str, str]:
    """Return the conditions for a link to a record."""
    return f"{row}.target_id = {record_id}", f"{row}.target_kind = '{kind}'"
