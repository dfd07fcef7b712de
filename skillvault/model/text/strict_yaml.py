"""YAML as the vault reads and writes it: data only, and strings stay what they look like.

No tags, anchors, merge keys or duplicate keys; `on`, `no`, `017`, `12:30` and dates are
strings. The one home of PyYAML.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from skillvault.model.errors import BadInputError
from skillvault.model.text.hidden_characters import has_hidden
from skillvault.model.text.strict_json import MAX_DEPTH, MAX_DIGITS

Scalar = str | bool | int | float | None
Value = Scalar | tuple[str, ...]  # what an edit sets: one value, or a list of texts

_ENDS_LINE = re.compile("[\x85\u2028\u2029]")  # to YAML 1.1
_COMMENT = re.compile(r"#[^\r\n]*")
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; flatten it"
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(
    r"^[-+]?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.?)(?:[eE][-+]?[0-9]+)?$"
)


def load(text: str) -> Any:
    """The one document in `text` as dicts, lists and scalars; None if it is empty.

    Raises BadInputError (`yaml`, `tag`, `anchor`, `duplicate-key`, `too-deep`, …) with
    the line.
    """
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        next(events)  # stream start
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        value = _value(next(events), events, 1)
        next(events)  # document end
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            raise _at(event, "more than one document; keep the first", "yaml")
    except yaml.MarkedYAMLError as error:
        raise _syntax(error) from None
    except yaml.reader.ReaderError as error:
        raise _unreadable(text, error) from None
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(f"not YAML text ({reason})", code="yaml") from None
    return value


def dump(value: Any) -> str:
    """`value` in block style, keys in the order given, long text as literal blocks."""
    text = _dumped(value, _Dumper)
    if "\\U" not in text or not has_hidden(text):
        return text
    # The quick one writes an emoji as its number, and what joins two of them as it is.
    with_emoji = _dumped(value, _EmojiDumper)
    return with_emoji if _is_read_alike(with_emoji, text) else text


def _is_read_alike(text: str, other: str) -> bool:
    try:
        return bool(load(text) == load(other))
    except BadInputError:
        return False


def flow(value: Any) -> str:
    """`value` on one line, in flow style."""
    return _dumped(value, _EmojiDumper, is_flow=True).rstrip("\n")


def _dumped(value: Any, dumper: type["_Dumper | _EmojiDumper"], *, is_flow: bool = False) -> str:
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
    """A value of one line as it stands in a file, quoted where it must be."""
    return dump([value])[2:].rstrip("\n")


def with_value(text: str, key: tuple[str, ...], value: Value, *, order: Sequence[str] = ()) -> str:
    """`text` with the mapping entry at `key` set; every other byte stays.

    A missing last key is added where the `order` of its siblings has it, before the first of them
    if it is not named there; a missing mapping at the end. Raises BadInputError if the place is not
    a mapping or its value of another kind than the new one, or if a comment would go.
    """
    before = load(text)
    try:
        edited = _edited(text, key, value, order)
        matches = load(edited) == _with(before, key, value)
    except (yaml.YAMLError, BadInputError):
        matches = False
    if not matches:
        raise _by_hand(key)
    return edited


def without_key(text: str, key: tuple[str, ...]) -> str:
    """`text` without the mapping entry at `key`; every other byte stays.

    A mapping that held nothing else goes along, and what is not there needs nothing. Raises
    BadInputError if other text would go.
    """
    before = load(text)
    if not _has(before, key):
        return text
    try:
        edited = _removed(text, key)
        matches = (load(edited) or {}) == _data_without(before, key)
    except (yaml.YAMLError, BadInputError):
        matches = False
    if not matches:
        raise _by_hand(key)
    return edited


def with_entries(text: str, key: str, entries: Sequence[Any], name: Callable[[Any], Any]) -> str:
    """`text` with other entries in the list at `key`, each known by its `name`, new ones last.

    An entry that is as it was, every comment and all outside of the list stay byte for byte;
    comments within an entry that changes or goes stand above it then. Raises BadInputError where
    that cannot be.
    """
    data = load(text)
    if not isinstance(data, dict | None):
        raise _by_hand((key,))
    before = (data or {}).get(key)
    if (before or []) == list(entries):
        return text
    edited = _with_list(text, key, before or [], entries, name=name)
    if load(edited) != {**(data or {}), key: list(entries) or None}:
        raise _by_hand((key,))
    return edited


def comments(text: str) -> list[str]:
    """The comments of a text that can be read, in their order."""
    ends = [0]
    tokens = list(yaml.scan(text, Loader=yaml.SafeLoader))
    ends += [token.end_mark.index for token in tokens]
    starts = [*(token.start_mark.index for token in tokens), len(text)]
    gaps = (text[end:start] for end, start in zip(ends, starts, strict=True))
    return [comment for gap in gaps for comment in _COMMENT.findall(gap)]


def is_block(text: str) -> bool:
    """Whether every list and mapping of a text that can be read stands in block style."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    return not any(getattr(event, "flow_style", False) for event in events)


