"""The files of skills as they are, and as they were at commits, in whatever folder they were."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter
from skillvault.vault.files import layout
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics


def folder_files(git: Git, head: Topics, place: str) -> dict[str, bytes]:
    """The committed files of a folder by their path in it, each a program if git says so."""
    contents = head.files.read(head.files.below(place))
    entries = git.entries(head.commit, list(contents))
    return {
        path.removeprefix(f"{place}/"): with_mode(data, entries.get(path))
        for path, data in contents.items()
    }


class SkillText(NamedTuple):
    """What a skill said at a commit, when its time ended, its labels, in which folder it was."""

    shelf: str
    description: str
    body: str
    expires: str = ""
    labels: str = ""


def skill_texts(git: Git, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], SkillText]:
    """(commit, name) -> a skill's text there."""
    names = {(commit, layout.skill_path(name)): name for commit, name in places}
    texts: dict[tuple[str, str], SkillText] = {}
    for (commit, path), (shelf, content) in skill_files(git, names).items():
        name = names[commit, path]
        try:
            meta, body = front_matter.read(front_matter.text_of(content))
            description = str(meta.get("description", ""))
            texts[commit, name] = SkillText(shelf, description, body, *_end_and_labels(meta))
        except BadInputError:
            # What a person broke then counts as theirs, whatever it said.
            texts[commit, name] = SkillText(shelf, "", "")
    return texts


def _end_and_labels(meta: Mapping[str, Any]) -> tuple[str, str]:
    """(when its time ends, its tags, roles and stages a line each) of a skill's front matter."""
    metadata = meta.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    labels = (str(fields.get(key) or "") for key in ("tags", "roles", "stages"))
    return str(fields.get("expires") or ""), "\n".join(labels)


def skill_files(
    git: Git, places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, bytes]]:
    """(commit, path in skills/) -> (shelf, bytes) of a skill's file."""
    pending = list(places)
    files: dict[tuple[str, str], tuple[str, bytes]] = {}
    for shelf in layout.SHELVES:  # most are on the first
        names = [f"{commit}:{shelf}/{path.partition('/')[2]}" for commit, path in pending]
        contents = git.objects.read_files(names)
        pairs = zip(pending, names, strict=True)
        files |= {place: (shelf, contents[name]) for place, name in pairs if name in contents}
        pending = [place for place in pending if place not in files]
    return files
