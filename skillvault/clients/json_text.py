"""JSON that a person wrote, changed in place: what is put in or taken out, and no other byte.

Texts in, texts out. A text that is no strict JSON, or has a key twice, is refused.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from skillvault.errors import BadInputError

_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_INDENT = re.compile(r"\n([ \t]+)\S")


class JsonSpan(NamedTuple):
    """A value in a text; `parts` are (key or None, where the member begins, its value)."""

    kind: str
    start: int
    end: int
    parts: tuple[tuple[str | None, int, "JsonSpan"], ...] = ()


def parsed(text: str) -> tuple[JsonSpan, Any]:
    """(where everything stands, the value); BadInputError for what is no object of strict JSON."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"is no strict JSON ({error})", code="json") from None
    if not isinstance(value, dict):
        raise BadInputError("is no object of JSON", code="wrong-type")
    part, _ = _place_at(text, _skip(text, 0))
    return part, value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _end_of_text(text: str, at: int) -> int:
    match = _TEXT.match(text, at)
    return match.end() if match else at


def _place_at(text: str, at: int) -> tuple[JsonSpan, int]:
    """(the value that begins here, where it ends); the text is known to be JSON."""
    if text[at] == '"':
        end = _end_of_text(text, at)
        return JsonSpan("text", at, end), end
    if text[at] not in "{[":
        match = _SCALAR.match(text, at)
        end = match.end() if match else at
        return JsonSpan("scalar", at, end), end
    kind, close = ("object", "}") if text[at] == "{" else ("array", "]")
    parts: list[tuple[str | None, int, JsonSpan]] = []
    here = _skip(text, at + 1)
    while text[here] != close:
        key, begin = None, here
        if kind == "object":
            here = _end_of_text(text, begin)
            key = json.loads(text[begin:here])
            here = _skip(text, _skip(text, here) + 1)  # behind the colon
        part, here = _place_at(text, here)
        parts.append((key, begin, part))
        here = _skip(text, here)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return JsonSpan(kind, at, here + 1, tuple(parts)), here + 1


def place_under(part: JsonSpan, key: str) -> JsonSpan | None:
    """The value of a key."""
    return next((value for name, _, value in part.parts if name == key), None)


def put_in(text: str, path: Sequence[str], value: Any, is_own: Callable[[Any], bool]) -> str:
    """A text whose list at `path` holds the value, in the place of the one that is ours.

    What is missing on the way there is made. BadInputError where something else stands.
    """
    part, whole = parsed(text)
    for depth, key in enumerate(path):
        inner = place_under(part, key)
        if inner is None:
            nested: Any = [value]
            for name in reversed(path[depth + 1 :]):
                nested = {name: nested}
            return _inserted(text, part, key, nested)
        whole, part = whole[key], inner
        kind = "array" if depth == len(path) - 1 else "object"
        if part.kind != kind:
            raise BadInputError(
                f"has no {kind} at {'.'.join(path[: depth + 1])}", code="wrong-type"
            )
    for entry, (_, _, place) in zip(whole, part.parts, strict=True):
        if entry == value:
            return text
        if is_own(entry):
            return text[: place.start] + _rendered(text, place.start, value) + text[place.end :]
    return _inserted(text, part, None, value)


def set_in(text: str, path: Sequence[str], value: Any) -> str:
    """A text whose object at `path[:-1]` has this value under the last key."""
    part, whole = parsed(text)
    for depth, key in enumerate(path):
        inner = place_under(part, key)
        if inner is None:
            nested = value
            for name in reversed(path[depth + 1 :]):
                nested = {name: nested}
            return _inserted(text, part, key, nested)
        whole, part = whole[key], inner
        if depth < len(path) - 1 and part.kind != "object":
            where = ".".join(path[: depth + 1])
            raise BadInputError(f"has no object at {where}", code="wrong-type")
    if whole == value:
        return text
    return text[: part.start] + _rendered(text, part.start, value) + text[part.end :]


def taken_out(text: str, path: Sequence[str], is_own: Callable[[Any], bool]) -> str:
    """A text without what is ours of the list, or under the last key of the path.

    Objects and lists that this leaves empty go too.
    """
    trail, whole = _trail(text, path)
    if trail is None:
        return text
    places = [place for _, place in trail]
    last = places[-1]
    if last.kind == "array":
        owned = [number for number, entry in enumerate(whole) if is_own(entry)]
        if not owned:
            return text
        if len(owned) < len(last.parts):
            return taken_out(_without_member(text, last, owned[-1]), path, is_own)
    elif not is_own(whole):
        return text
    for depth in range(len(path) - 1, -1, -1):
        holder = places[depth]
        number = [name for name, _, _ in holder.parts].index(path[depth])
        if len(holder.parts) > 1 or depth == 0:
            return _without_member(text, holder, number)
    return text


def _trail(text: str, path: Sequence[str]) -> tuple[list[tuple[str, JsonSpan]] | None, Any]:
    """(each value on the way with its key, the last value); None where the path does not lead."""
    part, whole = parsed(text)
    trail = [("", part)]
    for key in path:
        inner = place_under(part, key) if part.kind == "object" else None
        if inner is None:
            return None, None
        whole, part = whole[key], inner
        trail.append((key, part))
    return trail, whole


def _without_member(text: str, holder: JsonSpan, number: int) -> str:
    """A text without one member of an object or list, and its comma."""
    _, begin, value = holder.parts[number]
    if len(holder.parts) == 1:
        return text[: holder.start + 1] + text[holder.end - 1 :]
    if number:
        before = holder.parts[number - 1][2]
        return text[: before.end] + text[value.end :]
    return text[:begin] + text[holder.parts[1][1] :]


def _inserted(text: str, holder: JsonSpan, key: str | None, value: Any) -> str:
    """A text with one more member at the end of an object or list, written as the others are."""
    name = "" if key is None else f"{json.dumps(key)}: "
    if holder.parts:
        last = holder.parts[-1]
        before = text[: last[1]]
        lead = before[len(before.rstrip(" \t\r\n")) :]
        if "\n" in lead:
            member = name + _indented(text, value, lead.rpartition("\n")[2])
        else:
            member, lead = name + json.dumps(value, ensure_ascii=False), " "
        return text[: last[2].end] + "," + lead + member + text[last[2].end :]
    outer = _lead_of_line(text, holder.start)
    inner = outer + _unit_of(text)
    member = name + _indented(text, value, inner)
    body = f"\n{inner}{member}\n{outer}"
    return text[: holder.start + 1] + body + text[holder.end - 1 :]


def _rendered(text: str, at: int, value: Any) -> str:
    return _indented(text, value, _lead_of_line(text, at))


def _unit_of(text: str) -> str:
    """By what a text is indented: as its first line that is."""
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _indented(text: str, value: Any, lead: str) -> str:
    return json.dumps(value, indent=_unit_of(text), ensure_ascii=False).replace("\n", f"\n{lead}")


def _lead_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def texts_below(value: Any) -> Iterator[str]:
    """Every text below a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_below(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_below(inner)
