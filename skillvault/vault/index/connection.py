"""Open the index in SQLite, rebuild it if it is broken, and pin states of it for readers.

An index that is damaged, has another version or contradicts git is deleted and rebuilt from git,
once. A second failure is an error. If the disk cannot be used, the index is built in memory. A pin
is a read transaction on its own connection, so later writes do not change what it reads. The pins
of an index in memory share a copy.
"""

import logging
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skillvault.model.due import Agenda, Event
from skillvault.model.errors import DamagedIndexError, VaultBusyError
from skillvault.model.policy import Policy
from skillvault.vault.index import schema
from skillvault.vault.index.queues import Queues
from skillvault.vault.index.reader import Rows
from skillvault.vault.index.rows import DamagedRowError, File, unbind
from skillvault.vault.search import ranking

_Result = TypeVar("_Result")

_BUSY_SECONDS = 2.0  # to wait for another process that writes
_FAULTS = (sqlite3.DatabaseError, UnicodeDecodeError)
_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# Errors of an unusable disk; but a file that is too short is damaged.
_DISK_CODES = {
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
}
_STATE = "select name, value from state where name in ('commit', 'odd')"
_LOG = logging.getLogger("skillvault")


class ReplacedError(sqlite3.DatabaseError):
    """The file was replaced, or has another version or history. Nothing is damaged."""


