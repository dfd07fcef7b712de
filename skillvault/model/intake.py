"""From foreign data to a record, or a refusal that names the key and the next step.

`outcome_from`, `recommendation_from` and `session_from` are the only ways from what an agent wrote
to a record. Pure: the time and the trust of the source are arguments.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from skillvault.model.aliases import handle_in
from skillvault.model.errors import BadInputError
from skillvault.model.records import (
    Decision,
    Extra,
    Lesson,
    Observer,
    Outcome,
    Recommendation,
    Result,
    Scalar,
    Session,
    SessionFailure,
    SessionSuccess,
    Source,
    Status,
    Trust,
    moment_of,
    plain,
    stamp,
)
from skillvault.model.text.text import MAX_SLUG, is_slug, slug

MAX_TEXT = 64 * 1024  # bytes of one text
SCORE_TOLERANCE = 0.001
MAX_SHOWN = 1000  # skills in one list of a recommendation
MAX_TOLD = 1000  # failures or successes of a session
_HEX = 6  # digits by which a session's id differs from others that read alike

_SHOWN_AS = ("handle", "how")  # of a skill or fact that was shown: no part of an id
# Keys whose refusal says what to write instead.
_HOW = {
    "agent": "name who asked, as source.agent of its outcomes does",
    "task": "write what was asked, in the asker's words",
    "decision.task": "write what was asked, in the asker's words",
    "decision.reasoning_at": "write before, or after if the result was known by then",
    "decision.report": "write what was said after the result, or leave it out",
    "result.answer": "put the answer between quotes",
    "result.observed_by": "leave it out if the agent alone saw it",
    "result.claim": "write what the agent said of it, or leave it out",
    "result.claimed": "leave it out if the agent did not say",
    "source.batch": "name the backtest, the job or the run of the CI",
    "lesson": "write its parts: when, do, because, evidence, observed",
    **dict.fromkeys(
        ("lesson.when", "lesson.do", "lesson.because", "lesson.evidence"),
        "write it as text between quotes",
    ),
    "lesson.observed": "write true if it was seen, false if it is supposed",
    "facts": "write a list of {fact: NAME, blob: ID}",
}
_TEXTS = {
    ("decision", "task"): "keep what the task asks for",
    ("decision", "report"): "keep the sentences that say what was found",
    ("result", "answer"): "keep the answer itself, and its proof in result.evidence",
    ("result", "evidence"): "keep the lines that show the error",
    ("result", "claim"): "keep the sentences that say how it ended",
    ("lesson", "when"): "say it in a sentence",
    ("lesson", "do"): "say it in a sentence",
    ("lesson", "because"): "say it in a sentence",
    ("lesson", "evidence"): "keep the words that it rests on",
}
_NESTED: dict[str, type[Struct]] = {
    "decision": Decision,
    "result": Result,
    "lesson": Lesson,
    "source": Source,
}
_ASSIGNED = frozenset({"id", "received"})  # top-level keys that the vault gives
_NOT_TAKEN = _ASSIGNED | {"type", "extra"}  # of a recommendation
_NOT_TAKEN_OF_SESSION = frozenset({"id", "name", "type", "extra"})  # its `id` is its name
_PARTS: dict[str, type[Struct]] = {"failures": SessionFailure, "successes": SessionSuccess}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "result.status": get_args(Status),
    "result.claimed": get_args(Status),
    "result.observed_by": get_args(Observer),
    "source.trust": get_args(Trust),
    "trust": get_args(Trust),
}
_AT = re.compile(r" - at `\$\.?(?P<key>[^`]*)`$")
_EXPECTED = re.compile(
    r"^Expected `(?P<want>[^`]+)`(?P<bound> [<>]=? [-\d.]+)?(?:, got `(?P<got>[^`]+)`)?"
)
_IN_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "datetime": "a time with its timezone, such as 2026-11-20T10:15:00Z",
    "object": "a mapping of keys to values",
    "array": "a list",
    "null": "nothing",
}
_RECORD = TypeVar("_RECORD", bound=Struct)


def outcome_from(
    raw: Mapping[str, Any],
    *,
    trust: Trust,
    now: datetime,
    unbounded: bool = False,
    ahead: timedelta = timedelta(days=1),
) -> Outcome:
    """A validated Outcome from a mapping as an agent wrote it.

    `trust` is what the door gives; the record's own `source.trust` can only lower it.
    Times are refused beyond `now + ahead`. Raises BadInputError with the dotted key.
    """
    values = {key: value for key, value in raw.items() if key not in _ASSIGNED and key != "type"}
    claimed = _claimed_trust(values)
    if isinstance(values.get("result"), Mapping):
        values["result"] = _with_status(values["result"])
    _check_context(values.get("context"))
    try:
        record = _convert({**values, "id": "", "received": ""}, Outcome, key_path="")
    except BadInputError as error:
        raise _with_next_step(error) from None
    check_slug(record.domain)
    _check_lesson(record.lesson)
    _check_times(record)
    _check_handles(record)
    record = msgspec.structs.replace(record, result=_checked_result(record.result, unbounded))
    if record.occurred_at - now > ahead:
        raise BadInputError(
            f"occurred_at: {stamp(record.occurred_at)} lies in the future "
            f"(now is {stamp(now)}); give the time at which it ended",
            code="future",
            key="occurred_at",
        )
    digest = hashlib.sha256(_outcome_normal_form(record).encode()).hexdigest()
    lowered: Trust = "untrusted" if "untrusted" in (trust, claimed) else "local"
    _check_action(record, raw)
    _check_sizes(record)
    return msgspec.structs.replace(
        record,
        id=f"{moment_of(record.occurred_at)}-{digest[:10]}",
        received=digest,
        source=msgspec.structs.replace(record.source, trust=lowered),
    )


def stored_outcome(raw: Mapping[str, Any], outcome_id: str) -> Outcome:
    """An Outcome as it was recorded; only its shape is checked again."""
    record = _convert({**raw, "id": outcome_id}, Outcome, key_path="")
    _check_action(record, raw)
    return record


def stored(raw: Any, kind: type[_RECORD]) -> _RECORD:
    """A record of the vault's own making; raises BadInputError with the dotted key."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _in_words(error, "", raw) from None


