"""Edit the blocks of skillvault in a person's page, such as `AGENTS.md`, between two marks.

Nothing outside the marks changes, except the empty line before a block.
"""

import re
from typing import NamedTuple

from skillvault.model.errors import BadInputError


class BlockMarks(NamedTuple):
    """The two lines that enclose a block."""

    begin: str
    end: str

    def enclose(self, text: str) -> str:
        """Return a text between the marks."""
        return f"{self.begin}\n{text}\n{self.end}"


SETUP = BlockMarks("<!-- skillvault:setup:begin -->", "<!-- skillvault:setup:end -->")
EXPORT = BlockMarks("<!-- skillvault:begin -->", "<!-- skillvault:end -->")


def split_page(page: str, marks: BlockMarks) -> tuple[str, str, str]:
    """Split a page into the part before a block, the block with its marks, and the part after."""
    counts = page.count(marks.begin), page.count(marks.end)
    if counts == (0, 0):
        return page, "", ""
    start, end = page.find(marks.begin), page.find(marks.end)
    if counts != (1, 1) or end < start:
        message = f"the marks {marks.begin} and {marks.end} must stand once each, in this order"
        raise BadInputError(f"{message}; mend them", code="marks")
    end += len(marks.end)
    return page[:start], page[start:end], page[end:]


def with_block(page: str, text: str) -> str:
    """Return a page with `text` between the marks of the setup."""
    return put_block(page, SETUP.enclose(text.strip()), SETUP)


def put_block(page: str, block: str, marks: BlockMarks) -> str:
    """Return a page with a block, which replaces the old block or is added at the end."""
    newline = "\r\n" if "\r\n" in page else "\n"
    block = newline.join(block.splitlines())
    if match := _pattern(marks).search(page):
        return page[: match.start("block")] + block + page[match.end("block") :]
    if not page:
        return block + newline
    return page + ("" if page.endswith("\n") else newline) + newline + block + newline


def without_block(page: str, marks: BlockMarks = SETUP) -> str:
    """Return a page without the block and the empty line before it."""
    return _pattern(marks).sub("", page)


def _pattern(marks: BlockMarks) -> re.Pattern[str]:
    begin, end = marks
    block = rf"(?P<block>{begin}(?:(?!{begin}).)*?{end})"
    return re.compile(rf"(?:\r?\n)?{block}(?:\r?\n)?", re.DOTALL)