class Connection(Rows):
    """The connection that reads and writes the index. Without `path` the index is in memory.

    An index of another `shape` cannot be used. `heal` fills the empty index that replaces an
    unusable one. `contradiction` returns the first difference between a pin and git.
    """

    def __init__(
        self,
        path: Path | None,
        heal: Callable[[], None],
        shape: int,
        contradiction: Callable[["Pin"], str | None],
    ) -> None:
        self.name = str(path or "the vault's index")
        self._path = path
        self._left_path: Path | None = None  # left for a copy while another process writes
        self._identity: tuple[int, int] | None = None  # of the opened file
        self._shape = shape
        self._heal = heal
        self._contradiction = contradiction
        self._database: sqlite3.Connection | None = None
        self._copy: tuple[int, sqlite3.Connection] | None = None  # of an index in memory
        self._is_repeatable = False  # True while `run_whole` can repeat all of the work
        self._idle: list[sqlite3.Connection] = []  # connections of pins that are no longer used

    # ── asking ───────────────────────────────────────────────────────────────────────

    @property
    def commit(self) -> str | None:
        """The commit of the index, or None without commits or before the first build."""
        return self.run(_read_commit)

    @property
    def pending(self) -> bool:
        """True while the index has staged changes."""
        return self._database is not None and self._database.in_transaction

    def pin(self) -> "Pin":
        """Pin the current state of the index, without staged changes."""
        return self.run(self._pin)

    def _pin(self, database: sqlite3.Connection) -> "Pin":
        if self._path is None:
            return Pin(self, self._shared_copy(database))
        pin = Pin(self, self._begin_reading(self._path))
        weakref.finalize(pin, _release, pin.database, self._idle).atexit = False
        return pin

    def _begin_reading(self, path: Path) -> sqlite3.Connection:
        database = self._idle.pop() if self._idle else _connect(str(path))
        try:
            database.execute("begin")
            if _read_version(database) != self._shape or self._is_replaced(path):
                raise ReplacedError("another one")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _shared_copy(self, database: sqlite3.Connection) -> sqlite3.Connection:
        """Return a copy of an index in memory, which is cached until the index changes."""
        if database.in_transaction:
            raise VaultBusyError("changes are staged in an index in memory; ask before or after")
        if self._copy is None or self._copy[0] != database.total_changes:
            self._copy = database.total_changes, _copy_of(database)
        return self._copy[1]

    # ── changing ─────────────────────────────────────────────────────────────────────

    def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the database. If the database is unusable, rebuild it and run again."""
        try:
            return work(self._open())
        except _FAULTS as error:
            self.mend(error)
        return self.retry(lambda: work(self._open()))

    def begin(self) -> None:
        """Begin a change, which other connections see after `save`."""
        if self.pending:
            return
        try:
            self.rows("begin immediate")
        except VaultBusyError:
            path = self._path
            self.detach()
            self._left_path = path
            self.rows("begin immediate")

    def save(self) -> None:
        """Commit the change."""
        if self.pending:
            self.run(lambda database: database.commit())

    def rollback(self) -> None:
        """Undo the changes since `begin`."""
        if self._database is not None:
            self._database.rollback()

    def detach(self) -> None:
        """Continue on a private copy, so that no other process waits."""
        database = self._open()
        self.rollback()
        copy = _copy_of(database)
        self._close()
        self._database, self._path = copy, None

    def return_to_file(self) -> None:
        """Return to the file at the path, unless a change is staged.

        A private copy is dropped when no other process is writing.
        """
        if self.pending:
            return
        if self._path and self._database and self._is_replaced(self._path):
            self._discard(ReplacedError("another one"))
        if self._left_path is None:
            return
        try:
            database = self._open_file(self._left_path)
            with _without_waiting(database):
                database.execute("begin immediate")
                database.rollback()
        except (OSError, sqlite3.Error):
            return
        self._close()
        self._database, self._path, self._left_path = database, self._left_path, None

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Switch to a copy at once if another process is writing, instead of waiting."""
        with _without_waiting(self._open()):
            yield

    # ── healing ──────────────────────────────────────────────────────────────────────

    def run_whole(self, work: Callable[[], None]) -> None:
        """Call a function with the index, and call it again if the index becomes unusable."""
        if self._is_repeatable:
            work()
            return
        self._is_repeatable = True
        try:
            work()
        except _FAULTS as error:
            self._discard(error)
            self.retry(work)
        finally:
            self._is_repeatable = False
            self.rollback()  # what an error left half made

    def mend(self, error: Exception) -> None:
        """Rebuild the index after an error. Raise VaultBusyError if another process uses it."""
        _refuse_busy(self.name, error)
        if self._is_repeatable:
            raise error
        self._discard(error)
        self.run_whole(self._heal)

    def retry(self, work: Callable[[], _Result]) -> _Result:
        """Run work on a rebuilt index. Raise DamagedIndexError if it fails again."""
        try:
            return work()
        except _FAULTS as error:
            _refuse_busy(self.name, error)
            raise DamagedIndexError(
                f"{self.name}: built again from git, and fails again ({error}); run `git fsck "
                "--full`, and if git is whole, remove this file and report the error"
            ) from error

    def verify(self) -> bool:
        """Rebuild the index if it contradicts git. Return True if it was rebuilt."""
        if self._is_repeatable or self.pending:
            return False
        with suppress(VaultBusyError):  # this needs SQLite's write lock
            self.run(ranking.check_text_index)
        contradiction = self._contradiction(self.pin())
        if contradiction is not None:
            self.mend(DamagedRowError(contradiction))
        return contradiction is not None

    def _discard(self, error: Exception) -> None:
        """Delete an unusable index, with a warning if it was damaged.

        If the disk is full or another process writes, the file stays and a copy in memory is used.
        """
        _refuse_busy(self.name, error)
        is_short = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ
        is_damaged = is_short or _error_code(error) not in _DISK_CODES
        if is_damaged and not isinstance(error, ReplacedError):
            _LOG.warning("%s: damaged (%s); it is built again from git", self.name, error)
        self._close()
        if self._path and not (is_damaged and self._delete_file(self._path)):
            self._path = None

    def _delete_file(self, path: Path) -> bool:
        if self._is_replaced(path) and path.exists():
            return True
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):  # a remaining file does no harm
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        return not path.exists()

    def _is_replaced(self, path: Path) -> bool:
        """Return True if the opened file is no longer the one at the path."""
        return self._identity is not None and self._identity != _read_identity(path)

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database, self._copy, self._idle = None, None, []

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = self._open_or_create()
        return self._database

    def _open_or_create(self) -> sqlite3.Connection:
        """Open or create the index on disk, or else create an index in memory."""
        for _ in range(2):
            try:
                if self._path:
                    return self._open_file(self._path)
            except sqlite3.Error as error:
                if _error_code(error) in _BUSY_CODES:
                    break
                self._discard(error)
            except OSError:
                break
        self._path = None
        return _create(_connect(":memory:"), self._shape)

    def _open_file(self, path: Path) -> sqlite3.Connection:
        path.parent.mkdir(exist_ok=True)
        database = _connect(str(path))
        try:
            if _read_version(database) != self._shape:
                if database.execute("select count(*) from sqlite_master").fetchone()[0]:
                    raise ReplacedError("of another version")
                _create(database, self._shape)
        except sqlite3.Error:
            database.close()
            raise
        self._identity = _read_identity(path)
        return database


