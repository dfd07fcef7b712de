"""A skill of two clones as a whole: on which shelf it stands, and with which files.

Git sees paths; a skill that one clone put away and the other changed would stand on two shelves.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sync.skill import is_edited, merged_skill
from skillvault.learning.sync.texts import merged_statements, parted
from skillvault.learning.sync.three_way import Versions, file_by, greater, joined_set, three_way
from skillvault.model.errors import BadInputError
from skillvault.model.records import PROGRAM_ORIGINS
from skillvault.model.text import front_matter, strict_yaml
from skillvault.model.text.text import rule_key

_ORDER = ("version", "patterns", "evolution_log")


def merged_expertise(versions: Versions) -> bytes:
    """The patterns of both; of one that both counted, the entry with more files."""
    base, ours, theirs = sides = [_expertise_in(side) for side in versions]
    merged: dict[str, Any] = {
        name: three_way(base.get(name), ours.get(name), theirs.get(name), greater)
        for name in sorted({*ours, *theirs} - {*_ORDER[1:]})
    }
    merged["patterns"] = _patterns(*(_by_key(side) for side in sides))
    merged["evolution_log"] = _log(*(_log_entries(side) for side in sides))
    ordered = {name: merged[name] for name in _ORDER if name in merged}
    text = strict_yaml.dump({**ordered, **{n: v for n, v in merged.items() if n not in ordered}})
    # A person's comments stay, above all of it: the lines that they stood at are written anew.
    above = joined_set(*(strict_yaml.comments(front_matter.text_of(s or b"")) for s in versions))
    return "".join([*(f"{comment}\n" for comment in above), text]).encode()


def _expertise_in(content: bytes | None) -> Mapping[str, Any]:
    return front_matter.as_mapping(strict_yaml.load(front_matter.text_of(content or b"")) or {})


def _by_key(side: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The patterns by what they have in common with others that say the same."""
    return {rule_key(str(entry.get("pattern"))): entry for entry in side.get("patterns") or ()}


def _patterns(*sides: Mapping[str, Any]) -> list[Any]:
    base, ours, theirs = sides
    return [
        three_way(base.get(key), ours.get(key) or theirs[key], theirs.get(key) or ours[key], _more)
        for key in joined_set(base, [*ours], [*theirs])
    ]


def _more(first: Any, second: Any) -> Any:
    return max((first, second), key=lambda entry: (entry.get("occurrences") or 0, str(entry)))


