"""Parse JSON as the vault accepts it: one value, no repeated key, finite numbers."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from skillvault.model.errors import BadInputError

MAX_DEPTH = 20
MAX_DIGITS = 300


def load(text: str, *, nan_is_absent: bool = False, max_depth: int = MAX_DEPTH) -> Any:
    """Parse a JSON text. Raise BadInputError with the mistake and the line.

    With `nan_is_absent`, NaN and Infinity are read as null.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=(lambda _: None) if nan_is_absent else _no_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
        # An escaped half of a surrogate pair decodes, and cannot be written again.
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        code = "truncated" if error.pos >= len(text.rstrip()) else "json"
        raise BadInputError(
            f"line {error.lineno}: not valid JSON ({error.msg})", code=code, line=error.lineno
        ) from None
    except UnicodeError:
        message = "half of a surrogate pair (\\ud800 and the like); write the whole character"
        raise BadInputError(message, code="json") from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    _check_depth(value, 1, max_depth)
    return value


def _check_depth(value: Any, depth: int, limit: int) -> None:
    if depth > limit:
        raise _too_deep(limit)
    children: Iterable[Any] = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for child in children:
        _check_depth(child, depth + 1, limit)


def _too_deep(limit: int) -> BadInputError:
    return BadInputError(f"nested deeper than {limit} levels; flatten it", code="too-deep")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a mapping. Raise BadInputError for a repeated key."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise BadInputError(
            f"{twice[:60]}: the key occurs twice; keep one", code="duplicate-key", key=twice
        )
    return mapping


def _no_constant(name: str) -> Any:
    raise BadInputError(f"{name} is not a finite number; leave the key out", code="bad-value")


def _parse_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text[:30])


def _parse_int(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else _no_constant(f"{text[:30]}…")
