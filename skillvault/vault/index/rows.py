"""Records as rows of the index: their bytes, and what is asked of them in columns."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, get_args

import msgspec

from skillvault.model.link_lists import LinkList
from skillvault.model.records import (
    LEARNED,
    Answer,
    Evaluation,
    Fact,
    Link,
    Outcome,
    Problem,
    Recommendation,
    Record,
    Ref,
    Session,
    Skill,
    stamp,
)
from skillvault.model.skill_evidence import TryLines
from skillvault.model.text.text import count_tokens
from skillvault.vault.files import layout, work_tree
from skillvault.vault.search.ranking import Document, document_of

Parsed = work_tree.Parsed
Row = tuple[Any, ...]
_Value = TypeVar("_Value")
File = tuple[str, Parsed | None]  # the blob that stands at a path, and what it says

KINDS: dict[str, type[Parsed]] = {
    kind.__name__: kind for kind in (*get_args(Record), Problem, TryLines)
}
# The tables of records, each with the type of what it holds; of an outcome there are two.
TYPED: Mapping[str, str] = {
    "outcome": "Outcome", "decided": "Outcome", "evaluation": "Evaluation",
    "recommendation": "Recommendation", "session": "Session", "fact": "Fact", "skill": "Skill",
    "answer": "Answer",
}  # fmt: skip
# Whether one of the names in a column is the value; see `joined`.
LISTS = "instr(char(10) || {} || char(10), char(10) || ? || char(10))"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_DECODERS = {kind.__name__: msgspec.msgpack.Decoder(kind) for kind in (*KINDS.values(), TryLines)}
_ENCODER = msgspec.msgpack.Encoder()
_WORD = re.compile(r"[^\W_]+")
_UNTEXT, _ESCAPED = re.compile("[\udc80-\udcff]"), re.compile("\0([89a-f][0-9a-f])")


def is_read(path: str) -> bool:
    """Return True for a file of which the index holds what it says."""
    return layout.holds_records(path) or layout.is_tried(path)


def read(path: str, content: bytes) -> Parsed | None:
    """Return what the index holds of a file: its record, its links or its tries."""
    return work_tree.parsed(path, content) if is_read(path) else None


class DamagedRowError(sqlite3.DatabaseError):
    """What a row says cannot be, so that the index is built anew."""


def decoded(kind: str, value: bytes) -> Parsed:
    """The record that a row holds; DamagedRowError if it holds none."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise DamagedRowError(f"a row holds a {kind}")
    return read_value(value, decoder.decode)


def read_value(value: bytes, decode: Callable[[bytes], _Value]) -> _Value:
    """What a value of the index stands for; DamagedRowError if it cannot be decoded."""
    try:
        return decode(value)
    except (msgspec.MsgspecError, LookupError, TypeError, UnicodeDecodeError) as error:
        raise DamagedRowError(f"a row cannot be read: {error}") from None


def encoded(value: Parsed) -> bytes | None:
    """A record's bytes; None for one that would not read back as it is, and for a list of links."""
    if isinstance(value, LinkList):  # its lines are rows of their own
        return None
    try:
        data = _ENCODER.encode(value)
        return data if _DECODERS[type(value).__name__].decode(data) == value else None
    except (msgspec.MsgspecError, OverflowError, UnicodeError, TypeError):
        return None  # of an unusual value, such as a number beyond 64 bits


def is_found(path: str) -> bool:
    """Whether `search` may find what stands at a path, if it is trusted."""
    return layout.shelf_of(path) in (layout.SERVED, "memory", "evaluations")


def is_trusted(path: str, parsed: Parsed | None, outcomes: Collection[str]) -> bool:
    """Whether it may be found beside all else; `outcomes` are the ids of those that are trusted.

    An evaluation has the trust of its outcome. A skill on the shelf was let in by a person.
    """
    if isinstance(parsed, Fact):
        return parsed.trust == "local"
    ref = layout.ref_of(path)
    return not isinstance(parsed, Evaluation) or (ref is not None and ref.id in outcomes)


def document(path: str, parsed: Parsed | None) -> Document | None:
    """What is found by its text, under its address; None for what says nothing."""
    ref = layout.ref_of(path)
    if ref is None or not isinstance(parsed, Skill | Fact | Evaluation):
        return None
    if ref == Ref("skill", LEARNED):
        return None
    if isinstance(parsed, Skill):
        parsed = msgspec.structs.replace(parsed, name=ref.id)
    found = document_of(parsed)
    said = found.name or found.body  # an evaluation may have no insight
    return msgspec.structs.replace(found, id=str(ref)) if said else None


