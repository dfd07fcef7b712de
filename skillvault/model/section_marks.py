"""Mark the sections of a skill that skillvault wrote, to recognize them later.

`metadata.written` has a mark for each section: four hex digits of its heading, eight of its text. A
section without a mark, or with another digest, belongs to a person, who may also remove sections.
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
    """Return the sections of a body by heading, in order. Joined they are the body."""
    counts: Counter[str] = Counter()
    texts: dict[Key, str] = {}
    for heading, text in markdown.sections(body):
        name = heading or ""
        counts[name] += heading is not None
        texts[name, counts[name]] = text
    return texts


def plain_section(text: str) -> str:
    """Return a text with uniform line ends and without outer empty lines."""
    return text.replace("\r\n", "\n").strip()


def heading_mark(key: Key) -> str:
    """Return the mark of a section's heading in `metadata.written`."""
    return _hex(f"{key[0]}\n{key[1]}", _HEADING_DIGITS)


def text_mark(text: str) -> str:
    """Return the mark of a section's text in `metadata.written`."""
    return _hex(plain_section(text), _TEXT_DIGITS)


def marks_of(description: str, body: str) -> dict[str, str]:
    """Map the mark of each heading to the mark of its text, including the description."""
    texts = {DESCRIPTION: description, **sections_of(body)}
    return {heading_mark(key): text_mark(text) for key, text in texts.items()}


def read_marks(marks_text: str) -> dict[str, str]:
    """Parse `metadata.written` to text marks by heading mark."""
    return {word[:_HEADING_DIGITS]: word[_HEADING_DIGITS:] for word in marks_text.split()}


def format_marks(marks: Mapping[str, str]) -> str:
    """Format marks as the value of `metadata.written`."""
    return " ".join(f"{heading}{text}" for heading, text in marks.items())


def update_marks(
    marks: Mapping[str, str], old_body: str, new_body: str, personal_texts: Collection[str] = ()
) -> dict[str, str]:
    """Return the marks after skillvault rewrote a body. Unchanged sections keep their marks.

    Texts in `personal_texts` come from a person and get no mark. A section that a person removed
    keeps its mark.
    """
    old_sections = sections_of(old_body)
    old_marks = set(map(heading_mark, old_sections))
    new_marks = {heading: mark for heading, mark in marks.items() if heading not in old_marks}
    for key, text in sections_of(new_body).items():
        heading, old_text = heading_mark(key), old_sections.get(key)
        if old_text is None and plain_section(text) in personal_texts:
            continue
        if old_text is None or plain_section(old_text) != plain_section(text):
            new_marks[heading] = text_mark(text)
        elif heading in marks:
            new_marks[heading] = marks[heading]
    return new_marks


def persons_sections(marks: Mapping[str, str], body: str) -> frozenset[Key]:
    """Return the sections that a person wrote or changed.

    A section that a person removed is returned as its heading mark.
    """
    texts = sections_of(body)
    keys = {heading_mark(key): key for key in texts}
    changed_keys = {key for mark, key in keys.items() if marks.get(mark) != text_mark(texts[key])}
    removed_marks = marks.keys() - keys.keys() - {heading_mark(DESCRIPTION)}
    return frozenset(changed_keys | {(mark, -1) for mark in removed_marks})


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