# ── reading ──────────────────────────────────────────────────────────────────────────


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
    _check_event(event, depth)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        return list(_items(events, depth))
    return dict(_pairs(events, depth))


def _items(events: Iterator[yaml.Event], depth: int) -> Iterator[Any]:
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        yield _value(event, events, depth + 1)


def _pairs(events: Iterator[yaml.Event], depth: int) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        _check_event(event, depth)
        if not isinstance(event, yaml.ScalarEvent):
            raise _at(event, "a key must be plain text", "bad-key")
        key = str(event.value)
        if key in seen:
            raise _at(event, f"key {key[:60]!r} occurs twice; keep one", "duplicate-key", key)
        if key == "<<" and event.implicit[0]:
            raise _at(event, "merge keys (<<) are not supported; write the keys out", "anchor")
        seen.add(key)
        yield key, _value(next(events), events, depth + 1)


def _check_event(event: yaml.Event, depth: int) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise _at(event, "anchors and aliases are not supported; write the value out", "anchor")
    if tag := getattr(event, "tag", None):
        raise _at(event, f"tag {tag!r} is not supported; write plain values", "tag")
    if depth > MAX_DEPTH:
        raise _at(event, _TOO_DEEP, "too-deep")


def _scalar(event: yaml.ScalarEvent) -> Any:
    text = str(event.value)
    try:
        return resolve(text) if event.implicit[0] else text
    except ValueError as error:
        raise _at(event, f"{error}; write it in quotes to keep it as text", "yaml") from None


def resolve(text: str) -> Any:
    """A plain (unquoted) scalar's value: null, bool, int, finite float, else the text."""
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


def _at(event: yaml.Event, message: str, code: str, key: str | None = None) -> BadInputError:
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
    where = f"line {line}: " if line else ""
    if "nesting depth" in problem:  # newer releases of libyaml stop before an event is seen
        return BadInputError(f"{where}{_TOO_DEEP}", code="too-deep", line=line)
    return BadInputError(f"{where}not valid YAML ({problem})", code="yaml", line=line)


# ── writing ──────────────────────────────────────────────────────────────────────────


