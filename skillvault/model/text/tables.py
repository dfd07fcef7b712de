"""Tables of words and patterns: text files with sections below a head `[name]`."""

import re
from pkgutil import get_data

from skillvault.model.lazy import regex

_AS_WRITTEN = " as written"


def read_sections(package: str, name: str) -> list[tuple[str, str]]:
    """Return (head, text) of each section of a table, in order."""
    text = (get_data(package, name) or b"").decode()
    _, *parts = re.split(r"^\[([a-z0-9 ]+)\]\n", text, flags=re.MULTILINE)
    return list(zip(parts[::2], parts[1::2], strict=True))


def join_lines(text: str) -> list[str]:
    """Return the lines of a section; a line that starts with two spaces continues the last line."""
    return [line for line in text.replace("\n  ", "").split("\n") if line and line[:2] != "# "]


def read_patterns(package: str, name: str) -> dict[str, re.Pattern[str]]:
    """Map each head to a pattern: its lines are alternatives, matched in upper or lower case.

    Lines below a head `[name as written]` are matched in the given case.
    """
    patterns: dict[str, re.Pattern[str]] = {}
    for head, text in read_sections(package, name):
        flags = re.NOFLAG if head.endswith(_AS_WRITTEN) else re.IGNORECASE
        patterns[head.removesuffix(_AS_WRITTEN)] = regex("|".join(join_lines(text)), flags)
    return patterns
