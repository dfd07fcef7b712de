"""Read test reports in the Common Test Report Format (ctrf.io).

The larger of the count in the summary and the number of listed tests is used, because some
reporters list only failures and others leave the summary at zero.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from skillvault.exchange import source_file
from skillvault.exchange.source_file import Section, drop_empty, file_label
from skillvault.exchange.suite_report import STATUSES, FailedTest, SuiteReport, common_value
from skillvault.model.records import Scalar

# As milliseconds this is 1973, as seconds the year 5138: nothing real lies on the other side.
_MIN_MILLISECONDS = 1e11
_SHORT_NAMES = {"branch_name": "branch", "build_name": "build", "repository_name": "repository"}


def read_report(path: Path) -> SuiteReport:
    """Read the counts, times and failures of a report."""
    root = Section.of(
        source_file.parse_json(source_file.read_bytes(path), file_label(path)), file_label(path)
    )
    run = root.section("results")
    tests = [
        Section.of(test, run.file, run.path(f"tests[{index}]"))
        for index, test in enumerate(run.list_of("tests"))
    ]
    if not tests and not run.section("summary").values:
        raise run.member_error("tests", "the tests of a Common Test Report Format file")
    counts = _counts(run, tests)
    test_count = run.section("summary").maybe_number("tests") or 0
    is_single = len(tests) == 1 and test_count <= 1
    stop = _run_time(run, tests, "stop") or root.maybe_time("timestamp")
    if stop is None:
        raise run.section("summary").member_error("stop", "the time at which the run stopped")
    return SuiteReport(
        tool=run.section("tool").maybe_text("name") or "tests",
        counts=counts,
        start=_run_time(run, tests, "start"),
        stop=stop,
        failed_tests=[_failed_test(t) for t in tests if t.maybe_text("status") == "failed"],
        target=_target(tests),
        # The name of the only test, so that it does not depend on how the run ended.
        test=tests[0].maybe_text("name") if is_single else None,
        batch=root.maybe_text("runId"),
        context=_environment(run),
    )


def _counts(run: Section, tests: Sequence[Section]) -> dict[str, int]:
    statuses = (test.text("status") for test in tests)
    listed_counts = Counter(status if status in STATUSES else "other" for status in statuses)
    summary = run.section("summary")
    return {s: max(listed_counts[s], int(summary.maybe_number(s) or 0)) for s in STATUSES}


def _run_time(run: Section, tests: Sequence[Section], key: str) -> datetime | None:
    """Return the start or stop of the run, from the summary or else from its tests."""
    summary = run.section("summary")
    if value := summary.maybe_number(key):
        return _parse_epoch(value, summary, key)
    times = [_parse_epoch(at, test, key) for test in tests if (at := test.maybe_number(key))]
    return min(times, default=None) if key == "start" else max(times, default=None)


def _parse_epoch(value: float, section: Section, key: str) -> datetime:
    """Parse a time since 1970 in milliseconds, or in seconds, as some reporters write."""
    seconds = value / 1000 if abs(value) >= _MIN_MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise section.member_error(key, "milliseconds since 1970") from None


def _failed_test(test: Section) -> FailedTest:
    return FailedTest(
        name=test.text("name"),
        message=_joined_lines(test, "message"),
        trace=_joined_lines(test, "trace"),
    )


def _joined_lines(test: Section, key: str) -> str:
    """Return a text of a test. Some reporters write it as a list of lines."""
    value = test.values.get(key)
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    return test.maybe_text(key) or ""


def _target(tests: Sequence[Section]) -> str | None:
    files = [test.maybe_text("filePath") or test.maybe_text("file_path") for test in tests]
    return common_value(files) or common_value(_suite(test) for test in tests)


def _suite(test: Section) -> str | None:
    suite = test.values.get("suite")
    if isinstance(suite, list):  # a path of nested suites, since version 1 of the format
        return " > ".join(str(part) for part in suite) or None
    return test.maybe_text("suite")


def _environment(run: Section) -> dict[str, Scalar]:
    """Return the tool's version and the environment, which are known before a test runs."""
    environment = run.section("environment").values
    variables = {_snake_case(k): v for k, v in environment.items() if isinstance(v, Scalar)}
    version = run.section("tool").values.get("version")
    tool_version = version if isinstance(version, str) else None
    return drop_empty(tool_version=tool_version, **variables)


def _snake_case(key: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    return _SHORT_NAMES.get(name, name)
