"""The projection: what was read of the vault's files, kept in SQLite under the git dir.

It is disposable: keyed by path and blob id it can only be right or absent, and deleting it
costs the next command its time and nothing else. Several processes may use it at once.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import get_args

import msgspec

from skillvault.records import Problem, Record

Parsed = Record | Problem
Key = tuple[str, str]  # a path, and the id of the blob that stands there

_KINDS: dict[str, type[Parsed]] = {kind.__name__: kind for kind in (*get_args(Record), Problem)}
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in _KINDS.items()}
_ENCODER = msgspec.msgpack.Encoder()
_TABLE = """
create table if not exists parsed (
    path text not null, blob text not null, kind text not null, value blob not null,
    primary key (path, blob)
) without rowid
"""
_QUERY = "select path, blob, kind, value from parsed"
_BUSY = 5.0  # seconds to wait for another process
_SAVED = 64  # so many new records are written at once
_CHUNK = 400  # keys in one query
_MANY = 2_000  # keys from which on the whole table is read


def _shape() -> int:
    """A number that changes with the fields of the records."""
    said = "".join(f"{name}{msgspec.inspect.type_info(kind)!r}" for name, kind in _KINDS.items())
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "big") & 0x7FFFFFFF


class Projection:
    """The records of one repository's blobs, in memory and behind that on disk.

    `path` is None where nothing is to be kept on disk. What cannot be used there (damaged,
    of another version, on a disk that is full or read-only) is made anew or done without.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._known: dict[Key, Parsed] = {}
        self._unsaved: dict[Key, Parsed] = {}

    def get(self, keys: Iterable[Key]) -> dict[Key, Parsed]:
        """What is known of these keys."""
        wanted = list(keys)
        missing = [key for key in wanted if key not in self._known]
        if missing:
            self._known.update(self._read(missing))
        return {key: self._known[key] for key in wanted if key in self._known}

    def put(self, found: Mapping[Key, Parsed]) -> None:
        """Keep what was parsed; a few at a time only in memory."""
        self._known.update(found)
        self._unsaved.update(found)
        if len(self._unsaved) >= _SAVED:
            rows = [(*k, *row) for k, value in self._unsaved.items() if (row := _encoded(value))]
            self._unsaved = {}
            self._write(rows)

    def drop_but(self, wanted: Iterable[Key]) -> None:
        """Let go of what is known in memory and not wanted any more; on disk it stays."""
        kept = {key: self._known[key] for key in wanted if key in self._known}
        self._known = kept

    # ── on disk ──────────────────────────────────────────────────────────────────────

    def _read(self, keys: list[Key]) -> dict[Key, Parsed]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            rows = list(_selected(self._opened(self._path), keys))
            return {(path, blob): _DECODERS[kind].decode(value) for path, blob, kind, value in rows}
        except (sqlite3.Error, msgspec.MsgspecError, KeyError):
            self._discard()
            return {}

    def _write(self, rows: list[tuple[str, str, str, bytes]]) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(exist_ok=True)
            with self._opened(self._path) as database:
                database.executemany("insert or replace into parsed values (?, ?, ?, ?)", rows)
        except (sqlite3.Error, OSError):
            self._discard()

    def _opened(self, path: Path) -> sqlite3.Connection:
        if self._database is not None:
            return self._database
        # A vault may be used by several threads; SQLite itself lets one at a time.
        self._database = sqlite3.connect(f"{path}", timeout=_BUSY, check_same_thread=False)
        if self._database.execute("pragma user_version").fetchone()[0] != _SHAPE:
            self._database.execute("drop table if exists parsed")
            self._database.execute(f"pragma user_version = {_SHAPE}")
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = off")  # what is lost is read again
        self._database.execute(_TABLE)
        return self._database

    def _discard(self) -> None:
        """Remove a projection that cannot be used; this process goes on without."""
        if self._database is not None:
            self._database.close()
            self._database = None
        path, self._path = self._path, None
        there = [path.with_name(path.name + end) for end in ("", "-wal", "-shm")] if path else []
        for file in there:
            with suppress(OSError):  # what cannot be removed is in nobody's way
                file.unlink(missing_ok=True)


def _selected(
    database: sqlite3.Connection, keys: list[Key]
) -> Iterator[tuple[str, str, str, bytes]]:
    if len(keys) > _MANY:
        wanted = set(keys)
        rows = database.execute(_QUERY)
        yield from (row for row in rows if (row[0], row[1]) in wanted)
        return
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        marks = ",".join(["(?, ?)"] * len(chunk))
        query = f"{_QUERY} where (path, blob) in (values {marks})"
        yield from database.execute(query, [part for key in chunk for part in key])


def _encoded(value: Parsed) -> tuple[str, bytes] | None:
    """A value's kind and bytes; None for one that would not read back as it is."""
    kind = type(value).__name__
    try:
        data = _ENCODER.encode(value)
        return (kind, data) if _DECODERS[kind].decode(data) == value else None
    except (msgspec.MsgspecError, OverflowError, UnicodeError, TypeError):
        return None  # of an unusual value, such as a number beyond 64 bits


_SHAPE = _shape()
