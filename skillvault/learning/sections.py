"""A skill's body by its sections, and how the program rewrites only what is its own.

A section begins with a heading of level 2; what stands before the first is the head. A
section that differs from what the program last wrote there is a person's and stays.
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
from skillvault.model.text.text import shorten

_TOLD = 20  # statements that a message tells
_LINE = 400  # characters of one
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n\Z")


class Version(NamedTuple):
    """A text that the program wrote: what stood there before (None: nothing), and after."""

    before: str | None
    after: str


# What the program wrote of a body, oldest first; where its file states that, the marks there.
Bodies = Sequence[Version] | Mapping[str, str]


class Written(NamedTuple):
    """What the program wrote of a skill: its bodies, its descriptions, its ends, its labels."""

    bodies: Bodies = ()
    descriptions: Sequence[Version] = ()
    ends: Sequence[Version] = ()
    labels: Sequence[Version] = ()


def labels_of(skill: Skill) -> str:
    """The tags, roles and stages of a skill as one text, a line each."""
    return "\n".join(" ".join(names) for names in (skill.tags, skill.roles, skill.stages))


def written_as_stated(
    skill: Skill, words: str, ends: Sequence[Version], labels: Sequence[Version]
) -> Written:
    """What the program wrote of a skill whose file states it in these words."""
    marks = read_marks(words)
    own = marks.get(heading_mark(DESCRIPTION)) == text_mark(skill.description)
    descriptions = [Version(None, skill.description)] if own else []
    return Written(bodies=marks, descriptions=descriptions, ends=ends, labels=labels)


def taken_back(versions: Sequence[Version], current: str) -> bool:
    """Return True if the text is a former one of the program's, which a person brought back."""
    changes = (version for version in versions if version.before != version.after)
    afters = [version.after.strip() for version in changes]
    return bool(afters) and current.strip() != afters[-1] and current.strip() in afters[:-1]


def theirs(versions: Bodies, current: str) -> frozenset[Key]:
    """The sections that a person changed, added or removed since the program wrote them.

    Without any version, all is a person's.
    """
    if isinstance(versions, Mapping):
        return persons_sections(versions, current)
    if not versions:
        return frozenset(sections_of(current))
    changed: set[Key] = set()
    written = versions[0].after
    for version in versions[1:]:
        changed |= _differing(written, version.before or "")
        written = version.after
    return frozenset(changed | _differing(written, current))


def untouched(versions: Bodies, current: str) -> bool:
    """True if no person changed a text that the program wrote."""
    if isinstance(versions, Mapping):
        return not persons_sections(versions, current)
    afters = [version.after.strip() for version in versions]
    befores = [(version.before or "").strip() for version in versions[1:]]
    return bool(versions) and afters == [*befores, current.strip()]


def rewritten(current: str, versions: Bodies, target: str) -> str:
    """`current` with the program's sections as in `target`; a person's stay as they are.

    All of it stays if one section would swallow another: its last block of code has no end.
    """
    personal, now, new = theirs(versions, current), sections_of(current), sections_of(target)
    texts: dict[Key, str] = {}
    for key, text in now.items():
        if key in personal:
            texts[key] = text
        elif key in new:
            texts[key] = new[key]
    absent = {*personal, *now}  # a section that a person removed goes by its mark, or by its key
    for key in (k for k in new if not {k, (heading_mark(k), -1)} & absent):
        texts = _inserted(texts, key, new)
    body = _joined(texts.values(), current)
    intended = filter(None, map(plain_section, texts.values()))
    return body if [*intended] == [*filter(None, _stripped(body).values())] else current


def _differing(a: str, b: str) -> set[Key]:
    if a == b:
        return set()
    before, after = _stripped(a), _stripped(b)
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _stripped(body: str) -> dict[Key, str]:
    return {key: plain_section(text) for key, text in sections_of(body).items()}


def _inserted(texts: Mapping[Key, str], key: Key, new: Mapping[Key, str]) -> dict[Key, str]:
    """The sections with one more, behind the one it follows in `new`.

    It stands before a last one that would swallow it.
    """
    order = list(new)
    before = [k for k in order[: order.index(key)] if k in texts]
    entries = list(texts.items())
    place = 1 + list(texts).index(before[-1]) if before else min(1, len(entries))
    if place and markdown.swallows_heading(entries[place - 1][1]):
        place -= 1
    return dict([*entries[:place], (key, new[key]), *entries[place:]])


def _joined(texts: Iterable[str], current: str) -> str:
    """Sections with an empty line between them, but for two that stand so in `current`."""
    body = above = ""
    for text in texts:
        stands_so = (above + text).rstrip("\r\n") in current
        if body and not (stands_so or _EMPTY_LINE.search(body)):
            body = body.rstrip("\r\n") + "\n\n"
        body += text
        above = text
    return body.strip("\r\n")


def statement_changes(before: str, after: str) -> list[str]:
    """What a message says of a rewritten body: how many statements came and went, and which."""
    old, new = markdown.statements(before), markdown.statements(after)
    came = [f"  + {shorten(line, _LINE)}" for line in new if line not in old]
    went = [f"  - {shorten(line, _LINE)}" for line in old if line not in new]
    lines = [*came, *went]
    more = [f"{len(lines) - _TOLD} more in the diff."] if len(lines) > _TOLD else []
    plural = "" if len(came) == 1 else "s"
    counts = f"{len(came)} statement{plural} came or changed, {len(went)} went or stood otherwise."
    counts = counts if lines else "no statement changed."
    return [counts, *lines[:_TOLD], *more]
