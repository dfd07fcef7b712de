"""Result files of other programs, read into mappings in the vault's outcome format.

No git, no vault, no clock: a reader reads what lies at the given path and writes nothing.
What it returns is judged by the ordinary intake (`intake.outcome_from`) like any other.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from skillvault.exchange import ctrf, freqtrade, harbor, jsonl, junit
from skillvault.exchange.source_file import Parsed, Reader
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.text.text import listed

__all__ = ["FORMATS", "Parsed", "Reader", "read_files", "read_outcomes"]

FORMATS: dict[str, Reader] = {
    "freqtrade": freqtrade.read_backtest,
    "harbor": harbor.read_trials,
    "ctrf": ctrf.read_ctrf,
    "junit": junit.read_junit,
    "jsonl": jsonl.read_lines,
}


def read_outcomes(format_name: str, path: Path, domain: str | None = None) -> Iterator[Parsed]:
    """Each outcome of a file as `(label, mapping)`, in the file's order.

    A record that cannot be read is `(label, BadInputError)` and the rest goes on; a file
    that cannot be read at all raises BadInputError before the first item. Raises
    UsageError for an unknown format.
    """
    if format_name not in FORMATS:
        formats = listed(sorted(FORMATS), last="or")
        raise UsageError(f"{format_name!r} is not a format that can be imported; write {formats}")
    return FORMATS[format_name](path, domain)


def read_files(format_name: str, paths: Iterable[Path], domain: str | None) -> Iterator[Parsed]:
    """Each outcome of some files; one that cannot be read is `(file name, BadInputError)`."""
    for path in paths:
        try:
            yield from read_outcomes(format_name, path, domain)
        except BadInputError as error:
            message = error.message.removeprefix(f"{path.name}: ")
            yield path.name, BadInputError(message, code=error.code, line=error.line)
