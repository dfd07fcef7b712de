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


def skill_texts(
    git: Git, places: Iterable[tuple[str, str]], former_names: Mapping[str, str]
) -> dict[tuple[str, str], SkillText]:
    """Map (commit, name) to the text of the skill at that commit, then perhaps of another name."""
    names = {(commit, layout.skill_path(name)): name for commit, name in places}
    texts: dict[tuple[str, str], SkillText] = {}
    for (commit, path), (shelf, content) in skill_files(git, names, former_names).items():
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
    git: Git, places: Iterable[tuple[str, str]], former_names: Mapping[str, str]
) -> dict[tuple[str, str], tuple[str, bytes]]:
    """Map (commit, path in skills/) to (shelf, bytes) of a skill's file.

    `former_names` maps names that skills had earlier to the names in these paths.
    """
    pending = list(places)
    files: dict[tuple[str, str], tuple[str, bytes]] = {}
    for shelf in layout.SHELVES:  # most are on the first
        pairs = [
            (place, f"{place[0]}:{shelf}/{path}")
            for place in pending
            for path in _find_paths(place[1].partition("/")[2], former_names)
        ]
        contents = git.objects.read_files([name for _, name in pairs])
        for place, name in pairs:
            if name in contents:
                files.setdefault(place, (shelf, contents[name]))
        pending = [place for place in pending if place not in files]
    return files


def _find_paths(path: str, former_names: Mapping[str, str]) -> list[str]:
    """Return the path of a skill's file below its shelf, with each name that the skill had."""
    name, _, file_path = path.partition("/")
    aliases = [alias for alias, skill in former_names.items() if skill == name]
    return [path, *(f"{alias}/{file_path}" for alias in aliases)]
