"""Turn foreign data into a record, or refuse it with an error that names the next step.

An agent's text becomes a record only through `parse_record`, which gets the time and the trust.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Required, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from skillvault.model import codec
from skillvault.model.aliases import parse_handle, session_id
from skillvault.model.conversion import value_in_words
from skillvault.model.errors import BadInputError, key_error
from skillvault.model.records import (
    MAX_TEXT,
    Lesson,
    Outcome,
    Recommendation,
    Result,
    Scalar,
    Session,
    Status,
    Trust,
    moment_of,
    stamp,
)
from skillvault.model.text.tables import join_lines, read_sections
from skillvault.model.text.text import SLUG_ADVICE, is_slug, join_items

SCORE_TOLERANCE = 0.001
MAX_SHOWN = 1000  # skills in one list of a recommendation
MAX_SESSION_PARTS = 1000  # failures or successes of a session

# Kind of refusal -> key -> the next step.
_ADVICE = {
    head: dict(line.split(": ", 1) for line in join_lines(text))
    for head, text in read_sections("skillvault.model", "intake.txt")
}
_ASSIGNED_KEYS = frozenset({"id", "received"})  # top-level keys that the vault gives
_IGNORED_KEYS = _ASSIGNED_KEYS | {"type", "extra"}  # of a recommendation
_DAY = timedelta(days=1)
_TYPES = ("outcome", "recommendation", "session")
_Record = TypeVar("_Record", Outcome, Recommendation, Session)


class _Options(TypedDict, total=False):
    """The options of `_read_twice`."""

    now: Required[datetime]
    ahead: timedelta
    clean: Mapping[str, Any] | None


def parse_record(
    raw: Mapping[str, Any], *, trust: Trust, unbounded: bool = False, **options: Unpack[_Options]
) -> Outcome | Recommendation | Session:
    """Return a validated record of the type that a mapping names; see `parse_outcome`."""
    match raw.get("type", "outcome"):
        case "outcome":
            return parse_outcome(raw, trust=trust, unbounded=unbounded, **options)
        case "recommendation":
            return parse_recommendation(raw, trust=trust, **options)
        case "session":
            return parse_session(raw, trust=trust, **options)
        case kind:
            types = join_items(_TYPES, last="or")
            problem = f"{kind!r} is not taken by this version; it takes {types}"
            raise key_error("type", "unknown-type", problem)


def parse_outcome(
    raw: Mapping[str, Any], *, trust: Trust, unbounded: bool = False, **options: Unpack[_Options]
) -> Outcome:
    """Return a validated Outcome from a mapping that an agent wrote.

    `trust` is the trust of the folder; the record's `source.trust` can only lower it. The other
    options are those of `_read_twice`. Raises BadInputError with the dotted key.
    """
    read = partial(_valid_outcome, unbounded=unbounded)
    original, record = _read_twice(read, raw, "occurred_at", "it ended", **options)
    for key, advice in _ADVICE["too large"].items():
        part, _, name = key.partition(".")
        _check_size(key, getattr(getattr(original, part), name, ""), advice)
    digest = codec.outcome_digest(original)
    return replace(
        record,
        id=f"{moment_of(record.occurred_at)}-{digest[:10]}",
        received=digest,
        source=replace(record.source, trust=_lowest_trust(trust, record.trust)),
    )


def _read_twice(
    read: Callable[[Mapping[str, Any]], _Record],
    raw: Mapping[str, Any],
    key: str,
    event: str,
    *,
    now: datetime,
    ahead: timedelta = _DAY,
    clean: Mapping[str, Any] | None = None,
) -> tuple[_Record, _Record]:
    """Return the record as it was written, from which its id derives, and the one to keep.

    That is `clean`, the mapping without secrets. A time beyond `now + ahead` is refused.
    """
    original = read(raw)
    record = original if clean is None or clean == raw else read(clean)
    at = getattr(record, key)
    if at - now > ahead:
        raise key_error(
            key,
            "future",
            f"{stamp(at)} lies in the future (now is {stamp(now)}); give the time at which {event}",
        )
    return original, record


def _valid_outcome(raw: Mapping[str, Any], unbounded: bool) -> Outcome:
    values = {
        key: value for key, value in raw.items() if key not in _ASSIGNED_KEYS and key != "type"
    }
    if isinstance(values.get("result"), Mapping):
        values["result"] = _with_status(values["result"])
    _check_context(values.get("context"))
    try:
        record = codec.outcome_of({**values, "received": ""}, "")
    except BadInputError as error:
        raise _with_next_step(error) from None
    check_slug(record.domain)
    _check_lesson(record.lesson)
    _check_time("occurred_at", record.occurred_at, "it happened")
    _check_time("decision.made_at", record.decision.made_at, "it happened")
    _check_handles(record)
    return replace(record, result=_check_result(record.result, unbounded))


def _lowest_trust(*trusts: Trust) -> Trust:
    return "untrusted" if "untrusted" in trusts else "local"


def _check_time(key: str, at: datetime | None, event: str) -> None:
    try:
        _ = at and at.astimezone(UTC)
    except OverflowError:
        problem = f"{at} is not a time in UTC; give the time at which {event}"
        raise key_error(key, "bad-value", problem) from None


def _with_next_step(error: BadInputError) -> BadInputError:
    step = _ADVICE["wrong value"].get(error.key or "")
    if step is None or error.code in ("missing-key", "bad-key"):
        return error
    return BadInputError(f"{error.message}; {step}", code=error.code, key=error.key)


def _with_status(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result whose status, if missing, is derived from its numbers."""
    if result.get("status") is not None:
        return dict(result)
    score, amount, entry_value = (result.get(key) for key in ("score", "amount", "entry_value"))
    numbers = [value for value in (score, amount, entry_value) if value is not None]
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        return {**result, "status": "neutral"}  # the refusal names the wrong type instead
    if score is None and amount is not None and entry_value:
        score = amount / entry_value
    if score is None:
        problem = "missing; write success, failure or neutral, or give result.score"
        raise key_error("result.status", "missing-key", problem)
    return {**result, "status": _status_of(score)}


