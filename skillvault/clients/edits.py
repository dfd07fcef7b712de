"""Describe edits of a client's files. An edit can add its text to a file and remove it again.

`setups` chooses the edits, and `sessions/client_setup.py` carries them out.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from skillvault.clients.payload import EVENTS
from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_json
from skillvault.model.text.managed_block import with_block, without_block
from skillvault.model.text.text import join_items, pluralize

_NAME = "skillvault"
_HOOK = re.compile(
    rf"\bskillvault-hook (?:{'|'.join(EVENTS)})\b"
    r"|\bskillvault/clients/hook_client\.py\b|\bskillvault/sessions/calls\b"
)
_INDENT = re.compile(r"\n([ \t]*)\S")  # the indentation of the second line
_DEPTH = 100


class FileEdit(NamedTuple):
    """The edit of one file.

    `put` and `take_out` convert the old text to the new text; "" is a missing file. `take_out` also
    gets the text before the setup, or "" if it is unknown. If the file cannot be read, the user
    adds the text `by_hand`. `summary` names the added text in a few words.
    """

    path: Path
    put: Callable[[str], str]
    take_out: Callable[[str, str], str]
    by_hand: str
    summary: str


class JsonEntry(NamedTuple):
    """A value for the list at `path`, or with `is_value` for `path` itself."""

    path: Sequence[str]
    value: Any
    is_value: bool = False


def json_edit(path: Path, entries: Sequence[JsonEntry], by_hand: str) -> FileEdit:
    """Return the edit that adds entries to a JSON file."""

    def put_all(text: str) -> str:
        return _rewrite(text, lambda values: reduce(_put_entry, entries, values))

    def take_out_all(text: str, original: str) -> str:
        if not text:
            return ""
        old_values = _parse(original) if original else {}

        def take_out(values: Any) -> Any:
            paths = (entry.path for entry in reversed(entries))
            return reduce(lambda rest, path: _take_out(rest, path, old_values), paths, values)

        new_text = _rewrite(text, take_out)
        return original if new_text != text and _parse(new_text) == old_values else new_text

    counts = Counter("hook" if entry.path[0] == "hooks" else "MCP server" for entry in entries)
    summary = join_items(pluralize(count, noun) for noun, count in counts.items())
    return FileEdit(path, put_all, take_out_all, by_hand, summary)


def lines_edit(path: Path, lines: Sequence[str], mark: str = "") -> FileEdit:
    """Return the edit that adds lines to a file; other lines with the `mark` are removed."""

    def put_lines(text: str) -> str:
        other_text = take_out_lines(text, "")
        newline = "\n" if other_text and not other_text.endswith("\n") else ""
        return other_text + newline + "\n".join([*lines, ""])

    def take_out_lines(text: str, _original: str) -> str:
        return "".join(
            line
            for line in text.splitlines(keepends=True)
            if line.strip() not in lines and not (mark and mark in line)
        )

    by_hand, summary = "\n".join(lines), pluralize(len(lines), "line")
    return FileEdit(path, put_lines, take_out_lines, by_hand, summary)


def block_edit(path: Path, text: str) -> FileEdit:
    """Return the edit that adds a managed block of text to a Markdown file."""
    return FileEdit(
        path,
        lambda page: with_block(page, text),
        lambda page, _original: without_block(page),
        text,
        "a paragraph",
    )


def is_skillvault_entry(value: Any) -> bool:
    """Return True if a value of a client's settings calls skillvault and nothing else."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if isinstance(hooks, list):
        return bool(hooks) and all(map(is_skillvault_entry, hooks))
    return any(text == _NAME or _HOOK.search(text) for text in _texts_below(value))


def _rewrite(text: str, change: Callable[[Any], Any]) -> str:
    """Change the values of a JSON text, and keep its indentation."""
    text = text or "{}\n"
    values = _parse(text)
    new_values = change(values)
    if new_values == values:
        return text
    body = text.rstrip()
    match = _INDENT.search(body)
    indent = match[1] if match else None if values else "  "
    new_text = json.dumps(new_values, indent=indent, ensure_ascii=text.isascii())
    newline = "\r\n" if "\r\n" in text else "\n"
    return new_text.replace("\n", newline) + text[len(body) :]


def _parse(text: str) -> dict[str, Any]:
    try:
        values = strict_json.load(text, max_depth=_DEPTH)
    except BadInputError as error:
        raise BadInputError(f"is not strict JSON ({error.message})", code="json") from None
    if not isinstance(values, dict):
        raise BadInputError("is not an object of JSON", code="wrong-type")
    return values


def _put_entry(value: Any, entry: JsonEntry, depth: int = 0) -> Any:
    """Add an entry to a value, and create missing objects on its path."""
    keys = entry.path[depth:]
    if keys:
        if not isinstance(value, dict):
            raise _wrong_type("object", entry.path[:depth])
        inner_value = value.get(keys[0], {} if keys[1:] else [])
        return {**value, keys[0]: _put_entry(inner_value, entry, depth + 1)}
    if entry.is_value:
        return entry.value
    if not isinstance(value, list):
        raise _wrong_type("array", entry.path)
    if entry.value in value:
        return value
    index = next((i for i, element in enumerate(value) if is_skillvault_entry(element)), len(value))
    return [*value[:index], entry.value, *value[index + 1 :]]


def _wrong_type(kind: str, path: Sequence[str]) -> BadInputError:
    return BadInputError(f"has no {kind} at {'.'.join(path)}", code="wrong-type")


def _take_out(value: Any, path: Sequence[str], old_value: Any) -> Any:
    """Remove skillvault's entries at a path from a value, and objects that become empty.

    `old_value` is the value before the setup. Its object at the path stays, even if empty.
    """
    if not path:
        if isinstance(value, list):
            return [element for element in value if not is_skillvault_entry(element)]
        return old_value if is_skillvault_entry(value) else value
    if not isinstance(value, dict) or path[0] not in value:
        return value
    is_old = isinstance(old_value, dict) and path[0] in old_value
    inner_value = _take_out(value[path[0]], path[1:], old_value[path[0]] if is_old else None)
    if inner_value or is_old or inner_value == value[path[0]]:
        return {**value, path[0]: inner_value}
    return {key: element for key, element in value.items() if key != path[0]}


def _texts_below(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for element in value.values() if isinstance(value, dict) else value:
            yield from _texts_below(element)