class _WithoutAliases:
    """Writes a value out wherever it stands."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


class _Dumper(_WithoutAliases, yaml.CSafeDumper):
    """Quotes whatever this reader or a YAML 1.1 reader would not read as a string."""


class _EmojiDumper(_WithoutAliases, yaml.SafeDumper):
    """The same, slower, with characters beyond the first plane as they are."""


def _text_node(dumper: _Dumper | _EmojiDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if isinstance(dumper, _EmojiDumper) and _ENDS_LINE.search(text):
        style = '"'  # in any other it writes them as they are, and a reader folds them
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


for _kind in (_Dumper, _EmojiDumper):
    _kind.yaml_implicit_resolvers = {
        first: list(found) for first, found in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
    _kind.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _kind.add_representer(str, _text_node)


# ── editing ──────────────────────────────────────────────────────────────────────────


def _with(before: Any, key: tuple[str, ...], value: Value) -> dict[str, Any]:
    """The data that an edit shall give; refuses a place that is not what the key says."""
    head, *rest = key
    mapping = {} if before is None else before
    if not isinstance(mapping, dict):
        raise _by_hand(key)
    old, new = mapping.get(head), list(value) if isinstance(value, tuple) else value
    if not rest and isinstance(old, dict if isinstance(new, list) else dict | list):
        raise _by_hand(key)
    return {**mapping, head: _with(old, tuple(rest), value) if rest else new}


def _by_hand(key: tuple[str, ...]) -> BadInputError:
    name = ".".join(key)
    message = f"{name}: cannot be changed without changing other text; edit it by hand"
    return BadInputError(message, code="edit", key=name)


def _edited(text: str, key: tuple[str, ...], value: Value, order: Sequence[str]) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    eol = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        return text + _block(key, value, 0, eol)
    node = root
    for depth, name in enumerate(key):
        if not isinstance(node, yaml.MappingNode):
            return _into_empty(text, node, key[depth:], value, eol=eol)
        child = next((v for k, v in node.value if k.value == name), None)
        if child is None:
            at = len(text) if depth == 0 else _place_among(text, node, name, order)
            return _inserted(text, node, key[depth:], value, eol=eol, at=at)
        node = child
    return _replaced(text, node, value, eol)


def _replaced(text: str, node: yaml.Node, value: Value, eol: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.SequenceNode):
        if not node.flow_style:  # its end is where the next thing begins
            start, end = len(text[:start].rstrip()), node.value[-1].end_mark.index
        if "#" in text[start:end]:
            raise _by_hand(())
    lead = "" if text[start - 1 : start] in (" ", "\t") else " "
    tail = eol if getattr(node, "style", None) in ("|", ">") else ""
    return text[:start] + lead + _inline(value) + tail + text[end:]


def _place_among(text: str, node: yaml.MappingNode, name: str, order: Sequence[str]) -> int:
    """Where a key goes in among its siblings: behind those that the order has before it."""
    siblings = [key for key, _ in node.value]
    later = order[order.index(name) + 1 :] if name in order else [key.value for key in siblings]
    follower = next((key for key in siblings if key.value in later), None)
    if follower is not None:
        return int(follower.start_mark.index)
    last = node.value[-1][1] if node.value else node
    if getattr(last, "style", "|") in ("|", ">"):  # its end is where the next thing begins
        return int(node.start_mark.index)
    line_end = text.find("\n", last.end_mark.index)
    return len(text) if line_end < 0 else line_end + 1


def _inserted(
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


def _into_empty(text: str, node: yaml.Node, key: tuple[str, ...], value: Value, *, eol: str) -> str:
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


def _with_list(
    text: str,
    key: str,
    before: Sequence[Any],
    entries: Sequence[Any],
    *,
    name: Callable[[Any], Any],
) -> str:
    """The text with these entries in the place of those before, whose order they have."""
    eol = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    nodes = root.value if isinstance(root, yaml.MappingNode) and not root.flow_style else []
    node = next((value for at, value in nodes if at.value == key), None)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return _list_anew(text, node, key, entries, eol=eol)
    spans = _item_spans(text, node)
    left, pieces, at = list(entries), list[str](), 0
    for (start, end), entry in zip(spans, before, strict=True):
        stays = bool(left) and name(left[0]) == name(entry)
        item = _item_text(text[start:end], entry, left.pop(0) if stays else None, eol)
        pieces += [text[at:start], item]
        at = end
    indent = " " * node.start_mark.column
    gap = "" if text[:at].endswith("\n") else eol
    lines = [gap, *(_lines_of(entry, indent, eol) for entry in left)] if left else []
    return "".join([*pieces, *lines, text[at:]])


def _list_anew(
    text: str, node: yaml.Node | None, key: str, entries: Sequence[Any], *, eol: str
) -> str:
    """The text with a list where none was, or an empty one, or one in flow style."""
    items = "".join(_lines_of(entry, "", eol) for entry in entries)
    if node is None:
        gap = "" if text.endswith("\n") or not text else eol
        return f"{text}{gap}{key}:{eol}{items}"
    start, end = node.start_mark.index, node.end_mark.index
    line, _, rest = text[end:].partition("\n")
    inner = "".join(f"{comment}{eol}" for comment in comments(text[start:end]))
    return f"{text[:start].rstrip()}{line.rstrip()}{eol}{inner}{items}{rest}"


def _item_spans(text: str, node: yaml.SequenceNode) -> list[tuple[int, int]]:
    """Where the lines of each item of a list stand; comments below are not its own."""
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
    """The value with which an entry ends."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _item_text(old: str, before: Any, entry: Any, eol: str) -> str:
    """The lines of an item; of one that changes or goes its comments stay."""
    if entry == before:
        return old
    indent = old[: len(old) - len(old.lstrip())]
    above = "".join(f"{indent}{comment}{eol}" for comment in comments(old))
    return above if entry is None else above + _lines_of(entry, indent, eol)


