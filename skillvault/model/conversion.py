"""Convert plain values to a record, or refuse them with an error that names the wrong key.

Unknown keys go to the `extra` of a record that has this field.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from skillvault.model.errors import BadInputError, key_error
from skillvault.model.lazy import regex

_KEY_PATH = regex(r" - at `\$\.?(?P<key>[^`]*)`$")
_EXPECTED = regex(
    r"^Expected `(?P<want>[^`]+)`(?P<bound> [<>]=? [-\d.]+)?(?:, got `(?P<got>[^`]+)`)?"
)
_TYPE_NAMES = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "datetime": "a time with its timezone, such as 2026-11-20T10:15:00Z",
    "object": "a mapping of keys to values",
    "array": "a list",
    "null": "nothing",
}
_Record = TypeVar("_Record", bound=Struct)


class _Key(NamedTuple):
    """A key of a record. `part` is the record type of its value, or of the members of its list."""

    required: bool
    part: type[Struct] | None = None
    is_list: bool = False


def convert_stored(raw: Any, kind: type[_Record]) -> _Record:
    """Convert the vault's own values to a record. Raise BadInputError with the dotted key."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explain_error(error, "", raw, kind) from None


def convert(raw: Mapping[str, Any], kind: type[_Record], *, key_path: str = "") -> _Record:
    """Convert `raw` to a `kind`, with unknown keys in `extra`, also in nested records.

    A null or an empty text counts as absent if the key is optional.
    """
    keys = _keys_of(kind)
    values: dict[str, Any] = {"extra": {}}
    for name, value in raw.items():
        if not isinstance(name, str):
            path = _join(key_path, str(name))
            raise key_error(path, "bad-key", f"keys must be text; quote {name!r}")
        key = keys.get(name)
        if key is None:
            values["extra"][name] = value
        elif value in (None, "") and not key.required:
            continue
        elif key.part and key.is_list and isinstance(value, list):
            path, members = _join(key_path, name), enumerate(value)
            values[name] = [
                _convert_member(member, key.part, f"{path}[{index}]") for index, member in members
            ]
        elif key.part and isinstance(value, Mapping):
            values[name] = convert(value, key.part, key_path=_join(key_path, name))
        else:
            values[name] = value
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise _explain_error(error, key_path, raw, kind) from None


def _convert_member(value: Any, kind: type[_Record], key_path: str) -> _Record:
    if isinstance(value, Mapping):
        return convert(value, kind, key_path=key_path)
    raise key_error(
        key_path,
        "wrong-type",
        f"expected a mapping, found {value_in_words(value)}; write {{{', '.join(_keys_of(kind))}}}",
    )


@cache
def _keys_of(kind: type[Struct]) -> Mapping[str, _Key]:
    keys: dict[str, _Key] = {}
    for field in msgspec.structs.fields(kind):
        types = get_args(field.type) or (field.type,)
        part = next(
            (part for part in types if "extra" in getattr(part, "__struct_fields__", ())), None
        )
        keys[field.name] = _Key(field.required, part, get_origin(field.type) is tuple)
    del keys["extra"]
    return keys


def _join(path: str, key: str) -> str:
    dot = "" if key.startswith("[") else "."
    return f"{path}{dot}{key}" if path else key


def _find_choices(kind: Any, keys: Sequence[str]) -> tuple[Any, ...]:
    """Return the values that a key of a type may have, or () if they are not listed."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    kinds = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        kinds = tuple(f.type for f in msgspec.structs.fields(kind) if f.encode_name in keys[:1])
        keys = keys[1:]
    return next(filter(None, (_find_choices(part, keys) for part in kinds)), ())


def _explain_error(
    error: msgspec.ValidationError, path: str, raw: Any, kind: type[Struct]
) -> BadInputError:
    """Turn msgspec's message into a sentence that names the key and the next step."""
    message = str(error)
    path_match = _KEY_PATH.search(message)
    key = _join(path, path_match["key"]) if path_match else path
    text = _KEY_PATH.sub("", message)
    if match := re.match(r"Object missing required field `(.+)`", text):
        key = _join(key, match[1])
        return key_error(key, "missing-key", "missing; add it")
    value = _value_at(raw, path_match["key"] if path_match else "")
    if text.startswith("Invalid enum value"):
        problem = f"{value!r} is not one of the values it may have"
        keys = path_match["key"].replace("[...]", "").split(".") if path_match else []
        choices = ", ".join(map(str, _find_choices(kind, keys)))
        return key_error(key, "bad-value", f"{problem}; write {choices}" if choices else problem)
    if "RFC3339" in text:
        text = "Expected `datetime`"
    match = _EXPECTED.match(text)
    if match is None:
        return key_error(key, "bad-value", f"{text}")
    types = [_TYPE_NAMES.get(part.strip(), part.strip()) for part in match["want"].split("|")]
    expected = " or ".join(part for part in types if part != "nothing") or "nothing"
    if match["bound"]:
        expected += f"{match['bound'].replace('>=', 'at least').replace('<=', 'at most')}"
    elif text.startswith("Expected `str` of length"):
        expected = "text that is not empty"
    return BadInputError(
        f"{key or 'the record'}: expected {expected}, found {value_in_words(value)}",
        code="bad-value" if match["bound"] else "wrong-type",
        key=key or None,
    )


def _value_at(raw: Any, path: str) -> Any:
    """Return the value at a dotted path, or the value before a part that is not a key."""
    for part in filter(None, path.split(".")):
        if not isinstance(raw, Mapping) or part not in raw:
            return raw
        raw = raw[part]
    return raw


def value_in_words(value: Any) -> str:
    """Describe a foreign value for an error message."""
    if isinstance(value, str):
        return f"text {json.dumps(value[:40], ensure_ascii=False)}"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "nothing" if value is None else json.dumps(value, default=str)[:40]
