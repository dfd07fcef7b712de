"""A text within its length: what has no room goes to a file, under the same headings."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from skillvault.model.text import markdown
from skillvault.model.text.text import count_tokens

STATEMENTS = "statements.md"  # the file for what has no room
OVERFLOW = "# What has no room in SKILL.md"  # heading of that file
_LINES = 6  # one line of the head has at most such a part of a text


class References(NamedTuple):
    """The files of a skill in references/: the program's own, and those that a person changed."""

    ours: Collection[str] = ()
    edited: Collection[str] = ()

    def placed(self, files: Mapping[str, str]) -> dict[str, str]:
        """What to write, by name: beside a file of a person's, never over it.

        Of a file of the program's that has nothing more to hold the heading alone stays.
        """
        placed = dict.fromkeys(self.ours, f"{OVERFLOW}\n")
        return placed | {self.free(name): text for name, text in files.items()}

    def free(self, name: str) -> str:
        """Under which name a file is written."""
        (stem, _, suffix), number, free = name.rpartition("."), 1, name
        while free in self.edited:
            number += 1
            free = f"{stem}-{number}.{suffix}"
        return free


def fitted(
    parts: Sequence[tuple[str, str]], room: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sections within so many tokens, and what has no room, under the same headings.

    The longest section gives way, from its end; what the first says first is the last to go. A
    section of which nothing has room is "".
    """
    blocks = [markdown.blocks(text.strip()) for _, text in parts]
    sizes = [
        [count_tokens(block.removesuffix("\n")) + 1 for block in section] for section in blocks
    ]
    totals = [sum(section) for section in sizes]
    overflow: list[list[str]] = [[] for _ in parts]
    while sum(totals) > room and any(blocks):
        at = max(range(len(parts)), key=lambda i: (len(blocks[i]) > 1, i and totals[i], totals[i]))
        overflow[at].append(blocks[at].pop())
        totals[at] -= sizes[at].pop()
    names = [heading for heading, _ in parts]
    fitting = ["".join(section).rstrip() for section in blocks]
    moved = ["".join(reversed(section)).rstrip() for section in overflow]
    return list(zip(names, fitting, strict=True)), [
        (name, text) for name, text in zip(names, moved, strict=True) if text
    ]


def within(
    head: Sequence[str],
    parts: Sequence[tuple[str, str]],
    limit: int,
    file: str = STATEMENTS,
) -> tuple[str, str]:
    """(a body of at most so many tokens, what has no room in it or ""), of head and sections.

    `file` is what the body calls the place of the rest.
    """
    sections = [(name, text.strip()) for name, text in parts if text.strip()]
    frame = "\n".join([*head, f"*More: references/{file}*", *(name for name, _ in sections)])
    fitting, moved = fitted(sections, limit - count_tokens(frame) - 4 * len(sections))
    more = [f"{head[-1]}\n*More: references/{file}*"] if moved else [head[-1]]
    body = [*head[:-1], *more, *(f"## {name}\n\n{text}" for name, text in fitting if text)]
    rest = [OVERFLOW, *(f"## {name}\n\n{text}" for name, text in moved)]
    return "\n\n".join(body), "\n\n".join(rest) + "\n" if moved else ""


def part_of(limit: int) -> int:
    """How many tokens one line of a head may have, so that most of a text is what it says."""
    return limit // _LINES