def recommendation_from(
    raw: Mapping[str, Any],
    *,
    trust: Trust,
    now: datetime,
    ahead: timedelta = timedelta(days=1),
) -> Recommendation:
    """A validated Recommendation from a mapping; BadInputError names the key.

    `trust` is what the door gives; the record's own can only lower it. Times are refused
    beyond `now + ahead`.
    """
    values = {key: value for key, value in raw.items() if key not in _NOT_TAKEN}
    try:
        record = stored_recommendation({**values, "received": ""}, "")
    except BadInputError as error:
        raise _with_next_step(error) from None
    _check_recommendation(record)
    if record.at - now > ahead:
        raise BadInputError(
            f"at: {stamp(record.at)} lies in the future (now is {stamp(now)}); give the time at "
            "which it was shown",
            code="future",
            key="at",
        )
    digest = hashlib.sha256(_recommendation_normal_form(record).encode()).hexdigest()
    _check_lists(record)
    return msgspec.structs.replace(
        record,
        id=f"{moment_of(record.at)}-{digest[:10]}",
        received=digest,
        trust="untrusted" if "untrusted" in (trust, record.trust) else "local",
    )


def stored_recommendation(raw: Mapping[str, Any], recommendation_id: str) -> Recommendation:
    """A Recommendation as it was recorded; only its shape is checked again."""
    return _convert({**raw, "id": recommendation_id}, Recommendation, key_path="")


def plain_recommendation(record: Recommendation) -> dict[str, Any]:
    """The record as a mapping in the format's key order, without its id."""
    values: dict[str, Any] = msgspec.to_builtins(record)
    extra = values.pop("extra")
    received = values.pop("received")
    del values["id"]
    if record.trust == "local":
        del values["trust"]
    facts = values["facts"]
    for part in (*values["shown"], *facts):
        for key in _SHOWN_AS:
            if not part.get(key):
                part.pop(key, None)
    values["facts"] = facts or None
    present = {key: value for key, value in values.items() if value not in (None, "", {})}
    return {**present, "at": stamp(record.at), **extra, "received": received}


