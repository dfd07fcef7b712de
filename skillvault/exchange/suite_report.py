"""Convert a test report of any format to one outcome with counts, failing tests and error lines.

`ctrf` and `junit` return a SuiteReport.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from skillvault.exchange.source_file import ReadResult, drop_empty, record_label
from skillvault.model.records import Scalar, stamp
from skillvault.model.text.text import cut_between_words, shorten

DOMAIN = "coding"
MAX_EVIDENCE = 16 * 1024
STATUSES = ("failed", "passed", "skipped", "pending", "other")

_MAX_LINES = 20
_MAX_LINE = 400
_MAX_MESSAGE = 600
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# pytest marks the failing statement with `>` and its explanation with `E`.
_MARKED_LINE = re.compile(r"^(?:>|E)\s|^\S+:\d+: \w")
_ERROR_LINE = re.compile(r"error|exception|assert|expect|fail|panic|received|actual", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A test that failed, with the message and trace of its framework."""

    name: str
    message: str = ""
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteReport:
    """The test report of one run. `counts` has the number of tests by status."""

    tool: str
    counts: Mapping[str, int]
    stop: datetime
    start: datetime | None = None
    failed_tests: Sequence[FailedTest] = ()
    target: str | None = None
    batch: str | None = None
    test: str | None = None  # the name of the only test
    context: Mapping[str, Scalar] = field(default_factory=dict)


def read_suite(
    read_report: Callable[[Path], SuiteReport], path: Path, domain: str | None
) -> Iterator[ReadResult]:
    """Yield the only outcome of a test report."""
    yield record_label(path.stem, 1), outcome_of(read_report(path), path, domain)


def outcome_of(report: SuiteReport, path: Path, domain: str | None) -> dict[str, Any]:
    """Convert a report to an outcome. In a trial folder the action is the trial's task."""
    task = task_of(path)
    tool_context = {"tool": report.tool} if task else {}
    return drop_empty(
        domain=domain or DOMAIN,
        occurred_at=stamp(report.stop),
        decision=drop_empty(
            # The task of a trial is its instruction.
            task=None if task else report.test,
            action=task or report.tool,
            # The test file adds nothing to the task that it grades.
            target=None if task else report.target,
            made_at=stamp(report.start) if report.start else None,
        ),
        result=_result(report),
        context={**tool_context, **report.context} or None,
        source=drop_empty(batch=report.batch) or None,
    )


def task_of(path: Path) -> str | None:
    """Return the task of the trial folder `<task>__<id>` whose verifier wrote a file, or None."""
    verifier = path.absolute().parent
    task, separator, _ = verifier.parent.name.partition("__")
    return task if verifier.name == "verifier" and separator and task else None


def common_value(values: Iterable[str | None]) -> str | None:
    """Return the value that all texts share, or None if they differ."""
    distinct_values = set(values)
    return distinct_values.pop() if len(distinct_values) == 1 else None


def summarize_counts(counts: Mapping[str, int]) -> str:
    """Format counts in words, such as `1 failed, 3 skipped of 4`."""
    parts = [f"{counts[status]} {status}" for status in STATUSES if counts.get(status)]
    return f"{', '.join(parts)} of {sum(counts.values())}" if parts else "no tests"


def describe_failures(failed_tests: Sequence[FailedTest]) -> str:
    """Return the names, messages and error lines of the failing tests, at most 16 KiB."""
    blocks: list[str] = []
    free_bytes = MAX_EVIDENCE - 80  # 80 bytes are for the line about omitted tests
    for test in failed_tests:
        full_text = _describe_test(test)
        size = len(full_text.encode()[: MAX_EVIDENCE // 2].decode(errors="ignore"))
        block = cut_between_words(full_text, size)
        free_bytes -= len(block.encode()) + 2
        if free_bytes < 0:
            break
        blocks.append(block)
    count = len(failed_tests) - len(blocks)
    note = [f"({count} more failing tests are left out)"] if count else []
    return "\n\n".join(blocks + note)


def _result(report: SuiteReport) -> dict[str, Any]:
    duration = (report.stop - report.start).total_seconds() if report.start else None
    failed, passed = report.counts.get("failed"), report.counts.get("passed")
    return drop_empty(
        status="failure" if failed else "success" if passed else "neutral",
        summary=summarize_counts(report.counts),
        evidence=describe_failures(report.failed_tests),
        **{status: report.counts.get(status) or None for status in STATUSES},
        duration_seconds=None if duration is None else round(duration, 3),
    )


# A message of pytest-json-ctrf without information.
_PHASE_MESSAGE = re.compile(r"The test failed in the \w+ phase")


def _describe_test(test: FailedTest) -> str:
    lines = _error_lines(printable(test.trace))
    message = shorten(printable(test.message), _MAX_MESSAGE)
    is_repeated = message in " ".join(" ".join(lines).split())
    if lines and (is_repeated or _PHASE_MESSAGE.match(message)):
        message = ""
    return "\n".join([f"FAILED {printable(test.name)}", *filter(None, [message]), *lines])


def failing_assertion(output: str) -> str:
    """Return the lines of a test run's output that compare expected and actual values."""
    return "\n".join(_error_lines(printable(output)))


def _error_lines(trace: str) -> list[str]:
    """Return the last marked lines, else the last lines about errors, else the last lines."""
    lines = [line for line in trace.splitlines() if line.strip()]
    lines = [cut_between_words(line, _MAX_LINE).rstrip() for line in lines]
    for pattern in (_MARKED_LINE, _ERROR_LINE):
        if matches := [line for line in lines if pattern.search(line)]:
            return matches[-_MAX_LINES:]
    return lines[-_MAX_LINES:]


def printable(text: str) -> str:
    """Remove colours and control characters, which the vault's files cannot contain."""
    return _CONTROL.sub("", text.replace("\r\n", "\n")).strip("\n")