def _lines_of(entry: Any, indent: str, eol: str) -> str:
    lines = dump([entry]).splitlines()
    return "".join(f"{indent}{line}{eol}" if line else eol for line in lines)


# ── removing ─────────────────────────────────────────────────────────────────────────


def _has(data: Any, key: tuple[str, ...]) -> bool:
    """Whether there is an entry at a place; refuses a place that is not what the key says."""
    head, *rest = key
    if data is None:
        return False
    if not isinstance(data, dict):
        raise _by_hand(key)
    return head in data and (not rest or _has(data[head], tuple(rest)))


def _data_without(before: dict[str, Any], key: tuple[str, ...]) -> dict[str, Any]:
    """The data that a removal shall give."""
    head, *rest = key
    inner = _data_without(before[head], tuple(rest)) if rest else {}
    others = {name: value for name, value in before.items() if name != head}
    return {name: inner if name == head else before[name] for name in before} if inner else others


def _removed(text: str, key: tuple[str, ...]) -> str:
    """The text without an entry, or without the outermost one that holds nothing else."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    entries: list[tuple[yaml.MappingNode, int]] = []
    for name in key:
        if not isinstance(node, yaml.MappingNode):
            raise _by_hand(key)
        place = next(n for n, (k, _) in enumerate(node.value) if k.value == name)
        if not entries or len(node.value) > 1:
            entries.append((node, place))
        node = node.value[place][1]
    mapping, place = entries[-1]
    cut = _flow_entry if mapping.flow_style else _block_entry
    start, end = cut(text, mapping, place)
    return text[:start] + text[end:]


def _flow_entry(text: str, mapping: yaml.MappingNode, place: int) -> tuple[int, int]:
    """Where an entry of a flow mapping stands, with the comma and the blank that are its own."""
    entries = mapping.value
    start, end = entries[place][0].start_mark.index, entries[place][1].end_mark.index
    if place + 1 == len(entries):
        return (entries[place - 1][1].end_mark.index if place else start), end
    comma = text.index(",", end) + 1
    return start, comma + (text[comma] == " ")


def _block_entry(text: str, mapping: yaml.MappingNode, place: int) -> tuple[int, int]:
    """Where the lines of an entry of a block mapping stand, up to those of the next thing."""
    key, value = mapping.value[place]
    start = _line_start(text, key.start_mark.index)
    is_last = place + 1 == len(mapping.value)
    end = (mapping.end_mark if is_last else mapping.value[place + 1][0].start_mark).index
    end = end if end == len(text) else _line_start(text, end)
    return start, _end_of(text, value, start, end)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _end_of(text: str, node: yaml.Node | None, start: int, end: int) -> int:
    """Where what belongs to an entry ends: empty lines and comments below it are another's."""
    lines = text[start:end].splitlines(keepends=True)
    is_text = getattr(node, "style", None) in ("|", ">")  # in which a `#` is no comment
    while len(lines) > 1 and (
        not lines[-1].strip() or (lines[-1].lstrip().startswith("#") and not is_text)
    ):
        end -= len(lines.pop())
    return end