def _outcome_normal_form(record: Outcome) -> str:
    """The record as canonical JSON, without what the vault gives (id, trust)."""
    body = plain(record)
    body.pop("received")
    body["source"] = {k: v for k, v in body["source"].items() if k != "trust"}
    if not body["source"]:
        del body["source"]
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _claimed_trust(raw: Mapping[str, Any]) -> str | None:
    source = raw.get("source")
    claimed = source.get("trust") if isinstance(source, Mapping) else None
    return claimed if isinstance(claimed, str) else None


def _convert(raw: Mapping[str, Any], kind: type[_RECORD], *, key_path: str) -> _RECORD:
    """`raw` as `kind`, its unknown keys in `extra`, its nested records likewise.

    A null or an empty text says nothing, where the key may be left out.
    """
    required = _required_keys(kind)
    values: dict[str, Any] = {"extra": {}}
    for key, value in raw.items():
        if not isinstance(key, str):
            raise BadInputError(
                f"{_join(key_path, str(key))}: keys must be text; quote {key!r}",
                code="bad-key",
                key=_join(key_path, str(key)),
            )
        if key not in required:
            values["extra"][key] = value
        elif value in (None, "") and not required[key]:
            continue
        elif key in _NESTED and isinstance(value, Mapping):
            values[key] = _convert(value, _NESTED[key], key_path=_join(key_path, key))
        else:
            values[key] = value
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise _in_words(error, key_path, raw) from None


@cache
def _required_keys(kind: type[Struct]) -> Mapping[str, bool]:
    """The keys of a record, and whether each must be there."""
    fields = msgspec.structs.fields(kind)
    return {field.name: field.required for field in fields if field.name != "extra"}


def _with_next_step(error: BadInputError) -> BadInputError:
    """The refusal of a key with what to write instead."""
    step = _HOW.get(error.key or "")
    if step is None or error.code in ("missing-key", "bad-key"):
        return error
    return BadInputError(f"{error.message}; {step}", code=error.code, key=error.key)


def _join(path: str, key: str) -> str:
    dot = "" if key.startswith("[") else "."
    return f"{path}{dot}{key}" if path else key


def _in_words(error: msgspec.ValidationError, path: str, raw: Any) -> BadInputError:
    """Msgspec's message as one sentence that names the key and the next step."""
    message = str(error)
    at = _AT.search(message)
    key = _join(path, at["key"]) if at else path
    text = _AT.sub("", message)
    if missing := re.match(r"Object missing required field `(.+)`", text):
        key = _join(key, missing[1])
        return BadInputError(f"{key}: missing; add it", code="missing-key", key=key)
    value = _dig(raw, at["key"] if at else "")
    if text.startswith("Invalid enum value"):
        problem = f"{value!r} is not one of the values it may have"
        return BadInputError(f"{key}: {problem}{_choices(key)}", code="bad-value", key=key)
    if "RFC3339" in text:
        text = "Expected `datetime`"
    expected = _EXPECTED.match(text)
    if expected is None:
        return BadInputError(f"{key}: {text}", code="bad-value", key=key)
    want = _types_in_words(expected["want"])
    if expected["bound"]:
        want += f"{expected['bound'].replace('>=', 'at least').replace('<=', 'at most')}"
    elif text.startswith("Expected `str` of length"):
        want = "text that is not empty"
    return BadInputError(
        f"{key or 'the record'}: expected {want}, found {_value_in_words(value)}",
        code="bad-value" if expected["bound"] else "wrong-type",
        key=key or None,
    )


def _types_in_words(want: str) -> str:
    parts = [_IN_WORDS.get(part.strip(), part.strip()) for part in want.split("|")]
    return " or ".join(part for part in parts if part != "nothing") or "nothing"


def _choices(key: str) -> str:
    choices = _CHOICES.get(key)
    return f"; write {', '.join(choices)}" if choices else ""


