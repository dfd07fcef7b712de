"""Convert each kind of record to text, and the text back to a record.

A person may have written a file in another form, but not with other types. `front_matter` changes
only single keys of such a file. The table `_FORMATS` at the end names the functions of each kind.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import Struct

from skillvault.model.conversion import convert, convert_stored
from skillvault.model.errors import BadInputError, key_error
from skillvault.model.records import (
    ORIGINS,
    SKILL_KINDS,
    SKILL_STATUSES,
    Answer,
    Correction,
    Evaluation,
    ExternalUse,
    Extra,
    Fact,
    Outcome,
    Recommendation,
    Record,
    Ref,
    Retraction,
    Session,
    Skill,
    Trust,
    kind_of,
    stamp,
)
from skillvault.model.text import front_matter, strict_json, strict_yaml

# EurekaClaw's keys: read as aliases, never written.
ALIASES = {
    "tags": "tags", "agent_roles": "roles", "pipeline_stages": "stages", "source": "origin",
    "version": "version", "created_at": "created",
}  # fmt: skip
_COUNTERS = ("usage_count", "success_rate")  # of other tools, and in their files or metadata
_MAX_USES = 10**9
_DISPLAY_KEYS = ("handle", "how")  # of a shown skill or fact: not part of an id
# Keys of a session's file that the vault assigns; its `id` is the session's name.
_ASSIGNED_SESSION_KEYS = frozenset({"id", "name", "type", "extra"})
_READ_KEYS = {*front_matter.SKILL_KEYS, *ALIASES, *_COUNTERS}

_CONFLICT_MARK = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
_CHOICES = {
    "kind": SKILL_KINDS, "status": SKILL_STATUSES, "origin": ORIGINS, "trust": get_args(Trust),
}  # fmt: skip


# ── text ─────────────────────────────────────────────────────────────────────────────


def parse_incoming(name: str, content: bytes) -> dict[str, Any]:
    """Parse an agent's JSON, YAML or markdown file to a mapping.

    The ending of the name decides the format. The body of a markdown file is the reasoning. Raises
    BadInputError if the file cannot be parsed.
    """
    text = front_matter.text_of(content)
    if not text.strip():
        raise BadInputError("the file is empty", code="truncated")
    body = ""
    if name.endswith(".md"):
        mapping, body = front_matter.read_document(text)
    else:
        load = strict_json.load if name.endswith(".json") else strict_yaml.load
        mapping = front_matter.as_mapping(load(text))
    _refuse_nul(mapping, "")
    decision = mapping.get("decision", {})
    if body and isinstance(decision, Mapping):
        if decision.get("reasoning"):
            problem = "is in the front matter and in the body; keep one"
            raise key_error("decision.reasoning", "duplicate-key", problem)
        mapping["decision"] = {**decision, "reasoning": body}
    return mapping


def _refuse_nul(value: Any, key: str) -> None:
    """Raise BadInputError for an escaped NUL, which would make commits and markdown unreadable."""
    if isinstance(value, str) and "\0" in value:
        raise key_error(key, "nul", "contains a NUL character; remove it")
    if isinstance(value, list):
        for member in value:
            _refuse_nul(member, key)
    if isinstance(value, dict):
        for member_key, member in value.items():
            _refuse_nul(member_key, key or "a key")
            _refuse_nul(member, f"{key}.{member_key}" if key else member_key)


# ── any kind ─────────────────────────────────────────────────────────────────────────


def encode(record: Record) -> bytes:
    """Return the bytes of a new record, with its keys in the order of the format."""
    return _FORMATS[kind_of(record)].to_text(record).encode()


def decode(ref: Ref, content: bytes, domain: str | None = None) -> Record:
    """Parse the file of a record. Raise BadInputError if that fails.

    `domain` is the folder of the file; a fact written by hand need not repeat it.
    """
    return _FORMATS[ref.kind].from_text(_checked_text_of(content), ref.id, domain)


def _checked_text_of(content: bytes) -> str:
    text = front_matter.text_of(content)
    if match := _CONFLICT_MARK.search(text):
        line = text.count("\n", 0, match.start()) + 1
        message = f"line {line}: a merge conflict marker; resolve the conflict and commit"
        raise BadInputError(message, code="conflict", line=line)
    return text


class _Format(NamedTuple):
    """The functions that write a record of one kind as text, and read the text."""

    to_text: Callable[[Any], str]
    from_text: Callable[[str, str, str | None], Record]


def _yaml_format(
    values_of: Callable[[Any], dict[str, Any]], record_of: Callable[[dict[str, Any], str], Record]
) -> _Format:
    def from_text(text: str, name: str, _domain: str | None) -> Record:
        return record_of(front_matter.as_mapping(strict_yaml.load(text)), name)

    return _Format(lambda record: strict_yaml.dump(values_of(record)), from_text)


def _canonical_digest(values: dict[str, Any]) -> str:
    del values["received"]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


# ── outcomes ─────────────────────────────────────────────────────────────────────────


def outcome_values(record: Outcome) -> dict[str, Any]:
    """Return an outcome as a mapping in the format's key order, without absent values."""
    decision = _part_values(record.decision)
    if record.decision.made_at:
        decision["made_at"] = stamp(record.decision.made_at)
    values: dict[str, Any] = {
        "event_id": record.event_id,
        "domain": record.domain,
        "occurred_at": stamp(record.occurred_at),
        "decision": {key: value for key, value in decision.items() if value is not None},
        "result": _part_values(record.result),
        "context": record.context or None,
        "applied": None if record.applied is None else list(record.applied),
        "lesson": None if record.lesson is None else _part_values(record.lesson),
        "source": _part_values(record.source),
        **record.extra,
        "received": record.received,
    }
    return {key: value for key, value in values.items() if value is not None}


