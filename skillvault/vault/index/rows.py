"""Convert records to rows of the index, and rows to records.

Values for SQLite are escaped here, too, because a path may contain bytes that are not UTF-8.
"""

import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, get_args

import msgspec

from skillvault.model import records
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.link_lists import LinkList
from skillvault.model.skill_evidence import TryLines
from skillvault.model.text.text import count_tokens
from skillvault.vault.files import layout, work_tree
from skillvault.vault.search.ranking import Document, document_of

Parsed = work_tree.Parsed
Row = tuple[Any, ...]
_Value = TypeVar("_Value")
File = tuple[str, Parsed | None]  # the blob of a path, and its record

KINDS: dict[str, type[Parsed]] = {
    kind.__name__: kind for kind in (*get_args(records.Record), records.Problem, TryLines)
}
# The type of the records in each table; an outcome has a row in two tables.
TABLE_TYPES: Mapping[str, str] = {
    "outcome": "Outcome", "decided": "Outcome", "evaluation": "Evaluation",
    "recommendation": "Recommendation", "session": "Session", "fact": "Fact", "skill": "Skill",
    "answer": "Answer", "correction": "Correction",
}  # fmt: skip
# True if one of the names in a column is the value; see `join_names`.
COLUMN_HAS_NAME = "instr(char(10) || {} || char(10), char(10) || ? || char(10))"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_DECODERS = {kind.__name__: msgspec.msgpack.Decoder(kind) for kind in (*KINDS.values(), TryLines)}
_ENCODER = msgspec.msgpack.Encoder()
# The field names of these kinds: with this dictionary, a compressed record has half the size.
_NAMES = b"".join(
    _ENCODER.encode(dict.fromkeys(kind.__struct_fields__))
    for kind in (
        *(records.Decision, records.Result, records.Lesson, records.Source, records.Outcome),
        *(records.JudgeInfo, records.Evaluation),
    )
)
# Larger values take longer to set up than a record to compress.
_ZLIB_WINDOW, _ZLIB_MEMORY = -13, 6
_WORD = re.compile(r"[^\W_]+")
_RAW_BYTE, _ESCAPED_BYTE = re.compile("[\udc80-\udcff]"), re.compile("\0([89a-f][0-9a-f])")


def is_indexed(path: str) -> bool:
    """Return True for a file whose content is stored in the index."""
    return layout.holds_records(path) or layout.is_tries_file(path)


def parse_file(path: str, content: bytes) -> Parsed | None:
    """Parse the content that is stored in the index: a record, links or tries."""
    return work_tree.parse_record(path, content) if is_indexed(path) else None


class DamagedRowError(sqlite3.DatabaseError):
    """A row that cannot be read, so the index must be rebuilt."""


