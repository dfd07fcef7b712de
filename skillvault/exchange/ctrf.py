"""The Common Test Report Format (ctrf.io): one outcome a report.

Counts are the larger of what the summary says and what the list shows, because some
reporters list only the failures and some leave the summary at zero.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from skillvault.exchange.source_file import (
    Parsed,
    Section,
    bytes_of,
    given,
    json_of,
    label,
    name_of,
)
from skillvault.exchange.suite_report import STATUSES, Failing, Report, common, outcome_of
from skillvault.records import Scalar

# As milliseconds this is 1973, as seconds the year 5138: nothing real lies on the other side.
_MILLISECONDS = 1e11
_SHORTER = {"branch_name": "branch", "build_name": "build", "repository_name": "repository"}


def read(path: Path, domain: str | None) -> Iterator[Parsed]:
    """The report as its one outcome."""
    outcome = outcome_of(_report(path), path, domain)
    return iter([(label(path.stem, 1), outcome)])


def _report(path: Path) -> Report:
    root = Section.of(json_of(bytes_of(path), name_of(path)), name_of(path))
    results = root.section("results")
    tests = _tests(results)
    if not tests and not results.section("summary").values:
        raise results.refused("tests", "the tests of a Common Test Report Format file")
    return Report(
        tool=results.section("tool").maybe_text("name") or "tests",
        counts=_counts(results, tests),
        start=_moment(results, tests, "start"),
        stop=_stop(root, results, tests),
        failing=[_failing(test) for test in tests if test.maybe_text("status") == "failed"],
        target=_target(tests),
        session=root.maybe_text("runId"),
        context=_context(results),
    )


def _tests(results: Section) -> list[Section]:
    return [
        Section.of(test, results.file, results.path(f"tests[{index}]"))
        for index, test in enumerate(results.entries("tests"))
    ]


def _counts(results: Section, tests: Sequence[Section]) -> dict[str, int]:
    listed = Counter(_status(test) for test in tests)
    said = results.section("summary")
    return {s: max(listed[s], int(said.maybe_number(s) or 0)) for s in STATUSES}


def _status(test: Section) -> str:
    """The test's status; a word that the format does not know is `other`."""
    status = test.text("status")
    return status if status in STATUSES else "other"


def _moment(results: Section, tests: Sequence[Section], key: str) -> datetime | None:
    """When the run started or stopped: the summary's word, else the outermost test's."""
    summary = results.section("summary")
    if said := summary.maybe_number(key):
        return _epoch(said, summary, key)
    times = [_epoch(at, test, key) for test in tests if (at := test.maybe_number(key))]
    pick = min if key == "start" else max
    return pick(times, default=None)


def _stop(root: Section, results: Section, tests: Sequence[Section]) -> datetime:
    found = _moment(results, tests, "stop") or root.maybe_time("timestamp")
    if found is None:
        raise results.section("summary").refused("stop", "the time at which the run stopped")
    return found


def _epoch(value: float, section: Section, key: str) -> datetime:
    """A time since 1970: milliseconds by the format, seconds as some reporters write."""
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise section.refused(key, "milliseconds since 1970") from None


def _failing(test: Section) -> Failing:
    return Failing(
        name=test.text("name"),
        message=_prose(test, "message"),
        trace=_prose(test, "trace"),
    )


def _prose(test: Section, key: str) -> str:
    """A text of a test; some reporters write its lines as a list."""
    value = test.values.get(key)
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    return test.maybe_text(key) or ""


def _target(tests: Sequence[Section]) -> str | None:
    """The file or suite that all tests share."""
    files = [test.maybe_text("filePath") or test.maybe_text("file_path") for test in tests]
    return common(files) or common(_suite(test) for test in tests)


def _suite(test: Section) -> str | None:
    suite = test.values.get("suite")
    if isinstance(suite, list):  # a path of nested suites, since version 1 of the format
        return " > ".join(str(part) for part in suite) or None
    return test.maybe_text("suite")


def _context(results: Section) -> dict[str, Scalar]:
    """The tool's version and the environment: known before any test ran."""
    environment = results.section("environment").values
    named = {_snake(key): v for key, v in environment.items() if isinstance(v, Scalar)}
    version = results.section("tool").values.get("version")
    told = version if isinstance(version, str) else None
    return given(tool_version=told, **named)


def _snake(key: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    return _SHORTER.get(name, name)
