"""What is written once (outcome, recommendation, session, link, judgement): which copy stays.

The content decides: two copies of one id say the same, but for what each clone knew of it alone.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import fields

from skillvault.learning.sync.three_way import Rule, Versions, contradiction, file_by
from skillvault.model.records import (
    Decision,
    Lesson,
    Link,
    Outcome,
    Recommendation,
    Result,
    Session,
    Source,
)
from skillvault.model.text import front_matter, strict_yaml

_TIMES = frozenset({"created_at", "at", "occurred_at", "ended_at"})
_TRUST = "trust"
_KINDS = (Outcome, Decision, Result, Lesson, Source, Recommendation, Session, Link)
_KNOWN = frozenset(field.name for kind in _KINDS for field in fields(kind)) - {"metadata"}
_OFFLINE = "offline"


def merged_record(versions: Versions) -> bytes:
    """Least trust, the earliest time, unknown keys of both; BadInputError if they differ else."""
    return file_by(_united, versions)


def _united(versions: Versions) -> bytes:
    first, second = (_record_in(content) for content in versions.sides)
    merged = _joined_values(first, second, "")
    if merged in (first, second):
        return versions.sides[0 if merged == first else 1]
    return _as_file(merged, is_json=versions.ours.lstrip().startswith(b"{"))


def _record_in(content: bytes) -> dict[str, Any]:
    return front_matter.as_mapping(strict_yaml.load(front_matter.text_of(content)))


def _as_file(values: Mapping[str, Any], *, is_json: bool) -> bytes:
    if is_json:
        return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()
    return strict_yaml.dump(values).encode()


def _joined_values(first: Any, second: Any, key: str) -> Any:
    """One value of two; `key` is its dotted place."""
    name = key.rpartition(".")[2]
    if first == second:
        return first
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _joined_mappings(first, second, key)
    if name == _TRUST:
        return "untrusted"
    if name in _TIMES:
        return min(first, second, key=str)
    raise contradiction(key, first, second)


def _joined_mappings(
    first: Mapping[str, Any], second: Mapping[str, Any], place: str
) -> dict[str, Any]:
    """The keys that the format knows in its order, behind them those of either side, sorted."""
    shared = {
        name: _joined_values(first[name], second[name], f"{place}.{name}" if place else name)
        for name in first
        if name in second
    }
    single = {**first, **second}
    for name in sorted(single.keys() - shared.keys()):
        if name in _KNOWN and name != _TRUST:
            raise contradiction(f"{place}.{name}".strip("."), first.get(name), second.get(name))
        shared[name] = single[name]
    known = {name: value for name, value in shared.items() if name in _KNOWN}
    return {**known, **{name: shared[name] for name in sorted(shared.keys() - known.keys())}}


def merged_judgement(versions: Versions) -> bytes:
    """One of both, whole: a paid judge's, the newer version, then the lesser bytes."""
    return file_by(lambda v: max(reversed(v.sides), key=_rank), versions)


def _rank(content: bytes) -> tuple[bool, tuple[int, ...], str]:
    judge = front_matter.as_mapping(_record_in(content).get("judge"))
    version = str(judge.get("version", ""))
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return judge.get("name") != _OFFLINE, numbers, version


RECORDED: Mapping[str, Rule] = {
    "outcome": merged_record,
    "recommendation": merged_record,
    "session": merged_record,
    "link": merged_record,
    "evaluation": merged_judgement,
    "answer": merged_judgement,
}
