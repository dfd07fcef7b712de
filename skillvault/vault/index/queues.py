"""Put records into the queues of the steps when files change.

The declarations in `model.due` are compiled to SQL queries. A key stays in a queue until the step
finds nothing to do for the key.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from skillvault.model import due
from skillvault.model.records import Ref
from skillvault.vault.index.rows import bind

_INSERT_DUE = "insert or ignore into due select"
_KINDS_WITH_TABLE = frozenset(
    "outcome fact session skill link recommendation answer correction".split()
)
_TYPE_COLUMNS = {"link": "type", "skill": "kind"}
_RELATED_OUTCOMES = {
    "decision": "{new}.decision = {old}.decision",
    "action": """{new}.domain = {old}.domain and {new}.action = {old}.action
        and {new}.trust = {old}.trust""",
    "repaired": """{new}.session = {old}.session and {new}.trust = {old}.trust
        and {new}.at < {old}.at and not exists (select 1 from outcome middle
        where middle.session = {old}.session and middle.trust = {old}.trust
        and middle.at > {new}.at and middle.at < {old}.at)""",
    "clock": """{new}.domain = {old}.domain and not exists (select 1 from outcome later
        where later.domain = {old}.domain and later.at >= {old}.at
        and later.n not in (select n from moved))""",
}
# From a run, table by table, to the runs that may say the same or the opposite.
_SAYING_PATHS = {
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
# The tables with the file numbers of an event; the other events get the ids of records.
_FILE_TABLES: Mapping[due.Event, str] = {
    "changed": "changed", "gone": "changed", "moved": "moved", "went": "moved",
}  # fmt: skip
_OLD_STATE_EVENTS = ("gone", "went")  # the index still has the links of the old file


class _Path(NamedTuple):
    """The records that a `Trigger` reaches, as the parts of a query.

    `tables` are in the order of reading. `id` and `row` belong to the last table.
    """

    kind: str
    id: str
    row: str | None  # the row of the record's own table, once that is joined
    tables: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def body(self) -> str:
        """The tables and the conditions of the query."""
        clause = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"from {' cross join '.join(self.tables)}{clause}"  # keeps the order of the tables

    @property
    def alias(self) -> str:
        """The alias for the next table."""
        return f"t{len(self.tables)}"


class _QueueQueries(NamedTuple):
    """The queries that fill the queues of an agenda.

    `by_event` has the queries of each (kind, event). `everything` puts every record into its
    queues. `missing` are the queues for records that lack another record.
    """

    by_event: Mapping[tuple[str, due.Event], list[str]]
    everything: list[str]
    missing: list[due.Queue]


class Queues:
    """The queues of the steps in one database. `steps` are the steps of the program."""

    def __init__(self, database: sqlite3.Connection, agenda: due.Agenda) -> None:
        self.steps = agenda.steps
        self._database = database
        self._queries = _compile_agenda(agenda)

    def mark_files(
        self, numbers: Mapping[int, str], moved_numbers: Collection[int], *, is_before: bool = False
    ) -> None:
        """Mark the records that become due because files change.

        `numbers` maps the number of each file to its kind. `moved_numbers` are new, removed and
        moved files. With `is_before`, the index still has the old state.
        """
        database = self._database
        for table, rows in (("changed", numbers), ("moved", moved_numbers)):
            database.execute(f"create temp table if not exists {table} (n integer primary key)")
            database.execute(f"delete from {table}")
            database.executemany(f"insert into {table} values (?)", [(number,) for number in rows])
        events = [event for event in _FILE_TABLES if is_before or event not in _OLD_STATE_EVENTS]
        for kind in sorted(set(numbers.values())):
            for event in events:
                for query in self._queries.by_event.get((kind, event), ()):
                    database.execute(query)

    def mark(self, event: due.Event, ids: Iterable[str]) -> None:
        """Mark the records that become due because an event happened to records."""
        rows = [(bind(record_id),) for record_id in ids]
        for (_, trigger_event), queries in self._queries.by_event.items():
            for query in queries if trigger_event == event else ():
                self._database.executemany(query, rows)

    def mark_missing(self, refs: Collection[Ref]) -> None:
        """Mark each of these records that lacks a record of another kind, and unmark the rest."""
        for queue in self._queries.missing:
            kinds = {trigger.kind for trigger in queue.when}
            keys = [(bind(key),) for key in sorted({ref.id for ref in refs if ref.kind in kinds})]
            delete = f"delete from due where step = '{queue.name}' and key = ?"
            self._database.executemany(delete, keys)
            self._database.executemany(f"{_compile_everything(queue)} and t0.id = ?", keys)

    def mark_everything(self) -> None:
        """Mark every record in every queue."""
        for query in self._queries.everything:
            self._database.execute(query)


@cache
def _compile_agenda(agenda: due.Agenda) -> _QueueQueries:
    queries: dict[tuple[str, due.Event], list[str]] = {}
    missing_queues = [queue for queue in agenda.queues if queue.without]
    for queue in agenda.queues:
        for trigger in queue.when if queue not in missing_queues else ():
            query = _compile_trigger(queue, trigger)
            queries.setdefault((trigger.kind, trigger.event), []).append(query)
    everything = [_compile_everything(queue) for queue in agenda.queues if queue.every]
    return _QueueQueries(queries, everything, missing_queues)


def _compile_everything(queue: due.Queue) -> str:
    kind = str(queue.every)
    table, record_id = ("used", "t0.skill") if kind == "use" else (kind, "t0.id")
    path = _Path(kind, record_id, "t0", (f"{table} t0",))
    query = f"{_INSERT_DUE} distinct '{queue.name}', {_key_columns(queue, path)} {path.body}"
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
    return f"{path.prefix}{_INSERT_DUE} '{queue.name}', {_key_columns(queue, path)} {path.body}"


def _key_columns(queue: due.Queue, path: _Path) -> str:
    fields = (path.id if name == "id" else f"coalesce({path.row}.{name}, '')" for name in queue.key)
    return " || ' ' || ".join(fields)


def _start_path(trigger: due.Trigger) -> _Path:
    kind, table = trigger.kind, _FILE_TABLES.get(trigger.event)
    if table is None:
        return _Path(kind, "t0.id", None, ("(select ? as id) t0",))
    conditions = [f"t0.n in (select n from {table})"]
    if trigger.types:
        types = ", ".join(f"'{name}'" for name in trigger.types)
        conditions.append(f"t0.{_TYPE_COLUMNS[kind]} in ({types})")
    if kind in _KINDS_WITH_TABLE:
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
    return _Path(kind, record_id, row, *parts, path.prefix)


def _follow(path: _Path, relation: due.Relation) -> _Path:  # noqa: C901,PLR0911,PLR0912 (one a relation)
    row = path.alias
    match relation:
        case due.LinkSource() | due.LinkTarget():
            return _follow_end(path, relation)
        case due.Referrers(kind, _, first):
            conditions = _link_conditions(row, path, relation)
            if first:
                earlier = [*_link_conditions("l", path, relation), f"l.source_id < {row}.source_id"]
                query = f"select 1 from link l where {' and '.join(earlier)}"
                conditions.append(f"not exists ({query})")
            links = _join(path, kind, f"link {row}", *conditions)
            return links._replace(id=f"{row}.source_id", row=None)
        case due.LinkClosure(link_type):
            return _follow_sources(path, link_type)
        case due.RelatedOutcomes(kinship):
            condition = _RELATED_OUTCOMES[kinship].format(new=row, old=path.row)
            return _join(path, "outcome", f"outcome {row}", condition)
        case due.DomainRecords(kind):
            skill_domain = f"(select domain from skill where skill.id = {path.id} and skill.n > 0)"
            condition = f"coalesce({skill_domain}, {row}.domain) = {row}.domain"
            return _join(path, kind, f"{kind} {row}", condition)
        case due.LinkedRecords(kind):
            return _follow_targets(path, kind)
        case due.SimilarEvaluations(likeness):
            return _follow_sayings(path, likeness)
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
    end = f"{path.row}.{'source' if isinstance(relation, due.LinkSource) else 'target'}"
    conditions = (*path.conditions, f"{end}_kind = '{relation.kind}'")
    if isinstance(relation, due.LinkSource) and relation.to:
        conditions += (f"{path.row}.target_kind = '{relation.to}'",)
    return path._replace(kind=relation.kind, id=f"{end}_id", row=None, conditions=conditions)


def _follow_sources(path: _Path, link_type: str) -> _Path:
    prefix = f"""with recursive line (id) as (select {path.id} {path.body}
        union select l.source_id from line cross join link l where l.target_id = line.id
        and l.target_kind = '{path.kind}' and l.source_kind = '{path.kind}'
        and l.type = '{link_type}') """
    return _Path(path.kind, "t0.id", None, ("line t0",), prefix=prefix)


def _follow_targets(path: _Path, kind: str) -> _Path:
    start = "evaluation" if path.kind == "outcome" else path.kind
    prefix = f"""with recursive line (kind, id) as (select '{start}', {path.id} {path.body}
        union select l.target_kind, l.target_id from line cross join link l
        where l.source_id = line.id and l.source_kind = line.kind
        and (l.type != 'contradicted' or '{kind}' = 'fact')) """
    return _Path(kind, "t0.id", None, ("line t0",), (f"t0.kind = '{kind}'",), prefix)


def _follow_sayings(path: _Path, likeness: str) -> _Path:
    """Extend a path from evaluations to those with the same words or claims."""
    start, previous_row = path.id, path.row
    for table, template in _SAYING_PATHS[likeness]:
        row = path.alias
        condition = template.format(new=row, old=previous_row, id=start)
        path = _join(path, "evaluation", f"{table} {row}", condition)
        previous_row = row
    return path._replace(id=f"{previous_row}.evaluation", row=None)


def _link_conditions(row: str, path: _Path, relation: due.Referrers) -> list[str]:
    """Return the SQL conditions for links to the records of a path."""
    conditions = [
        f"{row}.target_id = {path.id}",
        f"{row}.target_kind = '{path.kind}'",
        f"{row}.source_kind = '{relation.kind}'",
    ]
    return [*conditions, f"{row}.type = '{relation.type}'"] if relation.type else conditions
