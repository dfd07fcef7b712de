"""expertise.yaml <-> the patterns in it. Unknown keys are kept, behind those that are known."""

from collections.abc import Mapping
from typing import Any

import msgspec

from skillvault.model.conversion import convert
from skillvault.model.errors import BadInputError
from skillvault.model.records import EvolutionEntry, Expertise, LearnedPattern
from skillvault.model.text import strict_yaml
from skillvault.model.text.front_matter import text_of


def decode(content: bytes) -> Expertise:
    """The patterns that the bytes of the file state; BadInputError names the key."""
    values = _values_in(text_of(content))
    for key in ("patterns", "evolution_log"):
        entries = values.get(key) or []
        if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
            raise BadInputError(
                f"{key}: expected a list of entries with keys", code="wrong-type", key=key
            )
    return convert(values, Expertise)


def _values_in(text: str) -> dict[str, Any]:
    raw = strict_yaml.load(text)
    if not isinstance(raw, Mapping | None):
        raise BadInputError(
            "expected keys and values: version, patterns, evolution_log", code="wrong-type"
        )
    return dict(raw or {})


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