def columns(ref: Ref, top: str, parsed: Parsed | None, blob: str) -> Iterator[tuple[Any, ...]]:
    """What is asked of a record, as rows of the tables named after kinds."""
    match parsed:
        case Outcome():
            source, decision = parsed.source, parsed.decision
            came = (parsed.trust, micros(parsed.occurred_at), parsed.event_id, source.session)
            # Without an id of its own a decision is known by its outcome's.
            said = (decision.id or ref.id, parsed.result.status, decision.task, source.agent)
            # It counts, as long as no other of its decision is known.
            yield "outcome", ref.id, *parsed.subject, *came, *said, True
            # What else may make one episode of several decisions: when, in which batch, on what.
            made = None if decision.made_at is None else micros(decision.made_at)
            yield "decided", ref.id, made, source.batch, decision.task.strip()
        case Evaluation():
            judge, right = parsed.judge, parsed.judge_was_right
            row = (judge.name, judge.version, judge.model, parsed.was_good_decision, right)
            yield "evaluation", ref.id, *row
        case Fact():
            yield "fact", ref.id, parsed.domain, parsed.trust, parsed.supersedes, parsed.kind
        case Skill() if ref.id != LEARNED:  # which nobody recommends, merges or assesses
            yield "skill", *skill_columns(ref.id, top, parsed, blob), False, top == layout.SERVED
        case Recommendation():
            about = (parsed.decision, parsed.trust, parsed.task, parsed.agent)
            yield "recommendation", ref.id, *about, micros(parsed.at)
        case Session():
            ended = micros(parsed.ended_at)
            yield "session", ref.id, parsed.domain, parsed.trust, ended, parsed.name
        case Answer():
            yield "answer", ref.id, parsed.domain, parsed.kind, parsed.subject, parsed.session


def link_row(link: Link) -> Row:
    """A link as its row has it, behind the number of its file."""
    metadata = json.dumps(link.metadata) if link.metadata else None
    ends = (link.source.kind, link.source.id, link.target.kind, link.target.id)
    return link.id, link.type, *ends, stamp(link.created_at), metadata


def link_from(row: Row) -> Link:
    """The link that a row stands for; DamagedRowError if it stands for none."""
    link_id, link_type, kind, source, to, target, at, metadata = row
    try:
        return Link(
            id=link_id,
            type=link_type,
            source=Ref(kind, source),
            target=Ref(to, target),
            created_at=datetime.fromisoformat(at),
            metadata=json.loads(metadata) if metadata else {},
        )
    except (TypeError, ValueError) as error:
        raise DamagedRowError(f"a row of a link cannot be read: {error}") from None


def skill_columns(
    name: str, shelf: str, skill: Skill, blob: str, *, layer: str = "vault"
) -> tuple[Any, ...]:
    """The columns of a skill of any layer, except `hidden` and `serves`."""
    roles, stages, tags = map(joined, (skill.roles, skill.stages, skill.tags))
    counts = skill.elsewhere  # of another tool
    return (
        *(name, shelf, skill.domain, skill.kind, skill.status, skill.created, skill.expires),
        *(count_tokens(skill.body), roles, stages, blob, skill.subject, tags),
        *((counts.times_applied, counts.success_rate) if counts else (None, None)),
        layer,
    )


def joined(names: Iterable[str]) -> str:
    """Names as one column has them: a line each, so that one may have blanks; `LISTS` asks."""
    return "\n".join(names)


def micros(at: datetime) -> int:
    """A time in microseconds, as it is ordered."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime:
    """The time that so many microseconds are."""
    return EPOCH + timedelta(microseconds=at)


def bound(value: Any) -> Any:
    """A value as SQLite takes it: bytes of a path that are no text as NUL and two digits."""
    if not isinstance(value, str) or value.isascii():
        return value
    return _UNTEXT.sub(lambda found: f"\0{ord(found[0]) & 0xFF:02x}", value)


def unbound(data: bytes) -> str:
    """A text as SQLite has it, the other way round."""
    text = data.decode()
    return _ESCAPED.sub(lambda f: chr(0xDC00 + int(f[1], 16)), text) if "\0" in text else text


def domains_of(table: str, condition: str) -> str:
    """A query for the domains of which a row meets a condition, by name; it seeks each domain."""
    least = f"select min(domain) from {table}"
    return (
        f"with recursive found (domain) as ({least} union all select ({least} where domain > "
        "found.domain) from found where found.domain is not null) select domain from found "
        f"where exists (select 1 from {table} t where t.domain = found.domain and {condition})"
    )


def grouped(rows: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """First column -> what stands in the second beside it, in the order of the rows."""
    groups: dict[Any, list[Any]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def words(text: str) -> list[str]:
    """The words of a text, as those of a skill's name are cut: letters and digits."""
    return _WORD.findall(text)


def is_untext(path: str) -> bool:
    """Whether a path holds bytes that are no text."""
    return not path.isascii() and bool(_UNTEXT.search(path))
