"""The comments in vault.yaml on keys that several clones set, until a person decides."""

import re
from collections.abc import Iterable

UNDECIDED = re.compile(r"^# undecided: (?P<key>\S+) is (?P<values>.*)\n?", re.MULTILINE)
_HOW = "  # write the one that holds, and remove this line"
_OR = " or "


def undecided(text: str) -> dict[str, list[str]]:
    """key -> the values that clones gave it, of those on which a person must decide."""
    return {
        line["key"]: sorted(line["values"].removesuffix(_HOW).split(_OR))
        for line in UNDECIDED.finditer(text)
    }


def undecided_line(key: str, values: Iterable[str]) -> str:
    """The comment for a key."""
    return f"# undecided: {key} is {_OR.join(sorted(values))}{_HOW}\n"
