"""Merge a skill that two clones changed: its keys, sections, files and folder.

The file states the digests of its generated sections (`model.section_marks`). Git compares paths
only, so a skill that one clone archived and the other changed would be in two folders.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sync.three_way import (
    ParsedFile,
    Versions,
    greater,
    least_trust,
    lesser,
    merge_file,
    merge_keys,
    merge_orders,
    merge_sets,
    merge_statements,
    merge_values,
    merge_words,
    parse_file,
    rank_rule,
    render_file,
    sort_keys,
)
from skillvault.model.errors import BadInputError
from skillvault.model.records import PROGRAM_ORIGINS, SKILL_STATUSES
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
from skillvault.model.text import front_matter, strict_yaml
from skillvault.model.text.text import rule_key, split_prose

# The account of a merged text: it equals no digest, so the program writes the text again.
MERGED = "merged"
_RULES = {
    "status": rank_rule(SKILL_STATUSES),
    "created": lesser,
    "expires": greater,
    "trust": least_trust,
    "account": lambda _first, _second: MERGED,
    "retired": greater,
    "trial": greater,
}


class MarkedSection(NamedTuple):
    """The text below a heading (None without the section), and the digest in its file."""

    text: str | None = None
    mark: str | None = None

    @property
    def is_programs(self) -> bool:
        """True if only skillvault wrote or removed the section."""
        return self.mark == (text_mark(self.text) if self.text is not None else None)


def merge_skill(versions: Versions) -> bytes:
    """Merge two versions of SKILL.md; a change by a person wins over a generated change."""
    base, first, second = sides = [
        parse_file(content) for content in (versions.base, versions.first, versions.second)
    ]
    base_metadata, *new_metadata = map(_metadata_of, sides)
    result = {DESCRIPTION: MarkedSection()}
    for key, texts in _marked_sections(sides).items():
        merge_both = partial(_merge_section, key, texts[0])
        result[key] = merge_values(texts[0], texts[1], texts[2], merge_both)
    metadata = merge_keys(base_metadata, *new_metadata, rules=_RULES)
    for name in front_matter.WORD_KEYS:
        words = [side.get(name) for side in (base_metadata, *new_metadata)]
        metadata[name] = merge_values(words[0], words[1], words[2], partial(merge_words, words[0]))
    metadata["written"] = _stated_marks(result) or None
    values = merge_keys(base.values, first.values, second.values, rules={})
    values["description"] = result[DESCRIPTION].text or ""
    values["metadata"] = sort_keys(
        {key: value for key, value in metadata.items() if value}, front_matter.METADATA_KEYS
    )
    body = merge_values(base.body, first.body, second.body, lambda _o, _t: _render_body(result))
    return render_file(values, body, (base, first, second), front_matter.SKILL_KEYS)


def _metadata_of(side: ParsedFile) -> Mapping[str, Any]:
    metadata = side.values.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


# ── sections ─────────────────────────────────────────────────────────────────────────


def _marked_sections(
    sides: Sequence[ParsedFile],
) -> dict[Key, tuple[MarkedSection, MarkedSection, MarkedSection]]:
    """Return the section of each side below each heading, in the order of both sides."""
    texts = [_texts_by_key(side) for side in sides]
    marks = [read_marks(str(_metadata_of(side).get("written") or "")) for side in sides]
    names = {heading_mark(key): key for side in texts for key in side}
    removed_names = [(name, -2) for name in sorted({*marks[1], *marks[2]} - names.keys())]
    order = merge_orders([*texts[1]], [*texts[2]], names.values())
    return {
        key: tuple(  # type: ignore[misc]
            MarkedSection(text.get(key), mark.get(key[0] if key[1] == -2 else heading_mark(key)))
            for text, mark in zip(texts, marks, strict=True)
        )
        for key in [*order, *removed_names]
    }


def _texts_by_key(side: ParsedFile) -> dict[Key, str]:
    """Return the sections and the description, without the empty lines around them."""
    description = {DESCRIPTION: str(side.values.get("description") or "")} if side.values else {}
    sections = {**description, **sections_of(side.body)}
    return {key: plain_section(text) for key, text in sections.items()}


def _merge_section(
    key: Key, base: MarkedSection, first: MarkedSection, second: MarkedSection
) -> MarkedSection:
    """Return a person's section before a generated one; of two persons all statements."""
    personal_sides = [side for side in (first, second) if not side.is_programs]
    if len(personal_sides) == 1:
        return personal_sides[0]
    if not personal_sides:
        return max((first, second), key=lambda side: (side.text or "", side.mark or ""))
    mark = merge_values(base.mark, first.mark, second.mark, greater)
    if first.text is None or second.text is None:  # one side removed it, the other wrote in it
        return MarkedSection(first.text or second.text, mark)
    texts = (base.text or "", first.text, second.text)
    if key != DESCRIPTION:
        return MarkedSection(merge_statements(*texts), mark)
    return MarkedSection(" ".join(merge_sets(*([*split_prose(text)] for text in texts))), mark)