def decode(kind: str, value: bytes) -> Parsed:
    """Decode the record in a row. Raise DamagedRowError if that fails."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise DamagedRowError(f"a row holds a {kind}")
    return read_value(value, lambda data: decoder.decode(_decompress(data)))


def read_value(value: bytes, decode: Callable[[bytes], _Value]) -> _Value:
    """Decode a value of the index. Raise DamagedRowError if that fails."""
    try:
        return decode(value)
    except (msgspec.MsgspecError, LookupError, TypeError, UnicodeDecodeError, zlib.error) as error:
        raise DamagedRowError(f"a row cannot be read: {error}") from None


def encode(value: Parsed) -> bytes | None:
    """Encode a record, or return None if it would not decode to the same record.

    A list of links is not encoded either, because each link has its own row.
    """
    if isinstance(value, LinkList):
        return None
    try:
        data = _ENCODER.encode(value)
        return _compress(data) if _DECODERS[type(value).__name__].decode(data) == value else None
    except (msgspec.MsgspecError, OverflowError, UnicodeError, TypeError):
        return None  # such as a number beyond 64 bits


def _compress(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=_ZLIB_WINDOW, memLevel=_ZLIB_MEMORY, zdict=_NAMES)
    return compressor.compress(data) + compressor.flush()


def _decompress(data: bytes) -> bytes:
    return zlib.decompressobj(_ZLIB_WINDOW, zdict=_NAMES).decompress(data)


def is_searchable(path: str) -> bool:
    """Return True if `search` may find the trusted record at this path."""
    return layout.top_folder(path) in (layout.SERVED, "memory", "evaluations")


def is_trusted(path: str, record: Parsed | None, outcomes: Collection[str]) -> bool:
    """Return True for a record that every search may find.

    An evaluation has the trust of its outcome; `outcomes` are the ids of the trusted ones. A skill
    in skills/ is trusted.
    """
    if isinstance(record, records.Fact):
        return record.trust == "local"
    ref = layout.ref_of(path)
    return not isinstance(record, records.Evaluation) or (ref is not None and ref.id in outcomes)


def make_document(path: str, record: Parsed | None) -> Document | None:
    """Return the searchable document of a record, or None if the record has no text."""
    ref = layout.ref_of(path)
    if ref is None or not isinstance(record, records.Skill | records.Fact | records.Evaluation):
        return None
    if ref == records.Ref("skill", records.LEARNED):
        return None
    if isinstance(record, records.Skill):
        record = msgspec.structs.replace(record, name=ref.id)
    document = document_of(record)
    has_text = document.name or document.body  # an evaluation may lack an insight
    return msgspec.structs.replace(document, id=str(ref)) if has_text else None


def typed_rows(
    ref: records.Ref, top: str, record: Parsed | None, blob: str
) -> Iterator[tuple[Any, ...]]:
    """Yield (table, *columns) for each row that a record has in the tables of its kind."""
    match record:
        case records.Outcome():
            source, decision = record.source, record.decision
            at = micros(record.occurred_at)
            origin_values = (record.trust, at, record.event_id, source.session)
            # A decision without an id gets the id of its outcome.
            decision_id, status = decision.id or ref.id, record.result.status
            scope = scope_of(record) if record.result.next_words else None
            decision_values = (decision_id, status, decision.task, source.agent, scope)
            # It counts until another outcome of its decision is indexed.
            yield "outcome", ref.id, *record.subject, *origin_values, *decision_values, True
            # Columns that assign the decision to an episode.
            made_at = None if decision.made_at is None else micros(decision.made_at)
            yield "decided", ref.id, made_at, source.batch, decision.task.strip()
        case records.Evaluation():
            judge, right = record.judge, record.judge_was_right
            row = (judge.name, judge.version, judge.model, record.was_good_decision, right)
            yield "evaluation", ref.id, *row
        case records.Fact():
            columns = (ref.id, record.domain, record.trust, record.supersedes, record.kind)
            yield "fact", *columns, record.review_by
        case records.Skill() if ref.id != records.LEARNED:  # the patterns are in no table
            yield "skill", *skill_columns(ref.id, top, record, blob), False, top == layout.SERVED
        case records.Recommendation():
            values = (record.decision, record.trust, record.task, record.agent)
            yield "recommendation", ref.id, *values, micros(record.at)
        case records.Session():
            ended_at = micros(record.ended_at)
            yield "session", ref.id, record.domain, record.trust, ended_at, record.name
        case records.Correction():
            yield "correction", ref.id, record.scope
        case records.Answer():
            yield "answer", ref.id, record.domain, record.kind, record.subject, record.session


def link_row(link: records.Link) -> Row:
    """Return the row of a link, without the number of its file."""
    metadata = json.dumps(link.metadata) if link.metadata else None
    ends = (link.source.kind, link.source.id, link.target.kind, link.target.id)
    return link.id, link.type, *ends, records.stamp(link.created_at), metadata


def parse_link(row: Row) -> records.Link:
    """Parse the link in a row. Raise DamagedRowError if that fails."""
    link_id, link_type, source_kind, source, target_kind, target, at, metadata = row
    try:
        return records.Link(
            id=link_id,
            type=link_type,
            source=records.Ref(source_kind, source),
            target=records.Ref(target_kind, target),
            created_at=datetime.fromisoformat(at),
            metadata=json.loads(metadata) if metadata else {},
        )
    except (TypeError, ValueError) as error:
        raise DamagedRowError(f"a row of a link cannot be read: {error}") from None


def skill_columns(
    name: str, folder: str, skill: records.Skill, blob: str, *, layer: str = "vault"
) -> tuple[Any, ...]:
    """Return the columns of a skill in any layer, except `hidden` and `serves`."""
    lists = (skill.roles, skill.stages, skill.tags, skill.formerly)
    roles, stages, tags, former_names = map(join_names, lists)
    counts = skill.elsewhere  # counts of another tool
    return (
        *(name, folder, skill.domain, skill.kind, skill.status, skill.created, skill.expires),
        *(count_tokens(skill.body), roles, stages, blob, skill.subject, tags, former_names),
        *((counts.times_applied, counts.success_rate) if counts else (None, None)), layer,
    )  # fmt: skip


def join_names(names: Iterable[str]) -> str:
    """Join names for one column, one on each line. See `COLUMN_HAS_NAME` for queries."""
    return "\n".join(names)


def micros(at: datetime) -> int:
    """Convert a time to microseconds since 1970."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime:
    """Convert microseconds since 1970 to a time."""
    return EPOCH + timedelta(microseconds=at)


def bind(value: Any) -> Any:
    """Escape a value for SQLite. An undecodable byte of a path becomes NUL and two digits."""
    if not isinstance(value, str) or value.isascii():
        return value
    return _RAW_BYTE.sub(lambda match: f"\0{ord(match[0]) & 0xFF:02x}", value)


def unbind(data: bytes) -> str:
    """Decode a text that `bind` escaped."""
    return _ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), data.decode())


def domains_of(table: str, condition: str) -> str:
    """Return a query for the domains with a row that meets a condition, without a table scan."""
    first_domain = f"select min(domain) from {table}"
    return (
        f"with recursive found (domain) as ({first_domain} union all "
        f"select ({first_domain} where domain > found.domain) from found "
        "where found.domain is not null) select domain from found "
        f"where exists (select 1 from {table} t where t.domain = found.domain and {condition})"
    )


def group(rows: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group the second values of pairs by the first, in the order of the pairs."""
    groups: dict[Any, list[Any]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def words(text: str) -> list[str]:
    """Split a text into words of letters and digits."""
    return _WORD.findall(text)


def has_raw_bytes(path: str) -> bool:
    """Return True if a path contains bytes that cannot be decoded."""
    return not path.isascii() and bool(_RAW_BYTE.search(path))
