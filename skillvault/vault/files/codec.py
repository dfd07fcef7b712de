"""Record <-> text.

What a person wrote is read leniently in form and strictly in kind, and changed only by
surgical edits of named keys (`strict_yaml.with_value`). The one home of frontmatter.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec
from frontmatter.default_handlers import YAMLHandler

from skillvault import strict_json
from skillvault.errors import BadInputError
from skillvault.intake import (
    plain_recommendation,
    plain_session,
    stored,
    stored_outcome,
    stored_recommendation,
    stored_session,
)
from skillvault.records import (
    LINK_TYPES,
    ORIGINS,
    SKILL_KINDS,
    SKILL_STATUSES,
    Elsewhere,
    Evaluation,
    Fact,
    Link,
    Outcome,
    Recommendation,
    Record,
    Ref,
    Session,
    Skill,
    Trust,
    plain,
    stamp,
)
from skillvault.vault.files import strict_yaml

MAX_FRONT_MATTER = 64 * 1024

SPEC_KEYS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
# EurekaClaw's own keys: read as aliases, never written.
ALIASES = {
    "tags": "tags", "agent_roles": "roles", "pipeline_stages": "stages", "source": "origin",
    "version": "version", "created_at": "created",
}  # fmt: skip
_COUNTERS = ("usage_count", "success_rate")  # of other tools, and in their files or metadata
_MANY = 10**9
_KNOWN = {*SPEC_KEYS, *ALIASES, *_COUNTERS}

_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
_CHOICES = {
    "kind": SKILL_KINDS, "status": SKILL_STATUSES, "origin": ORIGINS, "trust": get_args(Trust),
}  # fmt: skip
_HANDLER = YAMLHandler()


# ── text ─────────────────────────────────────────────────────────────────────────────


def text_of(content: bytes) -> str:
    """UTF-8 text without its byte order mark; BadInputError names the bad byte."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInputError(
            f"line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8",
            code="not-utf8",
            line=line,
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInputError(
            f"line {line}: a NUL byte; this is not a text file", code="nul", line=line
        )
    return text


def split(text: str) -> tuple[str, str]:
    """(front matter, body) of a markdown text, both exactly as they stand."""
    if not _HANDLER.detect(text):
        raise BadInputError(
            "line 1: no front matter; the file must begin with a line `---`",
            code="no-front-matter",
            line=1,
        )
    try:
        front, body = _HANDLER.split(text)
    except ValueError:
        raise BadInputError(
            "line 1: the front matter has no end; close it with a line `---`",
            code="truncated",
            line=1,
        ) from None
    if len(front.encode()) > MAX_FRONT_MATTER:
        raise BadInputError(
            f"front matter longer than {MAX_FRONT_MATTER // 1024} KiB", code="too-large"
        )
    return front, body


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """(metadata, body stripped) of a markdown text."""
    front, body = split(text)
    return _mapping(strict_yaml.load(front)), body.strip()


def with_key(
    content: bytes, key: tuple[str, ...], value: strict_yaml.Value, *, bare: bool = False
) -> bytes:
    """A markdown file with one front matter key set; every other byte stays.

    `bare`: the file is front matter alone, as `vault.yaml` is.
    """
    text = content.decode("utf-8")
    if bare:
        return strict_yaml.with_value(text, key, value).encode()
    front, _ = split(text.removeprefix("\ufeff"))
    start = text.index(front, text.index("---"))
    edited = strict_yaml.with_value(front.lstrip("\r\n"), key, value)
    lead = front[: len(front) - len(front.lstrip("\r\n"))]
    return (text[:start] + lead + edited + text[start + len(front) :]).encode()


def with_body(content: bytes, body: str) -> bytes:
    """A markdown file with another body; its front matter and the space around stay."""
    text = content.decode("utf-8")
    _, old = split(text.removeprefix("\ufeff"))
    start = text.rindex(old) if old else len(text)
    core = old.strip()
    lead = old[: old.index(core)] if core else old
    tail = old[len(lead) + len(core) :]
    return (text[:start] + lead + body + tail).encode()


def incoming(name: str, content: bytes) -> dict[str, Any]:
    """What an agent dropped, as a mapping: by its ending json, yaml, or markdown.

    A markdown body is the reasoning. Raises BadInputError.
    """
    text = text_of(content)
    if not text.strip():
        raise BadInputError("the file is empty", code="truncated")
    if name.endswith(".md"):
        return _with_reasoning(*front_matter(text))
    mapping = _mapping(strict_json.load(text) if name.endswith(".json") else strict_yaml.load(text))
    _refuse_nul(mapping, "")
    return mapping


