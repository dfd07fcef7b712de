"""expertise.yaml <-> the patterns in it. Unknown keys are kept, behind those that are known."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import fields

from skillvault.model.conversion import stored
from skillvault.model.errors import BadInputError
from skillvault.model.records import EvolutionEntry, Expertise, LearnedPattern
from skillvault.model.text import strict_yaml
from skillvault.model.text.front_matter import text_of


def decode(content: bytes) -> Expertise:
    """The patterns that the bytes of the file state; BadInputError names the key."""
    values = _values_in(text_of(content))
    patterns = _entries(values, "patterns", LearnedPattern)
    log = _entries(values, "evolution_log", EvolutionEntry)
    known = {"patterns": patterns, "evolution_log": log}
    return stored(_with_extra({**values, **known}, Expertise), Expertise)


def _values_in(text: str) -> dict[str, Any]:
    raw = strict_yaml.load(text)
    if not isinstance(raw, Mapping | None):
        raise BadInputError(
            "expected keys and values: version, patterns, evolution_log", code="wrong-type"
        )
    return dict(raw or {})


def _entries(values: Mapping[str, Any], key: str, kind: type[msgspec.Struct]) -> list[Any]:
    entries = values.get(key) or []
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise BadInputError(
            f"{key}: expected a list of entries with keys", code="wrong-type", key=key
        )
    return [_record_of(entry, f"{key}[{number}]", kind) for number, entry in enumerate(entries)]


def _record_of(entry: Mapping[str, Any], place: str, kind: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return stored(_with_extra(entry, kind), kind)
    except BadInputError as error:
        key = f"{place}.{error.key}" if error.key else place
        raise BadInputError(f"{place}.{error.message}", code=error.code, key=key) from None


def _with_extra(values: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """A mapping as its record has it: what the format does not know stands in `extra`."""
    names = {field.name for field in fields(kind)} - {"extra"}
    known = {key: value for key, value in values.items() if key in names}
    return {**known, "extra": {k: v for k, v in values.items() if k not in names}}


def encode(expertise: Expertise) -> bytes:
    """The whole file, in the format's key order."""
    values = {
        "version": expertise.version,
        "patterns": list(map(_in_key_order, expertise.patterns)),
        "evolution_log": list(map(_in_key_order, expertise.evolution_log)),
        **expertise.extra,
    }
    return strict_yaml.dump(values).encode()


def rewritten(content: bytes, expertise: Expertise) -> bytes:
    """The file with other patterns; comments stay, and so does every entry that is as it was.

    Where that cannot be done line by line all its comments stand above the whole file.
    """
    before = decode(content)
    if not content or content == encode(before):
        return encode(expertise)
    text = text_of(content)
    raw = _values_in(text)
    try:
        for key in ("patterns", "evolution_log"):
            old = list(zip(getattr(before, key), raw.get(key) or [], strict=True))
            entries = [
                next((values for entry, values in old if entry == new), _in_key_order(new))
                for new in getattr(expertise, key)
            ]
            text = strict_yaml.with_entries(text, key, entries, _name_of)
    except BadInputError:
        lines = [*strict_yaml.comments(text_of(content)), encode(expertise).decode()]
        return "\n".join(lines).encode()
    return text.encode()


def _name_of(entry: Mapping[str, Any]) -> str:
    """By what an entry is known while its figures change."""
    return str(entry.get("pattern") or sorted(entry.items()))


def _in_key_order(entry: LearnedPattern | EvolutionEntry) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(entry)
    extra = values.pop("extra")
    present = {key: value for key, value in values.items() if value not in (None, "", ())}
    return {**present, **extra}
