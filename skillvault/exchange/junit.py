"""Read test reports in JUnit XML from pytest, Surefire, Gradle and others.

defusedxml parses the file, and refuses every document type and entity.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from skillvault.exchange import source_file
from skillvault.exchange.source_file import drop_empty, file_label
from skillvault.exchange.suite_report import FailedTest, SuiteReport, common_value
from skillvault.model.errors import BadInputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read_report(path: Path) -> SuiteReport:
    """Read the counts, times and failures of a report."""
    root = _parse_root(path)
    # The tests are counted here, because the counts of a suite differ between tools.
    suites = [element for element in root.iter() if _tag(element) in ("testsuites", "testsuite")]
    cases = [element for element in root.iter() if _tag(element) == "testcase"]
    start, stop = _run_times(suites, cases, path)
    hosts = [suite.get("hostname") for suite in suites]
    return SuiteReport(
        tool="pytest" if _is_pytest(suites) else "junit",
        counts=_count_statuses(suites, cases),
        start=start,
        stop=stop,
        failed_tests=[test for case in cases if (test := _failed_test(case))],
        target=_target(suites, cases),
        test=_name(cases[0]) if len(cases) == 1 else None,
        context=drop_empty(hostname=common_value(filter(None, hosts))),
    )


def _parse_root(path: Path) -> "Element":
    name = file_label(path)
    try:
        root: Element = fromstring(source_file.read_bytes(path), forbid_dtd=True)
    except DefusedXmlException:
        message = f"{name}: declares a document type or entities, which are not read; remove them"
        raise BadInputError(message, code="xml-entities") from None
    except (ParseError, ValueError, LookupError) as error:
        line = error.position[0] if isinstance(error, ParseError) else None
        location = f" at line {line}" if line else ""
        message = f"{name}: not XML{location}; correct it or write the report again"
        raise BadInputError(message, code="bad-xml", line=line) from None
    if _tag(root) not in ("testsuites", "testsuite"):
        raise BadInputError(
            f"{name}: expected the root testsuites or testsuite, found {_tag(root)[:40]}; "
            "give a JUnit report, such as pytest --junitxml writes",
            code="wrong-type",
        )
    return root


def _tag(element: "Element") -> str:
    return str(element.tag).rpartition("}")[2]


def _is_pytest(suites: Sequence["Element"]) -> bool:
    return any((suite.get("name") or "").split()[:1] == ["pytest"] for suite in suites)


def _count_statuses(suites: Sequence["Element"], cases: Sequence["Element"]) -> dict[str, int]:
    """Count the tests by status. If no test is listed, use the suite's attributes."""
    if cases:
        return dict(Counter(_status(case) for case in cases))
    for suite in suites:
        tests, failures, errors, skipped = (
            _parse_count(suite, key) for key in ("tests", "failures", "errors", "skipped")
        )
        if tests:
            passed = max(0, tests - failures - errors - skipped)
            return {"failed": failures + errors, "passed": passed, "skipped": skipped}
    return {}


def _parse_count(suite: "Element", key: str) -> int:
    value = suite.get(key) or ""
    return int(value) if value.isdecimal() else 0


def _status(case: "Element") -> str:
    tags = {_tag(child) for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def _failed_test(case: "Element") -> FailedTest | None:
    """Return the failure of a case with all its errors, since test and teardown can both fail."""
    errors = [child for child in case if _tag(child) in ("failure", "error")]
    if not errors:
        return None
    return FailedTest(
        name=_name(case) or "a test",
        message="\n".join(child.get("message") or "" for child in errors),
        trace="\n".join(child.text or "" for child in errors),
    )


def _name(case: "Element") -> str:
    return "::".join(filter(None, (case.get("classname"), case.get("name"))))


def _run_times(
    suites: Sequence["Element"], cases: Sequence["Element"], path: Path
) -> tuple[datetime, datetime]:
    """Return the start of the run, and the end of its last suite."""
    starts = [(start, suite) for suite in suites if (start := _suite_start(suite, path))]
    if not starts:
        raise BadInputError(
            f"{file_label(path)}: timestamp: missing on every testsuite; expected the time at "
            'which it started; add it, such as timestamp="2026-11-20T10:15:00Z"',
            code="missing-key",
            key="timestamp",
        )
    start = min(start for start, _ in starts)
    try:
        return start, _last_end(starts, cases, path)
    except OverflowError:
        message = f"{file_label(path)}: time: adds up to more than a calendar holds; correct it"
        raise BadInputError(message, code="wrong-type", key="time") from None


def _last_end(
    starts: Sequence[tuple[datetime, "Element"]], cases: Sequence["Element"], path: Path
) -> datetime:
    """Return the end of the last suite.

    If only cases have durations, they are added to the start.
    """
    durations = [(start, _duration(suite, path)) for start, suite in starts]
    if any(duration is not None for _, duration in durations):
        return max(start + (duration or timedelta()) for start, duration in durations)
    total = sum((_duration(case, path) or timedelta() for case in cases), timedelta())
    start_times = [start for start, _ in starts]
    return max(*start_times, min(start_times) + total)


def _suite_start(suite: "Element", path: Path) -> datetime | None:
    text = suite.get("timestamp")
    if not text:
        return None
    start = source_file.time_of(text)
    if start is None:
        raise _attribute_error(path, "timestamp", "a time such as 2026-11-20T10:15:00Z", text)
    return start


def _duration(element: "Element", path: Path) -> timedelta | None:
    """Return the `time` attribute. Surefire groups its digits with commas."""
    text = element.get("time")
    if not text:
        return None
    try:
        return timedelta(seconds=float(text.replace(",", "")))
    except (ValueError, OverflowError):
        raise _attribute_error(path, "time", "a duration in seconds", text) from None


def _attribute_error(path: Path, key: str, expected: str, text: str) -> BadInputError:
    message = f"{file_label(path)}: {key}: expected {expected}, found {text[:40]!r}; correct it"
    return BadInputError(message, code="wrong-type", key=key)


def _target(suites: Sequence["Element"], cases: Sequence["Element"]) -> str | None:
    for key in ("file", "classname"):
        if value := common_value(case.get(key) or None for case in cases):
            return value
    if _is_pytest(suites):
        return None
    return common_value(suite.get("name") or None for suite in suites if _tag(suite) == "testsuite")
