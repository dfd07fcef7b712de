"""What a setup changes of a client's files, as values: a file, what is put into it, what comes out.

`put` and `take_out` are texts in, texts out; "" is a file that is not there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from skillvault.clients.json_text import put_in, set_in, taken_out, texts_below
from skillvault.clients.payload import EVENTS
from skillvault.managed_block import with_block, without_block

OURS = "skillvault"
_HOOK = re.compile(rf"\bskillvault\b.* hook (?:{'|'.join(EVENTS)})\b")


class FileEdit(NamedTuple):
    """One file; `by_hand` is what a person adds where it cannot be read."""

    place: Path
    put: Callable[[str], str]
    take_out: Callable[[str], str]
    by_hand: str


class JsonWish(NamedTuple):
    """A value that a list at `path` is to hold, or that stands under the last key (`is_value`)."""

    path: Sequence[str]
    value: Any
    is_value: bool = False


def json_edit(place: Path, wishes: Sequence[JsonWish], by_hand: str) -> FileEdit:
    """A file of JSON that is to hold these values."""

    def put_all(text: str) -> str:
        return reduce(_wish_put, wishes, text or "{}\n")

    def take_out_all(text: str) -> str:
        emptied = reduce(_taken, reversed(wishes), text)
        return "" if emptied.strip() == "{}" else emptied

    return FileEdit(place, put_all, take_out_all, by_hand)


def page_edit(place: Path, text: str) -> FileEdit:
    """A page that is to hold the block of ours."""
    return FileEdit(place, lambda page: with_block(page, text), without_block, text)


def is_ours(value: Any) -> bool:
    """Whether a value of a client's settings calls this program, and nothing else."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if isinstance(hooks, list):
        return bool(hooks) and all(map(is_ours, hooks))
    return any(text == OURS or _HOOK.search(text) for text in texts_below(value))


def hook_groups(commands: Mapping[str, tuple[str, str | None]]) -> list[JsonWish]:
    """The hooks of settings: event -> (command, matcher)."""
    wishes = []
    for event, (command, matcher) in commands.items():
        hook = {"type": "command", "command": command, "timeout": 10}
        group = {"hooks": [hook]} if matcher is None else {"matcher": matcher, "hooks": [hook]}
        wishes.append(JsonWish(("hooks", event), group))
    return wishes


def _wish_put(text: str, wish: JsonWish) -> str:
    if wish.is_value:
        return set_in(text, wish.path, wish.value)
    return put_in(text, wish.path, wish.value, is_ours)


def _taken(text: str, wish: JsonWish) -> str:
    return taken_out(text, wish.path, is_ours)
