"""Merge a skill that two clones changed: its keys, sections, files and folder.

`merge_skill` merges SKILL.md by the digests of generated sections in the file: a person's change
wins over a generated change. `merge_skill_versions` merges whole skills, because git compares
paths only and would keep a skill in two folders if one clone archived it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sync import three_way
from skillvault.learning.sync.three_way import ParsedFile, Rule, Versions
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

FILE = "SKILL.md"
EXPERTISE = "resources/expertise.yaml"
_SERVED, _ARCHIVE = "skills", "archive"
_FOLDERS = (_SERVED, "proposed", _ARCHIVE)  # the later folder wins if nothing else decides
_STATUS = ("metadata", "status")
_INTERNAL = ("metadata", "internal")
_EXPERTISE_KEYS = ("version", "patterns", "evolution_log")
# The account of a merged text equals no digest, so that the program writes the text again.
MERGED = "merged"
_KEY_RULES = {
    "status": three_way.rank_rule(SKILL_STATUSES),
    "created": three_way.lesser,
    "expires": three_way.greater,
    "trust": three_way.least_trust,
    "account": lambda _first, _second: MERGED,
    "retired": three_way.greater,
    "trial": three_way.greater,
}


class MarkedSection(NamedTuple):
    """The text of a section, or None without the section, and the digest in the file."""

    text: str | None = None
    mark: str | None = None

    @property
    def is_programs(self) -> bool:
        """True if only skillvault wrote or removed the section."""
        return self.mark == (text_mark(self.text) if self.text is not None else None)


def merge_skill(versions: Versions) -> bytes:
    """Merge two versions of SKILL.md; a person's change wins over a generated change."""
    contents = versions.base, versions.first, versions.second
    sides = [three_way.parse_file(content) for content in contents]
    result = {DESCRIPTION: MarkedSection()}
    for key, sections in _marked_sections(sides).items():
        merge_both = partial(_merge_section, key, sections[0])
        result[key] = three_way.merge_values(sections, merge_both)
    metadata_sides = [side.metadata for side in sides]
    metadata = three_way.merge_keys(metadata_sides, _KEY_RULES)
    for name in front_matter.WORD_KEYS:
        words = [side.get(name) for side in metadata_sides]
        metadata[name] = three_way.merge_values(words, partial(three_way.merge_words, words[0]))
    metadata["written"] = _stated_marks(result) or None
    values = three_way.merge_keys([side.values for side in sides])
    values["description"] = result[DESCRIPTION].text or ""
    values["metadata"] = three_way.sort_keys(
        {key: value for key, value in metadata.items() if value}, front_matter.METADATA_KEYS
    )
    bodies = [side.body for side in sides]
    body = three_way.merge_values(bodies, lambda _first, _second: _render_body(result))
    return three_way.render_file(values, body, sides, front_matter.SKILL_KEYS)


# ── sections ─────────────────────────────────────────────────────────────────────────


def _marked_sections(
    sides: Sequence[ParsedFile],
) -> dict[Key, tuple[MarkedSection, MarkedSection, MarkedSection]]:
    """Return the section of each side for each heading, in the order of both sides."""
    texts = [_texts_by_key(side) for side in sides]
    marks = [read_marks(str(side.metadata.get("written") or "")) for side in sides]
    names = {heading_mark(key): key for side in texts for key in side}
    removed_names = [(name, -2) for name in sorted({*marks[1], *marks[2]} - names.keys())]
    order = three_way.merge_orders([*texts[1]], [*texts[2]], names.values())
    return {
        key: tuple(  # type: ignore[misc]
            MarkedSection(text.get(key), mark.get(key[0] if key[1] == -2 else heading_mark(key)))
            for text, mark in zip(texts, marks, strict=True)
        )
        for key in [*order, *removed_names]
    }


def _texts_by_key(side: ParsedFile) -> dict[Key, str]:
    description = {DESCRIPTION: str(side.values.get("description") or "")} if side.values else {}
    sections = {**description, **sections_of(side.body)}
    return {key: plain_section(text) for key, text in sections.items()}


