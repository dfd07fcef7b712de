"""Load the cues of `cues.txt`, by which a text tells how it used a skill, as patterns."""

import re
from pkgutil import get_data

X, Y = "\ue000", "\ue001"  # in a plain sentence: the mention that is read, and any other


def _load() -> list[tuple[str, str]]:
    """Return each line of the table with the section it is in, in order."""
    content = get_data("skillvault.learning.effect", "cues.txt")
    assert content is not None
    _, *parts = re.split(r"\n\[(\w+)\]\n", content.decode().replace("\n  ", ""))
    sections = zip(parts[::2], parts[1::2], strict=True)
    return [(name, line) for name, lines in sections for line in lines.split("\n") if line]


_ENDINGS = r"(?:\w?(?:e?[sdn]|ing)|y|ies|ied|ying|e)?"
LINES = _load()
_WORDS = dict(line.split(": ", 1) for name, line in LINES if name == "words")


def expand(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the table as a regular expression."""
    while re.search(r"<\w+>", pattern):
        pattern = re.sub(r"<(\w+)>", lambda match: f"(?:{_WORDS[match[1]]})", pattern)
    pattern = _ENDINGS.join(re.split(r"(?<=[\w\])])~", pattern))
    return re.compile(pattern.replace("X", X).replace("Y", Y))


def cues_of(section: str) -> list[re.Pattern[str]]:
    """Return the patterns of one section, in order."""
    return [expand(line) for name, line in LINES if name == section]
