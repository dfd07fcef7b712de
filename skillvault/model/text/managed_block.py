"""A block of ours in a page that a person writes (`CLAUDE.md`, `AGENTS.md`), between two marks.

Pure. Nothing outside of the marks is touched but the blank line that sets the block apart.
"""

import re

BEGIN, END = "<!-- skillvault:setup:begin -->", "<!-- skillvault:setup:end -->"
_BLOCK = re.compile(
    rf"(?P<apart>(?:\r?\n)?){re.escape(BEGIN)}.*?{re.escape(END)}(?:\r?\n|\Z)", re.DOTALL
)


def with_block(page: str, text: str) -> str:
    """A page with the block in its place, or at its end."""
    newline = "\r\n" if "\r\n" in page else "\n"
    lines = [BEGIN, *text.strip().splitlines(), END, ""]
    block = newline.join(lines)
    before = _BLOCK.search(page)
    if before is not None:
        return page[: before.start()] + before["apart"] + block + page[before.end() :]
    if not page:
        return block
    whole = page if page.endswith("\n") else page + newline
    return whole + newline + block


def without_block(page: str) -> str:
    """A page without the block and the blank line before it."""
    return _BLOCK.sub("", page)
