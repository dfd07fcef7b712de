"""Marks: short digests of the sections that skillvault wrote, to recognize them later.

`metadata.written` has a mark for each section: four hex digits of its heading, eight of its text. A
section without a mark, or with another digest, belongs to a person. If a marked section is gone, a
person removed it.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping

from skillvault.model.text import markdown

# A heading, and the number of its section among sections with this heading; ("", 0) is the head.
Key = tuple[str, int]
DESCRIPTION: Key = ("description", -1)  # not a section, but marked like one
_HEADING_DIGITS, _TEXT_DIGITS = 4, 8


def sections_of(body: str) -> dict[Key, str]:
    """Return the sections of a body in order with their headings; joined they are the body."""
    counts: Counter[str] = Counter()
    texts: dict[Key, str] = {}
    for heading, text in markdown.sections(body):
        name = heading or ""
        counts[name] += heading is not None
        texts[name, counts[name]] = text
    return texts


def plain_section(text: str) -> str:
    """Return a text with equal line ends and without outer empty lines."""
    return text.replace("\r\n", "\n").strip()


def heading_mark(key: Key) -> str:
    """Return the mark of a section's heading in `metadata.written`."""
    return _hex(f"{key[0]}\n{key[1]}", _HEADING_DIGITS)


def text_mark(text: str) -> str:
    """Return the mark of a section's text in `metadata.written`."""
    return _hex(plain_section(text), _TEXT_DIGITS)


def marks_of(description: str, body: str) -> dict[str, str]:
    """Return heading mark -> text mark, for the description and all sections."""
    texts = {DESCRIPTION: description, **sections_of(body)}
    return {heading_mark(key): text_mark(text) for key, text in texts.items()}


def read_marks(words: str) -> dict[str, str]:
    """Return the marks in `metadata.written`."""
    return {word[:_HEADING_DIGITS]: word[_HEADING_DIGITS:] for word in words.split()}


def format_marks(marks: Mapping[str, str]) -> str:
    """Return marks in the format of `metadata.written`."""
    return " ".join(f"{heading}{text}" for heading, text in marks.items())


def update_marks(
    marks: Mapping[str, str], old_body: str, new_body: str, personal_texts: Collection[str] = ()
) -> dict[str, str]:
    """Return the marks after skillvault rewrote a body; unchanged sections keep their marks.

    Texts in `personal_texts` come from a person and get no mark. A section that a person
    removed keeps its mark.
    """
    old_sections = sections_of(old_body)
    old_names = set(map(heading_mark, old_sections))
    updated = {name: mark for name, mark in marks.items() if name not in old_names}
    for key, text in sections_of(new_body).items():
        name, old_text = heading_mark(key), old_sections.get(key)
        if old_text is None and plain_section(text) in personal_texts:
            continue
        if old_text is None or plain_section(old_text) != plain_section(text):
            updated[name] = text_mark(text)
        elif name in marks:
            updated[name] = marks[name]
    return updated


def persons_sections(marks: Mapping[str, str], body: str) -> frozenset[Key]:
    """Return the sections of a person; a removed section by its heading mark."""
    texts = sections_of(body)
    names = {heading_mark(key): key for key in texts}
    changed_keys = {key for name, key in names.items() if marks.get(name) != text_mark(texts[key])}
    removed_marks = marks.keys() - names.keys() - {heading_mark(DESCRIPTION)}
    return frozenset(changed_keys | {(name, -1) for name in removed_marks})


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
