"""Read the files of skills, now and at commits, in skills/, proposed/ and archive/."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter
from skillvault.vault.files import layout
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics


def folder_files(git: Git, head: Topics, place: str) -> dict[str, bytes]:
    """Return the committed files of a folder by path; executable files as `Program`."""
    contents = head.files.read(head.files.below(place))
    entries = git.entries(head.commit, list(contents))
    return {
        path.removeprefix(f"{place}/"): with_mode(data, entries.get(path))
        for path, data in contents.items()
    }


class SkillText(NamedTuple):
    """A skill at a commit: its folder (`shelf`), description, body, expiry (`end`) and labels."""

    shelf: str
    description: str
    body: str
    expires: str = ""
    labels: str = ""


def skill_texts(git: Git, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], SkillText]:
    """Map (commit, name) to the text of the skill at that commit."""
    names = {(commit, layout.skill_path(name)): name for commit, name in places}
    texts: dict[tuple[str, str], SkillText] = {}
    for (commit, path), (shelf, content) in skill_files(git, names).items():
        name = names[commit, path]
        try:
            meta, body = front_matter.read_document(front_matter.text_of(content))
            description = str(meta.get("description", ""))
            fields = meta.get("metadata")
            metadata = fields if isinstance(fields, Mapping) else {}
            labels = "\n".join(str(metadata.get(k) or "") for k in ("tags", "roles", "stages"))
            expires = str(metadata.get("expires") or "")
            texts[commit, name] = SkillText(shelf, description, body, expires, labels)
        except BadInputError:
            # A text that a person broke counts as theirs.
            texts[commit, name] = SkillText(shelf, "", "")
    return texts


def skill_files(
    git: Git, places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, bytes]]:
    """Map (commit, path in skills/) to (shelf, bytes) of a skill's file."""
    pending = list(places)
    files: dict[tuple[str, str], tuple[str, bytes]] = {}
    for shelf in layout.SHELVES:  # most are on the first
        names = [f"{commit}:{shelf}/{path.partition('/')[2]}" for commit, path in pending]
        contents = git.objects.read_files(names)
        pairs = zip(pending, names, strict=True)
        files |= {place: (shelf, contents[name]) for place, name in pairs if name in contents}
        pending = [place for place in pending if place not in files]
    return files
