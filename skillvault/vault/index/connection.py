"""The index's connection to SQLite: it mends a file that cannot be used, and gives out pins.

A pin is a read transaction on a connection of its own: one state of the index, whatever is
written meanwhile. An index in memory has one connection only, which its pins share until it
is about to change; then those that somebody still holds get a copy.
"""

import sqlite3
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from skillvault.errors import VaultBusyError
from skillvault.vault.index import schema
from skillvault.vault.index.reader import Rows
from skillvault.vault.index.rows import Row, bound, unbound
from skillvault.vault.search import ranking

_Answer = TypeVar("_Answer")

_BUSY = 2.0  # seconds to wait for another process that writes
# Errors of a file that is no database, or not ours any more, and of a disk that does not serve.
_SPOILT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_UNUSABLE = _SPOILT | {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
_STATE = "select name, value from state where name in ('commit', 'odd')"


class Connection(Rows):
    """The connection that reads and writes the index. `path` is None for one in memory.

    `heal` is called when what is on disk cannot be used and an empty one takes its place;
    what is of another `shape` cannot.
    """

    def __init__(self, path: Path | None, heal: Callable[[], None], shape: int) -> None:
        self._path = path
        self._shape = shape
        self._heal = heal
        self._database: sqlite3.Connection | None = None
        self._whole = False
        self._idle: list[sqlite3.Connection] = []  # of pins that nobody holds any more
        self._sharing: weakref.WeakSet[Pin] = weakref.WeakSet()

    # ── asking ───────────────────────────────────────────────────────────────────────

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query; an index that cannot be read is made anew first."""
        parameters = [bound(value) for value in values]
        return self.run(lambda database: database.execute(query, parameters).fetchall())

    def search(
        self, text: str, limit: int, filters: ranking.Filters, near: ranking.Near | None = None
    ) -> list[tuple[str, float]]:
        """(`<kind>:<id>`, score) of the documents that answer a text best."""
        return self.run(lambda database: ranking.search(database, text, limit, filters, near=near))

    @property
    def commit(self) -> str | None:
        """The commit that it shows; None for an unborn branch, and before it was built."""
        return self.run(_shown)

    @property
    def pending(self) -> bool:
        """Whether something is staged in it that is not published."""
        return self._database is not None and self._database.in_transaction

    # ── pinning ──────────────────────────────────────────────────────────────────────

    def pin(self) -> "Pin":
        """What the index says now, without what is staged; it stays as it is."""
        return self.run(lambda _: self._shared() if self._path is None else self._apart())

    def _apart(self) -> "Pin":
        database = self._idle.pop() if self._idle else _connected(f"{self._path}")
        try:
            database.execute("begin")
            if database.execute("pragma user_version").fetchone()[0] != self._shape:
                raise sqlite3.DatabaseError("of another version")
            pin = Pin(self, database, _shown(database))
        except sqlite3.Error:
            database.close()
            raise
        weakref.finalize(pin, _release, database, self._idle).atexit = False
        return pin

    def _shared(self) -> "Pin":
        if self.pending:
            raise VaultBusyError("changes are staged in an index in memory; ask before or after")
        pin = Pin(self, None, self.commit)
        self._sharing.add(pin)
        return pin

    def repin(self, pin: "Pin", error: sqlite3.DatabaseError) -> "Pin":
        """A pin of the same commit, once the index is mended; another error is raised."""
        self._mend(error)
        fresh = self.pin()
        if fresh.commit != pin.commit:
            raise VaultBusyError("the index was damaged and the vault has moved on; ask again")
        return fresh

    def _leave_pins(self) -> None:
        """Give the pins that somebody holds a copy: the index in memory is about to change."""
        if self._path is None and self._sharing:
            copy = _connected("")
            self._opened().backup(copy)
            for pin in self._sharing:
                pin.move(copy)
            self._sharing.clear()

    # ── changing ─────────────────────────────────────────────────────────────────────

    def run(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do something with the database, and once more on a new one if it cannot be used."""
        try:
            return work(self._opened())
        except sqlite3.DatabaseError as error:
            if self._whole:
                raise
            self._mend(error)
            return work(self._opened())

    def begin(self) -> None:
        """Begin to change it; nobody else sees it before `save`."""
        if self.pending:
            return
        self._leave_pins()
        try:
            self.rows("begin immediate")
        except sqlite3.OperationalError:  # another process is at it
            self.detach()
            self.rows("begin immediate")

    def save(self) -> None:
        """Keep what was changed."""
        if self.pending:
            self.run(lambda database: database.commit())

    def rollback(self) -> None:
        """Undo what was changed since `begin`."""
        if self._database is not None:
            self._database.rollback()

    def detach(self) -> None:
        """Go on with a private copy, for which nobody waits."""
        database, copy = self._opened(), _connected("")
        self.rollback()
        database.backup(copy)
        database.close()
        self._database, self._path, self._idle = copy, None, []

    # ── on disk ──────────────────────────────────────────────────────────────────────

    def whole(self, work: Callable[[], None]) -> None:
        """Do what only makes sense whole; all of it again if this index cannot be used."""
        if self._whole:
            work()
            return
        self._whole = True
        try:
            work()
        except sqlite3.DatabaseError as error:
            self._abandon(error)
            work()
        finally:
            self._whole = False

    def _mend(self, error: sqlite3.DatabaseError) -> None:
        self._abandon(error)
        self.whole(self._heal)

    def _abandon(self, error: sqlite3.DatabaseError) -> None:
        """Let go of an index that cannot be used; any other error is raised."""
        code = _code(error)
        if code not in _UNUSABLE:
            raise error
        self._discard(remove=code in _SPOILT)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = self._prepared_or_new()
        return self._database

    def _prepared_or_new(self) -> sqlite3.Connection:
        """What is on disk, a new one in its place, or if that fails one in memory."""
        for _ in range(2):
            try:
                return self._prepared()
            except sqlite3.Error as error:
                # A full disk is no reason to remove what is there.
                self._discard(remove=_code(error) in _SPOILT)
            except OSError:
                self._discard(remove=False)
        self._path = None
        return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        if self._path is None:
            return _made(_connected(":memory:"), self._shape)
        self._path.parent.mkdir(exist_ok=True)
        database = _connected(f"{self._path}")
        try:
            if database.execute("pragma user_version").fetchone()[0] != self._shape:
                if database.execute("select count(*) from sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError("of another version")
                _made(database, self._shape)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _discard(self, *, remove: bool) -> None:
        """Let go of what cannot be used; `remove`: a new one may take its place."""
        self._idle = []
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


class Pin(Rows):
    """One state of the index; without a database of its own it is what its index shows."""

    def __init__(
        self, index: Connection, database: sqlite3.Connection | None, commit: str | None
    ) -> None:
        self._index = index
        self._database = database
        self._mended: Pin | None = None
        self.commit = commit

    def move(self, database: sqlite3.Connection) -> None:
        """Go on with a copy of the state."""
        self._database = database
        _shown(database)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query."""
        parameters = [bound(value) for value in values]
        return self._run(lambda database: database.execute(query, parameters).fetchall())

    def search(
        self, text: str, limit: int, filters: ranking.Filters, near: ranking.Near | None = None
    ) -> list[tuple[str, float]]:
        """(`<kind>:<id>`, score) of the documents that answer a text best."""
        return self._run(lambda database: ranking.search(database, text, limit, filters, near=near))

    def _run(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        if self._mended is not None:
            return self._mended._run(work)  # noqa: SLF001 (another of its kind)
        if self._database is None:
            return self._index.run(work)
        try:
            return work(self._database)
        except sqlite3.DatabaseError as error:
            self._mended = self._index.repin(self, error)
            return self._mended._run(work)  # noqa: SLF001 (another of its kind)


def _release(database: sqlite3.Connection, idle: list[sqlite3.Connection]) -> None:
    """Let the next pin have the connection of one that nobody holds any more."""
    database.rollback()
    idle.append(database)


def _shown(database: sqlite3.Connection) -> str | None:
    """The commit that a database shows; its texts are read from now on as they were bound."""
    state: dict[str, str] = dict(database.execute(_STATE).fetchall())
    database.text_factory = unbound if "odd" in state else str
    return state.get("commit")


def _code(error: sqlite3.Error) -> int:
    """The kind of an error; one of ours has no code, and means that it is no database."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF


def _connected(name: str) -> sqlite3.Connection:
    # A vault may be used by several threads; SQLite itself lets one at a time.
    database = sqlite3.connect(name, timeout=_BUSY, check_same_thread=False, isolation_level=None)
    database.execute("pragma synchronous = off")  # what is lost is read again
    database.execute("pragma temp_store = memory")
    return database


def _made(database: sqlite3.Connection, shape: int) -> sqlite3.Connection:
    """The tables, empty; another process may be at it too."""
    database.execute("pragma journal_mode = wal")
    database.execute("begin immediate")
    if database.execute("pragma user_version").fetchone()[0] == shape:
        database.rollback()
        return database
    schema.create(database)
    database.execute(f"pragma user_version = {shape}")
    database.commit()
    return database
