"""The marks in a skill's file, set here alone: of its sections and of its shelf.

`metadata.written` is set where the program itself writes a skill's text. What it leaves as it
stands keeps its mark, so that a person's section stays a person's. A skill without marks gets none:
the history tells whose a section is. What stands in proposed/ or archive/ is internal; what comes
back to skills/ is not, unless a person had it so there.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from skillvault.model import codec
from skillvault.model.errors import BadInputError, EditedError
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
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.history import History

INTERNAL_KEY = ("metadata", "internal")


def is_internal(content: bytes) -> bool:
    """Whether a skill's file has the mark; False for what cannot be read."""
    try:
        meta, _ = front_matter.read(front_matter.text_of(content))
    except BadInputError:
        return False
    metadata = meta.get("metadata")
    return isinstance(metadata, dict) and metadata.get("internal") is True


def mark_internal(path: str, content: bytes) -> bytes:
    """A skill's file with the mark; EditedError if other text would change."""
    if is_internal(content):
        return content
    try:
        front_matter.text_of(content)
        return front_matter.with_key(content, INTERNAL_KEY, value=True)
    except BadInputError as error:
        raise EditedError(f"{path}: {error}") from None


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
    new, old = parse_record(path, content), parse_record(path, before)
    if not (isinstance(new, Skill) and isinstance(old, Skill) and old.written):
        return None
    marks = marks_after(read_marks(old.written), old.body, new.body, theirs)
    if new.description != old.description:
        marks[heading_mark(DESCRIPTION)] = text_mark(new.description)
    words = as_words(marks)
    return None if words == new.written else front_matter.with_key(content, KEY, words)


Files = dict[str, bytes | None]


def marked(files: Files, origins: Mapping[str, str], history: History, git: Git) -> Files:
    """The files of a change, each skill's with the mark of the shelf where it stands now.

    `origins` says where a file that moves stood before. EditedError for one that a person must
    mark.
    """
    marks: Files = {}
    for path, content in files.items():
        if content is None or not layout.is_skill(path):
            continue
        if layout.shelf_of(path) != layout.SERVED:
            marks[path] = mark_internal(path, content)
        elif is_internal(content) and _has_shelf_mark(path, origins.get(path), history, git):
            try:
                marks[path] = front_matter.without_key(content, INTERNAL_KEY)
            except BadInputError as error:
                raise EditedError(f"{path}: {error}") from None
    return files | marks


def _has_shelf_mark(path: str, origin: str | None, history: History, git: Git) -> bool:
    """Whether a skill on its way to skills/ has its mark from where it stood."""
    if origin is None:
        return False
    if layout.shelf_of(origin) != "archive":
        return True
    earlier = _served_last(path, history, git)
    return earlier is None or not is_internal(earlier)


def _served_last(path: str, history: History, git: Git) -> bytes | None:
    """A skill's file as it stood in skills/ the last time; None if it never did."""
    name = layout.ref_of(path)
    commits = history.commits_touching([name] if name else [])
    places = [f"{commit.sha}:{path}" for commit in commits]
    contents = git.objects.files_at(places)
    return next((contents[place] for place in places if place in contents), None)
