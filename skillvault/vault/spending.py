"""Record the calls of a paid judge: their cost, their replies, failures and pauses.

The ledger is an SQLite file in the git dir. A call is reserved before it is sent, and its reply is
stored before it is used. Both survive a power failure.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.model.brief import AnswerCost
from skillvault.model.errors import UnavailableError
from skillvault.model.policy import JudgePolicy
from skillvault.vault.failpoint import reach

_HOUR = 3600.0
_HOURLY_TRIES = 4  # the most requests in an hour, while none is answered
_MAX_FAILURES = 3  # so many failures in a row open the circuit
_PAUSE_SECONDS = _HOUR / 2  # the time until the next probe
_CALL_SECONDS = 660.0  # after so long, an open call belongs to a killed process
_RETENTION_SECONDS = 30 * 24 * _HOUR  # the age at which replies and calls are deleted
_BUSY_SECONDS = 10.0  # to wait for another process that writes

_LOST_BATCH = "in a batch whose number was lost; `skillvault run --retry` asks again"

_SCHEMA = """
create table if not exists call (
    id integer primary key, at real, day text, usd real, tokens integer, state text);
create index if not exists call_at on call (at);
create index if not exists call_day on call (day);
create table if not exists reply (key text primary key, at real, said text) without rowid;
create table if not exists letter (
    item text primary key, attempts integer, answered integer, reason text, at real)
    without rowid;
create table if not exists batch (call integer primary key, id text);
create table if not exists queued (key text primary key, model text, call integer) without rowid;
create table if not exists state (name text primary key, value text) without rowid;
"""


class Circuit(Struct, frozen=True):
    """The state of the service: its failures in a row, and a pause until the unix time `until`.

    `probe` is an open call that tests if the service works again.
    """

    failures: int = 0
    until: float = 0.0
    reason: str = ""
    probe: int | None = None

    @property
    def retry_notice(self) -> str:
        """A message with the reason and the end of the pause."""
        return f"{self.reason}; asked again at {_format_time(self.until)}"


class FailedItem(Struct, frozen=True):
    """An item that the judge could not handle, with the number of attempts and the last reason."""

    item: str
    attempts: int
    reason: str


class Spending(Struct, frozen=True):
    """The calls of today (UTC) and their cost. A reserved call counts with its highest cost."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