def _status_of(score: float) -> Status:
    return "success" if score > 0 else "failure" if score < 0 else "neutral"


def check_slug(domain: str) -> None:
    """Raise BadInputError if a domain cannot be a folder's name."""
    if not is_slug(domain):
        problem = f"{domain[:80]!r} cannot be a folder name; {SLUG_ADVICE}"
        raise key_error("domain", "bad-domain", problem)


def _check_lesson(lesson: Lesson | None) -> None:
    if lesson is not None and not (lesson.when.strip() or lesson.do.strip()):
        problem = "missing; write what to do, or under lesson.when what it is about"
        raise key_error("lesson.do", "missing-key", problem)


def _check_size(key: str, text: str, advice: str) -> None:
    if len(text) > MAX_TEXT // 4 and len(text.encode()) > MAX_TEXT:  # at most four bytes each
        raise key_error(key, "too-large", f"longer than {MAX_TEXT // 1024} KiB; {advice}")


def _check_context(context: Any) -> None:
    for key, value in context.items() if isinstance(context, Mapping) else ():
        if not isinstance(value, Scalar):
            problem = (
                f"expected one value, found {value_in_words(value)}; "
                "write its parts as keys of their own"
            )
            raise key_error(f"context.{key}", "wrong-type", problem)


def _check_result(result: Result, unbounded: bool) -> Result:
    """Derive a missing score, and raise BadInputError for contradictions."""
    ratio = None
    if result.amount is not None and result.entry_value:
        ratio = result.amount / result.entry_value
    score = result.score if result.score is not None else ratio
    if score is None:
        return result
    if not math.isfinite(score):
        problem = "amount / entry_value is not a finite number; correct them"
        raise key_error("result.score", "bad-value", problem)
    if result.score is not None and ratio is not None:
        _check_ratio(result.score, ratio)
    if not unbounded and (score < -1 or (score > 1 and ratio is None)):
        raise key_error(
            "result.score",
            "score-range",
            f"{score:g} is outside -1..1; was percent meant? Write {score / 100:g} for {score:g} %",
        )
    expected_status = _status_of(score)
    if result.status != expected_status:
        problem = (
            f"{result.status} contradicts result.score {score:g}, which means "
            f"{expected_status}; correct one of them"
        )
        raise key_error("result.status", "contradiction", problem)
    return replace(result, score=score)


