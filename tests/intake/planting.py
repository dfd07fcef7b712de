"""Tokens that are planted into the texts that a vault is given, and where of git one of them is."""

import hashlib
import string
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

_LETTERS = string.ascii_letters + string.digits
_SEEN = 16  # characters at either end of a token that give it away
# Raw texts while they are in use: see "Secrets" in docs/safety.md.
RAW = ("skillvault/clients/", "skillvault/sessions/", "skillvault/taken/")


class Tokens:
    """The tokens that were planted, each by the name of its entry point.

    Said so many `times`, one of them is cut in two wherever a text is cut.
    """

    def __init__(self, times: int = 1) -> None:
        self.planted: dict[str, str] = {}
        self._times = times

    def make(self, entry: str) -> str:
        """A token of its own for an entry point."""
        digest = hashlib.sha512(entry.encode()).digest()
        token = "ghp" + "_" + "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:36])
        self.planted[entry] = token
        return token

    def say(self, entry: str) -> str:
        """A text that is its token, as often as is said here."""
        return self.repeated(self.make(entry))

    def repeated(self, token: str) -> str:
        """A token as often as is said here."""
        return " ".join([token] * self._times)

    def leaks(self, root: Path) -> dict[str, list[str]]:
        """Entry -> the objects and files of the git folder that hold its token."""
        found: dict[str, list[str]] = {}
        for place, content in git_contents(root):
            for entry, token in self.planted.items():
                if token[:_SEEN].encode() in content or token[-_SEEN:].encode() in content:
                    found.setdefault(entry, []).append(place)
        return found


def git_contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """(place, bytes) of every object of a repository and of every other file in its git folder."""
    folder = root / ".git"
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout
    while objects:
        header, _, rest = objects.partition(b"\n")
        name, kind, size = header.decode().split()
        yield f"{kind} {name[:10]}", rest[: int(size)]
        objects = rest[int(size) + 1 :]
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_file() and not place.startswith(("objects/", *RAW)):
            yield place, place.encode() + path.read_bytes()


def full_record(
    kind: type[Any], entry: str, make: Callable[[str], str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """A record as a mapping with a token in each text of its type; `given` values stay."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    value = _full(found, entry, make, given)
    assert isinstance(value, dict)
    return value


def _full(
    kind: inspect.Type, entry: str, make: Callable[[str], str], given: Mapping[str, Any]
) -> Any:
    """A value of a type with a token in each text; msgspec.UNSET for what holds no text."""
    if entry in given:
        return given[entry]
    result: Any = msgspec.UNSET
    match kind:
        case inspect.StrType() | inspect.AnyType():
            result = f"said of {make(entry)} once"
        case inspect.UnionType(types=types):
            values = (_full(member, entry, make, given) for member in types)
            result = next((value for value in values if value is not msgspec.UNSET), result)
        case inspect.VarTupleType(item_type=item):
            result = [_full(item, entry, make, given)]
        case inspect.DictType(value_type=value):
            key = f"key {make(f'{entry} key')}"
            result = {key: _full(value, f"{entry} value", make, given)}
        case inspect.StructType(fields=fields):
            keys = {field.encode_name: field.type for field in fields}
            parts = {key: _full(of, f"{entry}.{key}", make, given) for key, of in keys.items()}
            extra = parts.pop("extra", {})
            result = {k: v for k, v in parts.items() if v is not msgspec.UNSET} | extra
    return result


def planted_in(value: Any, make: Callable[[str], str], entry: str, keys: frozenset[str]) -> Any:
    """A JSON value in which each text at one of these keys says a token, too."""
    if isinstance(value, dict):
        return {
            key: f"{member} {make(f'{entry} {key}')}"
            if isinstance(member, str) and key in keys
            else planted_in(member, make, entry, keys)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [planted_in(member, make, entry, keys) for member in value]
    return value
