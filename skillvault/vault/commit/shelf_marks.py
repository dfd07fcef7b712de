"""The mark of a skill's shelf, set and removed here alone, whoever writes or moves the skill.

What stands in proposed/ or archive/ is internal; what comes back to skills/ is not, unless a
person had it so there.
"""

from collections.abc import Mapping

from skillvault.vault.files import internal, layout
from skillvault.vault.git.repository import Git
from skillvault.vault.index.history import History

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
            marks[path] = internal.marked(path, content)
        elif internal.is_marked(content) and _has_shelf_mark(path, origins.get(path), history, git):
            marks[path] = internal.unmarked(path, content)
    return files | marks


def _has_shelf_mark(path: str, origin: str | None, history: History, git: Git) -> bool:
    """Whether a skill on its way to skills/ has its mark from where it stood."""
    if origin is None:
        return False
    if layout.shelf_of(origin) != "archive":
        return True
    earlier = _served_last(path, history, git)
    return earlier is None or not internal.is_marked(earlier)


def _served_last(path: str, history: History, git: Git) -> bytes | None:
    """A skill's file as it stood in skills/ the last time; None if it never did."""
    name = layout.ref_of(path)
    commits = history.commits_touching([name] if name else [])
    places = [f"{commit.sha}:{path}" for commit in commits]
    contents = git.history.files_at(places)
    return next((contents[place] for place in places if place in contents), None)
