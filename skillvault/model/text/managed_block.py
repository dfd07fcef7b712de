"""The block of skillvault in a person's page (`CLAUDE.md`, `AGENTS.md`), between two marks.

Pure. Nothing outside the marks is changed, except the blank line before the block.
"""

import re

BEGIN, END = "<!-- skillvault:setup:begin -->", "<!-- skillvault:setup:end -->"
_BLOCK = re.compile(rf"(?P<apart>(?:\r?\n)?){BEGIN}(?:(?!{BEGIN}).)*?{END}(?:\r?\n|\Z)", re.DOTALL)


def with_block(page: str, text: str) -> str:
    """Return a page with the block in its place, or at its end."""
    newline = "\r\n" if "\r\n" in page else "\n"
    lines = [BEGIN, *text.strip().splitlines(), END, ""]
    block = newline.join(lines)
    if old_block := _BLOCK.search(page):
        return page[: old_block.start()] + old_block["apart"] + block + page[old_block.end() :]
    if not page:
        return block
    return page + ("" if page.endswith("\n") else newline) + newline + block


def without_block(page: str) -> str:
    """Return a page without the block and the blank line before it."""
    return _BLOCK.sub("", page)