def _with_reasoning(meta: dict[str, Any], body: str) -> dict[str, Any]:
    _refuse_nul(meta, "")
    decision = meta.get("decision", {})
    if body and isinstance(decision, Mapping):
        if decision.get("reasoning"):
            raise BadInputError(
                "decision.reasoning: is in the front matter and in the body; keep one",
                code="duplicate-key",
                key="decision.reasoning",
            )
        meta["decision"] = {**decision, "reasoning": body}
    return meta


def _refuse_nul(value: Any, key: str) -> None:
    """An escaped NUL would make a commit message and a markdown file unreadable."""
    if isinstance(value, str) and "\0" in value:
        raise BadInputError(f"{key}: contains a NUL character; remove it", code="nul", key=key)
    if isinstance(value, list):
        for member in value:
            _refuse_nul(member, key)
    if isinstance(value, dict):
        for name, member in value.items():
            _refuse_nul(name, key or "a key")
            _refuse_nul(member, f"{key}.{name}" if key else name)


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise BadInputError(
        "expected keys and values, such as `domain: coding`; see `skillvault record --example`",
        code="wrong-type",
    )


# ── record -> text ───────────────────────────────────────────────────────────────────


def encode(record: Record) -> bytes:
    """A new record's whole text, in the format's key order."""
    match record:
        case Outcome():
            text = strict_yaml.dump(plain(record))
        case Evaluation():
            text = strict_yaml.dump(_evaluation(record))
        case Recommendation():
            text = strict_yaml.dump(plain_recommendation(record))
        case Session():
            text = strict_yaml.dump(plain_session(record))
        case Fact():
            text = _fact_text(record)
        case Link():
            text = strict_yaml.dump(_link(record))
        case Skill():
            text = _skill_text(record)
    return text.encode()


def _evaluation(record: Evaluation) -> dict[str, Any]:
    values = msgspec.to_builtins(record)
    values["judge"] = {k: v for k, v in values["judge"].items() if v is not None}
    right = values.pop("judge_was_right")
    kept = {k: v for k, v in values.items() if v not in (None, [], ())}
    return {**kept, "judge_was_right": right}


def _link(record: Link) -> dict[str, Any]:
    ends = {"source": record.source, "target": record.target}
    return {
        "id": record.id,
        "type": record.type,
        **{end: {"kind": ref.kind, "id": ref.id} for end, ref in ends.items()},
        "created_at": stamp(record.created_at),
        "metadata": dict(record.metadata),
    }


def _fact_text(fact: Fact) -> str:
    values = {key: getattr(fact, key) for key in _FACT_KEYS}
    values["created_at"] = stamp(fact.created_at) if fact.created_at else None
    front = {key: value for key, value in values.items() if value is not None}
    return f"---\n{strict_yaml.dump(front)}---\n\n{fact.text.strip()}\n"