def _dig(raw: Any, path: str) -> Any:
    """The value at a msgspec path; the container if the path leaves plain keys."""
    for part in filter(None, path.split(".")):
        if not isinstance(raw, Mapping) or part not in raw:
            return raw
        raw = raw[part]
    return raw


def _value_in_words(value: Any) -> str:
    if isinstance(value, str):
        return f"text {json.dumps(value[:40], ensure_ascii=False)}"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "nothing" if value is None else json.dumps(value, default=str)[:40]


def _with_status(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with the status that its numbers give if it names none."""
    if result.get("status") is not None:
        return dict(result)
    score, amount, entry = (result.get(key) for key in ("score", "amount", "entry_value"))
    if not all(_is_number(x) for x in (score, amount, entry) if x is not None):
        return {**result, "status": "neutral"}  # the wrong type is told, not its consequence
    if score is None and amount is not None and entry:
        score = amount / entry
    if score is None:
        raise BadInputError(
            "result.status: missing; write success, failure or neutral, or give result.score",
            code="missing-key",
            key="result.status",
        )
    return {**result, "status": _status_of(score)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _status_of(score: float) -> Status:
    return "success" if score > 0 else "failure" if score < 0 else "neutral"


def check_slug(domain: str) -> None:
    """Raise BadInputError if a domain cannot be a folder's name."""
    if not is_slug(domain):
        raise BadInputError(
            f"domain: {domain[:80]!r} cannot be a folder name; use lower-case letters, "
            "digits and single hyphens, at most 64",
            code="bad-domain",
            key="domain",
        )


def _check_action(record: Outcome, raw: Mapping[str, Any]) -> None:
    """A result alone says whose decision it is the end of; anything else says what was decided."""
    if record.is_described or (record.decision.id and record.observer != "agent"):
        return
    key = "decision.action"
    if "action" not in raw["decision"]:
        raise BadInputError(f"{key}: missing; add it", code="missing-key", key=key)
    raise BadInputError(
        f'{key}: expected text that is not empty, found text ""', code="wrong-type", key=key
    )


def _check_lesson(lesson: Lesson | None) -> None:
    if lesson is not None and not (lesson.when.strip() or lesson.do.strip()):
        raise BadInputError(
            "lesson.do: missing; write what to do, or under lesson.when what it is about",
            code="missing-key",
            key="lesson.do",
        )


def _check_sizes(record: Outcome) -> None:
    for (part, key), how in _TEXTS.items():
        text: str = getattr(getattr(record, part), key, "")
        if len(text) > MAX_TEXT // 4:  # a character has at most four bytes
            _check_size(f"{part}.{key}", text, how)


def _check_size(key: str, text: str, how: str) -> None:
    if len(text.encode()) > MAX_TEXT:
        raise BadInputError(
            f"{key}: longer than {MAX_TEXT // 1024} KiB; {how}", code="too-large", key=key
        )


def _check_times(record: Outcome) -> None:
    times = {"occurred_at": record.occurred_at, "decision.made_at": record.decision.made_at}
    for key, at in times.items():
        try:
            _ = at and at.astimezone(UTC)
        except OverflowError:
            raise BadInputError(
                f"{key}: {at} is no time in UTC; give the time at which it happened",
                code="bad-value",
                key=key,
            ) from None


def _check_context(context: Any) -> None:
    for key, value in context.items() if isinstance(context, Mapping) else ():
        if not isinstance(value, Scalar):
            raise BadInputError(
                f"context.{key}: expected one value, found {_value_in_words(value)}; "
                "write its parts as keys of their own",
                code="wrong-type",
                key=f"context.{key}",
            )


def _checked_result(result: Result, unbounded: bool) -> Result:
    """The result with its score and status derived if absent; refuses contradictions."""
    computed = None
    if result.amount is not None and result.entry_value:
        computed = result.amount / result.entry_value
    score = result.score if result.score is not None else computed
    if score is None:
        return result
    if not math.isfinite(score):
        raise BadInputError(
            "result.score: amount / entry_value is no finite number; correct them",
            code="bad-value",
            key="result.score",
        )
    if result.score is not None and computed is not None:
        _check_ratio(result.score, computed)
    if not unbounded and (score < -1 or (score > 1 and computed is None)):
        raise BadInputError(
            f"result.score: {score:g} is outside -1..1; was percent meant? "
            f"Write {score / 100:g} for {score:g} %",
            code="score-range",
            key="result.score",
        )
    derived = _status_of(score)
    if result.status != derived:
        raise BadInputError(
            f"result.status: {result.status} contradicts result.score {score:g}, which means "
            f"{derived}; correct one of them",
            code="contradiction",
            key="result.status",
        )
    return msgspec.structs.replace(result, score=score)


def _check_ratio(score: float, computed: float) -> None:
    if abs(score - computed) <= SCORE_TOLERANCE:
        return
    raise BadInputError(
        f"result.score: {score:g} differs from amount / entry_value = {computed:.6g}"
        + ("; was percent meant? " if abs(score - computed * 100) <= 0.1 else "; ")
        + "Write the fraction, or leave score out",
        code="score-mismatch",
        key="result.score",
    )


def _check_handles(record: Outcome) -> None:
    """A handle means something in the answer of one decision alone; `S3` may be a name."""
    handle = next(filter(None, map(handle_in, record.applied or ())), None)
    if handle is not None and record.decision.id is None:
        raise BadInputError(
            f"applied: [{handle}] is a handle of one answer; give decision.id, the ID of its "
            "`recommend --decision ID`, or write the skill's name",
            code="handle-without-decision",
            key="applied",
        )


# ── recommendations ──────────────────────────────────────────────────────────────────


def _check_lists(record: Recommendation) -> None:
    _check_size("task", record.task, _TEXTS["decision", "task"])
    for key in ("facts", "shown", "held_out", "next"):
        if len(getattr(record, key)) > MAX_SHOWN:
            what = "facts" if key == "facts" else "skills"
            raise BadInputError(
                f"{key}: more than {MAX_SHOWN} {what}; leave out the last ones",
                code="too-large",
                key=key,
            )


def _check_recommendation(record: Recommendation) -> None:
    check_slug(record.domain)
    try:
        record.at.astimezone(UTC)
    except OverflowError:
        raise BadInputError(
            f"at: {record.at} is no time in UTC; give the time at which it was shown",
            code="bad-value",
            key="at",
        ) from None


def _recommendation_normal_form(record: Recommendation) -> str:
    """The record as canonical JSON, without what the vault gives (id, trust)."""
    body = plain_recommendation(msgspec.structs.replace(record, trust="local"))
    del body["received"]
    for shown in body.get("shown", ()):
        for key in _SHOWN_AS:
            shown.pop(key, None)
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ── sessions ─────────────────────────────────────────────────────────────────────────


def session_from(
    raw: Mapping[str, Any],
    *,
    trust: Trust,
    now: datetime,
    ahead: timedelta = timedelta(days=1),
) -> Session:
    """A validated Session from a mapping; BadInputError names the key.

    `trust` is what the door gives; the record's own can only lower it. A session that ended beyond
    `now + ahead` is refused, and so is one in which nothing failed and nothing worked.
    """
    record = _recorded_session({**raw, "received": ""}, "")
    _check_session(record)
    if record.ended_at - now > ahead:
        raise BadInputError(
            f"ended_at: {stamp(record.ended_at)} lies in the future (now is {stamp(now)}); give "
            "the time at which it ended",
            code="future",
            key="ended_at",
        )
    body = plain_session(msgspec.structs.replace(record, trust="local"))
    del body["received"]
    normal = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    least: Trust = "untrusted" if "untrusted" in (trust, record.trust) else "local"
    return msgspec.structs.replace(
        record,
        id=session_id(record.name, least),
        received=hashlib.sha256(normal.encode()).hexdigest(),
        trust=least,
    )


def stored_session(raw: Mapping[str, Any], record_id: str) -> Session:
    """A Session as it was recorded; only its shape is checked again."""
    return _recorded_session(raw, record_id)


def session_id(name: str, trust: Trust = "local") -> str:
    """The id of the session that outcomes of this trust call so: the name if it can be a file's.

    Else, or of an untrusted one, as much of it as can, with hex that tells it from others that
    read alike: who is not trusted takes no other's id.
    """
    plain_name = name.replace("_", "-")
    if trust == "local" and is_slug(plain_name):
        return plain_name
    whole = name if trust == "local" else f"{trust} {name}"
    digits = hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:_HEX]
    return f"{slug(name, limit=MAX_SLUG - 1 - _HEX) or 'session'}-{digits}"


