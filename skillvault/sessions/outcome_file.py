"""An outcome that a program hands over as a value, as a file for the inbox."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.records import Outcome


def outcome_file(outcome: Mapping[str, Any] | Outcome) -> tuple[str, bytes]:
    """(file name, bytes); BadInputError for values that no file can hold."""
    values = codec.outcome_values(outcome) if isinstance(outcome, Outcome) else dict(outcome)
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=_as_text)
        return "outcome.json", text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInputError(
            f"the outcome contains what JSON cannot hold ({error}); use texts, finite numbers, "
            "true, false, lists and mappings",
            code="not-json",
        ) from None


def _as_text(value: object) -> str:
    """Values of Python that have one text: a time, a path."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of JSON")