def outcome_digest(record: Outcome) -> str:
    """Return the sha256 of an outcome without the keys that the vault adds, for its id."""
    values = outcome_values(record)
    values["source"] = {key: value for key, value in values["source"].items() if key != "trust"}
    if not values["source"]:
        del values["source"]
    return _canonical_digest(values)


def outcome_of(values: Mapping[str, Any], record_id: str) -> Outcome:
    """Convert the values of a recorded file to an Outcome. Only their types are checked."""
    record = convert({**values, "id": record_id}, Outcome)
    _check_action(record, values)
    return record


def _check_action(record: Outcome, raw: Mapping[str, Any]) -> None:
    """Raise BadInputError for an outcome without an action.

    The result of a known decision needs no action.
    """
    if record.is_described or (record.decision.id and record.result.observed_by):
        return
    key = "decision.action"
    if "action" not in raw["decision"]:
        raise key_error(key, "missing-key", "missing; add it")
    raise key_error(key, "wrong-type", 'expected text that is not empty, found text ""')


def _part_values(part: Struct) -> dict[str, Any]:
    """Return the values of a nested record that are set, unknown keys last."""
    values: dict[str, Any] = msgspec.structs.asdict(part)
    extra: Extra = values.pop("extra")
    return {key: value for key, value in values.items() if value not in (None, "")} | extra


# ── recommendations ──────────────────────────────────────────────────────────────────


def recommendation_values(record: Recommendation) -> dict[str, Any]:
    """Return a recommendation as a mapping in the format's key order, without its id."""
    values: dict[str, Any] = msgspec.to_builtins(record)
    extra = values.pop("extra")
    received = values.pop("received")
    del values["id"]
    if record.trust == "local":
        del values["trust"]
    facts = values["facts"]
    for part in (*values["shown"], *facts):
        for key in _DISPLAY_KEYS:
            if not part.get(key):
                part.pop(key, None)
    values["facts"] = facts or None
    set_values = {key: value for key, value in values.items() if value not in (None, "", {})}
    return {**set_values, "at": stamp(record.at), **extra, "received": received}


def recommendation_digest(record: Recommendation) -> str:
    """Return the sha256 of a recommendation without the keys that the vault adds."""
    values = recommendation_values(msgspec.structs.replace(record, trust="local"))
    for skill in values.get("shown", ()):
        for key in _DISPLAY_KEYS:
            skill.pop(key, None)
    return _canonical_digest(values)


def recommendation_of(values: Mapping[str, Any], name: str) -> Recommendation:
    """Convert the values of a recorded file. Only their types are checked."""
    return convert({**values, "id": name}, Recommendation)


# ── sessions ─────────────────────────────────────────────────────────────────────────


