"""Set two marks in the front matter of a skill: `metadata.written` and `metadata.internal`.

`written` lists the sections that the program wrote, so that edits of a person are recognized.
`internal` tells agents to ignore the skills in proposed/ and archive/. If a skill returns to
skills/, this mark is removed, unless a person had set it there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from skillvault.model import codec, section_marks
from skillvault.model.errors import BadInputError, UncommittedEditError
from skillvault.model.records import Record, Skill
from skillvault.model.text import front_matter
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.history import History

INTERNAL_KEY, WRITTEN_KEY = ("metadata", "internal"), ("metadata", "written")


def is_internal(content: bytes) -> bool:
    """Return True if a skill's file can be read and has the internal mark."""
    try:
        meta, _ = front_matter.read_document(front_matter.text_of(content))
    except BadInputError:
        return False
    metadata = meta.get("metadata")
    return isinstance(metadata, dict) and metadata.get("internal") is True


def mark_internal(path: str, content: bytes) -> bytes:
    """Mark a skill's file as internal. Raise UncommittedEditError if other text would change."""
    if is_internal(content):
        return content
    with _name_broken_file(path):
        front_matter.text_of(content)
        return front_matter.with_key(content, INTERNAL_KEY, value=True)


@contextmanager
def _name_broken_file(path: str) -> Iterator[None]:
    """Raise UncommittedEditError with the path for a BadInputError in the block."""
    try:
        yield
    except BadInputError as error:
        raise UncommittedEditError(f"{path}: {error}") from None


def encode_marked(skill: Record) -> bytes:
    """Encode a new skill that the program wrote, with a mark for each section."""
    assert isinstance(skill, Skill)
    written = section_marks.format_marks(
        section_marks.marks_of(skill.description, skill.body.strip())
    )
    return codec.encode(replace(skill, written=written))


def mark_changed_sections(
    files: Mapping[str, bytes | None],
    old_files: Mapping[str, bytes],
    paths: Iterable[str],
    foreign_sections: Mapping[str, Collection[str]],
) -> dict[str, bytes]:
    """Mark the sections that the program changed, and return the files with new marks.

    `foreign_sections` maps a path to the sections that come from a person.
    """
    marked_files: dict[str, bytes] = {}
    for path in paths:
        content, old_content = files.get(path), old_files.get(path)
        if not content or not old_content:
            continue
        skill, old_skill = parse_record(path, content), parse_record(path, old_content)
        if not (isinstance(skill, Skill) and isinstance(old_skill, Skill) and old_skill.written):
            continue
        headings = foreign_sections.get(path, ())
        marks = section_marks.update_marks(
            section_marks.read_marks(old_skill.written), old_skill.body, skill.body, headings
        )
        if skill.description != old_skill.description:
            marks[section_marks.heading_mark(section_marks.DESCRIPTION)] = section_marks.text_mark(
                skill.description
            )
        written = section_marks.format_marks(marks)
        if written != skill.written:
            marked_files[path] = front_matter.with_key(content, WRITTEN_KEY, written)
    return marked_files


Files = dict[str, bytes | None]


def mark_by_folder(files: Files, origins: Mapping[str, str], history: History, git: Git) -> Files:
    """Return the files of a change with the internal mark set or removed in each skill.

    `origins` maps moved files to their old paths. Raises UncommittedEditError if a mark fails.
    """
    marked_files: Files = {}
    for path, content in files.items():
        if content is None or not layout.is_skill(path):
            continue
        if layout.top_folder(path) != layout.SERVED:
            marked_files[path] = mark_internal(path, content)
        elif is_internal(content) and _has_folder_mark(path, origins.get(path), history, git):
            with _name_broken_file(path):
                marked_files[path] = front_matter.without_key(content, INTERNAL_KEY)
    return files | marked_files


def _has_folder_mark(path: str, origin: str | None, history: History, git: Git) -> bool:
    """Return True if a skill got its internal mark because it left skills/."""
    if origin is None:
        return False
    if layout.top_folder(origin) != "archive":
        return True
    ref = layout.ref_of(path)
    commits = history.commits_touching([ref] if ref else [])
    contents = git.objects.read_files(f"{commit.sha}:{path}" for commit in commits)
    content = next(iter(contents.values()), None)
    return content is None or not is_internal(content)
