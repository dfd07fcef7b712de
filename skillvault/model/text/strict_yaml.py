"""Read and write YAML as the vault accepts it, data only. Only this module uses PyYAML.

Tags, anchors, merge keys and duplicate keys are errors; `on`, `017`, `12:30` and dates are strings.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from skillvault.model.errors import BadInputError, key_error
from skillvault.model.text.hidden_characters import has_hidden
from skillvault.model.text.strict_json import MAX_DEPTH, MAX_DIGITS

Scalar = str | bool | int | float | None
Value = Scalar | tuple[str, ...]  # what an edit sets: one value, or a list of texts

_Convert = Callable[[str], Any]  # the text of an unquoted scalar -> its value
_ENDS_LINE = re.compile("[\x85\u2028\u2029]")  # to YAML 1.1
_COMMENT = re.compile(r"#[^\r\n]*")
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; flatten it"
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(
    r"^[-+]?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.?)(?:[eE][-+]?[0-9]+)?$"
)


def load(text: str, *, as_written: bool = False) -> Any:
    """Parse the only document in `text` to dicts, lists and scalars, or None if it is empty.

    With `as_written`, a number such as `1.10`, which would be written as 1.1, is text. Raises
    BadInputError (`yaml`, `tag`, `anchor`, `duplicate-key`, `too-deep`, …) with the line.
    """
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        next(events)  # stream start
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        value = _value(next(events), events, 1, resolve_written if as_written else resolve)
        next(events)  # document end
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            raise _event_error(event, "more than one document; keep the first", "yaml")
    except yaml.MarkedYAMLError as error:
        raise _syntax(error) from None
    except yaml.reader.ReaderError as error:
        raise _unreadable(text, error) from None
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(f"not YAML text ({reason})", code="yaml") from None
    return value


def dump(value: Any) -> str:
    """Write a value in block style. Keys keep their order, and long texts are literal blocks."""
    text = _dump_text(_Dumper, value)
    if "\\U" not in text or not has_hidden(text):
        return text
    # The fast dumper writes an emoji as its number, but a joiner between two of them as it is.
    emoji_text = _dump_text(_EmojiDumper, value)
    try:
        return emoji_text if load(emoji_text) == load(text) else text
    except BadInputError:
        return text


def flow(value: Any) -> str:
    """Write a value on one line in flow style."""
    return _dump_text(_EmojiDumper, value, is_flow=True).rstrip("\n")


def _dump_text(dumper: type["_Dumper | _EmojiDumper"], value: Any, *, is_flow: bool = False) -> str:
    text: str = yaml.dump(
        value,
        Dumper=dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=is_flow,
        width=1_000_000,
    )
    return text


def scalar(value: Scalar) -> str:
    """Write a value on one line, in quotes if needed."""
    return dump([value])[2:].rstrip("\n")


def with_value(text: str, key: tuple[str, ...], value: Value, *, order: Sequence[str] = ()) -> str:
    """Set the mapping entry at `key`, and keep every other byte of the text.

    A missing last key is added in the `order` of its siblings, or before the first of them if it is
    not in the order; a missing mapping is added at the end. Raises BadInputError if the parent is
    not a mapping, if the value is of another kind than the new one, or if a comment would be lost.
    """
    data = load(text)
    new_data = _set_data(data, key, value)
    if repr(new_data) == repr(data):  # however it is written
        return text
    return _checked_edit(key, new_data, lambda: _set_entry(text, key, value, order))


def without_key(text: str, key: tuple[str, ...]) -> str:
    """Remove the mapping entry at `key`, and keep every other byte of the text.

    A mapping that has no other entry is removed, too; a missing entry is ignored. Raises
    BadInputError if other text would be lost.
    """
    data = load(text)
    if not _has(data, key):
        return text
    return _checked_edit(key, _data_without(data, key), lambda: _remove_entry(text, key))


def with_entries(text: str, key: str, entries: Sequence[Any], name: Callable[[Any], Any]) -> str:
    """Replace the list at `key`. Entries are identified by `name`, and new entries come last.

    Unchanged entries, every comment and all text outside the list are kept byte for byte. Comments
    inside a changed or removed entry move above it. Raises BadInputError if that is impossible.
    """
    data = load(text)
    if not isinstance(data, dict | None):
        raise _refusal((key,))
    old_entries = (data or {}).get(key) or []
    if old_entries == list(entries):
        return text
    new_text = _replace_list(text, key, old_entries, entries, name=name)
    if load(new_text) != {**(data or {}), key: list(entries) or None}:
        raise _refusal((key,))
    return new_text


def comments(text: str) -> list[str]:
    """Return the comments of a valid YAML text in order."""
    ends = [0]
    tokens = list(yaml.scan(text, Loader=yaml.SafeLoader))
    ends += [token.end_mark.index for token in tokens]
    starts = [*(token.start_mark.index for token in tokens), len(text)]
    gaps = (text[end:start] for end, start in zip(ends, starts, strict=True))
    return [comment for gap in gaps for comment in _COMMENT.findall(gap)]


def is_block(text: str) -> bool:
    """Return True if all lists and mappings of a valid text are in block style."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    return not any(getattr(event, "flow_style", False) for event in events)