def _log_entries(side: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of the log, each by all that it says."""
    return {f"{entry.get('date')} {entry}": entry for entry in side.get("evolution_log") or ()}


def _log(*sides: Mapping[str, Any]) -> list[Any]:
    base, ours, theirs = sides
    return [{**ours, **theirs}[key] for key in joined_set(base, [*ours], [*theirs])]


_KEY = ("supersedes",)


def superseding(facts: Mapping[str, bytes], insight: str) -> dict[str, bytes]:
    """id -> the file of each fact that changes: the first supersedes the second, and so on.

    The first is the one that says the insight of the evaluation which is kept, else the least id.
    One that supersedes something else already stays as it is.
    """
    order = sorted(facts, key=lambda name: (not _says_insight(facts[name], insight), name))
    changed: dict[str, bytes] = {}
    for name, following in pairwise(order):
        content = _naming(facts[name], following, order)
        if content != facts[name]:
            changed[name] = content
    return changed


def _says_insight(content: bytes, insight: str) -> bool:
    return bool(insight) and " ".join(insight.split()) in " ".join(parted(content).body.split())


def _naming(content: bytes, following: str, group: Sequence[str]) -> bytes:
    superseded = parted(content).values.get("supersedes")
    if superseded is not None and superseded not in group:
        return content
    try:
        return front_matter.with_key(content, _KEY, following)
    except BadInputError:  # a person's fact without front matter supersedes nothing
        return content


FILE = "SKILL.md"
EXPERTISE = "resources/expertise.yaml"
_SERVED, _ARCHIVE = "skills", "archive"
_SHELVES = (_SERVED, "proposed", _ARCHIVE)  # of two the later one, if nothing else decides
_STATUS = ("metadata", "status")
_INTERNAL = ("metadata", "internal")


class PlacedSkill(Struct, frozen=True):
    """A skill in one version: its shelf, its files by their path in its folder.

    `decided`: a person put it there since the base.
    """

    shelf: str
    files: Mapping[str, bytes]
    decided: bool = False

    @property
    def skill_file(self) -> bytes:
        """Its SKILL.md; empty without one."""
        return self.files.get(FILE, b"")


def merged_standing(
    base: PlacedSkill | None, ours: PlacedSkill | None, theirs: PlacedSkill | None
) -> PlacedSkill | None:
    """Where the skill stands and what it says; None if it is gone."""
    if ours is None or theirs is None:
        kept = ours or theirs
        return kept if kept and (base is None or _is_persons(kept, base)) else None
    shelf = _shelf(base, ours, theirs)
    sides = [_without_its_end(side, base, shelf) for side in (ours, theirs)]
    files = _merged_files(base.files if base else {}, sides[0].files, sides[1].files)
    if FILE in files:
        served = [s for s in (ours, theirs) if s.shelf == shelf]
        files[FILE] = _marked(files[FILE], shelf, served)
    return PlacedSkill(shelf, files)


def _is_persons(side: PlacedSkill, base: PlacedSkill | None) -> bool:
    """Whether a person put it there, wrote in it or pinned it since the base."""
    return side.decided or is_edited(base.skill_file if base else None, side.skill_file)


def _shelf(base: PlacedSkill | None, ours: PlacedSkill, theirs: PlacedSkill) -> str:
    if ours.shelf == theirs.shelf:
        return ours.shelf
    began = base.shelf if base else None
    for side, other in ((ours, theirs), (theirs, ours)):
        if side.shelf == began:
            stays = other.shelf == _ARCHIVE and not other.decided and _is_persons(side, base)
            return side.shelf if stays else other.shelf
    return _shelf_of_both(base, ours, theirs)


def _shelf_of_both(base: PlacedSkill | None, ours: PlacedSkill, theirs: PlacedSkill) -> str:
    """Where it stands if each side put it elsewhere than it stood, or made it by itself."""
    deciders = [side for side in (ours, theirs) if side.decided]
    if len(deciders) == 1:
        return deciders[0].shelf
    last, first = sorted((ours, theirs), key=lambda s: _SHELVES.index(s.shelf), reverse=True)
    stays = last.shelf == _ARCHIVE and not deciders and _is_persons(first, base)
    return first.shelf if stays else last.shelf


def _without_its_end(side: PlacedSkill, base: PlacedSkill | None, shelf: str) -> PlacedSkill:
    """A side's files as if it had not put the skill into archive/, if it does not stand there."""
    if side.shelf != _ARCHIVE or shelf == _ARCHIVE or FILE not in side.files:
        return side
    status = _status_of(base.skill_file) if base and base.shelf != _ARCHIVE else "testing"
    if _status_of(side.skill_file) != "retired":
        return side
    content = front_matter.with_key(side.skill_file, _STATUS, status)
    content = front_matter.without_key(content, ("metadata", "retired"))
    return replace(side, files={**side.files, FILE: content})


def _status_of(content: bytes) -> str:
    metadata = parted(content).values.get("metadata")
    return str(metadata.get("status") or "testing") if isinstance(metadata, Mapping) else "testing"


def _marked(content: bytes, shelf: str, standing: list[PlacedSkill]) -> bytes:
    """A text with the mark of its shelf: a served skill has it only if a person had it so."""
    internal = shelf != _SERVED or any(_is_internal(side.skill_file) for side in standing)
    if internal == _is_internal(content):
        return content
    if internal:
        return front_matter.with_key(content, _INTERNAL, value=True)
    return front_matter.without_key(content, _INTERNAL)


def _is_internal(content: bytes) -> bool:
    metadata = parted(content).values.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("internal") is True


# ── files ────────────────────────────────────────────────────────────────────────────


def _merged_files(
    base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes]
) -> dict[str, bytes]:
    """path -> bytes; a file that one side took away and the other changed stays."""
    is_programs = _origin(ours) in PROGRAM_ORIGINS
    files: dict[str, bytes] = {}
    for path in sorted({*ours, *theirs}):
        versions = base.get(path), ours.get(path), theirs.get(path)
        content = _merged_file(path, *versions, is_programs=is_programs)
        if content is not None:
            files[path] = content
    return files


def _merged_file(
    path: str,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    *,
    is_programs: bool,
) -> bytes | None:
    if ours is None or theirs is None:
        kept = theirs if ours is None else ours
        return None if kept == base else kept
    versions = Versions(base, ours, theirs)
    if path == FILE:
        return file_by(merged_skill, versions)
    if path == EXPERTISE:
        return file_by(merged_expertise, versions)
    if is_programs:
        return file_by(lambda both: both.sides[1], versions)
    return file_by(partial(_of_two_persons, path), versions)


def _of_two_persons(path: str, versions: Versions) -> bytes:
    """The statements of both where it is markdown; else the greater of the two."""
    try:
        texts = [(side or b"").decode() for side in versions]
    except UnicodeDecodeError:
        return versions.sides[1]
    if not path.endswith(".md"):
        return versions.sides[1]
    return (merged_statements(*texts) + "\n").encode()


def _origin(files: Mapping[str, bytes]) -> str:
    metadata = parted(files.get(FILE)).values.get("metadata")
    return str(metadata.get("origin")) if isinstance(metadata, Mapping) else ""