class Pin(Rows):
    """A state of the index that does not change."""

    def __init__(self, index: Connection, database: sqlite3.Connection) -> None:
        self.database = database
        self.commit = _read_commit(database)
        self._index = index
        self._new_pin: Pin | None = None

    def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the database. If the database is unusable, rebuild it and run again."""
        try:
            return work(self.database)
        except _FAULTS as error:
            self.mend(error)
        return self._index.retry(lambda: work(self.database))

    def change(self, _work: Callable[[sqlite3.Connection, Queues], _Result]) -> _Result:
        """Raise TypeError, because a pinned state cannot be changed."""
        raise TypeError("a snapshot cannot be changed")

    def mend(self, error: Exception) -> None:
        """Rebuild the index after an error, and pin the same commit again."""
        self._index.mend(error)
        self._renew()

    def verify(self) -> bool:
        """Rebuild the index if it contradicts git. Return True if it was rebuilt."""
        is_rebuilt = self._index.verify()
        if is_rebuilt:
            self._renew()
        return is_rebuilt

    def _renew(self) -> None:
        """Pin the rebuilt index. Raise VaultBusyError if it has another commit."""
        pin = self._index.pin()
        if pin.commit != self.commit:
            raise VaultBusyError("the index was damaged and the vault has moved on; ask again")
        self._new_pin, self.database = pin, pin.database  # the pin holds the connection


def _release(database: sqlite3.Connection, idle: list[sqlite3.Connection]) -> None:
    """Make the connection of a dropped pin available for the next pin."""
    database.rollback()
    idle.append(database)


def _read_commit(database: sqlite3.Connection) -> str | None:
    """Return the commit in a database, and set how its texts are decoded."""
    state: dict[str, str] = dict(database.execute(_STATE).fetchall())
    database.text_factory = unbind if "odd" in state else str
    return state.get("commit")


def _connect(name: str) -> sqlite3.Connection:
    # Each thread has its own connections, but any thread may give back that of a pin.
    database = sqlite3.connect(
        name, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    database.execute("pragma synchronous = off")  # a lost write is read again from git
    database.execute("pragma temp_store = memory")
    return database


def _create(database: sqlite3.Connection, shape: int) -> sqlite3.Connection:
    """Create the tables, unless another process has created them."""
    database.execute("pragma journal_mode = wal")
    database.execute("begin immediate")
    if _read_version(database) == shape:
        database.rollback()
        return database
    schema.create(database)
    database.execute(f"pragma user_version = {shape}")
    database.commit()
    return database


def _copy_of(database: sqlite3.Connection) -> sqlite3.Connection:
    copy = _connect("")
    database.backup(copy)
    return copy


@contextmanager
def _without_waiting(database: sqlite3.Connection) -> Iterator[None]:
    """Let calls in the block fail at once if another process holds the database."""
    database.execute("pragma busy_timeout = 0")
    try:
        yield
    finally:
        with suppress(sqlite3.ProgrammingError):  # it was closed, because a copy is used
            database.execute(f"pragma busy_timeout = {round(_BUSY_SECONDS * 1000)}")


def _refuse_busy(name: str, error: Exception) -> None:
    """Raise VaultBusyError if the error means that another process is writing."""
    if _error_code(error) in _BUSY_CODES:
        raise VaultBusyError(f"{name}: another process is at work on it; try again") from error


def _error_code(error: Exception) -> int:
    """Return SQLite's code of an error, or "not a database" for an error of this module."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF


