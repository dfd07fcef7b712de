"""The index database: what the branch's files and history say, in SQLite under the git dir.

It is disposable: it follows the branch by the differences between two commits, and deleting it
costs the next command its time and nothing else. Several processes may use it at once. What a run
has staged and not published yet is in an open transaction, which nobody else sees.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from skillvault.model.due import Agenda, Event
from skillvault.model.policy import Policy
from skillvault.vault.index import dirty, schema
from skillvault.vault.index.connection import Connection, Pin
from skillvault.vault.index.rows import File

_Answer = TypeVar("_Answer")


class IndexDatabase(Connection):
    """One vault's index, and how what its branch says is written into it."""

    def __init__(
        self,
        path: Path | None,
        heal: Callable[[], None],
        agenda: Agenda,
        contradiction: Callable[[Pin], str | None] = lambda _: None,
    ) -> None:
        super().__init__(path, heal, schema.shape(agenda), contradiction)
        self._agenda = agenda

    @cached_property
    def marks(self) -> dirty.Marks:
        """What makes what due, as queries."""
        return dirty.compiled(self._agenda)

    @property
    def depth(self) -> int:
        """The length of the longest way to the commit shown from the first one."""
        query = "select depth from commits where sha = ?"
        return self.value(query, [self.commit]) or 0

    @property
    def boundary(self) -> str:
        """Where the history ended that it was built of; see `Git.boundary`."""
        return self.value("select value from state where name = 'boundary'") or ""

    def show(self, commit: str | None) -> None:
        """Note which commit is shown now."""
        self.rows("insert or replace into state values ('commit', ?)", [commit])

    @property
    def branch(self) -> str | None:
        """The branch that the vault shown last learns on; None if none was shown."""
        kept = self.kept_policy()
        return kept.branch if kept else None

    def keep_boundary(self, boundary: str) -> None:
        """Note where the history ends that is shown now."""
        self.rows("insert or replace into state values ('boundary', ?)", [boundary])

    def keep_policy(self, blob: str, policy: Policy) -> None:
        """Keep what a blob of vault.yaml says: each question asks for it."""
        kept = blob.encode() + msgspec.msgpack.encode(policy)
        self.rows("insert or replace into state values ('policy', ?)", [kept])

    def change(self, work: Callable[[sqlite3.Connection, dirty.Marks], _Answer]) -> _Answer:
        """Change what it keeps beside the files; nobody else sees it before `save`."""
        self.begin()
        return self.run(lambda database: work(database, self.marks))

    def put(self, files: Mapping[str, File | None]) -> None:
        """Set or (None) remove files, path -> (blob, record), and mark what is due thereby."""
        self.run(lambda database: schema.put(database, files, self.marks))

    def fill(self, files: Mapping[str, File]) -> None:
        """Add files to an index that has none of them; `finish` marks what is due."""
        self.run(lambda database: schema.insert(database, files) and None)

    def finish(self) -> None:
        """Mark everything due, and note anew what is gone."""
        for query in ("delete from gone", schema.GONE):
            self.rows(query)
        self.run(lambda database: schema.join_all(database, self.marks))
        self.run(lambda database: dirty.mark_everything(database, self.marks))

    def mark(self, event: Event, ids: Iterable[str]) -> None:
        """Mark what is due because something happened to the records of these ids."""
        names = list(ids)
        self.run(lambda database: dirty.mark(database, self.marks, event, names))

    def enter(self, history: Iterable[schema.IndexedCommit]) -> None:
        """Take in commits, their parents before them."""
        self.run(lambda database: schema.enter(database, history, self.marks))

    def leave(self, commits: Iterable[str]) -> None:
        """Let go of commits that are no part of the history any more."""
        for sha in commits:
            for (number,) in self.rows("select c from commits where sha = ?", [sha]):
                self._leave(number)

    def _leave(self, number: int) -> None:
        query = "select ref_id from touch where c = ? and ref_kind = 'skill'"
        self.mark("committed", [name for (name,) in self.rows(query, [number])])
        for table in ("trailer", "touch", "commits"):
            self.rows(f"delete from {table} where c = ?", [number])