def session_values(record: Session) -> dict[str, Any]:
    """Return a session as a mapping in the format's key order, with its name as `id`."""
    values: dict[str, Any] = {
        "id": record.name,
        "domain": record.domain,
        "ended_at": stamp(record.ended_at),
        "agent": record.agent,
        "failures": [_part_values(failure) for failure in record.failures],
        "successes": [_part_values(success) for success in record.successes],
        "tags": list(record.tags),
        "roles": list(record.roles),
        "stages": list(record.stages),
        "transcript": record.transcript,
        "trust": None if record.trust == "local" else record.trust,
    }
    set_values = {key: value for key, value in values.items() if value not in (None, [])}
    return {**set_values, **record.extra, "received": record.received}


def session_digest(record: Session) -> str:
    """Return the sha256 of a session without the keys that the vault adds."""
    return _canonical_digest(session_values(msgspec.structs.replace(record, trust="local")))


def session_of(values: Mapping[str, Any], name: str) -> Session:
    """Convert the values of a recorded file to a Session. Only their types are checked.

    The key `id` of the file is the session's name.
    """
    if values.get("id") in (None, ""):
        problem = "missing; write the session's id, as its outcomes have it in source.session"
        raise key_error("id", "missing-key", problem)
    fields = {key: value for key, value in values.items() if key not in _ASSIGNED_SESSION_KEYS}
    try:
        record = convert({**fields, "id": "", "name": values["id"]}, Session)
    except BadInputError as error:
        if error.key != "name":
            raise
        message = error.message.replace("name:", "id:", 1)
        raise BadInputError(message, code=error.code, key="id") from None
    return msgspec.structs.replace(record, id=name)


# ── evaluations, answers ─────────────────────────────────────────────────────────────


def _evaluation_values(record: Evaluation) -> dict[str, Any]:
    values = msgspec.to_builtins(record)
    values["judge"] = {k: v for k, v in values["judge"].items() if v is not None}
    was_right = values.pop("judge_was_right")
    set_values = {k: v for k, v in values.items() if v not in (None, [], ())}
    return {**set_values, "judge_was_right": was_right}


def _answer_text(record: Answer) -> str:
    values = msgspec.to_builtins(record) | {"at": stamp(record.at)}
    values["judge"] = {k: v for k, v in values["judge"].items() if v is not None}
    set_values = {key: value for key, value in values.items() if value is not None}
    return f"{json.dumps(set_values, ensure_ascii=False, indent=2)}\n"


# ── facts ────────────────────────────────────────────────────────────────────────────


FACT_KEYS = (
    "id", "domain", "importance", "kind", "created_at", "insight_type", "trust", "supersedes",
    "review_by", "scope", "session", "about", "state",
)  # fmt: skip
_CORRECTION_KEYS = (
    "id", "domain", "kind", "scope", "state", "session", "created_at", "said_by", "confirmed",
    "about", "supersedes",
)  # fmt: skip


def _statement_writer(keys: Sequence[str]) -> Callable[[Fact | Correction], str]:
    def write_statement(record: Fact | Correction) -> str:
        values = {key: getattr(record, key) for key in keys}
        values["created_at"] = stamp(record.created_at) if record.created_at else None
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        front = {key: value for key, value in values.items() if value not in (None, [])}
        return front_matter.compose(front, record.text)

    return write_statement


def _statement_reader(
    keys: Sequence[str], kind: type[Fact] | type[Correction]
) -> Callable[..., Record]:
    """Return a function that reads a fact or correction, whose front matter is optional."""

    def read_statement(text: str, name: str, domain: str | None) -> Record:
        meta, body = (
            front_matter.read_document(text) if front_matter.has_front_matter(text) else ({}, text)
        )
        if not body.strip():
            message = "the fact has no text; write it below the front matter"
            raise BadInputError(message, code="no-body")
        values = {key: meta[key] for key in keys if meta.get(key) not in (None, "")}
        raw = {"id": name, "domain": domain, **values, "text": body.strip()}
        return convert_stored(raw, kind)

    return read_statement


# ── skills ───────────────────────────────────────────────────────────────────────────


_TEXT_KEYS = {*front_matter.METADATA_KEYS} - {"internal", *front_matter.WORD_KEYS}


def foreign_skill(name: str, content: bytes) -> Skill:
    """Parse a skill that other people wrote. Raise BadInputError if that fails.

    Unlike the vault's files, it may have unquoted colons, nested metadata and lists.
    """
    meta, body = front_matter.read_foreign(_checked_text_of(content))
    meta["metadata"] = _without_nested(meta.get("metadata"))
    return _skill_of(name, meta, body)


