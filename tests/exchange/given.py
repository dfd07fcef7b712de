"""Helpers of the exchange tests: the real files beside the repository, and the intake."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from skillvault.exchange import formats
from skillvault.model import intake, records
from skillvault.model.errors import BadInputError

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    """A real file; the test is skipped where the data does not lie beside the repository."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"shared/data/{name} does not lie beside the repository")
    return path


def written(path: Path, value: Any) -> Path:
    """Write a value as JSON, or a text as it is, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def read(format_name: str, path: Path, domain: str | None = None) -> list[dict[str, Any]]:
    """Return the mappings of a file; none of its records may be refused."""
    return [taken(item) for _, item in formats.read_outcomes(format_name, path, domain)]


def one(format_name: str, path: Path, domain: str | None = None) -> dict[str, Any]:
    """Return the only mapping of a file."""
    (found,) = read(format_name, path, domain)
    return found


def taken(item: dict[str, Any] | BadInputError) -> dict[str, Any]:
    """Let the intake take a mapping, and return it."""
    if isinstance(item, BadInputError):
        raise item
    intake.parse_outcome(item, trust="local", now=NOW)
    return item


def refused(format_name: str, path: Path) -> BadInputError:
    """Return the only error of a file that is refused as a whole."""
    with pytest.raises(BadInputError) as caught:
        list(formats.read_outcomes(format_name, path))
    return caught.value


def outcomes(items: Iterable[dict[str, Any]]) -> list[records.Outcome]:
    """Return the records that the intake makes of the mappings."""
    return [intake.parse_outcome(item, trust="local", now=NOW) for item in items]
