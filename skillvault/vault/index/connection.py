"""The index's connection to SQLite: it heals what cannot be used, and gives out pins.

Whatever SQLite or a row says that cannot be, the index is built anew from git, once, and that is
said; what fails then too is an error.
A pin is a read transaction on a connection of its own: one state of the index, whatever is
written meanwhile. An index in memory has one connection only, which its pins share until it
is about to change; then those that somebody still holds get a copy.
"""

import logging
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from skillvault.errors import DamagedIndexError, VaultBusyError
from skillvault.vault.index import database_file
from skillvault.vault.index.database_file import (
    DatabaseFile,
    ReplacedError,
    connected,
    is_damage,
    is_taken,
)
from skillvault.vault.index.reader import Rows
from skillvault.vault.index.rows import DamagedRowError, Row, bound, unbound
from skillvault.vault.search import ranking

_Answer = TypeVar("_Answer")

_FAULTS = (sqlite3.DatabaseError, UnicodeDecodeError)
_STATE = "select name, value from state where name in ('commit', 'odd')"
_COMPARISONS = 3  # with git, if the index goes on meanwhile
_LOG = logging.getLogger("skillvault")


class Connection(Rows):
    """The connection that reads and writes the index. `path` is None for one in memory.

    `heal` is called when what is on disk cannot be used and an empty one takes its place;
    what is of another `shape` cannot. `contradiction` tells what a pin says otherwise than git.
    """

    def __init__(
        self,
        path: Path | None,
        heal: Callable[[], None],
        shape: int,
        contradiction: Callable[["Pin"], str | None],
    ) -> None:
        self._file = DatabaseFile(path, shape) if path else None
        self._vacated: DatabaseFile | None = None  # for a copy, as another process was at it
        self.name = str(path or "the vault's index")
        self._shape = shape
        self._heal = heal
        self._contradiction = contradiction
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
    ) -> list[ranking.Hit]:
        """The documents that answer a text best, by their `<kind>:<id>`."""
        hits = self.run(
            lambda database: _searched(
                lambda: ranking.find(database, text, limit, filters, texts=near is not None)
            )
        )
        return hits.ranked(near)

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
        return self.run(lambda _: self._apart(self._file) if self._file else self._shared())

    def _apart(self, file: DatabaseFile) -> "Pin":
        database = file.reading(self._idle.pop() if self._idle else None)
        try:
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

    def repin(self, pin: "Pin") -> "Pin":
        """A pin of the commit that one shows which was pinned before the index was mended."""
        fresh = self.pin()
        if fresh.commit != pin.commit:
            raise VaultBusyError("the index was damaged and the vault has moved on; ask again")
        return fresh

    def _leave_pins(self) -> None:
        """Give the pins that somebody holds a copy: the index in memory is about to change."""
        if self._file is None and self._sharing:
            copy = connected("")
            self._opened().backup(copy)
            self._hand_over(copy)

    def _hand_over(self, database: sqlite3.Connection) -> None:
        """Let the pins that share the index in memory go on with this one."""
        for pin in self._sharing:
            pin.move(database)
        self._sharing.clear()

    # ── changing ─────────────────────────────────────────────────────────────────────

    def run(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do something with the database, and once more on a new one if it cannot be used."""
        try:
            return self.once(work)
        except _FAULTS as error:
            self.mend(error)
        return _retried(self.name, lambda: self.once(work))

    def once(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do something with the database; whatever fails is raised."""
        return work(self._opened())

    def begin(self) -> None:
        """Begin to change it; nobody else sees it before `save`."""
        if self.pending:
            return
        self._leave_pins()
        try:
            self.rows("begin immediate")
        except VaultBusyError:
            file = self._file
            self.detach()
            self._vacated = file
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
        database, copy = self._opened(), connected("")
        self.rollback()
        database.backup(copy)
        database.close()
        self._database, self._file, self._idle = copy, None, []

    def return_to_file(self) -> None:
        """Go on with the file that stands there now, unless something is staged.

        A copy is left for it once no other process is at it any more.
        """
        if self._file and self._database and not self.pending and self._file.is_replaced():
            self._let_go(ReplacedError("another one"))
        if self._vacated is None or self.pending:
            return
        try:
            database = self._vacated.opened()
            with database_file.without_waiting(database):
                database.execute("begin immediate")
                database.rollback()
        except (OSError, sqlite3.Error):
            return
        self._hand_over(self._opened())
        self._database, self._file, self._vacated = database, self._vacated, None

    def without_waiting(self) -> AbstractContextManager[None]:
        """Go on with a copy at once if another process is at it, as others wait for us."""
        return database_file.without_waiting(self._opened())

    # ── on disk ──────────────────────────────────────────────────────────────────────

    def whole(self, work: Callable[[], None]) -> None:
        """Do what only makes sense whole; all of it again if this index cannot be used."""
        if self._whole:
            work()
            return
        self._whole = True
        try:
            work()
        except _FAULTS as error:
            _refuse_taken(self.name, error)
            self._let_go(error)
            _retried(self.name, work)
        finally:
            self._whole = False

    def mend(self, error: Exception) -> None:
        """Build it anew if this is why it cannot be used; VaultBusyError if it is in use."""
        _refuse_taken(self.name, error)
        if self._whole:
            raise error
        self._let_go(error)
        self.whole(self._heal)

    def verify(self) -> bool:
        """Whether it said otherwise than git, and was built anew therefore."""
        if self._whole or self.pending:
            return False
        with suppress(VaultBusyError):  # it takes SQLite's write lock: only if that is free
            self.run(ranking.check_places)
        for _ in range(_COMPARISONS):
            pin = self.pin()
            contradiction = self._contradiction(pin)
            if contradiction is None:
                return False
            replaced = self._file is not None and self._file.is_replaced()
            if not replaced and self.commit == pin.commit:
                break  # else another process went on, or has built it anew
        self.mend(DamagedRowError(contradiction))
        return True

    def _let_go(self, error: Exception) -> None:
        """Forget an index; what is damaged makes room for a new one, and that is said."""
        damaged = is_damage(error)
        if damaged and not isinstance(error, ReplacedError):
            _LOG.warning("%s: damaged (%s); it is built anew from git", self.name, error)
        self._idle = []
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._file and not (damaged and self._file.remove()):
            self._file = None

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = self._opened_or_new()
        return self._database

    def _opened_or_new(self) -> sqlite3.Connection:
        """What is on disk, a new one in its place, or if that fails one in memory."""
        for _ in range(2):
            try:
                if self._file:
                    return self._file.opened()
            except sqlite3.Error as error:
                # A full disk, or a process that is at it, is no reason to remove what is there.
                self._let_go(error)
            except OSError:
                self._file = None
        self._file = None
        return database_file.create(connected(":memory:"), self._shape)


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
    ) -> list[ranking.Hit]:
        """The documents that answer a text best, by their `<kind>:<id>`."""
        hits = self._run(
            lambda database: _searched(
                lambda: ranking.find(database, text, limit, filters, texts=near is not None)
            )
        )
        return hits.ranked(near)

    def mend(self, error: Exception) -> None:
        """Build the index anew if this is why it cannot be used, and show the same of it."""
        self._mend(error)

    def _mend(self, error: Exception) -> "Pin":
        self._index.mend(error)
        self._mended = self._index.repin(self)
        return self._mended

    def verify(self) -> bool:
        """Whether the index said otherwise than git, and was built anew therefore."""
        mended = self._index.verify()
        if mended:
            self._mended = self._index.repin(self)
        return mended

    def _run(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        if self._mended is not None:
            return self._mended._run(work)  # noqa: SLF001 (another of its kind)
        if self._database is None:
            return self._index.run(work)
        try:
            return work(self._database)
        except _FAULTS as error:
            fresh = self._mend(error)
        return _retried(self._index.name, lambda: fresh._once(work))  # noqa: SLF001 (another of its kind)

    def _once(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do something with the database; whatever fails is raised."""
        return work(self._database) if self._database else self._index.once(work)


def _searched(search: Callable[[], _Answer]) -> _Answer:
    """What a search finds; DamagedRowError if its tables do not fit together."""
    try:
        return search()
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedRowError(f"the search fails: {error}") from error


def _release(database: sqlite3.Connection, idle: list[sqlite3.Connection]) -> None:
    """Let the next pin have the connection of one that nobody holds any more."""
    database.rollback()
    idle.append(database)


def _shown(database: sqlite3.Connection) -> str | None:
    """The commit that a database shows; its texts are read from now on as they were bound."""
    state: dict[str, str] = dict(database.execute(_STATE).fetchall())
    database.text_factory = unbound if "odd" in state else str
    return state.get("commit")


def _retried(name: str, work: Callable[[], _Answer]) -> _Answer:
    """Do something on an index built anew; DamagedIndexError if that cannot be used either."""
    try:
        return work()
    except _FAULTS as error:
        _refuse_taken(name, error)
        raise DamagedIndexError(
            f"{name}: built anew from git, and fails again ({error}); run `git fsck --full`, "
            "and if git is whole, remove this file and report the error"
        ) from error


def _refuse_taken(name: str, error: Exception) -> None:
    """VaultBusyError if an error says that another process is at it."""
    if is_taken(error):
        raise VaultBusyError(f"{name}: another process is at work on it; try again") from error
