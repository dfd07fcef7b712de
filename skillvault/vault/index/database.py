"""The projection: what HEAD's files and history say, in SQLite under the git dir.

It is disposable: it follows HEAD by the differences between two commits, and deleting it costs
the next command its time and nothing else. Several processes may use it at once. What a run has
laid and not published yet stands in an open transaction, which nobody else sees.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skillvault.policy import Policy
from skillvault.records import Skill
from skillvault.vault.index import dirty as due
from skillvault.vault.index import schema as tables
from skillvault.vault.index.rows import SERVED, File, Row, bound, encoded, unbound
from skillvault.vault.search import ranking

_Answer = TypeVar("_Answer")

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
        given = [bound(value) for value in values]
        return self._safely(lambda database: database.execute(query, given).fetchall())

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
            self._database.text_factory = unbound if "odd" in found else str
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
        self._safely(lambda database: tables.put(database, files))

    def fill(self, files: Mapping[str, File]) -> None:
        """Add files to a projection that has none of them; `finish` marks what is due."""
        self._safely(lambda database: tables.insert(database, files) and None)

    def finish(self) -> None:
        """Mark everything due, and note anew what is gone."""
        for query in ("delete from gone", tables.GONE, *due.EVERYTHING):
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
        found = [tuple(map(bound, row)) for row in rows]
        self._safely(lambda database: tables.use(database, named, found))

    def search(
        self, text: str, limit: int, filters: ranking.Filters, near: ranking.Near | None = None
    ) -> list[tuple[str, float]]:
        """(`<kind>:<id>`, score) of the documents that answer a text best."""
        return self._safely(
            lambda database: ranking.search(database, text, limit, filters, near=near)
        )

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
        query = (
            f"select ref_id from file where top = '{SERVED}' and type = 'Skill' and ref_id in {{}}"
        )
        names = (one.partition(":")[2] for one in ids)
        there = {f"skill:{name}" for (name,) in self.rows_in(query, names)}
        self._safely(lambda database: ranking.remove_documents(database, set(ids) - there))
        self._safely(lambda database: ranking.add_documents(database, documents))
        for name in {one.id for one in documents}.symmetric_difference(ids):
            self.rows("insert or ignore into due values ('name', ?)", [name.partition(":")[2]])
        said = "\n".join([digest, *(one.id for one in documents)])
        self.rows("insert or replace into state values ('beside', ?)", [said])
        same = {key: skill for key, skill in skills.items() if encoded(skill)}
        self.rows("insert or replace into state values ('skills', ?)", [_ENCODER.encode(same)])

    def enter(self, history: Iterable[tables.Made]) -> None:
        """Take in commits, their parents before them."""
        self._safely(lambda database: tables.enter(database, history))

    def leave(self, commits: Iterable[str]) -> None:
        """Let go of commits that are no part of the history any more."""
        for sha in commits:
            number = self.value("select c from commits where sha = ?", [sha])
            self.rows(f"{due.VERSION} where c = ? and ref_kind = 'skill'", [number])
            for table in ("trailer", "touch", "commits"):
                self.rows(f"delete from {table} where c = ?", [number])

    def clear(self) -> None:
        """Make it empty."""
        self._safely(tables.clear)

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
            if database.execute("pragma user_version").fetchone()[0] != tables.SHAPE:
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


def _connected(name: str) -> sqlite3.Connection:
    # A vault may be used by several threads; SQLite itself lets one at a time.
    database = sqlite3.connect(name, timeout=_BUSY, check_same_thread=False, isolation_level=None)
    database.execute("pragma synchronous = off")  # what is lost is read again
    database.execute("pragma temp_store = memory")
    return database


def _made(database: sqlite3.Connection) -> sqlite3.Connection:
    """The tables, empty; another process may be at it too."""
    database.execute("pragma journal_mode = wal")
    database.execute("begin immediate")
    if database.execute("pragma user_version").fetchone()[0] == tables.SHAPE:
        database.rollback()
        return database
    tables.create(database)
    database.execute(f"pragma user_version = {tables.SHAPE}")
    database.commit()
    return database