def _merge_section(
    key: Key, base: MarkedSection, first: MarkedSection, second: MarkedSection
) -> MarkedSection:
    """Prefer a person's section to a generated one; merge the statements of two persons."""
    personal_sides = [side for side in (first, second) if not side.is_programs]
    if len(personal_sides) == 1:
        return personal_sides[0]
    if not personal_sides:
        return max((first, second), key=lambda side: (side.text or "", side.mark or ""))
    mark = three_way.merge_values((base.mark, first.mark, second.mark), three_way.greater)
    if first.text is None or second.text is None:  # removed on one side, edited on the other
        return MarkedSection(first.text or second.text, mark)
    texts = (base.text or "", first.text, second.text)
    if key != DESCRIPTION:
        return MarkedSection(three_way.merge_statements(*texts), mark)
    sentences = three_way.merge_sets(*([*split_prose(text)] for text in texts))
    return MarkedSection(" ".join(sentences), mark)


def _render_body(sections: Mapping[Key, MarkedSection]) -> str:
    return "\n\n".join(
        section.text
        for key, section in sections.items()
        if section.text is not None and key != DESCRIPTION
    ).strip()


def _stated_marks(sections: Mapping[Key, MarkedSection]) -> str:
    """Return the digests of the sections as text, those of removed sections last."""
    marks = {
        key[0] if key[1] == -2 else heading_mark(key): section
        for key, section in sections.items()
        if section.mark
    }
    removed_names = sorted(name for name, section in marks.items() if section.text is None)
    present_names = [name for name in marks if name not in removed_names]
    return format_marks({name: str(marks[name].mark) for name in [*present_names, *removed_names]})


# ── edits of a person ──────────────────────────────────────────────────────────────────


def is_edited(base: bytes | None, side: bytes) -> bool:
    """Return True if a person changed or pinned a skill since the base."""
    old_file, new_file = three_way.parse_file(base), three_way.parse_file(side)
    statuses = [file.metadata.get("status") for file in (old_file, new_file)]
    is_pinned = statuses[1] == "pinned" != statuses[0]
    return is_pinned or any(
        new_section != old_section and not new_section.is_programs
        for old_section, new_section, _ in _marked_sections((old_file, new_file, new_file)).values()
    )


# ── patterns ─────────────────────────────────────────────────────────────────────────


def merge_expertise(versions: Versions) -> bytes:
    """Merge expertise.yaml. For a pattern on both sides, take the entry with more files."""
    sides = [
        front_matter.as_mapping(strict_yaml.load(front_matter.text_of(side or b"")) or {})
        for side in versions
    ]
    names = sorted({*sides[1], *sides[2]} - {"patterns", "evolution_log"})
    result: dict[str, Any] = {
        name: three_way.merge_values([side.get(name) for side in sides], three_way.greater)
        for name in names
    }
    result["patterns"] = _merge_patterns(sides)
    # Entries of the log are equal only if all their values are equal.
    logs = [
        {f"{entry.get('date')} {entry}": entry for entry in side.get("evolution_log") or ()}
        for side in sides
    ]
    entries = {**logs[1], **logs[2]}
    log_keys = three_way.merge_sets(*map(list, logs))
    result["evolution_log"] = [entries[key] for key in log_keys]
    text = strict_yaml.dump(three_way.sort_keys(result, _EXPERTISE_KEYS))
    # A person's comments move to the top, because all other lines are written again.
    comment_sides = (strict_yaml.comments(front_matter.text_of(side or b"")) for side in versions)
    comments = three_way.merge_sets(*comment_sides)
    return "".join([*(f"{comment}\n" for comment in comments), text]).encode()


def _merge_patterns(sides: Sequence[Mapping[str, Any]]) -> list[Any]:
    base, first, second = (
        {rule_key(str(entry.get("pattern"))): entry for entry in side.get("patterns") or ()}
        for side in sides
    )
    patterns = []
    for key in three_way.merge_sets(base, [*first], [*second]):
        entries = base.get(key), first.get(key) or second[key], second.get(key) or first[key]
        patterns.append(three_way.merge_values(entries, _more_frequent))
    return patterns


def _more_frequent(first: Any, second: Any) -> Any:
    return max((first, second), key=lambda entry: (entry.get("occurrences") or 0, str(entry)))


# ── the skill as a whole: folder and files ───────────────────────────────────────────


class SkillVersion(Struct, frozen=True):
    """A version of a skill: its folder in the vault, and its files by path in the folder.

    `is_moved` is True if a person moved the skill to this folder since the base.
    """

    folder: str
    files: Mapping[str, bytes]
    is_moved: bool = False

    @property
    def skill_file(self) -> bytes:
        """The content of SKILL.md, or b"" without the file."""
        return self.files.get(FILE, b"")


