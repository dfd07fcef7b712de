"""Fit the text of a skill into its limit. The rest goes to a file in references/.

The file has the same headings. All steps that write texts of skills call `compose_text`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.brief import Draft
from skillvault.model.text import markdown
from skillvault.model.text.text import count_tokens, trim_to_tokens

STATEMENTS = "statements.md"  # the file for what is too much
OVERFLOW = "# More than fits into SKILL.md"  # the heading of this file
_HEAD_LINES = 6  # a line of the head has at most a sixth of the limit


class References(NamedTuple):
    """The names of a skill's files in references/: generated files, and files edited since."""

    generated: Collection[str] = ()
    edited: Collection[str] = ()

    def files_to_write(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return the files to write, by name, without files that a person edited.

        A generated file that is no longer needed is reduced to its heading.
        """
        empty_files = dict.fromkeys(self.generated, f"{OVERFLOW}\n")
        return empty_files | {self.free(name): text for name, text in files.items()}

    def free(self, name: str) -> str:
        """Return the name, or the name with a number if a person edited that file."""
        (stem, _, suffix), number, free_name = name.rpartition("."), 1, name
        while free_name in self.edited:
            number += 1
            free_name = f"{stem}-{number}.{suffix}"
        return free_name


class ComposedText(Struct, frozen=True):
    """The body of a skill, and its files in references/ by name."""

    body: str
    files: dict[str, str]


def compose_text(
    draft: Draft, kind: str, header: Sequence[str], *, limit: int, references: References
) -> ComposedText:
    """Compose the text of a skill within `limit` tokens, with a file for the rest.

    The first line is `# <kind>: <title>`; the lines of `header` follow.
    """
    file = references.free(STATEMENTS)
    title = f"# {kind}: {trim_to_tokens(draft.title, head_line_limit(limit))}"
    lines = "\n".join(f"*{line}*" for line in header)
    body, overflow = fit_body([title, lines], draft.sections, limit, file)
    return ComposedText(body, {file: overflow} if overflow else {})


def fit_sections(
    parts: Sequence[tuple[str, str]], token_limit: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the sections within `token_limit` tokens, and the text that was cut, by heading.

    The longest section is cut first, from its end; the start of the first section is cut last. A
    section that was cut completely is "".
    """
    blocks = [markdown.blocks(text.strip()) for _, text in parts]
    sizes = [
        [count_tokens(block.removesuffix("\n")) + 1 for block in section] for section in blocks
    ]
    totals = [sum(section) for section in sizes]
    overflow: list[list[str]] = [[] for _ in parts]
    while sum(totals) > token_limit and any(blocks):
        at = max(range(len(parts)), key=lambda i: (len(blocks[i]) > 1, i and totals[i], totals[i]))
        overflow[at].append(blocks[at].pop())
        totals[at] -= sizes[at].pop()
    names = [heading for heading, _ in parts]
    section_texts = ["".join(section).rstrip() for section in blocks]
    overflow_texts = ["".join(reversed(section)).rstrip() for section in overflow]
    return list(zip(names, section_texts, strict=True)), [
        (name, text) for name, text in zip(names, overflow_texts, strict=True) if text
    ]


def fit_body(
    head: Sequence[str], parts: Sequence[tuple[str, str]], limit: int, file: str = STATEMENTS
) -> tuple[str, str]:
    """Return a body of head and sections within `limit` tokens, and the text for `file`.

    The text for `file` is "" if nothing was cut. The body refers to the file.
    """
    sections = [(name, text.strip()) for name, text in parts if text.strip()]
    frame = "\n".join([*head, f"*More: references/{file}*", *(name for name, _ in sections)])
    texts, excess = fit_sections(sections, limit - count_tokens(frame) - 4 * len(sections))
    last_line = f"{head[-1]}\n*More: references/{file}*" if excess else head[-1]
    body = [*head[:-1], last_line, *(f"## {name}\n\n{text}" for name, text in texts if text)]
    overflow = [OVERFLOW, *(f"## {name}\n\n{text}" for name, text in excess)]
    return "\n\n".join(body), "\n\n".join(overflow) + "\n" if excess else ""


def head_line_limit(limit: int) -> int:
    """Return the token limit of one line of the head, so that statements have most space."""
    return limit // _HEAD_LINES