# ── reading ──────────────────────────────────────────────────────────────────────────


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int, convert: _Convert) -> Any:
    _check_event(event, depth)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, convert)
    if isinstance(event, yaml.SequenceStartEvent):
        return list(_items(events, depth, convert))
    return dict(_pairs(events, depth, convert))


def _items(events: Iterator[yaml.Event], depth: int, convert: _Convert) -> Iterator[Any]:
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        yield _value(event, events, depth + 1, convert)


def _pairs(
    events: Iterator[yaml.Event], depth: int, convert: _Convert
) -> Iterator[tuple[str, Any]]:
    keys: set[str] = set()
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        _check_event(event, depth)
        if not isinstance(event, yaml.ScalarEvent):
            raise _event_error(event, "a key must be plain text", "bad-key")
        key = str(event.value)
        if key in keys:
            raise _event_error(
                event, f"key {key[:60]!r} occurs twice; keep one", "duplicate-key", key
            )
        if key == "<<" and event.implicit[0]:
            raise _event_error(
                event, "merge keys (<<) are not supported; write the keys out", "anchor"
            )
        keys.add(key)
        yield key, _value(next(events), events, depth + 1, convert)


def _check_event(event: yaml.Event, depth: int) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise _event_error(
            event, "anchors and aliases are not supported; write the value out", "anchor"
        )
    if tag := getattr(event, "tag", None):
        raise _event_error(event, f"tag {tag!r} is not supported; write plain values", "tag")
    if depth > MAX_DEPTH:
        raise _event_error(event, _TOO_DEEP, "too-deep")


def _scalar(event: yaml.ScalarEvent, convert: _Convert) -> Any:
    text = str(event.value)
    try:
        return convert(text) if event.implicit[0] else text
    except ValueError as error:
        raise _event_error(
            event, f"{error}; write it in quotes to keep it as text", "yaml"
        ) from None


def resolve(text: str) -> Any:
    """Return the null, bool, int, finite float or text that an unquoted scalar means."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of {len(text)} digits")
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"{text[:20]} is not a finite number")
        return number
    return text


def resolve_written(text: str) -> Any:
    """Return the value of an unquoted scalar. A number in an unusual form stays text."""
    value = resolve(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return text if is_number and str(value) != text else value


def _event_error(
    event: yaml.Event, message: str, code: str, key: str | None = None
) -> BadInputError:
    line = event.start_mark.line + 1 if event.start_mark else 0
    return BadInputError(f"line {line}: {message}", code=code, key=key, line=line)


def _unreadable(text: str, error: yaml.reader.ReaderError) -> BadInputError:
    line = text.encode()[: error.position].count(b"\n") + 1
    message = f"line {line}: a character that YAML text may not hold ({error.reason})"
    return BadInputError(message, code="yaml", line=line)


def _syntax(error: yaml.MarkedYAMLError) -> BadInputError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    problem = error.problem or "not YAML"
    prefix = f"line {line}: " if line else ""
    if "nesting depth" in problem:  # newer releases of libyaml stop before an event is seen
        return BadInputError(f"{prefix}{_TOO_DEEP}", code="too-deep", line=line)
    return BadInputError(f"{prefix}not valid YAML ({problem})", code="yaml", line=line)


# ── writing ──────────────────────────────────────────────────────────────────────────


class _WithoutAliases:
    """A dumper that writes a repeated value in full each time."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