def _skill_of(name: str, meta: dict[str, Any], body: str) -> Skill:
    """Return the skill with this front matter and body. `name` is the name of its folder."""
    raw_values = {key: meta[alias] for alias, key in ALIASES.items() if alias in meta}
    raw_values |= _checked_metadata(meta.get("metadata"))
    for key, choices in _CHOICES.items():
        if key in raw_values and raw_values[key] not in choices:
            problem = f"{raw_values[key]!r} is not one of {', '.join(choices)}"
            raise key_error(f"metadata.{key}", "bad-value", problem)
    values: dict[str, Any] = {
        key: _as_text(value)
        for key, value in raw_values.items()
        if key in _TEXT_KEYS and value not in (None, "")
    }
    values |= {
        key: _split_words(raw_values[key]) for key in front_matter.WORD_KEYS if raw_values.get(key)
    }
    return Skill(
        name=_require_text(meta, "name", f"write `name: {name}`"),
        description=_require_text(meta, "description", "say what it does and when to use it"),
        body=body,
        foreign=tuple(key for key in meta if key not in _READ_KEYS),
        elsewhere=_external_use({**meta, **(meta.get("metadata") or {})}),
        internal=raw_values.get("internal") is True,  # hosts overlook the text "true"
        **values,
    )


def _without_nested(metadata: Any) -> Any:
    """Return metadata without nested values, and with lists of words joined."""
    if not isinstance(metadata, dict):
        return metadata
    return {
        key: " ".join(map(_as_text, value)) if isinstance(value, list) else value
        for key, value in metadata.items()
        if not isinstance(value, dict)
        and not (isinstance(value, list) and any(isinstance(v, dict | list) for v in value))
    }


def _external_use(meta: Mapping[str, Any]) -> ExternalUse | None:
    """Return the counters of another tool, or None if they count nothing."""
    count, rate = (_number(meta.get(key)) for key in _COUNTERS)
    if count is None or count < 1:
        return None
    success_rate = rate if rate is not None and 0 <= rate <= 1 else None
    return ExternalUse(int(min(count, _MAX_USES)), success_rate)


def _number(value: Any) -> float | None:
    """Return a finite number, even if it is written as text, or None for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


def _checked_metadata(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        problem = "expected keys and values, such as `kind: manual`"
        raise key_error("metadata", "wrong-type", problem)
    for key, entry in value.items():
        if isinstance(entry, dict | list):
            problem = (
                f"expected text, found a {'list' if entry else 'collection'}; "
                "write the words with spaces between them"
            )
            raise key_error(f"metadata.{key}", "wrong-type", problem)
    return value


def _require_text(meta: dict[str, Any], key: str, requirement: str) -> str:
    value = meta.get(key)
    if value is None or value == "":
        raise key_error(key, "missing-key", f"missing; {requirement}")
    if isinstance(value, dict | list):
        raise key_error(key, "wrong-type", f"expected text; {requirement}")
    return _as_text(value)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split_words(value: Any) -> tuple[str, ...]:
    return (
        tuple(_as_text(v) for v in value) if isinstance(value, list) else tuple(str(value).split())
    )


_FORMATS: Mapping[str, _Format] = {
    "outcome": _yaml_format(outcome_values, outcome_of),
    "evaluation": _yaml_format(
        _evaluation_values, lambda values, _: convert_stored(values, Evaluation)
    ),
    "recommendation": _yaml_format(recommendation_values, recommendation_of),
    "session": _yaml_format(session_values, session_of),
    "retraction": _yaml_format(
        lambda record: {**msgspec.to_builtins(record), "at": stamp(record.at)},
        lambda values, _: convert_stored(values, Retraction),
    ),
    "answer": _Format(
        _answer_text,
        lambda text, *_: convert_stored(front_matter.as_mapping(strict_json.load(text)), Answer),
    ),
    "fact": _Format(_statement_writer(FACT_KEYS), _statement_reader(FACT_KEYS, Fact)),
    "correction": _Format(
        _statement_writer(_CORRECTION_KEYS), _statement_reader(_CORRECTION_KEYS, Correction)
    ),
    "skill": _Format(
        attrgetter("markdown"),
        lambda text, name, _: _skill_of(name, *front_matter.read_document(text, as_written=True)),
    ),
}
