"""`metadata.written` of a skill: set here alone, where the program itself writes its text.

What the program leaves as it stands keeps its mark, so that a person's section stays a person's.
A skill of an older vault has no marks and gets none: there the history tells whose a section is.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from skillvault.model import codec
from skillvault.model.records import Record, Skill
from skillvault.model.text import front_matter
from skillvault.model.written import (
    DESCRIPTION,
    as_words,
    heading_mark,
    marks_after,
    marks_of,
    read_marks,
    text_mark,
)
from skillvault.vault.files.work_tree import parsed

KEY = ("metadata", "written")


def encoded_with_marks(skill: Record) -> bytes:
    """A new skill of the program's as its file says it, all of it marked."""
    assert isinstance(skill, Skill)
    words = as_words(marks_of(skill.description, skill.body.strip()))
    return codec.encode(replace(skill, written=words))


def remarked(
    files: Mapping[str, bytes | None],
    before: Mapping[str, bytes],
    paths: Iterable[str],
    theirs: Mapping[str, Collection[str]],
) -> dict[str, bytes]:
    """path -> a skill's file with the marks of what the program changed since `before`.

    `theirs` are, by path, the sections that it took over from a person.
    """
    changed: dict[str, bytes] = {}
    for path in paths:
        content, old = files.get(path), before.get(path)
        if content and old and (marked := _remarked(path, content, old, theirs.get(path, ()))):
            changed[path] = marked
    return changed


def _remarked(path: str, content: bytes, before: bytes, theirs: Collection[str]) -> bytes | None:
    new, old = parsed(path, content), parsed(path, before)
    if not (isinstance(new, Skill) and isinstance(old, Skill) and old.written):
        return None
    marks = marks_after(read_marks(old.written), old.body, new.body, theirs)
    if new.description != old.description:
        marks[heading_mark(DESCRIPTION)] = text_mark(new.description)
    words = as_words(marks)
    return None if words == new.written else front_matter.with_key(content, KEY, words)
