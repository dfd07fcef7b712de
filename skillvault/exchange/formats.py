"""Read result files of other programs as mappings in the vault's outcome format.

A reader writes nothing; `intake.parse_outcome` validates the mappings. Add a format to `FORMATS`.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from skillvault.exchange import ctrf, freqtrade, harbor, junit, source_file
from skillvault.exchange.source_file import ReadResult, file_label
from skillvault.exchange.suite_report import read_suite
from skillvault.exchange.transcripts.reader import client_of
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.text.text import join_items


def read_lines(path: Path, domain: str | None) -> Iterator[ReadResult]:
    """Yield each line as (`<stem>-<line number>`, mapping). `domain` is the default domain."""
    if (client := client_of(path)) is not None:
        raise BadInputError(
            f"{file_label(path)}: a transcript of {client}, no file of outcomes; write `skillvault "
            f"import {client} {path.name}`",
            code="wrong-type",
        )
    outcomes = [
        source_file.try_convert(
            source_file.record_label(path.stem, number),
            partial(_parse_outcome, line, path, number, domain),
        )
        for number, line in _read_numbered_lines(path)
    ]
    if len(outcomes) > 1 and all(isinstance(outcome, BadInputError) for _, outcome in outcomes):
        raise BadInputError(
            f"{file_label(path)}: no line is a JSON object; for a file with one "
            "outcome, run `skillvault record`",
            code="wrong-type",
        )
    yield from outcomes


def _read_numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise source_file.unreadable_error(path, error) from None


def _parse_outcome(line: bytes, path: Path, number: int, domain: str | None) -> dict[str, Any]:
    origin = f"{file_label(path)}: line {number}"
    value = source_file.parse_json(line, origin, line=number)
    if not isinstance(value, dict):
        message = f"{origin}: expected one JSON object; write one outcome as {{...}} on a line"
        raise BadInputError(message, code="wrong-type", line=number)
    if domain is not None and value.get("domain") is None:
        return {**value, "domain": domain}
    return value


FORMATS: dict[str, source_file.OutcomeReader] = {
    "freqtrade": freqtrade.read_backtest,
    "harbor": harbor.read_trials,
    "ctrf": partial(read_suite, ctrf.read_report),
    "junit": partial(read_suite, junit.read_report),
    "jsonl": read_lines,
}


def read_outcomes(format_name: str, path: Path, domain: str | None = None) -> Iterator[ReadResult]:
    """Yield each outcome of a file as (label, mapping), in the order of the file.

    A record that cannot be read becomes (label, BadInputError), and reading continues. Raises
    BadInputError first if the file cannot be read at all, UsageError for an unknown format.
    """
    if format_name not in FORMATS:
        formats = join_items(sorted(FORMATS), last="or")
        raise UsageError(f"{format_name!r} is not a format that can be imported; write {formats}")
    return FORMATS[format_name](path, domain)


def read_files(format_name: str, paths: Iterable[Path], domain: str | None) -> Iterator[ReadResult]:
    """Yield each outcome of files. An unreadable file yields (file name, BadInputError)."""
    for path in paths:
        try:
            yield from read_outcomes(format_name, path, domain)
        except BadInputError as error:
            message = error.message.removeprefix(f"{path.name}: ")
            yield path.name, BadInputError(message, code=error.code, line=error.line)
