"""Which sections of a skill the program wrote, as its file tells it: a short digest for each.

`metadata.written` is a word a section: four hex digits of its heading, eight of its text. A
section whose text has another digest, or none, is a person's; so is one that is gone and has one.
No file is opened here.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping

from skillvault.model.text import markdown

Key = tuple[str, int]  # a heading, and which of the sections of that name; ("", 0) is the head
DESCRIPTION: Key = ("description", -1)  # not a section, and written by one of both like them
_HEADING, _TEXT = 4, 8


def sections_of(body: str) -> dict[Key, str]:
    """The sections of a body in order, each with its heading line; joined they are the body."""
    counts: Counter[str] = Counter()
    texts: dict[Key, str] = {}
    for heading, text in markdown.sections(body):
        name = heading or ""
        counts[name] += heading is not None
        texts[name, counts[name]] = text
    return texts


def plain_section(text: str) -> str:
    """A text whose line ends and outer empty lines make no difference."""
    return text.replace("\r\n", "\n").strip()


def heading_mark(key: Key) -> str:
    """By what `metadata.written` names a section."""
    return _hex(f"{key[0]}\n{key[1]}", _HEADING)


def text_mark(text: str) -> str:
    """What `metadata.written` says of a section's text."""
    return _hex(plain_section(text), _TEXT)


def marks_of(description: str, body: str) -> dict[str, str]:
    """Heading mark -> text mark of all that a skill says."""
    texts = {DESCRIPTION: description, **sections_of(body)}
    return {heading_mark(key): text_mark(text) for key, text in texts.items()}


def read_marks(words: str) -> dict[str, str]:
    """The marks that `metadata.written` states."""
    return {word[:_HEADING]: word[_HEADING:] for word in words.split()}


def format_marks(marks: Mapping[str, str]) -> str:
    """Marks as `metadata.written` states them."""
    return " ".join(f"{heading}{text}" for heading, text in marks.items())


def update_marks(
    marks: Mapping[str, str], before: str, after: str, theirs: Collection[str] = ()
) -> dict[str, str]:
    """The marks once the program has rewritten a body; what it left as it was keeps its own.

    `theirs` are sections that it took over from a person, and get none.

    A mark of a section that a person removed stays, as that is theirs to have removed.
    """
    old, new = sections_of(before), sections_of(after)
    kept = {name: mark for name, mark in marks.items() if name not in map(heading_mark, old)}
    for key, text in new.items():
        name = heading_mark(key)
        if key not in old and plain_section(text) in theirs:
            continue
        if key not in old or plain_section(old[key]) != plain_section(text):
            kept[name] = text_mark(text)
        elif name in marks:
            kept[name] = marks[name]
    return kept


def persons_sections(marks: Mapping[str, str], body: str) -> frozenset[Key]:
    """The sections that are a person's; one that is gone goes by its heading mark."""
    texts = sections_of(body)
    names = {heading_mark(key): key for key in texts}
    changed = {key for name, key in names.items() if marks.get(name) != text_mark(texts[key])}
    gone = marks.keys() - names.keys() - {heading_mark(DESCRIPTION)}
    return frozenset(changed | {(name, -1) for name in gone})


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
