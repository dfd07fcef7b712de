"""Close a decision: write its observed end to a file for the inbox.

The file names the decision without describing it. The vault joins both, in any order of arrival.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from skillvault.exchange.formats import read_outcomes
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Observer, Scalar, Status, stamp
from skillvault.sessions import transcripts

_DIGEST_DIGITS = 10
_TEXT_KEYS = ("status", "observed_by", "summary", "evidence", "lesson", "domain", "agent", "batch")


class Closing(Struct, frozen=True, kw_only=True):
    """The end of a decision and its observer. Without a status, it is only a lesson.

    `details` are further keys of a result. If `domain` is None, the decision has the domain; if
    `agent` is None, it is the agent that described the decision first. `applied` is None if nobody
    observed the applied skills. `at` is the time of the end, by default now.
    """

    status: Status | None = None
    observed_by: Observer = "person"
    summary: str = ""
    evidence: str = ""
    lesson: str = ""
    details: Mapping[str, Any] = {}
    domain: str | None = None
    agent: str | None = None
    applied: Sequence[str] | None = None
    context: Mapping[str, Scalar] = {}
    batch: str | None = None
    at: datetime | str | None = None


def closing_file(decision: str, closing: Closing, now: datetime) -> tuple[str, bytes]:
    """Return (file name, bytes) for the inbox.

    Raises UsageError if the closing has neither a status nor a lesson.
    """
    if not decision.strip():
        raise UsageError("the decision's id is empty; pass the one that its outcome has")
    lesson = closing.lesson.strip()
    status = closing.status or _status_of_score(closing.details.get("score"))
    if status is None and not lesson:
        raise UsageError("neither a status nor a lesson is given; pass one of them")
    ended_at = closing.at or now
    values = {
        "domain": closing.domain,
        "occurred_at": ended_at if isinstance(ended_at, str) else stamp(ended_at),
        "decision": {"id": decision},
        "result": transcripts.drop_empty(
            {
                **closing.details,
                "status": status or "neutral",
                "summary": closing.summary,
                # Without a status, the evidence belongs to the lesson.
                "evidence": closing.evidence if status else "",
                "observed_by": closing.observed_by,
            }
        ),
        "lesson": transcripts.drop_empty({"do": lesson, "evidence": closing.evidence})
        if lesson
        else None,
        "context": dict(closing.context),
        "applied": None if closing.applied is None else list(closing.applied),
        "source": transcripts.drop_empty({"agent": closing.agent, "batch": closing.batch}),
    }
    content = {key: value for key, value in values.items() if value is not None and value != {}}
    data = json.dumps(content, ensure_ascii=False).encode(errors="replace")
    return f"result-{hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]}.json", data


def _status_of_score(score: Any) -> Status | None:
    if not isinstance(score, int | float):
        return None
    return "success" if score > 0 else "failure" if score < 0 else "neutral"


def make_closing(**values: Any) -> Closing:
    """Return the end of a decision from keys of a `Closing` and of a result, such as `score`.

    Raises TypeError for a value of another type, UsageError for an unknown status.
    """
    for key in _TEXT_KEYS:
        if not isinstance(values.get(key), str | None):
            raise TypeError(f"{key} is a {type(values[key]).__name__}; pass a text")
    status = values.get("status")
    if status is not None and status not in get_args(Status):
        raise UsageError(f"status {status}: there are {', '.join(get_args(Status))}")
    keys = {key: value for key, value in values.items() if key in Closing.__struct_fields__}
    result = {key: value for key, value in values.items() if key not in keys}
    return Closing(**{**keys, "details": {**keys.get("details", {}), **result}})


def closing_of(report: Mapping[str, Any], observer: Observer) -> Closing:
    """Convert a test report, which was parsed as an outcome, to the end of a decision."""
    result = dict(report["result"])
    return Closing(
        status=result.pop("status"),
        observed_by=observer,
        summary=result.pop("summary", ""),
        evidence=result.pop("evidence", ""),
        details=result,
        # The tool that ran the tests is context, not a decision.
        context={"tool": report["decision"]["action"], **(report.get("context") or {})},
        batch=(report.get("source") or {}).get("batch"),
        at=report["occurred_at"],
    )


def files_of_results(
    results: Sequence[tuple[str, Mapping[str, Any]]],
    decision: str | None,
    domain: str | None,
    now: datetime,
) -> list[tuple[str, bytes]]:
    """Convert results to files for the inbox: outcomes, or ends of a `decision`."""
    if decision is None:
        return transcripts.as_files(results)
    ends = (replace(closing_of(result, "tests"), domain=domain) for _, result in results)
    return [closing_file(decision, end, now) for end in ends]


def read_closing(format_name: str, path: Path) -> Closing:
    """Read a test report as the end of a decision. Raise BadInputError for another file."""
    _, report = next(read_outcomes(format_name, path))
    if isinstance(report, BadInputError):
        raise report
    return closing_of(report, "tests")


def closing_of_exit(code: int, output: str = "", command: str = "") -> Closing:
    """Return the end of a decision from a command's exit code and the end of its output."""
    name = f"`{command}`" if command else "the command"
    return Closing(
        status="failure" if code else "success",
        observed_by="exit-code",
        summary=f"{name} ended with exit code {code}",
        evidence=output,
        details={"exit_code": code},
    )
