"""A skill's text that two clones changed: its keys, and whose each section is.

A section is the program's if its file says so by a digest of it (`skillvault.model.section_marks`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from skillvault.learning.sync.texts import (
    Parted,
    earliest,
    in_order,
    latest,
    least_trust,
    merged_keys,
    merged_statements,
    merged_words,
    parted,
    ranked,
    whole_file,
)
from skillvault.learning.sync.three_way import (
    Versions,
    greater,
    joined_set,
    three_way,
    woven,
)
from skillvault.model.section_marks import (
    DESCRIPTION,
    Key,
    format_marks,
    heading_mark,
    plain_section,
    read_marks,
    sections_of,
    text_mark,
)
from skillvault.model.text.text import split_prose

# The account of a text that was made of two: no digest is like it, so that it is written anew.
MERGED = "merged"
STATUSES = ("proposed", "testing", "proven", "pinned", "retired")
_TOP = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
_METADATA = (
    "internal", "kind", "domain", "subject", "account", "status", "origin", "version", "created",
    "expires", "tags", "roles", "stages", "trust", "retired", "trial", "replaces", "written",
)  # fmt: skip
_WORDS = ("tags", "roles", "stages")
_RULES = {
    "status": ranked(STATUSES),
    "created": earliest,
    "expires": latest,
    "trust": least_trust,
    "account": lambda _ours, _theirs: MERGED,
    "retired": latest,
    "trial": latest,
}


class MarkedSection(NamedTuple):
    """What stands below a heading, None for nothing, and which digest its file gives of it."""

    text: str | None = None
    mark: str | None = None

    @property
    def is_programs(self) -> bool:
        """Whether nobody but the program wrote it, or took it away."""
        return self.mark == (text_mark(self.text) if self.text is not None else None)


def merged_skill(versions: Versions) -> bytes:
    """What each side changed; of what both did a person's before the program's."""
    base, ours, theirs = sides = _parted_sides(versions)
    began, *ends = map(_metadata, sides)
    merged = _merged_sections(_sections(sides))
    metadata = {**merged_keys(began, *ends, rules=_RULES), **_merged_lists(began, *ends)}
    metadata["written"] = _stated_marks(merged) or None
    values = merged_keys(base.values, ours.values, theirs.values, rules={})
    values["description"] = merged[DESCRIPTION].text or ""
    values["metadata"] = in_order({k: v for k, v in metadata.items() if v}, _METADATA)
    body = three_way(base.body, ours.body, theirs.body, lambda _o, _t: _body(merged))
    return whole_file(values, body, (base, ours, theirs), _TOP)


def _parted_sides(versions: Versions) -> tuple[Parted, Parted, Parted]:
    return parted(versions.base), parted(versions.ours), parted(versions.theirs)


def _metadata(side: Parted) -> Mapping[str, Any]:
    metadata = side.values.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _merged_lists(*sides: Mapping[str, Any]) -> dict[str, Any]:
    """The words of tags, roles and stages."""
    lists = {name: [side.get(name) for side in sides] for name in _WORDS}
    return {
        name: three_way(base, ours, theirs, partial(merged_words, base))
        for name, (base, ours, theirs) in lists.items()
    }


# ── sections ─────────────────────────────────────────────────────────────────────────


def _sections(
    sides: Sequence[Parted],
) -> dict[Key, tuple[MarkedSection, MarkedSection, MarkedSection]]:
    """What each side has below each heading, in the order of both."""
    texts = [_texts_by_key(side) for side in sides]
    marks = [read_marks(str(_metadata(side).get("written") or "")) for side in sides]
    names = {heading_mark(key): key for side in texts for key in side}
    gone = [(name, -2) for name in sorted({*marks[1], *marks[2]} - names.keys())]
    order = woven([*texts[1]], [*texts[2]], names.values())
    return {
        key: tuple(  # type: ignore[misc]
            MarkedSection(text.get(key), mark.get(key[0] if key[1] == -2 else heading_mark(key)))
            for text, mark in zip(texts, marks, strict=True)
        )
        for key in [*order, *gone]
    }


def _texts_by_key(side: Parted) -> dict[Key, str]:
    """Each section without the empty lines around it; the description too."""
    described = {DESCRIPTION: str(side.values.get("description") or "")} if side.values else {}
    sections = {**described, **sections_of(side.body)}
    return {key: plain_section(text) for key, text in sections.items()}


def _merged_sections(
    sections: Mapping[Key, tuple[MarkedSection, MarkedSection, MarkedSection]],
) -> dict[Key, MarkedSection]:
    merged = {
        key: three_way(base, ours, theirs, partial(_section_of_both, key, base))
        for key, (base, ours, theirs) in sections.items()
    }
    return {DESCRIPTION: MarkedSection(), **merged}


def _section_of_both(
    key: Key, base: MarkedSection, ours: MarkedSection, theirs: MarkedSection
) -> MarkedSection:
    """A person's before the program's; of two persons the statements of both."""
    persons = [side for side in (ours, theirs) if not side.is_programs]
    if len(persons) == 1:
        return persons[0]
    if not persons:
        return max((ours, theirs), key=lambda side: (side.text or "", side.mark or ""))
    mark = three_way(base.mark, ours.mark, theirs.mark, greater)
    texts = [side.text for side in (base, ours, theirs)]
    if ours.text is None or theirs.text is None:  # what one took away, the other wrote in
        return MarkedSection(ours.text or theirs.text, mark)
    if key == DESCRIPTION:
        return MarkedSection(_sentences(*map(str, (base.text or "", ours.text, theirs.text))), mark)
    return MarkedSection(merged_statements(*(text or "" for text in texts)), mark)


def _sentences(*texts: str) -> str:
    """The sentences of two descriptions as a three-way set."""
    base, ours, theirs = ([*split_prose(text)] for text in texts)
    return " ".join(joined_set(base, ours, theirs))


def _body(sections: Mapping[Key, MarkedSection]) -> str:
    return "\n\n".join(
        section.text
        for key, section in sections.items()
        if section.text is not None and key != DESCRIPTION
    ).strip()


def _stated_marks(sections: Mapping[Key, MarkedSection]) -> str:
    """The digests that the file gives of what stands below its headings, or was taken away."""
    marks = {
        key[0] if key[1] == -2 else heading_mark(key): section
        for key, section in sections.items()
        if section.mark
    }
    gone = sorted(name for name, section in marks.items() if section.text is None)
    there = [name for name in marks if name not in gone]
    return format_marks({name: str(marks[name].mark) for name in [*there, *gone]})


# ── what a person did ────────────────────────────────────────────────────────────────


def is_edited(base: bytes | None, side: bytes) -> bool:
    """Whether a person changed what a skill says since the base, or pinned it."""
    before, after = parted(base), parted(side)
    pinned = _metadata(after).get("status") == "pinned" != _metadata(before).get("status")
    return pinned or any(
        ours != old and not ours.is_programs
        for old, ours, _ in _sections((before, after, after)).values()
    )
