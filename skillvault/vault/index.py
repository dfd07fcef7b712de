"""The projection: what HEAD's files and history say, in SQLite under the git dir.

It is disposable: it follows HEAD by the differences between two commits, and deleting it costs
the next command its time and nothing else. Several processes may use it at once. What a run has
laid and not published yet stands in an open transaction, which nobody else sees.
"""

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from skillvault.policy import Policy
from skillvault.records import (
    Commit,
    Evaluation,
    Fact,
    Link,
    Outcome,
    Problem,
    Recommendation,
    Record,
    Ref,
    Skill,
)
from skillvault.text import tokens
from skillvault.vault import layout, ranking

Parsed = Record | Problem
Row = tuple[Any, ...]
File = tuple[str, Parsed | None]  # the blob that stands at a path, and the record in it
_Answer = TypeVar("_Answer")

_KINDS: dict[str, type[Parsed]] = {kind.__name__: kind for kind in (*get_args(Record), Problem)}
_KEPT = {**_KINDS, "Policy": Policy}
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in _KINDS.items()}
_SKILLS = msgspec.msgpack.Decoder(dict[str, Skill])
_POLICY = msgspec.msgpack.Decoder(Policy)
_BLOB = 40  # characters of a blob's id
_ENCODER = msgspec.msgpack.Encoder()
_BUSY = 2.0  # seconds to wait for another process that writes
_CHUNK = 500  # values in one query
# Errors of a file that is no database, or not ours any more, and of a disk that does not serve.
_SPOILT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_UNUSABLE = _SPOILT | {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
_UNTEXT, _ESCAPED = re.compile("[\udc80-\udcff]"), re.compile("\0([89a-f][0-9a-f])")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# `file` is every file of HEAD; `value` its record, None where it must be parsed from the blob.
# The tables named after kinds hold what is asked of many records at once. `due` is what a step
# must look at again, `gone` what a commit made and HEAD has no more.
_SCHEMA = """
create table state (name text primary key, value text) without rowid;
create table file (
    n integer primary key, path text not null unique, blob text not null,
    top text not null, ref text, type text, value blob);
create index file_ref on file (ref, path) where ref is not null;
create index file_top on file (top, ref, path) where ref is not null;
create table outcome (
    n integer primary key, id text, domain text, action text, target text, trust text,
    at integer, event text, session text, decision text, status text, failed integer);
create index outcome_id on outcome (id);
create index outcome_group on outcome (domain, action, at, id, trust);
create index outcome_subject on outcome (domain, action, target, trust, at, id);
create index outcome_domain on outcome (domain, at, id, trust);
create index outcome_event on outcome (event) where event is not null;
create index outcome_decision on outcome (decision, at, id) where decision is not null;
create table recommendation (n integer primary key, id text, decision text, trust text);
create index recommendation_decision on recommendation (decision);
create table used (
    outcome text, skill text, made integer, match text, confidence real, quote text, offer text,
    primary key (outcome, skill)) without rowid;
create index used_skill on used (skill);
create table begun (skill text, at integer, primary key (skill, at)) without rowid;
create table sums (key text primary key, value blob) without rowid;
create table evidence (key text primary key, value blob) without rowid;
create table fact (n integer primary key, id text, domain text, trust text);
create index fact_domain on fact (domain, trust);
create index fact_id on fact (id);
create table skill (
    n integer primary key, id text, shelf text, domain text, kind text, status text,
    created text, expires text, tokens integer, roles text, stages text, blob text);
create index skill_shelf on skill (shelf, domain);
create index skill_id on skill (id);
create table link (n integer primary key, id text, type text, source text, target text);
create index link_source on link (source, id);
create index link_target on link (target, id);
create table commits (
    c integer primary key, sha text not null unique, depth integer, date text, step text,
    subject text);
create index commits_order on commits (depth, date, sha);
create table trailer (c integer, role text, place integer, ref text);
create index trailer_ref on trailer (ref, role, c);
create index trailer_c on trailer (c, role, place);
create table touch (ref text, c integer, primary key (ref, c)) without rowid;
create index touch_c on touch (c);
create table gone (ref text primary key) without rowid;
create table due (step text, key text, primary key (step, key)) without rowid;
"""
_TYPED = ("outcome", "recommendation", "fact", "skill", "link")
# The steps by which the program changes a skill; by any other commit a person does.
LEARNING = frozenset({"promote", "generate", "merge", "assess", "expire"})
_SERVED = "skills"  # the shelf whose skills are found

# What a changed file makes due, `changed` being a table of its numbers.
_SUBJECTS = ("promote", "generate", "strategy")
_MARK = "insert or ignore into due select "
_EVALUATION, _FACT, _SKILL = 12, 6, 7  # where an id begins after `evaluation:`, `fact:`, `skill:`
_CHANGED = "n in (select n from changed)"
_VERSION = f"{_MARK}'version', substr(ref, {_SKILL}) from touch"


def _ends(step: str, table: str, begins: int, key: str, also: str = "") -> Iterator[str]:
    """What is due because a changed link has a record of this table at an end."""
    for end in ("source", "target"):
        yield (
            f"{_MARK}'{step}', {key} from link l join {table} t "
            f"on t.id = substr(l.{end}, {begins}) and l.{end} like '{table}:%' "
            f"where l.{_CHANGED}{also}"
        )


_USERS = "from used u join outcome o on o.id = u.outcome"
_GROUP = "t.domain || ' ' || t.trust"
_MARKS = (
    *(
        f"{_MARK}'{step}', substr(ref, instr(ref, ':') + 1) from file "
        f"where {_CHANGED} and top in ('outcomes', 'evaluations')"
        for step in _SUBJECTS
    ),
    *(
        f"{_MARK}'{step}', substr(source, {_EVALUATION}) from link "
        f"where {_CHANGED} and source like 'evaluation:%'"
        for step in _SUBJECTS
    ),
    (
        f"{_MARK}'promote', substr(l.source, {_EVALUATION}) from fact f join link l "
        f"on l.target = 'fact:' || f.id where f.{_CHANGED} and l.source like 'evaluation:%'"
    ),
    f"{_MARK}'use', id from outcome where {_CHANGED}",
    (  # of one decision the last outcome counts
        f"{_MARK}'use', o.id from outcome c join outcome o on o.decision = c.decision "
        f"where c.{_CHANGED}"
    ),
    (
        f"{_MARK}'count', u.skill from used u join skill s on s.id = u.skill "
        "where s.n in (select n from moved)"
    ),
    f"{_MARK}'count', substr(source, {_SKILL}) from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'count', substr(target, {_SKILL}) from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'lift', domain from outcome where {_CHANGED}",
    (
        f"{_MARK}'lift', o.domain {_USERS} join skill s on s.id = u.skill "
        "where s.n in (select n from moved)"
    ),
    (
        f"{_MARK}'lift', o.domain {_USERS} join link l on l.source = 'skill:' || u.skill "
        f"where l.{_CHANGED} and l.type = 'merged'"
    ),
    (
        f"{_MARK}'use', o.id from recommendation r join outcome o on o.decision = r.decision "
        f"where r.{_CHANGED}"
    ),
    f"{_MARK}'name', id from skill where n in (select n from moved)",
    f"{_MARK}'consolidate', domain || ' ' || trust from fact where {_CHANGED}",
    *_ends("consolidate", "fact", _FACT, _GROUP),
    (
        f"{_MARK}'consolidate', {_GROUP} from skill s join link l "
        "on l.target = 'skill:' || s.id and l.type = 'derived' "
        f"join fact t on t.id = substr(l.source, {_FACT}) where s.{_CHANGED}"
    ),
    f"{_MARK}'merge', coalesce(domain, '') from skill where {_CHANGED}",
    *_ends(
        "merge", "skill", _SKILL, "coalesce(t.domain, '')", " and l.type in ('merged', 'derived')"
    ),
)
_COUNTS = f"{_MARK}'count', skill from used where outcome = ?"
# A skill that comes, goes or changes its folder: the outcomes that it and those merged into it
# were made of.
_LINES = """
with recursive line (ref) as (
    select 'skill:' || id from skill where n in (select n from moved)
    union select l.source from link l where l.n in (select n from changed) and l.type = 'merged'
    union select l.source from line join link l on l.target = line.ref and l.type = 'merged')
insert or ignore into due select 'generate', substr(l.source, 12)
from line join link l on l.target = line.ref where l.source like 'evaluation:%'
"""
# What a strategy was made of, when it comes, goes or changes its folder.
_STRATEGIES = """
insert or ignore into due select 'strategy', substr(l.source, 12) from skill s
join link l on l.target = 'skill:' || s.id and l.source like 'evaluation:%'
where s.kind = 'strategy' and s.n in (select n from moved)
"""
# Of an outcome that goes, the others of its subject.
_NEIGHBOURS = """
insert or ignore into due select 'generate', b.id from outcome a join outcome b
on b.domain = a.domain and b.action = a.action and b.target is a.target and b.trust = a.trust
and b.n != a.n where a.n in (select n from changed)
"""
_EVERYTHING = (
    *(
        f"insert or ignore into due select '{step}', id from outcome"
        for step in (*_SUBJECTS, "use")
    ),
    "insert or ignore into due select distinct 'lift', domain from outcome",
    "insert or ignore into due select distinct 'count', skill from used",
    "insert or ignore into due select distinct 'consolidate', domain || ' ' || trust from fact",
    "insert or ignore into due select distinct 'merge', coalesce(domain, '') from skill",
)
_GONE = """
insert or ignore into gone select distinct t.ref from trailer t
where t.role = 'target' and not exists (select 1 from file f where f.ref = t.ref)
"""


_ALL = (
    *(
        "file",
        *_TYPED,
        "used",
        "begun",
        "sums",
        "evidence",
        "commits",
        "trailer",
        "touch",
        "gone",
        "due",
        "state",
    ),
    *("ranked", "ranked_text"),
)


class Made(Struct, frozen=True):
    """A commit of the history: the program's own, or (step "") a person's.

    `depth` is the length of the longest way to it from the first commit; `touched` are the
    `<kind>:<id>` of the records whose files it changes.
    """

    commit: Commit
    depth: int
    touched: Sequence[str]


def _shape() -> int:
    """A number that changes with the tables and the fields of the records."""
    said = "".join(f"{name}{msgspec.inspect.type_info(kind)!r}" for name, kind in _KEPT.items())
    return (
        int.from_bytes(hashlib.sha256((_SCHEMA + ranking.VERSION + said).encode()).digest()[:4])
        & 0x7FFFFFFF
    )


class Projection:
    """One vault's projection. `path` is None where it is kept by this process alone.

    `heal` is called when what stood on disk cannot be used and an empty one takes its place.
    """

    def __init__(self, path: Path | None, heal: Callable[[], None]) -> None:
        self._path = path
        self._heal = heal
        self._database: sqlite3.Connection | None = None
        self._whole = False

    # ── asking ───────────────────────────────────────────────────────────────────────

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query; a projection that cannot be read is made anew first."""
        bound = [_bound(value) for value in values]
        return self._safely(lambda database: database.execute(query, bound).fetchall())

    def rows_in(
        self, query: str, values: Iterable[Any], *, before: Sequence[Any] = ()
    ) -> Iterator[Row]:
        """The rows of a query whose `{}` stands for a list of values, a few at a time."""
        wanted = list(values)
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            yield from self.rows(query.format(f"({marks})"), [*before, *chunk])

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """The first value of the first row; None where there is none."""
        found = self.rows(query, values)
        return found[0][0] if found else None

    @property
    def commit(self) -> str | None:
        """The commit that it shows; None for an unborn branch, and before it was built."""
        found: dict[str, str] = dict(
            self.rows("select name, value from state where name in ('commit', 'odd')")
        )
        if self._database is not None:
            self._database.text_factory = _text if "odd" in found else str
        return found.get("commit")

    def policy(self, blob: str) -> Policy | None:
        """What this blob of vault.yaml says; None where that is not kept."""
        kept = self.value("select value from state where name = 'policy'")
        if kept is None or kept[:_BLOB].decode() != blob:
            return None
        return _POLICY.decode(kept[_BLOB:])

    @property
    def depth(self) -> int:
        """The length of the longest way to that commit from the first one."""
        query = "select depth from commits where sha = ?"
        return self.value(query, [self.commit]) or 0

    @property
    def pending(self) -> bool:
        """Whether something is laid in it that is not published."""
        return self._database is not None and self._database.in_transaction

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Questions asked here see one moment, whatever other processes do."""
        if self.pending:
            yield
            return
        self.rows("begin")
        try:
            yield
        finally:
            self.rollback()

    # ── changing ─────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Begin to change it; nobody else sees it before `keep`."""
        if self.pending:
            return
        try:
            self.rows("begin immediate")
        except sqlite3.OperationalError:  # another process is at it
            self.part()
            self.rows("begin immediate")

    def keep(self) -> None:
        """Keep what was changed."""
        if self.pending:
            self._safely(lambda database: database.commit())

    def rollback(self) -> None:
        """Take back what was changed since `begin`."""
        if self._database is not None:
            self._database.rollback()

    def part(self) -> None:
        """Go on with a private copy, for which nobody waits."""
        database, copy = self._opened(), _connected("")
        self.rollback()
        database.backup(copy)
        database.close()
        self._database, self._path = copy, None

    def show(self, commit: str | None) -> None:
        """Note which commit is shown now."""
        self.rows("insert or replace into state values ('commit', ?)", [commit])

    def rule(self, blob: str, policy: Policy) -> None:
        """Keep what a blob of vault.yaml says: each question asks for it."""
        kept = blob.encode() + msgspec.msgpack.encode(policy)
        self.rows("insert or replace into state values ('policy', ?)", [kept])

    def put(self, files: Mapping[str, File | None]) -> None:
        """Set or (None) remove files, path -> (blob, record), and mark what is due thereby."""
        self._safely(lambda database: _put(database, files))

    def fill(self, files: Mapping[str, File]) -> None:
        """Add files to a projection that has none of them; `finish` marks what is due."""
        self._safely(lambda database: _insert(database, files) and None)

    def finish(self) -> None:
        """Mark everything due, and note anew what is gone."""
        for query in ("delete from gone", _GONE, *_EVERYTHING):
            self.rows(query)

    def settle(self, step: str, keys: Iterable[str]) -> None:
        """Nothing is to be done for these keys until something of theirs changes."""
        found = [(step, key) for key in keys]
        query = "delete from due where step = ? and key = ?"
        if found:
            self.begin()
            self._safely(lambda database: database.executemany(query, found) and None)

    def use(self, outcomes: Iterable[str], rows: Iterable[Row]) -> None:
        """Note which skills these outcomes applied, in place of what was noted of them."""
        self.begin()
        named = [(name,) for name in outcomes]
        found = [tuple(map(_bound, row)) for row in rows]
        self._safely(lambda database: _use(database, named, found))

    def search(
        self, text: str, limit: int, filters: ranking.Filters, near: ranking.Near | None = None
    ) -> list[tuple[str, float]]:
        """(`<kind>:<id>`, score) of the documents that answer a text best."""
        return self._safely(lambda database: ranking.search(database, text, limit, filters, near))

    def beside(self) -> dict[str, Skill]:
        """The skills that were read beside HEAD when `index_beside` was last told of others."""
        kept = self.value("select value from state where name = 'skills'")
        return _SKILLS.decode(kept) if kept else {}

    def index_beside(
        self, digest: str, documents: Sequence[ranking.Document], skills: Mapping[str, Skill]
    ) -> None:
        """Let documents be found that are no file of HEAD, in place of those before.

        `digest` tells them from others. `skills` are what was read for them, by what tells of
        each file; `beside` gives them back.
        """
        known = self.value("select value from state where name = 'beside'") or ""
        before, *ids = known.split("\n")
        if before == digest:
            return
        self.begin()
        query = f"select ref from file where top = '{_SERVED}' and type = 'Skill' and ref in {{}}"
        there = {ref for (ref,) in self.rows_in(query, ids)}
        self._safely(lambda database: ranking.remove(database, set(ids) - there))
        self._safely(lambda database: ranking.add(database, documents))
        for name in {one.id for one in documents}.symmetric_difference(ids):
            self.rows("insert or ignore into due values ('name', ?)", [name.partition(":")[2]])
        said = "\n".join([digest, *(one.id for one in documents)])
        self.rows("insert or replace into state values ('beside', ?)", [said])
        same = {key: skill for key, skill in skills.items() if _encoded(skill)}
        self.rows("insert or replace into state values ('skills', ?)", [_ENCODER.encode(same)])

    def enter(self, history: Iterable[Made]) -> None:
        """Take in commits, their parents before them."""
        self._safely(lambda database: _enter(database, history))

    def leave(self, commits: Iterable[str]) -> None:
        """Let go of commits that are no part of the history any more."""
        for sha in commits:
            number = self.value("select c from commits where sha = ?", [sha])
            self.rows(f"{_VERSION} where c = ? and ref like 'skill:%'", [number])
            for table in ("trailer", "touch", "commits"):
                self.rows(f"delete from {table} where c = ?", [number])

    def clear(self) -> None:
        """Make it empty."""
        for table in _ALL:
            self.rows(f"delete from {table}")

    # ── on disk ──────────────────────────────────────────────────────────────────────

    def whole(self, work: Callable[[], None]) -> None:
        """Do what only makes sense whole; all of it again where this projection cannot be used."""
        if self._whole:
            work()
            return
        self._whole = True
        try:
            work()
        except sqlite3.DatabaseError as error:
            self._leave(error)
            work()
        finally:
            self._whole = False

    def _safely(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do it, and once more on a new projection where this one cannot be used."""
        try:
            return work(self._opened())
        except sqlite3.DatabaseError as error:
            if self._whole:
                raise
            self._leave(error)
            self.whole(self._heal)
            return work(self._opened())

    def _leave(self, error: sqlite3.DatabaseError) -> None:
        """Let go of a projection that cannot be used; any other error is raised."""
        code = error.sqlite_errorcode & 0xFF
        if code not in _UNUSABLE:
            raise error
        self._discard(remove=code in _SPOILT)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = self._prepared_or_new()
        return self._database

    def _prepared_or_new(self) -> sqlite3.Connection:
        """What stands on disk, a new one in its place, or where that fails one in memory."""
        for _ in range(2):
            try:
                return self._prepared()
            except sqlite3.Error as error:
                # A full disk is no reason to remove what stands there; one of ours has no code.
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
                self._discard(remove=code & 0xFF in _SPOILT)
            except OSError:
                self._discard(remove=False)
        self._path = None
        return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        if self._path is None:
            return _made(_connected(":memory:"))
        self._path.parent.mkdir(exist_ok=True)
        database = _connected(f"{self._path}")
        try:
            if database.execute("pragma user_version").fetchone()[0] != _SHAPE:
                if database.execute("select count(*) from sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError("of another version")
                _made(database)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _discard(self, *, remove: bool) -> None:
        """Let go of what cannot be used; `remove`: a new one may stand in its place."""
        if self._database is not None:
            self._database.close()
            self._database = None
        path = self._path
        if path is None or not remove:
            self._path = None
            return
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):  # what cannot be removed is in nobody's way
                path.with_name(path.name + end).unlink(missing_ok=True)
        if path.exists():
            self._path = None


def decoded(kind: str, value: bytes) -> Parsed:
    """The record that a row holds."""
    return _DECODERS[kind].decode(value)


# ── the tables ───────────────────────────────────────────────────────────────────────


def _connected(name: str) -> sqlite3.Connection:
    # A vault may be used by several threads; SQLite itself lets one at a time.
    database = sqlite3.connect(name, timeout=_BUSY, check_same_thread=False, isolation_level=None)
    database.execute("pragma synchronous = off")  # what is lost is read again
    database.execute("pragma temp_store = memory")
    return database


def _bound(value: Any) -> Any:
    """A value as SQLite takes it: bytes of a path that are no text as NUL and two digits."""
    if not isinstance(value, str) or value.isascii():
        return value
    return _UNTEXT.sub(lambda found: f"\0{ord(found[0]) & 0xFF:02x}", value)


def _text(data: bytes) -> str:
    text = data.decode()
    return _ESCAPED.sub(lambda f: chr(0xDC00 + int(f[1], 16)), text) if "\0" in text else text


def _made(database: sqlite3.Connection) -> sqlite3.Connection:
    """The tables, empty; another process may be at it too."""
    database.execute("pragma journal_mode = wal")
    database.execute("begin immediate")
    if database.execute("pragma user_version").fetchone()[0] == _SHAPE:
        database.rollback()
        return database
    ranking.create(database)
    for statement in filter(str.strip, _SCHEMA.split(";")):
        database.execute(statement)
    database.execute(f"pragma user_version = {_SHAPE}")
    database.commit()
    return database


def _next(database: sqlite3.Connection, column: str, table: str) -> int:
    found = database.execute(f"select coalesce(max({column}), 0) + 1 from {table}").fetchone()
    return int(found[0])


def _put(database: sqlite3.Connection, files: Mapping[str, File | None]) -> None:
    old = _numbers(database, files)
    # The outcomes behind a skill are looked at when it comes, goes or is put elsewhere.
    same = {path for path in files if files[path] and path in old and not _archived(path)}
    _mark(database, old.values(), [n for path, n in old.items() if path not in same], going=True)
    for table in ("file", *_TYPED):
        rows = [(n,) for n in old.values()]
        database.executemany(f"delete from {table} where n = ?", rows)
    refs = {path: str(ref) for path in files if (ref := layout.ref_of(path))}
    _unfind(database, {ref for path, ref in refs.items() if _is_found(path)})
    outcomes = (ref for path, ref in refs.items() if path.startswith("outcomes/"))
    _unuse(database, [(ref.partition(":")[2],) for ref in outcomes])
    new = _insert(database, {path: found for path, found in files.items() if found})
    _mark(database, new.values(), [n for path, n in new.items() if path not in same])
    for name in set(refs.values()):
        database.execute("delete from gone where ref = ?", [name])
        database.execute(f"{_GONE} and t.ref = ?", [name])
    if layout.MARK in files:
        for query in _EVERYTHING:
            database.execute(query)


def _unfind(database: sqlite3.Connection, refs: set[str]) -> None:
    """Take documents out; where one stood beside HEAD's, all of those are put in again."""
    ranking.remove(database, refs)
    for (known,) in database.execute("select value from state where name = 'beside'").fetchall():
        _, *ids = known.split("\n")
        if not refs.isdisjoint(ids):
            said = "\n".join(["", *ids])
            database.execute("update state set value = ? where name = 'beside'", [said])


def _use(database: sqlite3.Connection, outcomes: list[Row], rows: list[Row]) -> None:
    _unuse(database, outcomes)
    database.executemany("insert into used values (?, ?, ?, ?, ?, ?, ?)", rows)
    database.executemany(_COUNTS, outcomes)
    database.executemany(
        "insert or ignore into due select distinct 'lift', domain from outcome where id = ?",
        outcomes,
    )


def _unuse(database: sqlite3.Connection, outcomes: list[Row]) -> None:
    database.executemany(_COUNTS, outcomes)
    database.executemany("delete from used where outcome = ?", outcomes)


def _archived(path: str) -> bool:
    return layout.shelf_of(path) == "archive"


def _numbers(database: sqlite3.Connection, paths: Iterable[str]) -> dict[str, int]:
    query = "select n from file where path = ?"
    found = ((path, database.execute(query, [_bound(path)]).fetchone()) for path in paths)
    return {path: row[0] for path, row in found if row}


def _mark(
    database: sqlite3.Connection,
    changed: Iterable[int],
    moved: Iterable[int],
    *,
    going: bool = False,
) -> None:
    """Mark what is due because of these files."""
    for table, numbers in (("changed", changed), ("moved", moved)):
        database.execute(f"create temp table if not exists {table} (n integer primary key)")
        database.execute(f"delete from {table}")
        database.executemany(f"insert into {table} values (?)", [(n,) for n in numbers])
    for query in (*_MARKS, _LINES, _STRATEGIES, *([_NEIGHBOURS] if going else [])):
        database.execute(query)


def _insert(database: sqlite3.Connection, files: Mapping[str, File]) -> dict[str, int]:
    """path -> the number that a file got."""
    rows: list[Row] = []
    typed: dict[str, list[Row]] = {table: [] for table in _TYPED}
    numbers: dict[str, int] = {}
    for n, (path, (blob, parsed)) in enumerate(files.items(), _next(database, "n", "file")):
        ref = layout.ref_of(path)
        kind, value = (type(parsed).__name__, _encoded(parsed)) if parsed else (None, None)
        top = layout.shelf_of(path)
        rows.append((n, path, blob, top, str(ref) if ref else None, kind, value))
        numbers[path] = n
        for table, *values in _columns(ref, top, parsed, blob) if ref else ():
            typed[table].append((n, *values))
    for table, found in {"file": rows, **typed}.items():
        if found:
            marks = ", ".join("?" * len(found[0]))
            bound = [tuple(map(_bound, row)) for row in found]
            database.executemany(f"insert into {table} values ({marks})", bound)
    if any(_UNTEXT.search(path) for path in files if not path.isascii()):
        database.execute("insert or replace into state values ('odd', '')")
        database.text_factory = _text
    documents = (_document(path, parsed) for path, (_, parsed) in files.items() if _is_found(path))
    ranking.add(database, filter(None, documents))
    return numbers


def _is_found(path: str) -> bool:
    """Whether `search` may find what stands at a path."""
    return layout.shelf_of(path) in (_SERVED, "memory", "evaluations")


def _document(path: str, parsed: Parsed | None) -> ranking.Document | None:
    ref = layout.ref_of(path)
    if ref is None or not isinstance(parsed, Skill | Fact | Evaluation):
        return None
    if isinstance(parsed, Skill):
        parsed = msgspec.structs.replace(parsed, name=ref.id)
    document = ranking.document_of(parsed)
    said = document.name or document.body  # an evaluation may have no insight
    return msgspec.structs.replace(document, id=str(ref)) if said else None


def _columns(ref: Ref, top: str, parsed: Parsed | None, blob: str) -> Iterator[tuple[Any, ...]]:
    """What is asked of a record, as rows of the tables named after kinds."""
    match parsed:
        case Outcome():
            at, source = micros(parsed.occurred_at), parsed.source
            yield (
                "outcome",
                ref.id,
                *parsed.subject,
                parsed.trust,
                at,
                parsed.event_id,
                source.session,
                parsed.decision.id,
                parsed.result.status,
                parsed.ungraded_failure,
            )
        case Fact():
            yield "fact", ref.id, parsed.domain, parsed.trust
        case Skill():
            said = (parsed.domain, parsed.kind, parsed.status, parsed.created, parsed.expires)
            whom = (" ".join(parsed.roles), " ".join(parsed.stages))
            yield "skill", ref.id, top, *said, tokens(parsed.body), *whom, blob
        case Recommendation():
            yield "recommendation", ref.id, parsed.decision, parsed.trust
        case Link():
            yield "link", ref.id, parsed.type, str(parsed.source), str(parsed.target)


def micros(at: datetime) -> int:
    """A time in microseconds, as it is ordered."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime:
    """The time that so many microseconds are."""
    return EPOCH + timedelta(microseconds=at)


def _encoded(value: Parsed) -> bytes | None:
    """A record's bytes; None for one that would not read back as it is."""
    try:
        data = _ENCODER.encode(value)
        return data if _DECODERS[type(value).__name__].decode(data) == value else None
    except (msgspec.MsgspecError, OverflowError, UnicodeError, TypeError):
        return None  # of an unusual value, such as a number beyond 64 bits


def _enter(database: sqlite3.Connection, history: Iterable[Made]) -> None:
    first = _next(database, "c", "commits")
    for number, made in enumerate(history, first):
        one = made.commit
        row = (number, one.sha, made.depth, one.date, one.step, one.subject)
        database.execute("insert into commits values (?, ?, ?, ?, ?, ?)", row)
        roles = (("source", one.sources), ("target", one.targets))
        rows = [(number, role, i, ref) for role, refs in roles for i, ref in enumerate(refs)]
        database.executemany("insert into trailer values (?, ?, ?, ?)", rows)
        touched = [(ref, number) for ref in made.touched]
        database.executemany("insert or ignore into touch values (?, ?)", touched)
        if one.step not in LEARNING:
            skills = [(ref[_SKILL - 1 :],) for ref in made.touched if ref.startswith("skill:")]
            database.executemany("insert or ignore into due values ('version', ?)", skills)
    # What came and went between two states stands in neither, so no file of it was put.
    database.execute(f"{_GONE} and t.c >= ?", [first])


_SHAPE = _shape()
