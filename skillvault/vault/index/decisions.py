"""The outcomes of decisions as the others of the same decision complete them, and which counts.

The files of the branch say what each outcome says itself. What the index shows is computed of all
that name the decision, so it does not depend on which of them came first.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skillvault.model.decision_outcomes import complete_outcomes
from skillvault.model.records import Outcome, Recommendation
from skillvault.vault.index.rows import bound, decoded

_CHUNK = 500
_OF_FILES = "select distinct decision from {} where n in (%s)"
_MEMBERS = """
select f.path, f.blob, coalesce(w.value, f.value), f.value, o.counts
from outcome o join file f on f.n = o.n left join own w on w.n = o.n
where o.decision = ? and f.value is not null order by f.path
"""
_RECEIPTS = """
select f.value from recommendation r join file f on f.n = r.n
where r.decision = ? and f.value is not null order by r.id
"""
# Nothing joins an outcome that is described, alone of its decision, and as it says itself.
_SEVERAL = """
select decision from outcome group by decision having count(*) > 1 or min(action) = ''
"""
_ALONE = """
select count(*) = 1 and min(o.action) != '' and min(o.counts) = 1 and max(w.n) is null
and max(r.n) is null
from outcome o left join own w on w.n = o.n
left join file r on r.ref_id = o.id and r.ref_kind = 'retraction' where o.decision = ?
"""
_RETRACTED = "select 1 from file where ref_kind = 'retraction' and ref_id = ?"


class Joined(NamedTuple):
    """A file whose outcome is to be shown otherwise than it is now.

    `own` is what the file itself says, None where that is what is shown.
    """

    path: str
    blob: str
    outcome: Outcome
    own: bytes | None
    counts: bool


def decisions_of(database: sqlite3.Connection, numbers: Iterable[int]) -> set[str]:
    """The decisions that the outcomes and receipts in these files are of."""
    names: set[str] = set()
    rows = list(numbers)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        for table in ("outcome", "recommendation"):
            query = _OF_FILES.format(table) % marks
            names.update(name for (name,) in database.execute(query, chunk))
    return names


def decisions_of_several(database: sqlite3.Connection) -> list[str]:
    """Those of which there is anything to join."""
    return [name for (name,) in database.execute(_SEVERAL)]


def decisions_named(database: sqlite3.Connection, outcomes: Iterable[str]) -> set[str]:
    """The decisions of these outcomes."""
    query = "select decision from outcome where id = ?"
    rows = (database.execute(query, [bound(name)]) for name in outcomes)
    return {decision for found in rows for (decision,) in found}


def all_retracted(database: sqlite3.Connection) -> list[str]:
    """The outcomes that were retracted."""
    query = "select distinct ref_id from file where ref_kind = 'retraction' order by 1"
    return [name for (name,) in database.execute(query)]


def _is_retracted(database: sqlite3.Connection, outcome: str) -> bool:
    return database.execute(_RETRACTED, [bound(outcome)]).fetchone() is not None


def joined_anew(database: sqlite3.Connection, decisions: Iterable[str]) -> Iterator[Joined]:
    """The outcomes of these decisions that are shown otherwise than they stand together."""
    for decision in sorted(decisions):
        (is_alone,) = database.execute(_ALONE, [bound(decision)]).fetchone()
        if not is_alone:
            yield from _of_decision(database, decision)


def _of_decision(database: sqlite3.Connection, decision: str) -> Iterator[Joined]:
    rows = database.execute(_MEMBERS, [bound(decision)]).fetchall()
    own = {path: value for path, _, value, _, _ in rows}
    members = [record for value in own.values() if (record := _decoded_outcome(value))]
    receipts = [
        receipt
        for (value,) in database.execute(_RECEIPTS, [bound(decision)])
        if isinstance(receipt := decoded("Recommendation", value), Recommendation)
    ]
    # Of two files of one id both are shown alike.
    unique = {member.id: member for member in members}
    retracted = {name: unique.pop(name) for name in list(unique) if _is_retracted(database, name)}
    together = {one.outcome.id: one for one in complete_outcomes(unique.values(), receipts)}
    for path, blob, value, shown, counts in rows:
        record = _decoded_outcome(value)
        if record and record.id in retracted:  # as if it were not there
            if counts or record != _decoded_outcome(shown):
                yield Joined(path, blob, record, None, counts=False)
            continue
        one = together[record.id] if record else None
        if record is None or one is None:
            continue
        if one.outcome != _decoded_outcome(shown) or one.counts != bool(counts):
            kept = value if one.outcome != record else None
            yield Joined(path, blob, one.outcome, kept, one.counts)


def _decoded_outcome(value: bytes) -> Outcome | None:
    record = decoded("Outcome", value)
    return record if isinstance(record, Outcome) else None
