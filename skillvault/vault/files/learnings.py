"""Read and write the files with learned rules: LEARNINGS.md and expertise.yaml.

The rules of expertise.yaml are called patterns. Its unknown keys are written after the known keys.
"""

import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from skillvault.model.conversion import convert
from skillvault.model.errors import BadInputError
from skillvault.model.records import EvolutionEntry, Expertise, LearnedPattern
from skillvault.model.text import front_matter, strict_yaml
from skillvault.vault.files import layout

_MAX_BYTES = 8 << 20  # the most that are read


class LearningsFile(NamedTuple):
    """The bytes of LEARNINGS.md, and the seconds since it was written."""

    content: bytes
    age: float


def read_file(root: Path) -> LearningsFile | None:
    """Read LEARNINGS.md, or return None if it does not exist.

    Raises BadInputError if the file may not be read.
    """
    try:
        descriptor = os.open(root / layout.LEARNINGS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise BadInputError("not a regular file", code="not-a-file")
        if state.st_size > _MAX_BYTES:
            message = f"{state.st_size >> 20} MiB; remove rules that are not needed"
            raise BadInputError(message, code="too-large")
        return LearningsFile(file.read(_MAX_BYTES), time.time() - state.st_mtime)


def append(root: Path, addition: Callable[[str], str]) -> None:
    """Append `addition(text)` to LEARNINGS.md in one write, where `text` is the old content.

    A new file begins with the template.
    """
    path = root / layout.LEARNINGS
    existing_file = read_file(root)
    text = existing_file.content.decode(errors="replace") if existing_file else template()
    content = ("" if existing_file else text) + addition(text)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with open(descriptor, "ab") as file:  # noqa: PTH123 (a descriptor, not a path)
        file.write(content.encode())


def template() -> str:
    """Return the text of a new LEARNINGS.md."""
    return (layout.resource("vault_template") / layout.LEARNINGS).read_text(encoding="utf-8")


def decode_expertise(content: bytes) -> Expertise:
    """Decode expertise.yaml. Raise BadInputError with the name of a bad key."""
    values = _load_values(front_matter.text_of(content))
    for key in ("patterns", "evolution_log"):
        entries = values.get(key) or []
        if not isinstance(entries, list) or any(not isinstance(e, Mapping) for e in entries):
            message = f"{key}: expected a list of entries with keys"
            raise BadInputError(message, code="wrong-type", key=key)
    return convert(values, Expertise)


def _load_values(text: str) -> dict[str, Any]:
    values = strict_yaml.load(text)
    if not isinstance(values, Mapping | None):
        message = "expected keys and values: version, patterns, evolution_log"
        raise BadInputError(message, code="wrong-type")
    return dict(values or {})


def encode_expertise(expertise: Expertise) -> bytes:
    """Encode expertise.yaml with its keys in the order of the format."""
    values = {
        "version": expertise.version,
        "patterns": list(map(_in_key_order, expertise.patterns)),
        "evolution_log": list(map(_in_key_order, expertise.evolution_log)),
        **expertise.extra,
    }
    return strict_yaml.dump(values).encode()


def rewrite_expertise(content: bytes, expertise: Expertise) -> bytes:
    """Rewrite expertise.yaml with new patterns, and keep comments and unchanged entries.

    If the file cannot be edited line by line, all comments move to the top.
    """
    old_expertise = decode_expertise(content)
    if not content or content == encode_expertise(old_expertise):
        return encode_expertise(expertise)
    text = front_matter.text_of(content)
    data = _load_values(text)
    try:
        for key in ("patterns", "evolution_log"):
            old_entries = list(zip(getattr(old_expertise, key), data.get(key) or [], strict=True))
            entries: list[Mapping[str, Any]] = []
            for entry in getattr(expertise, key):
                old_values = (values for old_entry, values in old_entries if old_entry == entry)
                entries.append(next(old_values, _in_key_order(entry)))
            text = strict_yaml.with_entries(text, key, entries, _name_of)
    except BadInputError:
        comments = strict_yaml.comments(front_matter.text_of(content))
        return "\n".join([*comments, encode_expertise(expertise).decode()]).encode()
    return text.encode()


def _name_of(entry: Mapping[str, Any]) -> str:
    """Return a name for an entry that stays the same when its numbers change."""
    return str(entry.get("pattern") or sorted(entry.items()))


def _in_key_order(entry: LearnedPattern | EvolutionEntry) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(entry)
    extra = values.pop("extra")
    filled_values = {key: value for key, value in values.items() if value not in (None, "", ())}
    return {**filled_values, **extra}
