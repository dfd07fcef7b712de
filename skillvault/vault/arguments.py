"""Check arguments of the Python interface, and accept one text or path instead of a list."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any


def one_text(name: str, value: object, hint: str = "") -> str:
    """Return a text. Raise TypeError for any other value."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a {type(value).__name__}; pass a text{hint}")
    return value


def text_list(name: str, value: object) -> tuple[str, ...]:
    """Return the texts of a list or a single text. Raise TypeError for any other value."""
    return _members(name, value, str, "text")


def tag_list(name: str, value: object) -> tuple[str, ...]:
    """Return the texts of a list, or the words of a text that commas or spaces separate."""
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return text_list(name, value)


def path_list(name: str, value: object) -> tuple[Path, ...]:
    """Return the paths of a list or a single path. Raise TypeError for any other value."""
    return tuple(map(Path, _members(name, value, str | Path, "path")))


def _members(name: str, value: object, kind: type | UnionType, noun: str) -> tuple[Any, ...]:
    if isinstance(value, kind):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise TypeError(f"{name} is a {type(value).__name__}; pass a {noun} or a list of {noun}s")
    members = tuple(value)
    for member in members:
        if not isinstance(member, kind):
            raise TypeError(f"one of {name} is a {type(member).__name__}; pass a {noun}")
    return members
