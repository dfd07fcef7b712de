"""Read and edit the links of one record as text, a sorted list with one mapping a line.

    - {type: promoted, to: fact/funding-3f2a1c, at: '2026-11-20T10:15:00Z'}

The list is a file beside the record at which its links start. A link from outside the vault is in
the list of the skill that it leads to, with `from` instead of `to`. Unreadable lines, comments and
unknown keys stay; an unreadable line is also a Problem.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.errors import BadInputError, key_error
from skillvault.model.lazy import regex
from skillvault.model.records import (
    LINK_TYPES,
    Link,
    LinkType,
    Problem,
    RecordKind,
    Ref,
    link_of,
    stamp,
)
from skillvault.model.text import strict_yaml
from skillvault.model.text.text import is_slug

_EXAMPLE = "`- {type: promoted, to: fact/ID, at: TIME}`"
_KINDS: tuple[str, ...] = get_args(RecordKind)
# A line as the program writes it: the parser of YAML takes a hundred times as long.
_PLAIN_LINE = regex(
    r"- \{type: ([a-z]+), to: ([a-z]+)/([a-z0-9-]+), at: '?([0-9TZ:.+-]+)'?\}\s*", re.ASCII
)


class LinkList(Struct, frozen=True):
    """The links in a list, each once, and the problems of its unreadable lines."""

    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()


def owner_of(link: Link) -> Ref:
    """Return the record whose list contains a link: its source, or the installed skill."""
    return link.target if link.source.kind == "origin" else link.source


def read_links(path: str, owner: Ref, content: bytes) -> LinkList:
    """Read the list of a record. If a link is written twice, the earlier time counts."""
    links: dict[str, Link] = {}
    problems: list[Problem] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            link = _parse_line(line, owner)
        except BadInputError as error:
            problems.append(Problem(path, error.key, error.code, f"line {number}: {error.message}"))
            continue
        if link and (link.id not in links or link.created_at < links[link.id].created_at):
            links[link.id] = link
    return LinkList(tuple(links.values()), tuple(problems))


def edit_links(
    content: bytes, owner: Ref, added: Iterable[Link], removed: Collection[str]
) -> bytes | None:
    """Add links to a list and remove links by id. Return None if no line is left.

    All other lines stay. Raises ValueError if an id cannot be written.
    """
    new_links = {link.id: link for link in added}
    lines: list[bytes] = []
    for line in content.rstrip(b"\n").split(b"\n") if content else ():
        try:
            link = _parse_line(line, owner)
        except BadInputError:
            link = None
        if link is None or link.id not in {*new_links, *removed}:
            lines.append(line)
        elif (new_link := new_links.get(link.id)) and (
            new_link.metadata == link.metadata and new_link.created_at >= link.created_at
        ):  # the line says as much already
            lines.append(line)
            del new_links[link.id]
    for new_line in sorted(map(_format_line, new_links.values())):
        later = (i for i, line in enumerate(lines) if line.startswith(b"- ") and line > new_line)
        lines.insert(next(later, len(lines)), new_line)
    return b"\n".join([*lines, b""]) if lines else None


def diff_links(owner: Ref, old: bytes, new: bytes) -> Iterator[Link]:
    """Yield the links that differ between two versions of a list."""
    old_links, new_links = (
        {link.id: link for link in read_links("", owner, content).links} for content in (old, new)
    )
    for link_id, link in (old_links | new_links).items():
        if old_links.get(link_id) != new_links.get(link_id):
            yield link


def _format_line(link: Link) -> bytes:
    key, end = ("from", link.source) if link.source.kind == "origin" else ("to", link.target)
    if not is_slug(end.id):
        raise ValueError(f"{end} cannot be written as the end of a link")
    metadata = f", metadata: {strict_yaml.flow(link.metadata)}" if link.metadata else ""
    at = stamp(link.created_at)
    return f"- {{type: {link.type}, {key}: {end.kind}/{end.id}, at: '{at}'{metadata}}}".encode()


def _parse_line(line: bytes, owner: Ref) -> Link | None:
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInputError(f"not UTF-8 text; write {_EXAMPLE}", code="encoding") from None
    if match := _PLAIN_LINE.fullmatch(text):
        link_type, kind, end, at = match.groups()
        return _make_link(owner, {"type": link_type, "to": f"{kind}/{end}", "at": at})
    if not text.strip() or text.lstrip().startswith("#"):
        return None
    return _make_link(owner, _parse_mapping(text))


def _parse_mapping(text: str) -> dict[str, Any]:
    try:
        entries = strict_yaml.load(text)
    except BadInputError as error:
        reason = error.message.removeprefix("line 1: ")
        raise BadInputError(f"{reason}; write {_EXAMPLE}", code=error.code, key=error.key) from None
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise BadInputError(f"not a link; write {_EXAMPLE}", code="wrong-type")
    return entries[0]


def _make_link(owner: Ref, values: dict[str, Any]) -> Link:
    link_type = values.get("type")
    if link_type not in LINK_TYPES:
        raise key_error("type", "bad-value", f"{link_type!r} is not one of {', '.join(LINK_TYPES)}")
    ends = (
        (owner, _parse_end(values, "to")) if "to" in values else (_parse_end(values, "from"), owner)
    )
    metadata = values.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise key_error("metadata", "wrong-type", "expected keys and values, such as `{url: …}`")
    link = link_of(cast("LinkType", link_type), *ends, _parse_time(values.get("at")))
    return replace(link, metadata=metadata) if metadata else link


def _parse_end(values: dict[str, Any], key: str) -> Ref:
    kind, _, name = str(values.get(key, "")).partition("/")
    if kind not in _KINDS or not name:
        problem = f"expected KIND/ID, such as `fact/funding-3f2a1c`; write {_EXAMPLE}"
        raise key_error(key, "bad-value", problem)
    return Ref(cast("RecordKind", kind), name)


def _parse_time(value: Any) -> datetime:
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is None:
        problem = f"{value!r} is not a time with a time zone; write 2026-11-20T10:15:00Z"
        raise key_error("at", "bad-value", problem)
    return at