def _render_body(sections: Mapping[Key, MarkedSection]) -> str:
    return "\n\n".join(
        section.text
        for key, section in sections.items()
        if section.text is not None and key != DESCRIPTION
    ).strip()


def _stated_marks(sections: Mapping[Key, MarkedSection]) -> str:
    """Return the digests of the sections, those of removed sections first."""
    marks = {
        key[0] if key[1] == -2 else heading_mark(key): section
        for key, section in sections.items()
        if section.mark
    }
    removed_names = sorted(name for name, section in marks.items() if section.text is None)
    present_names = [name for name in marks if name not in removed_names]
    return format_marks({name: str(marks[name].mark) for name in [*present_names, *removed_names]})


# ── changes of a person ────────────────────────────────────────────────────────────────


def is_edited(base: bytes | None, side: bytes) -> bool:
    """Return True if a person changed or pinned a skill since the base."""
    old_file, new_file = parse_file(base), parse_file(side)
    statuses = [_metadata_of(file).get("status") for file in (old_file, new_file)]
    is_pinned = statuses[1] == "pinned" != statuses[0]
    return is_pinned or any(
        new_section != old_section and not new_section.is_programs
        for old_section, new_section, _ in _marked_sections((old_file, new_file, new_file)).values()
    )


# ── the skill as a whole: shelf and files ────────────────────────────────────────────

_ORDER = ("version", "patterns", "evolution_log")


def merge_expertise(versions: Versions) -> bytes:
    """Merge the patterns; of two counts of one pattern, take the entry with more files."""
    base, first, second = sides = [
        front_matter.as_mapping(strict_yaml.load(front_matter.text_of(side or b"")) or {})
        for side in versions
    ]
    result: dict[str, Any] = {
        name: merge_values(base.get(name), first.get(name), second.get(name), greater)
        for name in sorted({*first, *second} - {*_ORDER[1:]})
    }
    result["patterns"] = _merge_patterns(*(_patterns_by_key(side) for side in sides))
    # The entries of the log, each by all that it says.
    logs = [
        {f"{entry.get('date')} {entry}": entry for entry in side.get("evolution_log") or ()}
        for side in sides
    ]
    entries = {**logs[1], **logs[2]}
    result["evolution_log"] = [entries[key] for key in merge_sets(logs[0], [*logs[1]], [*logs[2]])]
    keys = [name for name in _ORDER if name in result]
    keys += [name for name in result if name not in _ORDER]
    text = strict_yaml.dump({name: result[name] for name in keys})
    # A person's comments move to the top, since their lines are written again.
    comments = merge_sets(*(strict_yaml.comments(front_matter.text_of(s or b"")) for s in versions))
    return "".join([*(f"{comment}\n" for comment in comments), text]).encode()


