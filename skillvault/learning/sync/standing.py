"""A skill of two clones as a whole: on which shelf it stands, and with which files.

Git sees paths; a skill that one clone put away and the other changed would stand on two shelves.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sync.expertise import merged_expertise
from skillvault.learning.sync.skill import is_edited, merged_skill
from skillvault.learning.sync.texts import merged_statements, parted
from skillvault.learning.sync.three_way import Versions, file_by
from skillvault.model.errors import BadInputError
from skillvault.model.records import PROGRAMS_OWN
from skillvault.model.text import front_matter

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
    is_programs = _origin(ours) in PROGRAMS_OWN
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
        return merged_skill(versions)
    if path == EXPERTISE:
        return merged_expertise(versions)
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