def plain_session(record: Session) -> dict[str, Any]:
    """The record as a mapping in the format's key order; its name stands as `id`."""
    values: dict[str, Any] = {
        "id": record.name,
        "domain": record.domain,
        "ended_at": stamp(record.ended_at),
        "agent": record.agent,
        "failures": [_plain_part(failure) for failure in record.failures],
        "successes": [_plain_part(success) for success in record.successes],
        "tags": list(record.tags),
        "roles": list(record.roles),
        "stages": list(record.stages),
        "transcript": record.transcript,
        "trust": None if record.trust == "local" else record.trust,
    }
    told = {key: value for key, value in values.items() if value not in (None, [])}
    return {**told, **record.extra, "received": record.received}


def _plain_part(part: SessionFailure | SessionSuccess) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.structs.asdict(part)
    extra: Extra = values.pop("extra")
    return {key: value for key, value in values.items() if value} | extra


def _recorded_session(raw: Mapping[str, Any], record_id: str) -> Session:
    """The record; its `id` is what outcomes call it."""
    if raw.get("id") in (None, ""):
        raise BadInputError(
            "id: missing; write the session's id, as its outcomes have it in source.session",
            code="missing-key",
            key="id",
        )
    values = {key: value for key, value in raw.items() if key not in _NOT_TAKEN_OF_SESSION}
    for key, kind in _PARTS.items():
        if isinstance(values.get(key), list):
            values[key] = [
                _converted_part(part, kind, f"{key}[{place}]")
                for place, part in enumerate(values[key])
            ]
    try:
        record = _convert({**values, "id": "", "name": raw["id"]}, Session, key_path="")
    except BadInputError as error:
        if error.key != "name":
            raise
        message = error.message.replace("name:", "id:", 1)
        raise BadInputError(message, code=error.code, key="id") from None
    return msgspec.structs.replace(record, id=record_id)


