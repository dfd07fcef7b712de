"""Read the files of skills at HEAD and at earlier commits.

A skill may have been in another of the folders skills/, proposed/ and archive/, and it may have had
another name.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter
from skillvault.vault.files import layout
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Snapshot


def folder_files(git: Git, snapshot: Snapshot, folder: str) -> dict[str, bytes]:
    """Return the bytes of each committed file in a folder, as `Program` if executable."""
    contents = snapshot.files.read(snapshot.files.below(folder))
    entries = git.entries(snapshot.commit, list(contents))
    return {
        path.removeprefix(f"{folder}/"): with_mode(data, entries.get(path))
        for path, data in contents.items()
    }


class SkillText(NamedTuple):
    """The text of a skill at a commit, with its folder, its expiry and its labels."""

    folder: str
    description: str
    body: str
    expires: str = ""
    labels: str = ""


def skill_texts(
    git: Git, versions: Iterable[tuple[str, str]], former_names: Mapping[str, str]
) -> dict[tuple[str, str], SkillText]:
    """Return the text of the skill for each (commit, name); see `skill_files`."""
    names = {(commit, layout.skill_path(name)): name for commit, name in versions}
    texts: dict[tuple[str, str], SkillText] = {}
    for (commit, path), (folder, content) in skill_files(git, names, former_names).items():
        name = names[commit, path]
        try:
            meta, body = front_matter.read_document(front_matter.text_of(content))
            description = str(meta.get("description", ""))
            value = meta.get("metadata")
            metadata = value if isinstance(value, Mapping) else {}
            labels = "\n".join(str(metadata.get(key) or "") for key in ("tags", "roles", "stages"))
            expires = str(metadata.get("expires") or "")
            texts[commit, name] = SkillText(folder, description, body, expires, labels)
        except BadInputError:
            # A person broke the text, so the person owns it.
            texts[commit, name] = SkillText(folder, "", "")
    return texts


def skill_files(
    git: Git, versions: Iterable[tuple[str, str]], former_names: Mapping[str, str]
) -> dict[tuple[str, str], tuple[str, bytes]]:
    """Return (folder, bytes) for each version, which is a (commit, path in skills/).

    `former_names` maps former names of skills to their current names.
    """
    open_versions = list(versions)
    files: dict[tuple[str, str], tuple[str, bytes]] = {}
    for folder in layout.SKILL_FOLDERS:  # most skills are in the first
        objects = [
            (version, f"{version[0]}:{folder}/{path}")
            for version in open_versions
            for path in _find_paths(version[1].partition("/")[2], former_names)
        ]
        contents = git.objects.read_files([object_name for _, object_name in objects])
        for version, object_name in objects:
            if object_name in contents:
                files.setdefault(version, (folder, contents[object_name]))
        open_versions = [version for version in open_versions if version not in files]
    return files


def _find_paths(path: str, former_names: Mapping[str, str]) -> list[str]:
    name, _, file_path = path.partition("/")
    aliases = [alias for alias, skill in former_names.items() if skill == name]
    return [path, *(f"{alias}/{file_path}" for alias in aliases)]
