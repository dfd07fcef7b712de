"""Merge three versions of a value, a set, or a markdown file with front matter.

The rules in `table` and `skill` are built from these functions. Each gives the same result if the
sides are exchanged, and in any order of several clones. A part that only one side changed stays as
that side wrote it, byte for byte.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter, markdown, strict_yaml

_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_COMMENT = re.compile(r"^\s*#|\s#", re.MULTILINE)

Both = Callable[[Any, Any], Any]  # decides between two values that differ from the base
_T = TypeVar("_T")
_Element = TypeVar("_Element", bound=Hashable)


class Versions(NamedTuple):
    """A file in three versions: the base (None if there was no file) and the two sides."""

    base: bytes | None
    first: bytes
    second: bytes

    @property
    def sides(self) -> tuple[bytes, bytes]:
        """Both sides, the smaller bytes first, so that both clones have the same order."""
        return min(self.first, self.second), max(self.first, self.second)


Rule = Callable[[Versions], bytes]


def merge_values(versions: Sequence[_T], both: Callable[[_T, _T], _T]) -> _T:
    """Return the changed value; `both` decides if both sides changed it to different values."""
    base, first, second = versions
    if first in (second, base):
        return second
    return first if second == base else both(first, second)


def merge_file(both: Rule, versions: Versions) -> bytes:
    """Return the changed file; `both` decides if both sides changed it differently."""
    contents = versions.base or b"", versions.first, versions.second
    return merge_values(contents, lambda _first, _second: both(versions))


def merge_sets(
    base: Iterable[_Element], first: Sequence[_Element], second: Sequence[_Element]
) -> list[_Element]:
    """Return the elements that both sides have or one added, in the order of `merge_orders`."""
    common_elements = set(first) & set(second)
    added_elements = {*first, *second} - set(base)
    return merge_orders(first, second, common_elements | added_elements)


def merge_orders(
    first: Sequence[_Element], second: Sequence[_Element], elements: Iterable[_Element]
) -> list[_Element]:
    """Return the elements in the order of both sides, or the lesser element first."""
    counts: Any = dict.fromkeys(elements, 0)
    followers: dict[_Element, list[_Element]] = {element: [] for element in counts}
    for side in (first, second):
        for element, follower in pairwise(e for e in dict.fromkeys(side) if e in counts):
            followers[element].append(follower)
            counts[follower] += 1
    return _sort_elements(counts, followers)


def _sort_elements(counts: dict[Any, int], followers: dict[Any, list[Any]]) -> list[Any]:
    """Sort elements topologically; if the orders contradict, the least element is next."""
    free_elements = [element for element, count in counts.items() if not count]
    heapify(free_elements)
    order: dict[Any, None] = {}
    while len(order) < len(counts):
        element = heappop(free_elements) if free_elements else min(counts.keys() - order.keys())
        if element in order:
            continue
        order[element] = None
        for follower in followers[element]:
            counts[follower] -= 1
            if counts[follower] == 0 and follower not in order:
                heappush(free_elements, follower)
    return list(order)


def greater(first: Any, second: Any) -> Any:
    """Return the greater of two values; None is less than any other value."""
    return max((first, second), key=lambda value: (value is not None, str(value)))


def lesser(first: Any, second: Any) -> Any:
    """Return the lesser of two values that are not None, or None."""
    values = [value for value in (first, second) if value is not None]
    return min(values, key=str) if values else None


def contradiction(key: str, first: Any, second: Any) -> BadInputError:
    """Return the error for a key with different values in two clones."""
    return BadInputError(
        f"{key}: {first!r} in one clone and {second!r} in another; keep one version by hand, with "
        "`git pull --no-rebase`",
        code="differs",
        key=key,
    )


# ── files ────────────────────────────────────────────────────────────────────────────


class ParsedFile(NamedTuple):
    """The parts of a file: its bytes, its front matter as text and as values, and its body."""

    content: bytes
    front: str
    values: Mapping[str, Any]
    body: str

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The values under the key `metadata`."""
        metadata = self.values.get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}


def parse_file(content: bytes | None) -> ParsedFile:
    """Parse a file, or None as an empty file; raise BadInputError if it cannot be parsed."""
    text = front_matter.text_of(content or b"").replace("\r\n", "\n")
    if not front_matter.has_front_matter(text):
        return ParsedFile(content or b"", "", {}, text.strip())
    front, body = front_matter.split(text)
    values = front_matter.as_mapping(strict_yaml.load(front, as_written=True))
    return ParsedFile(content or b"", front.strip("\n") + "\n", values, body.strip())


def render_file(
    values: Mapping[str, Any], body: str, sides: Sequence[ParsedFile], order: Sequence[str]
) -> bytes:
    """Render a file with these values and body; `sides` are the base and its two versions.

    Front matter that only one side changed stays as that side has it. Otherwise front matter with
    comments is edited, and other front matter is written anew with its keys in this `order`.
    """
    header = _render_front(values, sides, order)
    matches = [side.content for side in sides[1:] if (side.front, side.body) == (header, body)]
    if matches:
        return min(matches)
    return f"---\n{header}---\n\n{body}\n".encode() if header else f"{body}\n".encode()


def _render_front(
    values: Mapping[str, Any], sides: Sequence[ParsedFile], order: Sequence[str]
) -> str:
    single_change = merge_values([side.front for side in sides], lambda _first, _second: "")
    if (strict_yaml.load(single_change, as_written=True) or {}) == values:
        return single_change
    if commented_fronts := [side.front for side in sides[1:] if _COMMENT.search(side.front)]:
        front = f"---\n{min(commented_fronts)}---\n".encode()
        return front_matter.with_mapping(front, values).decode()[4:-4]
    return strict_yaml.dump(sort_keys(values, order))


def sort_keys(values: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """Return a mapping with its keys in an order; other keys come last, sorted."""
    names = [*(name for name in order if name in values), *sorted(values.keys() - set(order))]
    return {name: values[name] for name in names}


def merge_keys(
    versions: Sequence[Mapping[str, Any]], rules: Mapping[str, Both] | None = None
) -> dict[str, Any]:
    """Merge each key; if both sides changed a key, its rule decides (default: `greater`)."""
    result = {
        name: merge_values(
            [version.get(name) for version in versions], (rules or {}).get(name, greater)
        )
        for name in {**versions[1], **versions[2]}
    }
    return {name: value for name, value in result.items() if value is not None}


def least_trust(_first: Any, _second: Any) -> str:
    """Return "untrusted", because one of two different values is untrusted."""
    return "untrusted"


def rank_rule(order: Sequence[str]) -> Both:
    """Return a rule that takes the value that comes later in an order."""

    def rank(value: Any) -> tuple[int, str]:
        return (order.index(value) if value in order else -1), str(value)

    return lambda first, second: max((first, second), key=rank)


def merge_statements(base: str, first: str, second: str) -> str:
    """Merge the statements of two persons as a set of blocks and list items."""
    blocks = merge_sets(*map(_statement_blocks, (base, first, second)))
    text = previous_block = ""
    for block in blocks:
        is_one_list = _LIST_ITEM.match(block) and _LIST_ITEM.match(previous_block)
        text += ("\n" if is_one_list else "\n\n" if text else "") + block
        previous_block = block
    return text


def merge_words(base: Any, first: Any, second: Any) -> str | None:
    """Merge texts as sets of words. Return the sorted words, or None."""
    words = merge_sets(*(str(side or "").split() for side in (base, first, second)))
    return " ".join(sorted(words)) or None


def _statement_blocks(text: str) -> list[str]:
    return [block.strip("\n").rstrip() for block in markdown.blocks(text) if block.strip()]