def _converted_part(part: Any, kind: type[_RECORD], key_path: str) -> _RECORD:
    """A failure or a success; an empty value of it says nothing."""
    if not isinstance(part, Mapping):
        raise BadInputError(
            f"{key_path}: expected a mapping, found {_value_in_words(part)}; write "
            f"{{{', '.join(kind.__struct_fields__[:-1])}}}",
            code="wrong-type",
            key=key_path,
        )
    return _convert(part, kind, key_path=key_path)


def _check_session(record: Session) -> None:
    check_slug(record.domain)
    try:
        record.ended_at.astimezone(UTC)
    except OverflowError:
        raise BadInputError(
            f"ended_at: {record.ended_at} is no time in UTC; give the time at which it ended",
            code="bad-value",
            key="ended_at",
        ) from None
    if not (record.failures or record.successes):
        raise BadInputError(
            "failures: missing, and so are successes; write what failed as {lemma, reason, "
            "attempt}, what worked as {lemma, text}",
            code="missing-key",
            key="failures",
        )
    _check_size("id", record.name, "keep what tells it from others")
    for key in _PARTS:
        parts = getattr(record, key)
        if len(parts) > MAX_TOLD:
            raise BadInputError(
                f"{key}: more than {MAX_TOLD}; leave out those that say the same",
                code="too-large",
                key=key,
            )
        for place, part in enumerate(parts):
            for name in part.__struct_fields__[:-1]:
                _check_size(f"{key}[{place}].{name}", getattr(part, name), "keep what it shows")
