"""Rewrite the generated sections of a skill; the sections that a person wrote stay.

A section starts with a heading of level 2; the text before the first heading is the head. A section
belongs to a person if it differs from the last text that skillvault wrote. All steps that change a
skill call `rewrite_body`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from skillvault.model.records import Skill
from skillvault.model.section_marks import (
    DESCRIPTION,
    Key,
    heading_mark,
    persons_sections,
    plain_section,
    read_marks,
    sections_of,
    text_mark,
)
from skillvault.model.text import markdown
from skillvault.model.text.text import pluralize, shorten

_MAX_LINES = 20  # changed statements in a commit message
_MAX_LINE = 400  # characters of a statement in a commit message
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n\Z")


class Version(NamedTuple):
    """A text that skillvault wrote (`after`), and the earlier text, or None for a new skill."""

    before: str | None
    after: str


# The bodies that the program wrote, oldest first, or the digests of sections in the file.
Bodies = Sequence[Version] | Mapping[str, str]


class WrittenTexts(NamedTuple):
    """The texts that skillvault wrote into a skill.

    `ends` are ends of the time to live; `labels` are tags, roles and stages.
    """

    bodies: Bodies = ()
    descriptions: Sequence[Version] = ()
    ends: Sequence[Version] = ()
    labels: Sequence[Version] = ()


def labels_of(skill: Skill) -> str:
    """Return the tags, the roles and the stages of a skill as one text of three lines."""
    return "\n".join(" ".join(names) for names in (skill.tags, skill.roles, skill.stages))


def parse_written(
    skill: Skill, marks_text: str, ends: Sequence[Version], labels: Sequence[Version]
) -> WrittenTexts:
    """Return the texts that skillvault wrote into a skill, from its key `metadata.written`."""
    marks = read_marks(marks_text)
    is_unedited = marks.get(heading_mark(DESCRIPTION)) == text_mark(skill.description)
    descriptions = [Version(None, skill.description)] if is_unedited else []
    return WrittenTexts(bodies=marks, descriptions=descriptions, ends=ends, labels=labels)


def is_former_text(versions: Sequence[Version], current: str) -> bool:
    """Return True if a person restored an earlier text of skillvault."""
    changes = (version for version in versions if version.before != version.after)
    texts = [version.after.strip() for version in changes]
    return bool(texts) and current.strip() != texts[-1] and current.strip() in texts[:-1]


def edited_sections(versions: Bodies, current: str) -> frozenset[Key]:
    """Return the keys of the sections that a person changed, added or removed.

    If skillvault wrote nothing, all sections belong to a person.
    """
    if isinstance(versions, Mapping):
        return persons_sections(versions, current)
    if not versions:
        return frozenset(sections_of(current))
    changed_keys: set[Key] = set()
    text = versions[0].after
    for version in versions[1:]:
        changed_keys |= _find_differences(text, version.before or "")
        text = version.after
    return frozenset(changed_keys | _find_differences(text, current))


def is_untouched(versions: Bodies, current: str) -> bool:
    """Return True if no person changed the text that skillvault wrote."""
    if isinstance(versions, Mapping):
        return not persons_sections(versions, current)
    texts = [version.after.strip() for version in versions]
    previous_texts = [(version.before or "").strip() for version in versions[1:]]
    return bool(versions) and texts == [*previous_texts, current.strip()]


def rewrite_body(current: str, versions: Bodies, target: str) -> str:
    """Replace the generated sections of `current` by those of `target`.

    Sections that a person wrote stay. Return `current` unchanged if a code block without an end
    would swallow the next section.
    """
    personal_keys = edited_sections(versions, current)
    current_sections, new_sections = sections_of(current), sections_of(target)
    texts = {
        key: text if key in personal_keys else new_sections[key]
        for key, text in current_sections.items()
        if key in personal_keys or key in new_sections
    }
    # A section that a person removed is known by its digest or by its key.
    left_out_keys = {*personal_keys, *current_sections}
    for key in (k for k in new_sections if not {k, (heading_mark(k), -1)} & left_out_keys):
        texts = _insert_section(texts, key, new_sections)
    body = _join_sections(texts.values(), current)
    intended_texts = filter(None, map(plain_section, texts.values()))
    return body if [*intended_texts] == [*filter(None, _plain_sections(body).values())] else current


def _find_differences(first_body: str, second_body: str) -> set[Key]:
    if first_body == second_body:
        return set()
    first, second = _plain_sections(first_body), _plain_sections(second_body)
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


def _plain_sections(body: str) -> dict[Key, str]:
    return {key: plain_section(text) for key, text in sections_of(body).items()}


def _insert_section(
    texts: Mapping[Key, str], key: Key, new_sections: Mapping[Key, str]
) -> dict[Key, str]:
    """Insert a section after the section that it follows in `new_sections`.

    If that section has a code block without an end, insert the section before it.
    """
    order = list(new_sections)
    predecessors = [k for k in order[: order.index(key)] if k in texts]
    pairs = list(texts.items())
    index = 1 + list(texts).index(predecessors[-1]) if predecessors else min(1, len(pairs))
    if index and markdown.swallows_heading(pairs[index - 1][1]):
        index -= 1
    return dict([*pairs[:index], (key, new_sections[key]), *pairs[index:]])


def _join_sections(texts: Iterable[str], current: str) -> str:
    """Join sections with an empty line between them; keep the space between former neighbours."""
    body = previous_text = ""
    for text in texts:
        are_neighbours = (previous_text + text).rstrip("\r\n") in current
        if body and not (are_neighbours or _EMPTY_LINE.search(body)):
            body = body.rstrip("\r\n") + "\n\n"
        body += text
        previous_text = text
    return body.strip("\r\n")


def statement_changes(old_body: str, new_body: str) -> list[str]:
    """Return lines for a commit message about a rewritten body: counts and statements."""
    old_lines, new_lines = markdown.statements(old_body), markdown.statements(new_body)
    added_lines = [f"  + {shorten(line, _MAX_LINE)}" for line in new_lines if line not in old_lines]
    removed_lines = [
        f"  - {shorten(line, _MAX_LINE)}" for line in old_lines if line not in new_lines
    ]
    lines = [*added_lines, *removed_lines]
    if not lines:
        return ["no statement changed."]
    omission = [f"{len(lines) - _MAX_LINES} more in the diff."] if len(lines) > _MAX_LINES else []
    counts = f"{pluralize(len(added_lines), 'statement')} added or changed"
    return [f"{counts}, {len(removed_lines)} removed or replaced.", *lines[:_MAX_LINES], *omission]