class Ledger:
    """The ledger of one vault, which threads and processes share. `now` returns the unix time.

    Methods raise UnavailableError if they cannot record, because every call must be recorded.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self._now = now

    # ── before and after a call ──────────────────────────────────────────────────────

    def reserve(self, usd: float, rules: JudgePolicy, tokens: int = 0) -> int | None:
        """Reserve a call that costs at most `usd` and `tokens`, and return its number.

        Return None while the call must wait for the answer to another call. Raise UnavailableError
        if a cap or a pause forbids the call.
        """
        with self._transaction() as database:
            now, circuit = self._now(), _read_circuit(database)
            if now < circuit.until:
                if _is_open(database, circuit.probe, now):
                    return None
                raise UnavailableError(circuit.retry_notice)
            _check_caps(database, (usd, tokens), _format_day(now), rules)
            first_time = _first_unanswered(database, now, circuit)
            if first_time is not None:
                if not circuit.failures:
                    return None
                clock = _format_time(first_time + _HOUR)
                raise UnavailableError(f"{circuit.reason}; asked again at {clock}")
            sql = "insert into call (at, day, usd, tokens, state) values (?, ?, ?, ?, 'open')"
            call = database.execute(sql, (now, _format_day(now), usd, tokens)).lastrowid
            if circuit.failures >= _MAX_FAILURES:
                probing = msgspec.structs.replace(circuit, until=now + _PAUSE_SECONDS, probe=call)
                _write_circuit(database, probing)
            return call

    def record_replies(self, call: int, replies: Mapping[str, str], cost: AnswerCost) -> None:
        """Close an answered call, and store its cost and its replies by key."""
        reach("reply-received")
        with self._transaction() as database:
            self._keep_replies(database, call, replies, cost)
            _write_circuit(database, Circuit())
            earliest_time = self._now() - _RETENTION_SECONDS
            database.execute("delete from reply where at < ?", (earliest_time,))
            database.execute("delete from call where at < ?", (earliest_time,))
        reach("reply-journalled")

    def record_refusal(self, call: int) -> None:
        """Close a call that the model refused. It cost nothing, and the service works."""
        with self._transaction() as database:
            _close_call(database, call, "refused", AnswerCost())
            _write_circuit(database, Circuit())

    def record_failure(
        self, call: int, reason: str, *, billed: bool, pause: float | None = None, tokens: int = 0
    ) -> None:
        """Close a call without an answer, and pause for `pause` seconds.

        If the call was `billed`, its reserved dollars count as spent.
        """
        with self._transaction() as database:
            (usd,) = database.execute("select usd from call where id = ?", (call,)).fetchone()
            _close_call(database, call, "failed", AnswerCost(tokens, usd if billed else 0.0))
            failures = _read_circuit(database).failures + 1
            if pause is not None:
                failures = max(failures, _MAX_FAILURES)  # after the pause, one probe
            elif failures >= _MAX_FAILURES:
                pause = _PAUSE_SECONDS
            pause_end = self._now() + pause if pause is not None else 0.0
            _write_circuit(database, Circuit(failures, pause_end, reason))

    def close_circuit(self, reason: str, pause: float) -> None:
        """Forbid calls for `pause` seconds."""
        with self._transaction() as database:
            _write_circuit(database, Circuit(_MAX_FAILURES, self._now() + pause, reason))

    # ── replies ──────────────────────────────────────────────────────────────────────

    def reply(self, key: str) -> str | None:
        """Return the stored reply of a key, or None."""
        rows = self._rows("select said from reply where key = ?", key)
        return rows[0][0] if rows else None

    def replies(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the stored replies by key."""
        query = "select key, said from reply where key in (select value from json_each(?))"
        return dict(self._rows(query, msgspec.json.encode(keys).decode()))

    def _keep_replies(
        self, database: sqlite3.Connection, call: int, replies: Mapping[str, str], cost: AnswerCost
    ) -> None:
        rows = [(key, self._now(), reply) for key, reply in replies.items()]
        database.executemany("insert or replace into reply values (?, ?, ?)", rows)
        _close_call(database, call, "paid", cost)

    def forget_reply(self, key: str) -> None:
        """Delete a reply that cannot be used."""
        with self._transaction() as database:
            database.execute("delete from reply where key = ?", (key,))

    # ── batches ──────────────────────────────────────────────────────────────────────

    def announce_batch(self, call: int, models: Mapping[str, str]) -> None:
        """Record that a batch will be sent; `models` maps its keys to their models."""
        with self._transaction() as database:
            database.execute("insert into batch values (?, null)", (call,))
            rows = [(key, model, call) for key, model in models.items()]
            database.executemany("insert or replace into queued values (?, ?, ?)", rows)

    def record_batch(self, call: int, batch: str | None) -> None:
        """Record the id of the batch of a call, or remove the batch if the id is None."""
        with self._transaction() as database:
            if batch is None:
                _drop_batch(database, call)
            else:
                database.execute("update batch set id = ? where call = ?", (batch, call))
                database.execute("update call set state = 'batch' where id = ?", (call,))
                _write_circuit(database, Circuit())

    def batches(self) -> dict[str, dict[str, str]]:
        """Return the keys of each open batch, with their models."""
        models: dict[str, dict[str, str]] = {}
        sql = "select id, key, model from batch join queued using (call) where id is not null"
        for batch, key, model in self._rows(f"{sql} order by call, key"):
            models.setdefault(batch, {})[key] = model
        return models

    def batch_reason(self, key: str) -> str | None:
        """Return the reason why a key waits for a batch, or None if it does not wait."""
        rows = self._rows("select id from queued join batch using (call) where key = ?", key)
        if not rows:
            return None
        return f"in batch {rows[0][0]}" if rows[0][0] else _LOST_BATCH

    def record_batch_replies(
        self, batch: str, replies: Mapping[str, str], cost: AnswerCost
    ) -> None:
        """Close a batch with these replies; keys without a reply may be asked again."""
        with self._transaction() as database:
            row = database.execute("select call from batch where id = ?", (batch,)).fetchone()
            if row is None:
                return  # another process was quicker
            self._keep_replies(database, row[0], replies, cost)
            _drop_batch(database, row[0])

    def left_usd(self, usd_per_day: float) -> float:
        """Return the dollars that may still be spent today."""
        return max(usd_per_day - self.spent_today().usd, 0.0)

    # ── failed items ─────────────────────────────────────────────────────────────────

    def count_failure(self, item: str, reason: str, *, service: bool) -> None:
        """Count a failure for an item.

        If the `service` may be the cause, the failure counts only if other calls were answered
        since the last failure of the item. So no item is given up because of an outage.
        """
        with self._transaction() as database:
            sql = "select coalesce(max(id), 0) from call where state in ('paid', 'refused')"
            (answer,) = database.execute(sql).fetchone()
            sql = "select attempts, answered from letter where item = ?"
            attempts, last_answer = database.execute(sql, (item,)).fetchone() or (0, answer)
            attempts += 1 if not service or answer > last_answer else 0
            row = (item, attempts, answer, reason, self._now())
            database.execute("insert or replace into letter values (?, ?, ?, ?, ?)", row)

    def failed_items(self, attempts: int) -> dict[str, FailedItem]:
        """Return the items that failed at least `attempts` times."""
        sql = "select item, attempts, reason from letter where attempts >= ? order by item"
        return {row[0]: FailedItem(*row) for row in self._rows(sql, attempts)}

    def forget_failures(self) -> None:
        """Delete all failures and lost batches, and end a pause."""
        if self.path.exists():
            with self._transaction() as database:
                database.execute("delete from letter")
                rows = database.execute("select call from batch where id is null").fetchall()
                for (call,) in rows:
                    _drop_batch(database, call)
                _write_circuit(database, Circuit())

    # ── state ────────────────────────────────────────────────────────────────────────

    def spent_today(self) -> Spending:
        """Return the calls and costs since midnight (UTC)."""
        sql = "select count(*), coalesce(sum(tokens), 0), coalesce(sum(usd), 0.0) from call"
        rows = self._rows(f"{sql} where day = ?", _format_day(self._now()))
        return Spending(*rows[0]) if rows else Spending()

    def count_calls(self, seconds: float) -> int:
        """Return the number of calls in the last seconds."""
        rows = self._rows("select count(*) from call where at > ?", self._now() - seconds)
        return int(rows[0][0]) if rows else 0

    def closed_reason(self) -> str | None:
        """Return the reason and the end of a pause, or None if calls are allowed."""
        if not self.path.exists():
            return None
        with self._open() as database:
            circuit = _read_circuit(database)
        return circuit.retry_notice if self._now() < circuit.until else None

    # ── the file ─────────────────────────────────────────────────────────────────────

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if not self.path.exists():
            return []
        with self._open() as database:
            return database.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(exist_ok=True)
        with self._open() as database:
            database.execute("begin immediate")
            try:
                yield database
            except BaseException:
                database.execute("rollback")
                raise
            database.execute("commit")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            with closing(connection) as database:
                database.execute("pragma synchronous = full")
                (version,) = database.execute("pragma user_version").fetchone()
                if not version:
                    database.executescript(f"{_SCHEMA} pragma user_version = 1;")
                yield database
        except sqlite3.Error as error:
            raise UnavailableError(
                f"the judge is not asked: {self.path} cannot be used ({error}); free "
                "disk space, or remove the file, which resets what was spent today"
            ) from error