def _patterns_by_key(side: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {rule_key(str(entry.get("pattern"))): entry for entry in side.get("patterns") or ()}


def _merge_patterns(*sides: Mapping[str, Any]) -> list[Any]:
    base, first, second = sides
    return [
        merge_values(
            base.get(key), first.get(key) or second[key], second.get(key) or first[key], _larger
        )
        for key in merge_sets(base, [*first], [*second])
    ]


def _larger(first: Any, second: Any) -> Any:
    return max((first, second), key=lambda entry: (entry.get("occurrences") or 0, str(entry)))


_KEY = ("supersedes",)


def supersede_facts(facts: Mapping[str, bytes], insight: str) -> dict[str, bytes]:
    """Return id -> the file of each fact that changes, so that each fact supersedes the next.

    The first fact has the insight of the remaining evaluation, else the least id. A fact that
    supersedes another already stays as it is.
    """
    words = " ".join(insight.split())
    bodies = {name: " ".join(parse_file(facts[name]).body.split()) for name in facts}
    order = sorted(facts, key=lambda name: (not words or words not in bodies[name], name))
    changed_files: dict[str, bytes] = {}
    for name, next_fact in pairwise(order):
        content = _with_supersedes(facts[name], next_fact, order)
        if content != facts[name]:
            changed_files[name] = content
    return changed_files


def _with_supersedes(content: bytes, superseded: str, group: Sequence[str]) -> bytes:
    superseded_id = parse_file(content).values.get("supersedes")
    if superseded_id is not None and superseded_id not in group:
        return content
    try:
        return front_matter.with_key(content, _KEY, superseded)
    except BadInputError:  # a person's fact without front matter supersedes nothing
        return content


FILE = "SKILL.md"
EXPERTISE = "resources/expertise.yaml"
_SERVED, _ARCHIVE = "skills", "archive"
_SHELVES = (_SERVED, "proposed", _ARCHIVE)  # the later one wins if nothing else decides
_STATUS = ("metadata", "status")
_INTERNAL = ("metadata", "internal")


class ShelvedSkill(Struct, frozen=True):
    """A version of a skill: its folder in the vault, and its files by their path in its folder.

    `decided` is True if a person moved it to this folder since the base.
    """

    shelf: str
    files: Mapping[str, bytes]
    decided: bool = False

    @property
    def skill_file(self) -> bytes:
        """The content of SKILL.md; empty without the file."""
        return self.files.get(FILE, b"")


def merge_shelved_skills(
    base: ShelvedSkill | None, first: ShelvedSkill | None, second: ShelvedSkill | None
) -> ShelvedSkill | None:
    """Return the merged skill with its folder; None if it was removed."""
    if first is None or second is None:
        side = first or second
        return side if side and (base is None or _is_by_person(side, base)) else None
    shelf = _shelf(base, first, second)
    sides = [_without_retirement(side, base, shelf) for side in (first, second)]
    files = _merge_files(base.files if base else {}, sides[0].files, sides[1].files)
    if FILE in files:
        served_sides = [s for s in (first, second) if s.shelf == shelf]
        files[FILE] = _with_internal_mark(files[FILE], shelf, served_sides)
    return ShelvedSkill(shelf, files)


def _is_by_person(side: ShelvedSkill, base: ShelvedSkill | None) -> bool:
    """Return True if a person moved, edited or pinned the skill since the base."""
    return side.decided or is_edited(base.skill_file if base else None, side.skill_file)


def _shelf(base: ShelvedSkill | None, first: ShelvedSkill, second: ShelvedSkill) -> str:
    if first.shelf == second.shelf:
        return first.shelf
    base_shelf = base.shelf if base else None
    for side, moved_side in ((first, second), (second, first)):
        if side.shelf == base_shelf:
            is_archived = moved_side.shelf == _ARCHIVE and not moved_side.decided
            return side.shelf if is_archived and _is_by_person(side, base) else moved_side.shelf
    return _resolve_shelves(base, first, second)


def _resolve_shelves(base: ShelvedSkill | None, first: ShelvedSkill, second: ShelvedSkill) -> str:
    """Return the folder of a skill that both sides moved or made."""
    deciders = [side for side in (first, second) if side.decided]
    if len(deciders) == 1:
        return deciders[0].shelf
    lower, higher = sorted((first, second), key=lambda side: _SHELVES.index(side.shelf))
    is_archived = higher.shelf == _ARCHIVE and not deciders
    return lower.shelf if is_archived and _is_by_person(lower, base) else higher.shelf


def _without_retirement(side: ShelvedSkill, base: ShelvedSkill | None, shelf: str) -> ShelvedSkill:
    """Return a side as if it had not archived the skill, if the merged one is elsewhere."""
    if side.shelf != _ARCHIVE or shelf == _ARCHIVE or FILE not in side.files:
        return side
    status = _status_of(base.skill_file) if base and base.shelf != _ARCHIVE else "testing"
    if _status_of(side.skill_file) != "retired":
        return side
    content = front_matter.with_key(side.skill_file, _STATUS, status)
    content = front_matter.without_key(content, ("metadata", "retired"))
    return replace(side, files={**side.files, FILE: content})


def _status_of(content: bytes) -> str:
    return str(_metadata_of(parse_file(content)).get("status") or "testing")


def _with_internal_mark(content: bytes, shelf: str, sides: list[ShelvedSkill]) -> bytes:
    """Set the key `internal`; a served skill has the key only if a served side had it."""
    internal = shelf != _SERVED or any(_is_internal(side.skill_file) for side in sides)
    if internal == _is_internal(content):
        return content
    if internal:
        return front_matter.with_key(content, _INTERNAL, value=True)
    return front_matter.without_key(content, _INTERNAL)


def _is_internal(content: bytes) -> bool:
    return _metadata_of(parse_file(content)).get("internal") is True


# ── files ────────────────────────────────────────────────────────────────────────────


def _merge_files(
    base: Mapping[str, bytes], first: Mapping[str, bytes], second: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return path -> bytes; a file that one side removed and the other changed stays."""
    metadata = _metadata_of(parse_file(first.get(FILE)))
    is_programs = str(metadata.get("origin")) in PROGRAM_ORIGINS
    files: dict[str, bytes] = {}
    for path in sorted({*first, *second}):
        versions = base.get(path), first.get(path), second.get(path)
        content = _merge_file_versions(path, *versions, is_programs=is_programs)
        if content is not None:
            files[path] = content
    return files


def _merge_file_versions(
    path: str, base: bytes | None, first: bytes | None, second: bytes | None, *, is_programs: bool
) -> bytes | None:
    if first is None or second is None:
        content = second if first is None else first
        return None if content == base else content
    versions = Versions(base, first, second)
    if path == FILE:
        return merge_file(merge_skill, versions)
    if path == EXPERTISE:
        return merge_file(merge_expertise, versions)
    if is_programs:
        return merge_file(lambda both: both.sides[1], versions)
    return merge_file(partial(_merge_persons_files, path), versions)


def _merge_persons_files(path: str, versions: Versions) -> bytes:
    """Merge the statements of two markdown files; of other files take the greater."""
    try:
        texts = [(side or b"").decode() for side in versions]
    except UnicodeDecodeError:
        return versions.sides[1]
    if not path.endswith(".md"):
        return versions.sides[1]
    return (merge_statements(*texts) + "\n").encode()