class _Dumper(_WithoutAliases, yaml.CSafeDumper):
    """A dumper that quotes text that a YAML 1.1 reader would not read as a string."""


class _EmojiDumper(_WithoutAliases, yaml.SafeDumper):
    """A slower `_Dumper` that does not escape characters beyond the first plane."""


def _text_node(dumper: _Dumper | _EmojiDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if isinstance(dumper, _EmojiDumper) and _ENDS_LINE.search(text):
        style = '"'  # in other styles a reader would fold these line ends
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


for _kind in (_Dumper, _EmojiDumper):
    _kind.yaml_implicit_resolvers = {
        first: list(resolvers)
        for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
    _kind.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _kind.add_representer(str, _text_node)


# ── editing ──────────────────────────────────────────────────────────────────────────


def _checked_edit(key: tuple[str, ...], new_data: dict[str, Any], edit: Callable[[], str]) -> str:
    """Return the text of an edit. Raise BadInputError if it does not contain the new data."""
    try:
        new_text = edit()
        matches = (load(new_text) or {}) == new_data
    except (yaml.YAMLError, BadInputError):
        matches = False
    if not matches:
        raise _refusal(key)
    return new_text


def _set_data(data: Any, key: tuple[str, ...], value: Value, depth: int = 0) -> dict[str, Any]:
    """Return the data with a new value. Raise BadInputError if a parent is not a mapping."""
    head, mapping = key[depth], {} if data is None else data
    if not isinstance(mapping, dict):
        raise _refusal(key)
    old_value = mapping.get(head)
    if depth + 1 < len(key):
        return {**mapping, head: _set_data(old_value, key, value, depth + 1)}
    if isinstance(old_value, dict if isinstance(value, tuple) else dict | list):
        raise _refusal(key)
    return {**mapping, head: list(value) if isinstance(value, tuple) else value}


def _refusal(key: tuple[str, ...]) -> BadInputError:
    name = ".".join(key)
    return key_error(name, "edit", "cannot be changed without changing other text; edit it by hand")


def _set_entry(text: str, key: tuple[str, ...], value: Value, order: Sequence[str]) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    eol = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        return text + _block(key, value, 0, eol)
    node = root
    for depth, name in enumerate(key):
        if not isinstance(node, yaml.MappingNode):
            return _fill_empty(text, node, key[depth:], value, eol=eol)
        child = next((v for k, v in node.value if k.value == name), None)
        if child is None:
            at = len(text) if depth == 0 else _place_among(text, node, name, order)
            return _insert_entry(text, node, key[depth:], value, eol=eol, at=at)
        node = child
    return _replace_value(text, node, value, eol)


def _replace_value(text: str, node: yaml.Node, value: Value, eol: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.SequenceNode):
        if not node.flow_style:  # its end mark is at the next token
            start, end = len(text[:start].rstrip()), node.value[-1].end_mark.index
        if "#" in text[start:end]:
            raise _refusal(())
    lead = "" if text[start - 1 : start] in (" ", "\t") else " "
    tail = eol if getattr(node, "style", None) in ("|", ">") else ""
    return text[:start] + lead + _inline(value) + tail + text[end:]


def _place_among(text: str, node: yaml.MappingNode, name: str, order: Sequence[str]) -> int:
    """Return the position for a new key among its siblings, which `order` decides."""
    siblings = [key for key, _ in node.value]
    later = order[order.index(name) + 1 :] if name in order else [key.value for key in siblings]
    follower = next((key for key in siblings if key.value in later), None)
    if follower is not None:
        return int(follower.start_mark.index)
    last_value = node.value[-1][1] if node.value else node
    if getattr(last_value, "style", "|") in ("|", ">"):  # its end mark is at the next token
        return int(node.start_mark.index)
    line_end = text.find("\n", last_value.end_mark.index)
    return len(text) if line_end < 0 else line_end + 1


def _insert_entry(
    text: str, node: yaml.MappingNode, key: tuple[str, ...], value: Value, *, eol: str, at: int
) -> str:
    start, column = node.start_mark.index, node.start_mark.column
    if node.flow_style:
        comma = ", " if node.value else ""
        return text[: start + 1] + _flow(key, value) + comma + text[start + 1 :]
    entry = _block(key, value, column, eol)
    if at < len(text) and text[:at].rpartition("\n")[2]:  # within a line: before a sibling
        return text[:at] + entry.lstrip() + " " * column + text[at:]
    gap = "" if not text[:at] or text[:at].endswith("\n") else eol
    return text[:at] + gap + entry + text[at:]


def _fill_empty(text: str, node: yaml.Node, key: tuple[str, ...], value: Value, *, eol: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if start != end:
        return text[:start] + "{" + _flow(key, value) + "}" + text[end:]
    return text[:start] + eol + _block(key, value, 2, eol).rstrip("\r\n") + text[end:]


def _block(key: tuple[str, ...], value: Value, column: int, eol: str) -> str:
    lines = [f"{' ' * (column + 2 * i)}{name}:" for i, name in enumerate(key)]
    return eol.join(lines) + f" {_inline(value)}{eol}"


def _inline(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(scalar, value))}]"
    return scalar(value)


def _flow(key: tuple[str, ...], value: Value) -> str:
    inner = f"{key[-1]}: {_inline(value)}"
    for name in reversed(key[:-1]):
        inner = f"{name}: {{{inner}}}"
    return inner


# ── lists ────────────────────────────────────────────────────────────────────────────


def _replace_list(
    text: str,
    key: str,
    old_entries: Sequence[Any],
    entries: Sequence[Any],
    *,
    name: Callable[[Any], Any],
) -> str:
    """Replace the entries of a list. Both lists have the same order."""
    eol = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    nodes = root.value if isinstance(root, yaml.MappingNode) and not root.flow_style else []
    node = next((value for end_of_previous, value in nodes if end_of_previous.value == key), None)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return _write_list(text, node, key, entries, eol=eol)
    spans = _item_spans(text, node)
    new_entries, pieces, end_of_previous = list(entries), list[str](), 0
    for (start, end), entry in zip(spans, old_entries, strict=True):
        stays = bool(new_entries) and name(new_entries[0]) == name(entry)
        item = _item_text(text[start:end], entry, new_entries.pop(0) if stays else None, eol)
        pieces += [text[end_of_previous:start], item]
        end_of_previous = end
    indent = " " * node.start_mark.column
    gap = "" if text[:end_of_previous].endswith("\n") else eol
    lines = [gap, *(_lines_of(entry, indent, eol) for entry in new_entries)] if new_entries else []
    return "".join([*pieces, *lines, text[end_of_previous:]])


def _write_list(
    text: str, node: yaml.Node | None, key: str, entries: Sequence[Any], *, eol: str
) -> str:
    """Write a list instead of a missing, an empty or a flow style list."""
    items = "".join(_lines_of(entry, "", eol) for entry in entries)
    if node is None:
        gap = "" if text.endswith("\n") or not text else eol
        return f"{text}{gap}{key}:{eol}{items}"
    start, end = node.start_mark.index, node.end_mark.index
    line, _, rest_of_line = text[end:].partition("\n")
    inner = "".join(f"{comment}{eol}" for comment in comments(text[start:end]))
    return f"{text[:start].rstrip()}{line.rstrip()}{eol}{inner}{items}{rest_of_line}"


def _item_spans(text: str, node: yaml.SequenceNode) -> list[tuple[int, int]]:
    """Return the spans of the lines of each item, without the comments below the item."""
    first, last = node.start_mark, node.end_mark.index
    starts = [
        _line_start(text, token.start_mark.index)
        for token in yaml.scan(text, Loader=yaml.SafeLoader)
        if isinstance(token, yaml.BlockEntryToken)
        and token.start_mark.column == first.column
        and first.index <= token.start_mark.index < last
    ]
    ends = [*starts[1:], last if last == len(text) else _line_start(text, last)]
    spans = zip(node.value, starts, ends, strict=True)
    return [(start, _end_of(text, _last_value(item), start, end)) for item, start, end in spans]


def _last_value(node: yaml.Node) -> yaml.Node:
    """Return the innermost value at the end of an entry."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and node.value:
        child = node.value[-1]
        node = child[1] if isinstance(child, tuple) else child
    return node


def _item_text(old_text: str, old_entry: Any, entry: Any, eol: str) -> str:
    """Return the lines of an item. The comments of a changed or removed item are kept."""
    if entry == old_entry:
        return old_text
    indent = old_text[: len(old_text) - len(old_text.lstrip())]
    text = "".join(f"{indent}{comment}{eol}" for comment in comments(old_text))
    return text if entry is None else text + _lines_of(entry, indent, eol)


def _lines_of(entry: Any, indent: str, eol: str) -> str:
    lines = dump([entry]).splitlines()
    return "".join(f"{indent}{line}{eol}" if line else eol for line in lines)


# ── removing ─────────────────────────────────────────────────────────────────────────


def _has(data: Any, key: tuple[str, ...]) -> bool:
    """Return True if an entry exists. Raise BadInputError if a parent is not a mapping."""
    head, *inner_key = key
    if data is None:
        return False
    if not isinstance(data, dict):
        raise _refusal(key)
    return head in data and (not inner_key or _has(data[head], tuple(inner_key)))


def _data_without(data: dict[str, Any], key: tuple[str, ...]) -> dict[str, Any]:
    head, *inner_key = key
    inner = _data_without(data[head], tuple(inner_key)) if inner_key else {}
    if inner:
        return {**data, head: inner}
    return {name: value for name, value in data.items() if name != head}


def _remove_entry(text: str, key: tuple[str, ...]) -> str:
    """Remove an entry, or the outermost entry that contains nothing else."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    entries: list[tuple[yaml.MappingNode, int]] = []
    for name in key:
        if not isinstance(node, yaml.MappingNode):
            raise _refusal(key)
        index = next(n for n, (k, _) in enumerate(node.value) if k.value == name)
        if not entries or len(node.value) > 1:
            entries.append((node, index))
        node = node.value[index][1]
    mapping, index = entries[-1]
    cut = _flow_entry if mapping.flow_style else _block_entry
    start, end = cut(text, mapping, index)
    return text[:start] + text[end:]


def _flow_entry(text: str, mapping: yaml.MappingNode, index: int) -> tuple[int, int]:
    """Return the span of an entry in a flow mapping, with its comma and blank."""
    entries = mapping.value
    start, end = entries[index][0].start_mark.index, entries[index][1].end_mark.index
    if index + 1 == len(entries):
        return (entries[index - 1][1].end_mark.index if index else start), end
    comma = text.index(",", end) + 1
    return start, comma + (text[comma] == " ")


def _block_entry(text: str, mapping: yaml.MappingNode, index: int) -> tuple[int, int]:
    key, value = mapping.value[index]
    start = _line_start(text, key.start_mark.index)
    is_last = index + 1 == len(mapping.value)
    end = (mapping.end_mark if is_last else mapping.value[index + 1][0].start_mark).index
    end = end if end == len(text) else _line_start(text, end)
    return start, _end_of(text, value, start, end)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _end_of(text: str, node: yaml.Node | None, start: int, end: int) -> int:
    """Return the end of an entry, without the empty lines and comments below it."""
    lines = text[start:end].splitlines(keepends=True)
    is_text = getattr(node, "style", None) in ("|", ">")  # there a `#` is not a comment
    while len(lines) > 1 and (
        not lines[-1].strip() or (lines[-1].lstrip().startswith("#") and not is_text)
    ):
        end -= len(lines.pop())
    return end
