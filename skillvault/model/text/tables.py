"""Read tables of words and patterns, which are text files with sections below heads `[name]`."""

import re
from pkgutil import get_data

from skillvault.model.lazy import regex

_AS_WRITTEN = " as written"


def read_sections(package: str, name: str) -> list[tuple[str, str]]:
    """Return (head, text) for each section of a table, in order."""
    text = (get_data(package, name) or b"").decode()
    _, *parts = re.split(r"^\[([a-z0-9 ]+)\]\n", text, flags=re.MULTILINE)
    return list(zip(parts[::2], parts[1::2], strict=True))


def join_lines(text: str) -> list[str]:
    """Return the lines of a section. A line that begins with two spaces continues a line."""
    return [line for line in text.replace("\n  ", "").split("\n") if line and line[:2] != "# "]


def read_patterns(package: str, name: str) -> dict[str, re.Pattern[str]]:
    """Return one pattern for each head of a table, which matches any of the lines below the head.

    Lines below a head `[name as written]` are matched in the given case, others in any case.
    """
    patterns: dict[str, re.Pattern[str]] = {}
    for snapshot, text in read_sections(package, name):
        flags = re.NOFLAG if snapshot.endswith(_AS_WRITTEN) else re.IGNORECASE
        patterns[snapshot.removesuffix(_AS_WRITTEN)] = regex("|".join(join_lines(text)), flags)
    return patterns