def merge_skill_versions(
    base: SkillVersion | None, first: SkillVersion | None, second: SkillVersion | None
) -> SkillVersion | None:
    """Return the merged skill with its folder, or None if it was removed."""
    if first is None or second is None:
        side = first or second
        return side if side and (base is None or _is_by_person(side, base)) else None
    folder = _choose_folder(base, first, second)
    sides = [_without_retirement(side, base, folder) for side in (first, second)]
    files = _merge_files(base.files if base else {}, sides[0].files, sides[1].files)
    if FILE in files:
        served_sides = [s for s in (first, second) if s.folder == folder]
        files[FILE] = _with_internal_mark(files[FILE], folder, served_sides)
    return SkillVersion(folder, files)


def _is_by_person(side: SkillVersion, base: SkillVersion | None) -> bool:
    return side.is_moved or is_edited(base.skill_file if base else None, side.skill_file)


def _choose_folder(base: SkillVersion | None, first: SkillVersion, second: SkillVersion) -> str:
    if first.folder == second.folder:
        return first.folder
    base_folder = base.folder if base else None
    for side, moved_side in ((first, second), (second, first)):
        if side.folder == base_folder:
            is_archived = moved_side.folder == _ARCHIVE and not moved_side.is_moved
            return side.folder if is_archived and _is_by_person(side, base) else moved_side.folder
    return _resolve_folders(base, first, second)


def _resolve_folders(base: SkillVersion | None, first: SkillVersion, second: SkillVersion) -> str:
    movers = [side for side in (first, second) if side.is_moved]
    if len(movers) == 1:
        return movers[0].folder
    lower, higher = sorted((first, second), key=lambda side: _FOLDERS.index(side.folder))
    is_archived = higher.folder == _ARCHIVE and not movers
    return lower.folder if is_archived and _is_by_person(lower, base) else higher.folder


def _without_retirement(side: SkillVersion, base: SkillVersion | None, folder: str) -> SkillVersion:
    """Undo the status `retired` of a side if the merged skill is not in archive/."""
    if side.folder != _ARCHIVE or folder == _ARCHIVE or FILE not in side.files:
        return side
    status = _status_of(base.skill_file) if base and base.folder != _ARCHIVE else "testing"
    if _status_of(side.skill_file) != "retired":
        return side
    content = front_matter.with_key(side.skill_file, _STATUS, status)
    content = front_matter.without_key(content, ("metadata", "retired"))
    return replace(side, files={**side.files, FILE: content})


def _status_of(content: bytes) -> str:
    return str(three_way.parse_file(content).metadata.get("status") or "testing")


def _with_internal_mark(content: bytes, folder: str, sides: list[SkillVersion]) -> bytes:
    """Set the key `internal`. A served skill has it only if a served side has it."""
    must_be_internal = folder != _SERVED or any(_is_internal(side.skill_file) for side in sides)
    if must_be_internal == _is_internal(content):
        return content
    if must_be_internal:
        return front_matter.with_key(content, _INTERNAL, value=True)
    return front_matter.without_key(content, _INTERNAL)


def _is_internal(content: bytes) -> bool:
    return three_way.parse_file(content).metadata.get("internal") is True


# ── files ────────────────────────────────────────────────────────────────────────────


def _merge_files(
    base: Mapping[str, bytes], first: Mapping[str, bytes], second: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Merge the files of a skill. A file that one side removed and the other changed stays."""
    origin = str(three_way.parse_file(first.get(FILE)).metadata.get("origin"))
    files: dict[str, bytes] = {}
    for path in sorted({*first, *second}):
        old_content, sides = base.get(path), [s[path] for s in (first, second) if path in s]
        if len(sides) > 1:
            versions = Versions(old_content, sides[0], sides[1])
            files[path] = three_way.merge_file(_file_rule(path, origin), versions)
        elif sides[0] != old_content:
            files[path] = sides[0]
    return files


def _file_rule(path: str, origin: str) -> Rule:
    if path in {FILE, EXPERTISE}:
        return merge_skill if path == FILE else merge_expertise
    if origin in PROGRAM_ORIGINS:
        return lambda versions: versions.sides[1]
    return partial(_merge_persons_files, path)


def _merge_persons_files(path: str, versions: Versions) -> bytes:
    """Merge the statements of two markdown files; of other files, take the greater bytes."""
    try:
        texts = [(side or b"").decode() for side in versions]
    except UnicodeDecodeError:
        texts = []
    if not texts or not path.endswith(".md"):
        return versions.sides[1]
    return (three_way.merge_statements(*texts) + "\n").encode()