def _read_version(database: sqlite3.Connection) -> int:
    return int(database.execute("pragma user_version").fetchone()[0])


def _read_identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


class IndexDatabase(Connection):
    """The index of a vault, with methods that write the files and commits of the branch."""

    def __init__(
        self,
        path: Path | None,
        heal: Callable[[], None],
        agenda: Agenda,
        contradiction: Callable[[Pin], str | None] = lambda _: None,
    ) -> None:
        super().__init__(path, heal, schema.shape(agenda), contradiction)
        self._agenda = agenda
        # Shows the progress through a list of items; a command sets it.
        self.track: Callable[[Sequence[Any], str], Iterable[Any]] = lambda items, _what: items

    @property
    def depth(self) -> int:
        """The number of commits on the longest path from the first commit to the indexed one."""
        return self.value("select depth from commits where sha = ?", [self.commit]) or 0

    @property
    def boundary(self) -> str:
        """The boundary of the history when the index was built; see `Git.boundary`."""
        return self.value("select value from state where name = 'boundary'") or ""

    def keep_commit(self, commit: str | None) -> None:
        """Store the commit of the index."""
        self.rows("insert or replace into state values ('commit', ?)", [commit])

    @property
    def branch(self) -> str | None:
        """The branch that the stored policy names, or None."""
        stored_policy = self.stored_policy()
        return stored_policy[1].branch if stored_policy else None

    def keep_boundary(self, boundary: str) -> None:
        """Store the boundary of the history."""
        self.rows("insert or replace into state values ('boundary', ?)", [boundary])

    def keep_policy(self, blob: str, policy: Policy) -> None:
        """Store the policy of a blob of vault.yaml, because every query needs it."""
        value = blob.encode() + msgspec.msgpack.encode(policy)
        self.rows("insert or replace into state values ('policy', ?)", [value])

    def change(self, work: Callable[[sqlite3.Connection, Queues], _Result]) -> _Result:
        """Change derived data. Other connections see the change after `save`."""
        self.begin()
        return self._run_with_queues(work)

    def _run_with_queues(self, work: Callable[[sqlite3.Connection, Queues], _Result]) -> _Result:
        return self.run(lambda database: work(database, Queues(database, self._agenda)))

    def put_files(self, files: Mapping[str, File | None]) -> None:
        """Set files, given as (blob, record) by path, or remove them if None.

        Records that become due are marked.
        """
        self._run_with_queues(lambda database, queues: schema.put_files(database, files, queues))

    def fill(self, files: Mapping[str, File]) -> None:
        """Add new files without marking records, which `finish` does."""
        self.run(lambda database: schema.insert(database, files) and None)

    def finish(self) -> None:
        """Mark every record as due, and find the removed records again."""
        for query in ("delete from gone", schema.INSERT_GONE):
            self.rows(query)
        self._run_with_queues(schema.join_all_outcomes)
        self._run_with_queues(lambda _, queues: queues.mark_everything())

    def mark(self, event: Event, ids: Iterable[str]) -> None:
        """Mark the records that become due because an event happened to these records."""
        record_ids = list(ids)
        self._run_with_queues(lambda _, queues: queues.mark(event, record_ids))

    def add_commits(self, history: Iterable[schema.IndexedCommit]) -> None:
        """Add commits, parents first."""
        self._run_with_queues(
            lambda database, queues: schema.add_commits(database, history, queues)
        )

    def remove_commits(self, commits: Iterable[str]) -> None:
        """Remove commits that are no longer in the history."""
        for sha in commits:
            for (number,) in self.rows("select c from commits where sha = ?", [sha]):
                query = "select ref_id from touch where c = ? and ref_kind = 'skill'"
                self.mark("committed", [name for (name,) in self.rows(query, [number])])
                for table in ("trailer", "touch", "commits"):
                    self.rows(f"delete from {table} where c = ?", [number])