def _drop_batch(database: sqlite3.Connection, call: int) -> None:
    database.execute("delete from queued where call = ?", (call,))
    database.execute("delete from batch where call = ?", (call,))


def _read_circuit(database: sqlite3.Connection) -> Circuit:
    row = database.execute("select value from state where name = 'circuit'").fetchone()
    return msgspec.json.decode(row[0], type=Circuit) if row else Circuit()


def _write_circuit(database: sqlite3.Connection, circuit: Circuit) -> None:
    row = ("circuit", msgspec.json.encode(circuit).decode())
    database.execute("insert or replace into state values (?, ?)", row)


def _check_caps(
    database: sqlite3.Connection, price: tuple[float, int], day: str, policy: JudgePolicy
) -> None:
    """Raise UnavailableError if a call of at most `price` would exceed a cap of the day.

    `price` is (dollars, tokens).
    """
    usd, new_tokens = price
    sql = "select count(*), coalesce(sum(usd), 0.0), coalesce(sum(tokens), 0) from call"
    calls, cost, tokens = database.execute(f"{sql} where day = ?", (day,)).fetchone()
    key = "client_calls_per_day" if policy.provider == "client" else "calls_per_day"
    most_calls: int = getattr(policy, key)
    most_tokens, most_usd = policy.client_tokens_per_day, policy.usd_per_day
    if calls >= most_calls:
        reason = f"the day's {most_calls} calls are sent (judge.{key})"
    elif policy.provider == "client" and tokens + new_tokens > most_tokens:
        reason = f"the day's {most_tokens} tokens (judge.client_tokens_per_day) leave no room for"
        reason = f"{reason} a call of {new_tokens}"
    elif cost + usd > most_usd:
        reason = f"the day's ${most_usd:g} (judge.usd_per_day) leave no room for a call of up to"
        reason = f"{reason} ${usd:.4f}"
    else:
        return
    raise UnavailableError(f"{reason}; the rest waits for midnight UTC")


def _first_unanswered(database: sqlite3.Connection, now: float, circuit: Circuit) -> float | None:
    """Return the time of this hour's first unanswered call, or None if only few are unanswered."""
    if not circuit.failures:
        sql = "select 1 from call where at > ? and state in ('paid', 'refused') limit 1"
        if database.execute(sql, (now - _HOUR,)).fetchone():
            return None
    sql = """select count(*), min(at) from call
        where at > ? and (state = 'failed' or (state = 'open' and at > ?))"""
    count, first_time = database.execute(sql, (now - _HOUR, now - _CALL_SECONDS)).fetchone()
    return first_time if count >= _HOURLY_TRIES else None


def _is_open(database: sqlite3.Connection, call: int | None, now: float) -> bool:
    """Return True if a call is open and recent enough for its process to be alive."""
    sql = "select 1 from call where id = ? and state = 'open' and at > ?"
    return database.execute(sql, (call, now - _CALL_SECONDS)).fetchone() is not None


def _close_call(database: sqlite3.Connection, call: int, state: str, cost: AnswerCost) -> None:
    sql = "update call set state = ?, usd = ?, tokens = ? where id = ?"
    database.execute(sql, (state, cost.cost_usd, cost.tokens, call))


def _format_day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _format_time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