def _check_ratio(score: float, ratio: float) -> None:
    if abs(score - ratio) <= SCORE_TOLERANCE:
        return
    problem = (
        f"{score:g} differs from amount / entry_value = {ratio:.6g}"
        + ("; was percent meant? " if abs(score - ratio * 100) <= 0.1 else "; ")
        + "Write the fraction, or leave score out"
    )
    raise key_error("result.score", "score-mismatch", problem)


def _check_handles(record: Outcome) -> None:
    """Raise BadInputError for a handle without a decision.

    A handle is only valid within one answer. A word like `S3` may also be a name.
    """
    handle = next(filter(None, map(parse_handle, record.applied or ())), None)
    if handle is not None and record.decision.id is None:
        problem = (
            f"[{handle}] is a handle of one answer; give decision.id, the ID of its "
            "`recommend --decision ID`, or write the skill's name"
        )
        raise key_error("applied", "handle-without-decision", problem)


# ── recommendations ──────────────────────────────────────────────────────────────────


def parse_recommendation(
    raw: Mapping[str, Any], *, trust: Trust, **options: Unpack[_Options]
) -> Recommendation:
    """Return a validated Recommendation from a mapping; see `parse_outcome`."""
    original, record = _read_twice(_valid_recommendation, raw, "at", "it was shown", **options)
    _check_lists(original)
    digest = codec.recommendation_digest(original)
    return replace(
        record,
        id=f"{moment_of(record.at)}-{digest[:10]}",
        received=digest,
        trust=_lowest_trust(trust, record.trust),
    )


def _valid_recommendation(raw: Mapping[str, Any]) -> Recommendation:
    values = {key: value for key, value in raw.items() if key not in _IGNORED_KEYS}
    try:
        record = codec.recommendation_of({**values, "received": ""}, "")
    except BadInputError as error:
        raise _with_next_step(error) from None
    check_slug(record.domain)
    _check_time("at", record.at, "it was shown")
    return record


def _check_lists(record: Recommendation) -> None:
    _check_size("task", record.task, _ADVICE["too large"]["decision.task"])
    for key in ("facts", "shown", "held_out", "next"):
        if len(getattr(record, key)) > MAX_SHOWN:
            noun = "facts" if key == "facts" else "skills"
            problem = f"more than {MAX_SHOWN} {noun}; leave out the last ones"
            raise key_error(key, "too-large", problem)


# ── sessions ─────────────────────────────────────────────────────────────────────────


def parse_session(raw: Mapping[str, Any], *, trust: Trust, **options: Unpack[_Options]) -> Session:
    """Return a validated Session from a mapping; see `parse_outcome`.

    A session without failures and successes is refused.
    """
    original, record = _read_twice(_valid_session, raw, "ended_at", "it ended", **options)
    _check_session_sizes(original)
    lowest_trust = _lowest_trust(trust, record.trust)
    return replace(
        record,
        id=session_id(record.name, lowest_trust),
        received=codec.session_digest(original),
        trust=lowest_trust,
    )


def _valid_session(raw: Mapping[str, Any]) -> Session:
    record = codec.session_of({**raw, "received": ""}, "")
    check_slug(record.domain)
    _check_time("ended_at", record.ended_at, "it ended")
    if not (record.failures or record.successes):
        problem = (
            "missing, and so are successes; write what failed as {lemma, reason, "
            "attempt}, what worked as {lemma, text}"
        )
        raise key_error("failures", "missing-key", problem)
    return record


def _check_session_sizes(record: Session) -> None:
    _check_size("id", record.name, "keep what tells it from others")
    for key in ("failures", "successes"):
        parts = getattr(record, key)
        if len(parts) > MAX_SESSION_PARTS:
            problem = f"more than {MAX_SESSION_PARTS}; leave out those that say the same"
            raise key_error(key, "too-large", problem)
        for index, part in enumerate(parts):
            for field in part.__struct_fields__[:-1]:
                _check_size(f"{key}[{index}].{field}", getattr(part, field), "keep what it shows")