def _skill_text(skill: Skill) -> str:
    words = {name: " ".join(getattr(skill, name)) for name in _WORD_KEYS}
    metadata = {
        "kind": skill.kind, "domain": skill.domain, "subject": skill.subject,
        "account": skill.account, "status": skill.status, "origin": skill.origin,
        "version": skill.version, "created": skill.created, "expires": skill.expires, **words,
        "trust": skill.trust, "retired": skill.retired, "trial": skill.trial,
    }  # fmt: skip
    front = {
        "name": skill.name,
        "description": skill.description,
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    return f"---\n{strict_yaml.dump(front)}---\n\n{skill.body.strip()}\n"


# ── text -> record ───────────────────────────────────────────────────────────────────


def decode(ref: Ref, content: bytes, domain: str | None = None) -> Record:
    """The record that `content` holds under this address; raises BadInputError.

    `domain` is the folder it stands in, which a fact written by hand need not repeat.
    """
    text = _whole(content)
    if ref.kind == "skill":
        return _skill(ref.id, text)
    if ref.kind == "fact":
        return _fact(ref.id, domain, text)
    raw = _mapping(strict_yaml.load(text))
    if ref.kind == "outcome":
        return stored_outcome(raw, ref.id)
    if ref.kind == "recommendation":
        return stored_recommendation(raw, ref.id)
    if ref.kind == "session":
        return stored_session(raw, ref.id)
    return stored(raw, Evaluation) if ref.kind == "evaluation" else _stored_link(raw)


def _whole(content: bytes) -> str:
    """A committed file's text; BadInputError if a merge left its markers in it."""
    text = text_of(content)
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BadInputError(
            f"line {line}: a merge conflict marker; resolve the conflict and commit",
            code="conflict",
            line=line,
        )
    return text


_FACT_KEYS = (
    "id", "domain", "importance", "kind", "created_at", "insight_type", "trust", "supersedes",
    "review_by",
)  # fmt: skip


def _fact(name: str, domain: str | None, text: str) -> Fact:
    """A fact; its front matter is optional, its body not."""
    meta, body = front_matter(text) if _HANDLER.detect(text) else ({}, text)
    if not body.strip():
        raise BadInputError("the fact has no text; write it below the front matter", code="no-body")
    named = {key: meta[key] for key in _FACT_KEYS if meta.get(key) not in (None, "")}
    raw = {"id": name, "domain": domain, **named, "text": body.strip()}
    return stored(raw, Fact)


def _stored_link(raw: dict[str, Any]) -> Link:
    if raw.get("type") not in LINK_TYPES:
        raise _choice("type", raw.get("type"), LINK_TYPES)
    return stored(raw, Link)


def _skill(name: str, text: str) -> Skill:
    meta, body = front_matter(text)
    values_of = {ours: meta[theirs] for theirs, ours in ALIASES.items() if theirs in meta}
    values_of |= _metadata(meta.get("metadata"))
    for key, choices in _CHOICES.items():
        if key in values_of and values_of[key] not in choices:
            raise _choice(f"metadata.{key}", values_of[key], choices)
    values: dict[str, Any] = {
        key: _as_text(value)
        for key, value in values_of.items()
        if key in _TEXT_KEYS and value not in (None, "")
    }
    values |= {key: _as_words(values_of[key]) for key in _WORD_KEYS if values_of.get(key)}
    return Skill(
        name=_required(meta, "name", f"write `name: {name}`"),
        description=_required(meta, "description", "say what it does and when to use it"),
        body=body,
        foreign=tuple(key for key in meta if key not in _KNOWN),
        elsewhere=_elsewhere({**meta, **(meta.get("metadata") or {})}),
        **values,
    )


def _elsewhere(meta: Mapping[str, Any]) -> Elsewhere | None:
    """Another tool's counters; None where they tell nothing."""
    count, rate = (_number(meta.get(key)) for key in _COUNTERS)
    if count is None or count < 1:
        return None
    success_rate = rate if rate is not None and 0 <= rate <= 1 else None
    return Elsewhere(int(min(count, _MANY)), success_rate)


def _number(value: Any) -> float | None:
    """A number, also one written as a text; None for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


_WORD_KEYS = ("tags", "roles", "stages")
_TEXT_KEYS = (
    "kind", "domain", "subject", "account", "status", "origin", "version", "created", "expires",
    "trust", "retired", "trial",
)  # fmt: skip


def _metadata(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInputError(
            "metadata: expected keys and values, such as `kind: guide`",
            code="wrong-type",
            key="metadata",
        )
    for key, value_of in value.items():
        if isinstance(value_of, dict | list):
            raise BadInputError(
                f"metadata.{key}: expected text, found a {'list' if value_of else 'collection'}; "
                "write the words with spaces between them",
                code="wrong-type",
                key=f"metadata.{key}",
            )
    return value


def _required(meta: dict[str, Any], key: str, how: str) -> str:
    value = meta.get(key)
    if value is None or value == "":
        raise BadInputError(f"{key}: missing; {how}", code="missing-key", key=key)
    if isinstance(value, dict | list):
        raise BadInputError(f"{key}: expected text; {how}", code="wrong-type", key=key)
    return _as_text(value)


def _choice(key: str, value: Any, choices: Iterable[str]) -> BadInputError:
    return BadInputError(
        f"{key}: {value!r} is not one of {', '.join(choices)}", code="bad-value", key=key
    )


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_words(value: Any) -> tuple[str, ...]:
    return (
        tuple(_as_text(v) for v in value) if isinstance(value, list) else tuple(str(value).split())
    )
