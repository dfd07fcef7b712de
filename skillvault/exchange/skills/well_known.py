"""Skills as a site publishes them: `/.well-known/agent-skills/index.json` of version 0.2.0.

A skill of one file is that file, one of more an archive; each has its digest in the index. The
same skills are the same bytes: archives have a fixed time and are not compressed.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skillvault.exchange.skills.agent_skills import FILE
from skillvault.exchange.skills.folders import select_fitting, valid_writer, write_folders
from skillvault.exchange.well_known import INDEX_PATH, SCHEMA
from skillvault.model.change import Program
from skillvault.model.export import Export, OmittedSkill, OutgoingSkill

ROOT, _, INDEX = INDEX_PATH.rpartition("/")
MAX_FILES, MAX_BYTES = 1_000, 50 * 1024 * 1024  # of one archive, for clients
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time of the zip format
_READABLE, _EXECUTABLE = 0o100644 << 16, 0o100755 << 16


def write_site(skills: Sequence[OutgoingSkill], budget: int | None = None) -> Export:
    """Write the index, and the file or archive of each skill in it."""
    fit = select_fitting(skills, budget, lambda skill: len(f"{skill.name}{skill.description}"))
    small = [skill for skill in fit.skills if _is_small(skill)]
    large = [OmittedSkill(skill.name, _TOO_LARGE) for skill in fit.skills if not _is_small(skill)]
    export = write_folders(small, ROOT, _artifact)
    descriptions = {skill.name: skill.description for skill in skills}
    entries = [
        _index_entry(name, descriptions[name], export.units[f"{ROOT}/{name}"])
        for name in export.skills
    ]
    index = msgspec.json.encode({"$schema": SCHEMA, "skills": entries})
    units = {**export.units, ROOT: {INDEX: msgspec.json.format(index, indent=2) + b"\n"}}
    return Export(units, export.skills, (*export.left_out, *large, *fit.left_out))


_TOO_LARGE = (
    f"has more than {MAX_FILES:,} files or {MAX_BYTES // 1024 // 1024} MiB, which clients refuse"
)


def _is_small(skill: OutgoingSkill) -> bool:
    return len(skill.files) <= MAX_FILES and sum(map(len, skill.files.values())) <= MAX_BYTES


def _artifact(skill: OutgoingSkill) -> Mapping[str, bytes]:
    """The one file of a skill that clients fetch."""
    files = valid_writer()(skill)
    return files if len(files) == 1 else {f"{skill.name}.zip": archive(files)}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a zip archive; equal files give equal bytes on every machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, _TIME)
            entry.create_system = 3  # modes are Unix's
            entry.external_attr = _EXECUTABLE if isinstance(files[path], Program) else _READABLE
            packed.writestr(entry, files[path])
    return stream.getvalue()


def _index_entry(name: str, description: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The entry of one skill in the index."""
    ((path, content),) = files.items()
    return {
        "name": name,
        "type": "skill-md" if path == FILE else "archive",
        "description": description,
        "url": f"{name}/{path}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }
