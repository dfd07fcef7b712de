"""A markdown file with front matter in three versions: its keys by a table, its text by statements.

What only one side changed stays as that side wrote it, byte for byte.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from skillvault.learning.sync.three_way import greater, joined_set, lesser, three_way
from skillvault.model.text import front_matter, markdown, strict_yaml

_LISTED = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_COMMENT = re.compile(r"^\s*#|\s#", re.MULTILINE)

Both = Callable[[Any, Any], Any]  # decides between two values that differ from the base


class Parted(NamedTuple):
    """A file as it stands, its front matter as text and as values, and its body."""

    content: bytes
    front: str
    values: Mapping[str, Any]
    body: str


def parted(content: bytes | None) -> Parted:
    """A file in its parts; all empty without one. BadInputError for what cannot be read."""
    text = front_matter.text_of(content or b"").replace("\r\n", "\n")
    if not front_matter.has_front_matter(text):
        return Parted(content or b"", "", {}, text.strip())
    front, body = front_matter.split(text)
    values = front_matter.as_mapping(strict_yaml.load(front))
    return Parted(content or b"", front.strip("\n") + "\n", values, body.strip())


def whole_file(
    values: Mapping[str, Any], body: str, sides: Sequence[Parted], order: Sequence[str]
) -> bytes:
    """The file that says this; `sides` are the base and the two that were made of it.

    Front matter that one side changed stays as that has it; what both did is edited in place if
    it has comments, else written in the `order` of its keys.
    """
    front = _front(values, sides, order)
    same = [side.content for side in sides[1:] if (side.front, side.body) == (front, body)]
    if same:
        return min(same)
    return f"---\n{front}---\n\n{body}\n".encode() if front else f"{body}\n".encode()


def _front(values: Mapping[str, Any], sides: Sequence[Parted], order: Sequence[str]) -> str:
    before, ours, theirs = (side.front for side in sides)
    single = three_way(before, ours, theirs, lambda _ours, _theirs: "")
    if (strict_yaml.load(single) or {}) == values:
        return single
    if by_hand := [side for side in (ours, theirs) if _COMMENT.search(side)]:
        framed = f"---\n{min(by_hand)}---\n".encode()
        return front_matter.with_mapping(framed, values).decode()[4:-4]
    return strict_yaml.dump(in_order(values, order))


def in_order(values: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """A mapping with its keys in an order, those that it does not name behind, sorted."""
    names = [*(name for name in order if name in values), *sorted(values.keys() - set(order))]
    return {name: values[name] for name in names}


def merged_keys(
    base: Mapping[str, Any],
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    *,
    rules: Mapping[str, Both],
) -> dict[str, Any]:
    """Each key as one side changed it; what both changed by the rule of its name."""
    merged = {
        name: three_way(base.get(name), ours.get(name), theirs.get(name), rules.get(name, greater))
        for name in {**ours, **theirs}
    }
    return {name: value for name, value in merged.items() if value is not None}


def earliest(first: Any, second: Any) -> Any:
    """The earlier of two times; none is no time."""
    return lesser(first, second)


def latest(first: Any, second: Any) -> Any:
    """The later of two times; none is no time."""
    return greater(first, second)


def least_trust(_first: Any, _second: Any) -> str:
    """Where two differ, one of them is untrusted."""
    return "untrusted"


def ranked(order: Sequence[str]) -> Both:
    """The rule that takes the value which stands later in an order."""

    def choose(first: Any, second: Any) -> Any:
        return max((first, second), key=lambda value: (_rank_in(order, value), str(value)))

    return choose


def _rank_in(order: Sequence[str], value: Any) -> int:
    return order.index(value) if value in order else -1


def merged_statements(base: str, ours: str, theirs: str) -> str:
    """The statements of two persons as a three-way set, each a block or an item of a list."""
    blocks = joined_set(_statement_blocks(base), _statement_blocks(ours), _statement_blocks(theirs))
    text = above = ""
    for block in blocks:
        together = _LISTED.match(block) and _LISTED.match(above)
        text += ("\n" if together else "\n\n" if text else "") + block
        above = block
    return text


def merged_words(base: Any, ours: Any, theirs: Any) -> str | None:
    """Words with blanks between them as a three-way set, sorted."""
    words = joined_set(*(str(side or "").split() for side in (base, ours, theirs)))
    return " ".join(sorted(words)) or None


def _statement_blocks(text: str) -> list[str]:
    return [block.strip("\n").rstrip() for block in markdown.blocks(text) if block.strip()]
